"""A draft that runs on from before what a change moved, not from the start."""

from array import array
from math import inf

from solver.programs.search.changes import UndoableDraft
from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat

#: So many states of a run are kept.
_STATES = 32


class DraftState:
    """What a draft's run has come to at one place."""

    def __init__(self, flat: Flat) -> None:
        """Make room for a state."""
        buckets, channels = max(1, flat.collectives), max(1, flat.channels)
        self.waited = array("i", [0]) * buckets
        self.left = array("i", [0]) * max(1, flat.buffers)
        self.free_at = array("d", [0.0]) * channels
        self.queued = array("i", [0]) * channels
        self.begun = array("i", [0]) * channels
        self.ended = array("i", [0]) * channels
        self.asked_count = self.oldest = self.settled = self.early_count = self.peak_at = 0
        self.under_way = self.promised = self.level = self.peak = 0
        self.now = self.clock = self.next_at = self.rest = self.over = 0.0

    def take(self, draft: ProgramDraft) -> None:
        """Become the state that a draft's run is in; O(collectives + buffers)."""
        self.waited[:] = draft.waited
        self.left[:] = draft.left
        self.free_at[:] = draft.free_at
        self.queued[:] = draft.queued
        self.begun[:] = draft.begun
        self.ended[:] = draft.ended
        self.asked_count, self.oldest = draft.asked_count, draft.oldest
        self.settled, self.early_count = draft.settled, draft.early_count
        self.under_way, self.promised = draft.under_way, draft.promised
        self.level, self.peak, self.peak_at = draft.level, draft.peak, draft.peak_at
        self.now, self.clock, self.next_at = draft.now, draft.clock, draft.next_at
        self.rest, self.over = draft.rest, draft.over

    def give(self, draft: ProgramDraft) -> None:
        """Put a draft's run into this state; what it asked for and queued before is still there."""
        draft.waited[:] = self.waited
        draft.left[:] = self.left
        draft.free_at[:] = self.free_at
        draft.queued[:] = self.queued
        draft.begun[:] = self.begun
        draft.ended[:] = self.ended
        draft.asked_count, draft.oldest = self.asked_count, self.oldest
        draft.settled, draft.early_count = self.settled, self.early_count
        draft.under_way, draft.promised = self.under_way, self.promised
        draft.level, draft.peak, draft.peak_at = self.level, self.peak, self.peak_at
        draft.now, draft.clock, draft.next_at = self.now, self.clock, self.next_at
        draft.rest, draft.over = self.rest, self.over


class ResumedDraft(UndoableDraft):
    """A draft that keeps states of its run: what is before a change is not run again.

    Times and memory are those of :meth:`execute` to the last bit.

    Attributes
    ----------
    stride
        State s is that before the item at the place of s strides; s is 1 at least.
    kept
        So many states are those of the order as it is, but for the last change.
    ran_from
        The first place that was run after the last change.
    """

    def __init__(self, flat: Flat, least_stride: int = 16) -> None:
        """Make a draft without a state, with so many items at least between two."""
        super().__init__(flat)
        items = flat.ops + 2 * flat.collectives
        self.stride = max(least_stride, items // _STATES)
        self.states = [DraftState(flat) for _ in range(items // self.stride + 1)]
        self.kept = self.ran_from = 0
        self.before = ProgramDraft(flat)

    def execute_whole(self) -> None:
        """Run the draft from its start, whatever it was before."""
        self.execute(inf)
        self.kept = 0
        self.before.take_run(self)

    def execute_changed(self, most: float) -> float:
        """Run the draft after a change, from the last state before it; as :meth:`execute`.

        Then comes :meth:`settle` or :meth:`take_back_run`. Keeps states on the way to the change.
        O(items from there on + collectives + buffers).
        """
        first = min(self.low, self.length)
        s = min(self.kept, first // self.stride)
        self.ran_from = s * self.stride
        if s == 0:
            self._begin()
        else:
            state = self.states[s]
            state.give(self)
        while (s + 1) * self.stride <= first:
            if not self.run_between(s * self.stride, (s + 1) * self.stride, most):
                self.value = inf
                return inf
            s += 1
            state = self.states[s]
            state.take(self)
            self.kept = s
        return self.run_from(s * self.stride, most)

    def settle(self) -> None:
        """Take the last change: states behind its first place are of the order before it."""
        self.kept = min(self.kept, self.low // self.stride)
        self.before.take_run(self)

    def take_back_run(self) -> None:
        """Undo the last change, and the run after it."""
        before = self.before
        for k in range(self.ran_from, min(self.here + 1, self.length)):
            item = self.order[k]
            self.start[item] = before.start[item]
            self.end[item] = before.end[item]
        self.asked[:] = before.asked
        self.queue[:] = before.queue
        self.early[:] = before.early
        self.early_at[:] = before.early_at
        self.take_back()
