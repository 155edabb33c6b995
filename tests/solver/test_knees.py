"""Knees against a brute force over whole numbers."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from solver.evidence.evidence import NO_EVIDENCE
from solver.prediction.knees import knees
from solver.prediction.sweep import Cell


def cell(workers, bandwidth, *times, startup=50.0) -> Cell:
    figures = (workers, bandwidth, startup, 1.0, 1.0, times, (0,))
    return Cell(*figures, extrapolated=False, evidence=NO_EVIDENCE, gains=())


def test_knees_on_paper() -> None:
    cells = [
        cell(4, 1.0, 400.0, 100.0),
        cell(4, 10.0, 101.0, 90.0),
        cell(4, 25.0, 100.0, 80.0),
        cell(8, 1.0, 400.0, 100.0),
        cell(8, 10.0, 200.0, 180.0),
        cell(8, 25.0, 100.0, 161.0),
    ]
    found = knees(cells, ["wfbp", "plan"])
    assert [(k.policy, k.along, k.workers, k.bandwidth_gbps, k.value) for k in found] == [
        ("wfbp", "bandwidth_gbps", 4, None, 10),
        ("plan", "bandwidth_gbps", 4, None, None),
        ("wfbp", "bandwidth_gbps", 8, None, None),
        ("plan", "bandwidth_gbps", 8, None, 1),
        ("wfbp", "workers", None, 1, None),
        ("plan", "workers", None, 1, None),
        ("wfbp", "workers", None, 10, 4),
        ("plan", "workers", None, 10, 4),
        ("wfbp", "workers", None, 25, None),
        ("plan", "workers", None, 25, 4),
    ]
    assert found[0].text == (
        "wfbp: beyond 10 Gbit/s nothing more than 1 % is gained, with 4 workers and a start-up of "
        "50 us."
    )
    assert found[1].text == (
        "plan: 25 Gbit/s, the most of the sweep, still gain more than 1 %, with 4 workers and a "
        "start-up of 50 us."
    )
    assert found[4].text == (
        "wfbp: 8 workers, the most of the sweep, still gain more than 1 %, at 1 Gbit/s and with a "
        "start-up of 50 us."
    )
    assert found[6].text == (
        "wfbp: beyond 4 workers throughput gains no more than 1 %, at 10 Gbit/s and with a "
        "start-up of 50 us."
    )


def test_a_row_of_one_cell_has_no_knee() -> None:
    assert knees([cell(4, 1.0, 5.0)], ["wfbp"]) == ()
    assert knees([cell(4, 1.0, 5.0), cell(4, 1.0, 5.0, startup=0.0)], ["wfbp"]) == ()


def test_an_iteration_of_no_time_gains_nothing() -> None:
    found = knees([cell(1, None, 0.0), cell(2, None, 5.0)], ["wfbp"])
    assert [knee.value for knee in found] == [1]
    assert "1 worker throughput" in found[0].text
    assert "Gbit/s" not in found[0].text


times = st.lists(st.sampled_from([0, 99, 100, 101, 102, 150, 200, 300]), min_size=2, max_size=6)


@given(times, st.booleans())
def test_knees_by_brute_force(row, grows) -> None:
    """The first value over which no later one gains more than 1 %, in whole numbers."""
    work = [2**i if grows else 1 for i in range(len(row))]
    cells = [
        cell(2**i, 10.0, float(time)) if grows else cell(4, 2.0**i, float(time))
        for i, time in enumerate(row)
    ]
    expected = None
    for i in range(len(row) - 1):
        if all(
            100 * Fraction(work[j]) * row[i] <= 101 * Fraction(work[i]) * row[j]
            for j in range(i + 1, len(row))
            if (row[i], row[j]) != (0, 0)
        ):
            expected = 2**i
            break
    (found,) = knees(cells, ["wfbp"])
    assert found.value == expected


def test_a_policy_that_is_not_defined_has_no_knee() -> None:
    found = knees([cell(4, 1.0, None, 5.0), cell(4, 2.0, None, 5.0)], ["pace", "wfbp"])
    assert [knee.policy for knee in found] == ["wfbp"]
