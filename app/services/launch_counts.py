"""How many launches policies make of a graph: bounded before they are simulated."""

from collections.abc import Sequence

from app.limits import MAX_BASELINES_LAUNCHES
from solver.codes import FaultCode
from solver.errors import Fault
from solver.limits import MAX_POLICY_LAUNCHES, MAX_TUNED_LAUNCHES
from solver.policies.bytescheduler import AUTO, CREDITS, PARTITIONS
from solver.policies.choice import Choice, defaults


def launch_faults(choices: Sequence[Choice], sizes: Sequence[int]) -> list[Fault]:
    """Name the first baseline with which all launches for tensors of these bytes are too many.

    A baseline that the solver refuses by itself does not count.
    """
    total = 0
    for i, choice in enumerate(choices):
        count, longest = launches_of(choice, sizes)
        total += count if longest <= MAX_POLICY_LAUNCHES else 0
        if total > MAX_BASELINES_LAUNCHES:
            detail = (
                f"The baselines up to {choice.policy} make {total:,} launches of this graph; at "
                f"most {MAX_BASELINES_LAUNCHES:,} are simulated in a request."
            )
            return [Fault(f"/baselines/{i}", FaultCode.OUT_OF_RANGE, detail)]
    return []


def launches_of(choice: Choice, sizes: Sequence[int]) -> tuple[int, int]:
    """Bound the launches that a baseline simulates: in all, and in its longest run."""
    used = defaults(choice.policy) | dict(choice.parameters)
    slice_ = used.get("slice_bytes", used.get("partition_bytes"))
    if slice_ is None:
        return len(sizes), len(sizes)
    tried = PARTITIONS if slice_ == AUTO else [int(slice_)]
    counts = [sum(-(-size // each) for size in sizes) for each in tried]
    if slice_ == AUTO:
        counts = [count for count in counts if count <= MAX_TUNED_LAUNCHES] or counts[-1:]
    searched = AUTO in {slice_, used.get("credit_bytes")}
    runs = len(CREDITS) if used.get("credit_bytes") == AUTO else 1
    return searched * runs * sum(counts) + max(counts), max(counts)
