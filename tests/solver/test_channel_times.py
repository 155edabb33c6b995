"""How long launches held a channel: run again one after another they end when they did."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from solver.traces.channel_times import held_times, waiting_said


class Ran(NamedTuple):
    start: float
    end: float


SPANS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 10)).map(lambda s: Ran(s[0], s[0] + s[1])),
    max_size=8,
)


def test_by_hand():
    """One alone; two of which the later asked for ends first; two that end together."""
    spans = [Ran(0, 2), Ran(3, 9), Ran(4, 6), Ran(10, 15), Ran(11, 15)]
    held = held_times(spans)
    assert [(each.place, each.time) for each in held] == [(0, 2), (2, 2), (1, 3), (3, 5), (4, 0)]
    assert [each.place for each in held if each.is_alone] == [0]
    assert waiting_said(held)[0].startswith("4 launches overlap")
    assert waiting_said(held[:1]) == waiting_said([]) == ()


@given(SPANS)
def test_one_after_another_they_end_when_they_did(spans):
    ended = 0.0
    for place, time, _ in held_times(spans):
        ended = max(ended, spans[place].start) + time
        assert ended == spans[place].end


@given(SPANS)
def test_alone_is_what_overlaps_no_other(spans):
    for place, time, is_alone in held_times(spans):
        own = spans[place]
        others = [span for i, span in enumerate(spans) if i != place]
        overlaps = any(
            own.start < other.start < own.end
            or max(own.start, other.start) < min(own.end, other.end)
            for other in others
        )
        if own.end > own.start:
            assert is_alone == (not overlaps)
        assert time <= own.end - own.start
        assert not is_alone or time == own.end - own.start
