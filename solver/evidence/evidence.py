"""On what an answer rests, and below which gain nothing follows from it."""

from dataclasses import dataclass

from solver.costs.cost_error import CostError
from solver.graph.recorded import RecordedStep


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured, how well it fits, what was assumed, and what cut the search.

    Attributes
    ----------
    recorded_us
        What the step took when it was recorded [us]; None where nothing was.
    recorded_simulated_us
        The same step by what you run, simulated with the costs of the cluster [us].
    cost_error
        How well the costs fit what was measured; None where they were not fitted.
    assumed
        What was not measured, a sentence each.
    cut
        What ended the search before its moves were done; None where nothing did.
    trust_below
        The gain below which nothing follows; None where nothing was measured.
    """

    recorded_us: float | None = None
    recorded_simulated_us: float | None = None
    cost_error: CostError | None = None
    assumed: tuple[str, ...] = ()
    cut: str | None = None
    trust_below: float | None = None


def evidence_of(
    recorded: RecordedStep | None,
    recorded_simulated_us: float | None,
    cost_error: CostError | None,
    communication: float | None,
    *,
    assumed: tuple[str, ...] = (),
    cut: str | None = None,
) -> Evidence:
    """Gather what an answer rests on.

    Parameters
    ----------
    recorded
        Of the graph; None where it was not recorded.
    recorded_simulated_us
        By what you run, with the costs of the cluster [us].
    cost_error
        Of the cluster's costs.
    communication
        The share of what you run that communication adds to compute: errors of costs move this
        much of the step; None counts as all of it.
    assumed, cut
        As in :class:`Evidence`.
    """
    known = None if recorded is None else recorded.known_us
    return Evidence(
        known,
        recorded_simulated_us,
        cost_error,
        assumed,
        cut,
        _trust_below(known, recorded_simulated_us, cost_error, communication),
    )


def _trust_below(
    recorded_us: float | None,
    simulated_us: float | None,
    cost_error: CostError | None,
    communication: float | None,
) -> float | None:
    """Return the largest of what is known to be off, as a share of the step.

    How far the recorded step is from its simulation; and the error of the costs, by the larger of
    the median and the spread of repeated measurements, on the share of communication.
    """
    off = []
    if recorded_us and simulated_us is not None:
        off.append(abs(simulated_us / recorded_us - 1))
    if cost_error is not None:
        errors = [x for x in (cost_error.median, cost_error.spread) if x is not None]
        off += [max(errors) * (1.0 if communication is None else communication)] if errors else []
    return max(off, default=None)
