"""When the passes of a pipeline end: longest paths through its order.

A rank runs its passes one after another. What a pass hands to another rank is a message on the
channel between the two, which carries one message at a time in the order of its sender. So start
times are the longest paths of a graph without cycles; they follow one after another.

The .pxd beside this module gives its types. Without a compiler the same lines run as Python, and
give the same figures.
"""

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from solver.shapes.pipeline.orders import BACKWARD, FORWARD, ORDERS, Pass, PassOrder, stages_of_way


class FlatOrder:
    """An order of passes as arrays, each pass after all that it waits for.

    Attributes
    ----------
    passes
        The passes.
    ranks
        Ranks of the pipeline.
    before, source
        Position of the pass before on the same rank, and of that of another rank whose result is
        waited for; -1 for none.
    part
        Which duration a pass has: three times its virtual stage, and its kind.
    channel
        The channel that carries what a pass hands over: ``rank * ranks + other``; -1 for none.
    last_of_ranks, last_of_stages
        Position of the last pass of each rank, and of the last that adds to the gradients of each
        virtual stage.
    """

    def __init__(self, order: PassOrder, stages: int) -> None:
        """Put the passes in an order in which each comes after what it waits for.

        A micro-batch passes so many ``stages``.
        """
        self.ranks = len(order)
        self.passes = tuple(_sorted(order, stages))
        at = {step: i for i, step in enumerate(self.passes)}
        count = len(self.passes)
        self.before = array("i", [-1]) * count
        self.source = array("i", [-1]) * count
        self.channel = array("i", [-1]) * count
        self.part = array("i", [step.stage * 3 + step.kind for step in self.passes])
        self.ends = array("d", [0.0]) * count
        self.arrivals = array("d", [0.0]) * count
        self.free = array("d", [0.0]) * (self.ranks * self.ranks)
        for steps in order:
            for one, two in pairwise(steps):
                self.before[at[two]] = at[one]
        rank_of = {step.stage: rank for rank, steps in enumerate(order) for step in steps}
        for step, i in at.items():
            source = needed(step, stages)
            if source is None:
                continue
            here, there = rank_of[step.stage], rank_of[source.stage]
            if here != there:  # on the same rank, the order of its passes says it
                self.source[i] = at[source]
                self.channel[at[source]] = there * self.ranks + here

        self.last_of_ranks = tuple(at[steps[len(steps) - 1]] for steps in order)
        last = {step.stage: i for i, step in enumerate(self.passes) if step.kind != FORWARD}
        self.last_of_stages = tuple(last[k] for k in range(len(last)))

    def run(self, durations: array, messages: array) -> float:  # type: ignore[type-arg]
        """Return when the last pass ends [us]; :attr:`ends` then has when each does.

        Parameters
        ----------
        durations
            Time of a pass [us] by virtual stage and kind: 3 k + kind.
        messages
            Time of a message [us] by channel: rank * ranks + other.
        """
        last = 0.0
        for c in range(self.ranks * self.ranks):
            self.free[c] = 0.0
        for i in range(len(self.part)):
            start = 0.0
            if self.before[i] >= 0:
                start = self.ends[self.before[i]]
            if self.source[i] >= 0 and self.arrivals[self.source[i]] > start:
                start = self.arrivals[self.source[i]]
            end = start + durations[self.part[i]]
            self.ends[i] = end
            c = self.channel[i]
            if c >= 0:
                if self.free[c] > end:
                    self.arrivals[i] = self.free[c] + messages[c]
                else:
                    self.arrivals[i] = end + messages[c]
                self.free[c] = self.arrivals[i]
            else:
                self.arrivals[i] = end
            last = max(last, end)
        return last


def needed(step: Pass, stages: int) -> Pass | None:
    """Return the pass whose result a pass waits for; None for the first of a micro-batch.

    A micro-batch passes so many ``stages``: the next ones are of another way.
    """
    kind, stage, j = step
    if kind == FORWARD:
        return Pass(FORWARD, stage - 1, j) if stage % stages else None
    if kind == BACKWARD:
        has_next = (stage + 1) % stages
        return Pass(BACKWARD, stage + 1, j) if has_next else Pass(FORWARD, stage, j)
    return Pass(BACKWARD, stage, j)


def _sorted(order: PassOrder, stages: int) -> Sequence[Pass]:
    """Sort passes so that each comes after what it waits for, ranks in turn."""
    done: set[Pass] = set()
    reached = [0] * len(order)
    steps: list[Pass] = []
    total = sum(map(len, order))
    while len(steps) < total:
        count = len(steps)
        for rank, own in enumerate(order):
            while reached[rank] < len(own):
                step = own[reached[rank]]
                source = needed(step, stages)
                if source is not None and source not in done:
                    break
                steps.append(step)
                done.add(step)
                reached[rank] += 1
        assert len(steps) > count, "the passes wait for each other"
    return steps


#: Orders of more passes are not kept for the next shape: they would fill the memory.
_MOST_KEPT = 10_000


def flat_order(schedule: str, ranks: int, chunks: int, micro_batches: int) -> FlatOrder:
    """Return the order of a schedule as arrays."""
    if ranks * chunks * micro_batches > _MOST_KEPT:
        return _long_order(schedule, ranks, chunks, micro_batches)
    return _short_order(schedule, ranks, chunks, micro_batches)


def _order(schedule: str, ranks: int, chunks: int, micro_batches: int) -> FlatOrder:
    order = ORDERS[schedule](ranks, chunks, micro_batches)
    return FlatOrder(order, stages_of_way(schedule, ranks, chunks))


_short_order = lru_cache(maxsize=512)(_order)
_long_order = lru_cache(maxsize=2)(_order)
