"""Training runs whose iterations were timed, or are to be predicted."""

from dataclasses import dataclass

from solver.graph import Graph
from solver.policies.choice import Choice

#: Policies that start a forward pass before all sums are there; the others wait for the optimizer.
CROSSES_ITERATIONS = ("tictac", "p3", "bytescheduler", "pace")


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A training run on one cluster under one policy.

    Attributes
    ----------
    model
        Runs of one model share the speed of their compute.
    graph
        One iteration, without barrier.
    is_timed
        Whether the graph's durations were measured, as those of a trace, rather than generated.
    workers
        Data-parallel ranks.
    choice
        The policy, its parameters, and whether the optimizer waits for all sums.
    time_us
        Measured time of an iteration [us]; None when it is to be predicted.
    network
        Runs on one network share its costs.
    bandwidth_gbps
        Nominal bandwidth of this run [Gbit/s]; None where nobody knows, or all have the same.
    """

    model: str
    graph: Graph
    is_timed: bool
    workers: int
    choice: Choice
    time_us: float | None = None
    network: str = ""
    bandwidth_gbps: float | None = None


def waits(policy: str) -> bool:
    """Tell whether the optimizer waits for all sums under a policy, where nobody says."""
    return policy not in CROSSES_ITERATIONS
