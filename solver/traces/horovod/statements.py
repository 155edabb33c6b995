"""What the report of a timeline says."""

from collections import Counter
from collections.abc import Iterator, Sequence

from solver.graph.names import NEGOTIATION
from solver.limits import MAX_WORKERS
from solver.traces.horovod.launches import KINDS, HorovodTimeline, TensorLaunch
from solver.traces.horovod.loop import LATE_DATA, WAITED, LoopRun, is_blocking
from solver.traces.horovod.payload_sizes import Sizes
from solver.traces.horovod.steps import RepeatedSteps, TimelineStep
from solver.traces.sentences import counted
from solver.traces.trace import TraceOptions

RELEASES = (
    "A tensor is released when its negotiation began: the first rank was ready, or this rank where "
    "Horovod had cached the response. What ran between two releases is compute."
)
BARRIER = (
    "What ran from the last operation to the next step, optimizer and forward pass, is one op that "
    "waits for all tensors (a barrier)."
)


def left_out(launches: Sequence[TensorLaunch]) -> Iterator[str]:
    """Name the operations that no step repeats."""
    count = Counter(launch.operation for launch in launches if launch.operation not in KINDS)
    for operation in sorted(count):
        yield f"{count[operation]:,} x {operation[:80]}: not of a step."


def irregular_said(steps: RepeatedSteps) -> Iterator[str]:
    """Say how many steps are not like most."""
    if steps.others:
        yield f"{counted(steps.others, 'step')} with other tensors than most steps."


def sizes_said(sizes: Sizes) -> Iterator[str]:
    """Say which bytes are not the timeline's."""
    if sizes.supplied:
        which = counted(sizes.supplied, "tensor")
        yield f"Bytes of {which} are those that were given: the timeline has none."


def loop_said(loop: LoopRun) -> Iterator[str]:
    """Say what of Horovod's loop is in the graph, and what of it no plan moves."""
    cycles = [wait.time for wait in loop.waits if wait.stream == NEGOTIATION]
    yield (
        f"Negotiating (late ranks waited for) took {sum(cycles):.0f} us in "
        f"{counted(len(cycles), 'cycle')}, ops on the stream {NEGOTIATION!r}: no plan moves them. "
        "A launch holds its channel with the copies into and out of the fusion buffer."
    )
    if len(loop.launches) > 1 and all(len(launch.tensors) == 1 for launch in loop.launches):
        yield (
            "Every tensor was sent alone, which needs no copy: what copies take is not known, and "
            "launches of several tensors may take longer than their cost says."
        )
    if any(is_blocking(launch.tensors[0]) for launch in loop.launches):
        yield (
            "Horovod looks for tensors between two operations only (MPI, gloo, oneCCL): some may "
            "have been ready before."
        )
    waited = [wait.time for wait in loop.waits if wait.stream == LATE_DATA]
    if waited:
        yield (
            f"The host announces a tensor before the GPU has it: {sum(waited):.0f} us of waiting "
            f"for data ({WAITED}) are ops on the stream {LATE_DATA!r}."
        )


def warnings(
    recorded: HorovodTimeline, step: TimelineStep, sizes: Sizes, options: TraceOptions
) -> Iterator[str]:
    """Say what a plan cannot rely on, and what was given and is not used."""
    if recorded.cut:
        yield recorded.cut.said
    if options.parameters and not sizes.supplied and not sizes.differing:
        yield "The parameters are not used: the timeline has the bytes of all tensors."
    if sizes.differing:
        which = counted(sizes.differing, "tensor has", "tensors have")
        yield f"{which} other bytes in the timeline than were given: those of the timeline count."
    if sizes.varying:
        which = counted(sizes.varying, "tensor has", "tensors have")
        yield f"{which} other bytes in some launches than in the first, which are those that count."
    if any(".noname." in launch.tensor for launch in step.launches):
        yield (
            "Tensors have no names but numbers (noname): where these count on from step to step, "
            "steps cannot be told apart. Name what is reduced."
        )
    if recorded.highest_rank is not None and recorded.workers is None:
        yield (
            f"Rank {recorded.highest_rank:,} is named, and there are at most {MAX_WORKERS:,} "
            "workers: their number is not known."
        )
    elif recorded.workers is None:
        yield "No rank is named: all responses were cached, or the file is not of rank 0."
