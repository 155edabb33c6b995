"""How long launches held a channel: run again one after another they end when they did."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from solver.traces.channel_times import held_times, own_times, waiting_said


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
    """But for its own last microsecond: all of these are shorter than 33."""
    for place, time, is_alone in held_times(spans):
        own = spans[place]
        others = [span for i, span in enumerate(spans) if i != place]
        is_shared = any(
            own.start < other.start < own.end
            or max(own.start, other.start) < min(own.end, other.end)
            for other in others
            if not (other.start > own.start and other.start >= own.end - 1 and other.end >= own.end)
        )
        if own.end > own.start:
            assert is_alone == (not is_shared)
            assert own_times(spans)[place] == (None if is_shared else own.end - own.start)
        assert time <= own.end - own.start
        assert not is_alone or time == own.end - own.start


def test_one_that_is_nearly_over_when_the_next_begins_tells_its_cost():
    """3 % of 100 us, and 1 us of 10; the next tells nothing, nor does what had one inside it."""
    assert own_times([Ran(0, 100), Ran(97, 120)]) == [100, None]
    assert own_times([Ran(0, 100), Ran(96.9, 120)]) == [None, None]
    assert own_times([Ran(0, 10), Ran(9, 12)]) == [10, None]
    assert own_times([Ran(0, 100), Ran(98, 99)]) == [None, None]
    assert own_times([Ran(0, 1), Ran(0, 1), Ran(5, 5)]) == [None, None, None]
