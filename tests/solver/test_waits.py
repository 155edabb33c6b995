"""How long buckets wait, beside a walk over all moments of a coarse grid."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from solver.planning.waits import bucket_waits


@dataclass(frozen=True)
class Ready:
    id: str
    release_us: float


@dataclass(frozen=True)
class Sent:
    bucket: str
    start_us: float
    end_us: float


def test_before_the_first_part_and_between_parts() -> None:
    ready = [Ready("b0", 2.0), Ready("b1", 0.0), Ready("b2", 9.0)]
    sent = [Sent("b0", 5.0, 6.0), Sent("b1", 6.0, 8.0), Sent("b0", 8.0, 9.0)]
    assert bucket_waits(ready, sent) == {"b0": 5.0, "b1": 6.0, "b2": None}


@given(st.integers(0, 9), st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1))
def test_moments_ready_and_not_sent(release: int, pieces: list[tuple[int, int]]) -> None:
    sent, at = [], release
    for pause, length in pieces:
        sent.append(Sent("b0", at + pause, at + pause + length))
        at += pause + length
    walked = sum(
        not any(part.start_us <= moment < part.end_us for part in sent)
        for moment in range(release, at)
    )
    assert bucket_waits([Ready("b0", release)], sent) == {"b0": walked}
