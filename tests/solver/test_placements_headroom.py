"""How many workers stay hidden, and how many fit beside a PHub."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import PLACEMENTS
from solver.limits import MAX_WORKERS
from solver.placements.headroom import most_workers
from solver.placements.prices import workers_beside
from tests.sampling import cases

M, T = 1_000_000, 1_000.0  # M bytes in T are 8 Gbit/s


def needed(placement: str, workers: int, servers: int) -> float:
    """Return the bandwidth of the paper's formulas [Gbit/s], each server on a host of its own."""
    return {
        "ncc": 2 * workers * 8,
        "cc": 2 * (workers - 1) * 8 if workers > 1 else 0,
        "ncs": max(2 * workers * 8 / servers, 2 * 8),
        "cs": 4 * (workers - 1) * 8 / workers,
    }[placement]


@pytest.mark.parametrize(
    ("placement", "gbps", "servers", "expected"),
    [
        ("ncc", 160, None, 10),
        ("cc", 160, None, 11),
        ("ncs", 16, None, None),  # 2M/T, however many there are
        ("ncs", 15.9, None, 0),
        ("cs", 32, None, None),  # below 4M/T
        ("cs", 24, None, 4),  # 4 (N - 1) 8 / N = 24
        ("cs", 1, None, 1),  # one worker sends nothing
        ("ncs", 160, 2, 20),
        ("cs", 160, 4, 38),  # 2 (S + N - 2) 8 / S = 160
        ("cs", 10, 4, 1),  # one worker has the one server
        ("cs", 16, 4, 2),  # two have one each: 4 (N - 1) 8 / N = 16
        ("ncs", 15.9, 4, 0),
    ],
)
def test_by_hand(placement: str, gbps: float, servers: int | None, expected: int | None) -> None:
    assert most_workers(placement, M, T, gbps, servers) == expected


@given(st.sampled_from(PLACEMENTS), st.floats(0.1, 1e4), st.integers(1, 60))
@settings(max_examples=cases(100))
def test_most_is_the_last_that_fits(placement: str, gbps: float, workers: int) -> None:
    most = most_workers(placement, M, T, gbps)
    fits = needed(placement, workers, workers) <= gbps
    assert fits == (workers <= (MAX_WORKERS if most is None else most))


def test_interfaces_share_the_load_of_a_server() -> None:
    assert most_workers("ncc", M, T, 160, interfaces=10) == 100
    assert most_workers("ncc", M, T, 15, interfaces=10) == 0  # a worker has one


@pytest.mark.parametrize(("oversubscription", "workers"), [(1, 44), (2, 65), (3, 76)])
def test_workers_beside_the_papers_hub(oversubscription: float, workers: int) -> None:
    assert workers_beside(128, 20, oversubscription) == workers


def test_no_workers_beside_a_hub_that_fills_the_switch() -> None:
    assert workers_beside(32, 20, 1) == 0


def test_cores_limit_workers_too() -> None:
    # each sums 10^6 bytes a worker at 10^4 bytes/us: ten workers in T, and twice with two cores
    assert most_workers("ncc", M, T, 1e6, aggregate_gbytes_per_s=10) == 10
    assert most_workers("ncc", M, T, 1e6, cores=2, aggregate_gbytes_per_s=10) == 20
    assert most_workers("cs", M, T, 1e6, aggregate_gbytes_per_s=10) is None
    assert most_workers("cs", M, T, 1e6, aggregate_gbytes_per_s=0.5) == 0
