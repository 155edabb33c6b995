"""What is said of the recorded step beside its simulation, and the ranks beside each other."""

from dataclasses import dataclass

from solver.graph import COMPUTE, Graph, Op
from solver.graph.names import HOST
from solver.traces.exit_check import is_far
from solver.traces.steps import choose_rank
from solver.traces.trace import Trace

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class RankComparison:
    """What the ranks of a job did in one step.

    Attributes
    ----------
    times
        For each rank how long each collective held its channel [us], in the same order.
    """

    times: tuple[tuple[float, ...], ...]

    @property
    def least(self) -> list[float]:
        """Of each collective the least time over the ranks [us]."""
        return [min(times) for times in zip(*self.times, strict=True)]

    @property
    def slowest(self) -> int:
        """The rank that waited least inside its collectives: the others waited for it."""
        return choose_rank(None, [sum(times) for times in self.times], "Files")

    @property
    def waited(self) -> list[float]:
        """How much longer than the least each rank's collectives took [us]: waiting for others."""
        return [sum(times) - sum(self.least) for times in self.times]


def ranks_said(ranks: RankComparison, chosen: int) -> list[str]:
    """Say whose graph it is; nothing for one rank."""
    if len(ranks.times) == 1:
        return []
    why = "the slowest, which the others wait for" if chosen == ranks.slowest else "as asked"
    return [f"Of {len(ranks.times)} ranks the graph is that of file {chosen + 1}, {why}."]


def comparison_said(trace: Trace, waited: float) -> tuple[list[str], list[str]]:
    """Say the time of the step as measured and as simulated, and why they differ where they do.

    Parameters
    ----------
    trace
        With the graph that was simulated, and both times in its report.
    waited
        How long the rank waited for others inside its collectives [us].

    Returns
    -------
    tuple
        What is assumed, and warnings.
    """
    measured, recorded = trace.report.measured_us or 0.0, trace.report.recorded_us or 0.0
    said = (
        f"Measured, the step takes {measured:.3f} us; simulated with the recorded times of its "
        f"collectives and an optimizer that waits for all gradients, {recorded:.3f} us."
    )
    if trace.graph is None or not is_far(trace.report):
        return [said], []
    share = abs(recorded / measured - 1)
    how = "longer" if recorded > measured else "shorter"
    reasons = [f"the host keeps the GPU idle for {_idle(trace.graph):.3f} us"]
    if loose := _loose(trace.graph):
        shown = ", ".join(loose[:_SHOWN]) + (", ..." if len(loose) > _SHOWN else "")
        reasons.append(f"nothing recorded waits for {len(loose)} collectives ({shown})")
    if waited > 0:
        reasons.append(f"{waited:.3f} us of the collectives' times are waiting for slower ranks")
    why = (
        f"Simulated as recorded the step is {share:.1%} {how} than measured: {'; '.join(reasons)}."
    )
    return [said], [why]


def _idle(graph: Graph) -> float:
    return sum(op.duration_us or 0.0 for op in graph.ops if op.stream == HOST)


def _loose(graph: Graph) -> list[str]:
    """Return the collectives that no op waits for."""
    waited = {name for op in graph.ops for name in op.after}
    return [op.id for op in graph.ops if _is_loose(op, waited)]


def _is_loose(op: Op, waited: set[str]) -> bool:
    return op.kind != COMPUTE and op.id not in waited
