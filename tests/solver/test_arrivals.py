"""Who comes late: planted slow ranks, nobody where nothing is, clocks, and cases on paper."""

from math import nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.arrivals.arrival import Arrival, table_of
from solver.arrivals.clocks import align
from solver.arrivals.report import arrival_report
from tests.benchmarks.slow_ranks import is_named
from tests.sampling import cases
from tests.slow_ranks import KINDS, made

MANY = cases(100)


def report_of(rows):
    return arrival_report([Arrival(*row) for row in rows])


def test_planted_slow_ranks_are_named():
    """Right in 95 of 100: rank, kind, op, lateness within 5 %, and the step without."""
    wrong = []
    for seed in range(MANY):
        case = made(seed, KINDS[seed % len(KINDS)])
        found = report_of(case.rows)
        late = case.truth[4]
        lost = case.step[0] - case.step[1]
        if (
            not is_named(case, found)
            or abs(found.causes[0].late_us - late) > 0.05 * late
            or abs(found.lost_us - lost) > 0.05 * max(lost, late)
        ):
            wrong.append((seed, case.truth, found.causes))
    assert len(wrong) <= MANY // 20, wrong


def test_nobody_is_named_where_nothing_is_planted():
    named = [seed for seed in range(MANY) if report_of(made(10_000 + seed).rows).causes]
    assert len(named) <= MANY // 20, named


def paper(late=0.0, offsets=(0.0, 0.0, 0.0), steps=4, ops=2, slow=2):
    """Three ranks that work 100 us and send 10, twice a step; one works longer before op b."""
    rows, now = [], 0.0
    for step in range(steps):
        for k in range(ops):
            more = late if k == 1 else 0.0
            over = now + 100.0 + more + 10.0
            for rank, offset in enumerate(offsets):
                came = now + 100.0 + (more if rank == slow else 0.0)
                rows.append(
                    Arrival(rank, step, "ab"[k], "network", "network", 2 * step + k, "all_reduce",
                            8, came + offset, over + offset)
                )  # fmt: skip
            now = over
    return rows


def test_a_late_input_on_paper():
    found = arrival_report(paper(late=30.0, offsets=(0.0, 1e9, -500.0)))
    [cause] = found.causes
    assert (cause.kind, cause.rank, cause.op, cause.group) == ("late_input", 2, "b", None)
    assert (cause.late_us, cause.low_us, cause.high_us) == (30.0, 30.0, 30.0)
    assert (found.step_us, cause.step_without_us, found.lost_us) == (250.0, 220.0, 30.0)
    assert [(one.op, one.late_us) for one in cause.ops] == [("b", 30.0)]
    assert [one.offset_us for one in found.ranks] == [0.0, 1e9, -500.0]
    assert [one.late_us for one in found.ranks] == [0.0, 0.0, 30.0]
    assert [one.waited_us for one in found.ranks] == [30.0, 30.0, 0.0]
    assert [one.passed_on_us for one in found.ranks] == [0.0, 0.0, 0.0]
    assert [one.last for one in found.ranks] == [4, 4, 8]
    assert found.sentences[0] == (
        "Rank 2 works longer than the others before b alone: by 30.0 us in a step of 250.0 us "
        "(30.0 us to 30.0 us; noise is below 1.2 us). Its input is late, or what else it does "
        "there."
    )
    assert found.sentences[1] == "Without it a step would take 220.0 us, 12.0% less."


def test_nobody_is_late_on_paper():
    found = arrival_report(paper())
    assert (found.causes, found.lost_us) == ((), None)
    assert found.sentences[0] == (
        "Nobody is named: rank 0, the latest by its own work, is late by 0.0 us in a step, and "
        "below 1.1 us that is noise."
    )
    assert found.sentences[1] == (
        "No rank waits for another: all come to each collective at the same time."
    )


def test_waiting_in_several_collectives_at_once_counts_once():
    """Rank 0 comes to a, b, c at 0, 10, 50 of each step, rank 1 at 30, 40, 60: it waits 0 to 40
    and 50 to 60."""
    rows = [
        Arrival(rank, step, "abc"[k], "network", "network", 3 * step + k, "all_reduce", 8,
                1000.0 * step + came, 1000.0 * step + 100.0 + k)
        for step in range(4)
        for rank, times in enumerate(((0.0, 10.0, 50.0), (30.0, 40.0, 60.0)))
        for k, came in enumerate(times)
    ]  # fmt: skip
    assert [one.waited_us for one in arrival_report(rows).ranks] == [50.0, 0.0]


def test_waiting_is_passed_on():
    """Rank 0 is late to its pair; the other of the pair is late to all by no work of its own."""
    rows, now, number = [], 0.0, 0
    last: dict[int, float] = {}
    for step in range(4):
        for op, groups in (("a", [(0, 1), (2, 3)]), ("b", [(0, 1, 2, 3)])):
            number += 1
            ends = {}
            for group in groups:
                begun = {r: now if op == "a" else last[r] for r in group}
                came = {r: begun[r] + 100 + 40 * (r == 0 and op == "a") for r in group}
                over = max(came.values()) + 10
                for r in group:
                    rows.append(Arrival(r, step, op, op, f"{op}{group[0]}", number, "all_reduce",
                                        8, came[r], over))  # fmt: skip
                    ends[r] = over
            last = ends
        now = last[0]
    found = arrival_report(rows)
    assert [(cause.kind, cause.rank, cause.op) for cause in found.causes] == [
        ("late_input", 0, "a")
    ]
    second = found.ranks[1]
    assert (second.own_us, second.passed_on_us, second.late_us) == (0.0, 20.0, 0.0)


def overlapped(late, steps=4):
    """Two launches of a backward pass that waits for neither; what is late to both is late once.

    Works of 100 and 100 us more until the launches, of 10 us each; then all wait for the second.
    """
    rows, now = [], 0.0
    for step in range(steps):
        came = [
            (now + 100, now + 200),
            (now + 100, now + 200),
            (now + 100 + late, now + 200 + late),
        ]
        ends = [max(times) + 10 for times in zip(*came, strict=True)]
        rows += [
            Arrival(r, step, op, "network", "network", 2 * step + k, "all_reduce", 8, came[r][k],
                    ends[k], now if step else nan)
            for r in range(3)
            for k, op in enumerate("ab")
        ]  # fmt: skip
        now = ends[1]
    return rows


def test_what_is_late_to_several_launches_is_late_once():
    [cause] = arrival_report(overlapped(30.0)).causes
    assert (cause.kind, cause.rank, cause.op, cause.late_us) == ("late_input", 2, "a", 30.0)
    assert cause.step_without_us == 210.0


def test_a_launch_that_the_one_before_kept_is_no_work():
    """All are ready for ``b`` while ``a`` of 150 us is sent, so nobody is late to it."""
    rows, now = [], 0.0
    for step in range(4):
        came = [now + 100, now + 100, now + 130]
        over = now + 280
        for r, a in enumerate(came):
            for k, (begin, end) in enumerate(((a, over), (over + 1, over + 50))):
                rows.append(
                    Arrival(r, step, "ab"[k], "network", "network", 2 * step + k, "all_reduce", 8,
                            begin, end, now if step else nan)
                )  # fmt: skip
        now = over + 50
    found = arrival_report(rows)
    [cause] = found.causes
    assert (cause.kind, cause.rank, cause.op, cause.late_us) == ("late_input", 2, "a", 30.0)
    assert (found.step_us, cause.step_without_us) == (330.0, 300.0)


def test_one_step_of_many_ranks_tells_a_cause_and_no_step():
    rows = [
        Arrival(r, 0, op, "network", "network", k, "all_reduce", 8, begin + more, end)
        for r in range(6)
        for k, (op, begin, end) in enumerate(
            (("a", 0.0, 10.0), ("b", 110.0, 200.0), ("c", 300.0, 400.0))
        )
        for more in [40.0 if (r, op) == (4, "b") else 0.0]
    ]
    found = arrival_report(rows)
    assert [(cause.kind, cause.rank, cause.op) for cause in found.causes] == [
        ("late_input", 4, "b")
    ]
    assert (found.step_us, found.causes[0].step_without_us, found.lost_us) == (None, None, None)
    assert not any("Without it" in sentence for sentence in found.sentences)


def test_one_op_tells_no_kind():
    [cause] = arrival_report([one for one in paper(late=30.0, ops=2) if one.op == "b"]).causes
    assert (cause.kind, cause.rank, cause.op) == ("late", 2, "b")
    found = arrival_report([one for one in paper(late=30.0) if one.op == "b"])
    assert "nothing tells slower compute from a late input" in found.sentences[0]


def test_one_step_of_few_ranks_tells_nothing():
    found = arrival_report(paper(late=30.0, steps=1))
    assert (found.causes, found.step_us) == ((), None)
    assert found.sentences[0].startswith("Nobody is named: with so few ranks and steps nothing")


def test_one_rank_is_compared_with_none():
    assert arrival_report([one for one in paper() if one.rank == 1]) is None
    assert arrival_report([]) is None


def test_ends_that_contradict_arrivals_name_nobody():
    rows = [one._replace(end=one.start + 1) for one in paper(late=30.0)]
    shuffled = [one._replace(start=one.start + 50 * ((7 * i) % 5), end=one.end + 50 * ((3 * i) % 7))
                for i, one in enumerate(rows)]  # fmt: skip
    found = arrival_report(shuffled)
    if not found.causes:
        assert "Nobody is named" in found.sentences[0]
    late = [one._replace(start=one.end + 100 * one.rank) for one in paper()]
    found = arrival_report(late)
    assert found.causes == ()
    assert "end before their last rank came" in found.sentences[0]


def test_ranks_that_never_meet_have_clocks_of_their_own():
    rows = [one._replace(rank=one.rank + 3, group="other", start=one.start + 7e5, end=one.end + 7e5)
            for one in paper()]  # fmt: skip
    found = arrival_report([*paper(late=30.0), *rows])
    assert [one.offset_us for one in found.ranks] == [0.0] * 6
    assert [cause.rank for cause in found.causes] == [2]


@pytest.mark.parametrize("seed", range(3))
def test_clocks_are_found(seed):
    """Offsets against the first rank within twice the noise of ends, however large they are."""
    case = made(seed)
    table = table_of([Arrival(*row) for row in case.rows])
    clocks = align(table)
    (first, slow), found = case.clocks[0], []
    for rank, (offset, drift) in enumerate(case.clocks):
        true = (clocks.middle[rank] - offset) / (1 + drift)
        found.append(first + true * (1 + slow) - clocks.middle[rank])
    assert clocks.shift.tolist() == pytest.approx(found, abs=6.0)
    assert clocks.contradicted == 0.0


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.integers(-(10**12), 10**12), min_size=3, max_size=3),
    st.sampled_from([0.0, 8.0, 64.0]),
)
def test_an_offset_of_a_clock_changes_nothing(offsets, late):
    one, other = arrival_report(paper(late=late)), arrival_report(paper(late, offsets))
    assert other.causes == one.causes
    assert [rank.own_us for rank in other.ranks] == [rank.own_us for rank in one.ranks]


def test_the_order_of_arrivals_changes_nothing():
    rows = [Arrival(*row) for row in made(3, KINDS[0]).rows]
    assert arrival_report(rows[::-1]) == arrival_report(rows)
