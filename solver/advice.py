"""What limits an iteration, and what would move it, in a sentence or two."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from solver.chain import chain_of
from solver.costs import Network
from solver.critical import WAIT
from solver.explain import Explanation
from solver.graph import COMPUTE, Graph
from solver.sensitivity import (
    BANDWIDTH_DOUBLE,
    BANDWIDTH_FREE,
    COMPUTE_HALF,
    OP_HALF,
    STARTUP_FREE,
    STARTUP_HALF,
    TENSOR_FREE,
    Sensitivity,
    sensitivities,
)
from solver.simulate import Timeline
from solver.units import same
from solver.whatif import Rerun

BANDWIDTH, STARTUP, TENSOR, OP, POLICY = "bandwidth", "startup", "tensor", "op", "policy"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about an iteration's time.

    Attributes
    ----------
    limited_by
        ``compute``, ``bandwidth``, ``startup``, ``tensor``, ``op`` or ``policy``; None when the
        iteration takes no time.
    summary
        The same in words, with what would help and by how much.
    sensitivities
        What was simulated to know it.
    """

    limited_by: str | None
    summary: str
    sensitivities: tuple[Sensitivity, ...]


def advise(
    graph: Graph, network: Network, rerun: Rerun, timeline: Timeline, explanation: Explanation
) -> Advice:
    """Say what limits a simulated iteration.

    It is what saves most when it takes half: compute, the bandwidth term, start-ups, or the waits
    that the policy's rule puts on the critical path (half their length: this one is not simulated).
    The first of equals counts. When halving no single one helps, it is what takes most of the
    critical path. Compute becomes one op when that op at half its time brings more than half of
    what all compute brings; the network becomes one tensor when doing without it brings more than
    half of free bandwidth or of free start-ups, whichever brings more.

    Parameters
    ----------
    graph, network, rerun, timeline, explanation
        As for :func:`solver.sensitivity.sensitivities`.
    """
    found = sensitivities(graph, network, rerun, timeline, explanation)
    facts = _Facts(timeline, explanation, chain_of(graph).compute_time, found)
    word = _limit(facts)
    return Advice(word, _SENTENCES[word](facts), found)


class _Facts:
    """What the sentences are made of."""

    def __init__(
        self,
        timeline: Timeline,
        explanation: Explanation,
        compute_time: float,
        found: tuple[Sensitivity, ...],
    ) -> None:
        self.total = timeline.iteration_time
        self.launches = len(timeline.sent)
        self.compute_time = compute_time
        self.explanation = explanation
        self.gain = {s.name: s.gain_us for s in found if s.name != TENSOR_FREE}
        tensors = [s for s in found if s.name == TENSOR_FREE]
        best = max(tensors, key=lambda s: s.gain_us, default=None)
        self.gain[TENSOR_FREE] = best.gain_us if best else 0.0
        self.tensor = next((t for t in explanation.tensors if best and t.id == best.op), None)
        self.op = next((s.op for s in found if s.name == OP_HALF), None)

    def on_path(self, *kinds: str) -> float:
        """Time of some kinds of step on the critical path [us]."""
        path = self.explanation.critical_path
        return sum(step.end_us - step.start_us for step in path if step.kind in kinds)

    def of_all(self, time: float) -> str:
        """Write a time as a share of the iteration."""
        return f"{_time(time)} of its {_time(self.total)} ({_percent(time / self.total)})"

    def would(self, name: str) -> str:
        """Tell what a change brings."""
        gain = self.gain[name]
        if not gain:
            return "would save nothing"
        amount = f"{_time(abs(gain))} ({_percent(abs(gain) / self.total)})"
        return f"would save {amount}" if gain > 0 else f"would cost {amount} more"
