"""From a timeline, and layers beside it, to a graph and its figures."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import NETWORK, Graph, build
from solver.limits import MAX_BYTES, MAX_STEP_COLLECTIVES
from solver.models.layers import iteration
from solver.traces.channel_times import overlapping_said, own_times
from solver.traces.exit_check import TraceStep, checked
from solver.traces.files import beginning, with_companion
from solver.traces.horovod.arrivals import arrivals_of
from solver.traces.horovod.bars import CYCLE, NEGOTIATE, timeline
from solver.traces.horovod.iteration import as_it_ran, measured_times, ops_of, with_waits
from solver.traces.horovod.launches import KINDS, HorovodTimeline, TensorLaunch
from solver.traces.horovod.layer_releases import released_by
from solver.traces.horovod.layers import (
    LayerTimes,
    gradients_of,
    is_layers,
    matched,
    read_layers,
    sized_layers,
)
from solver.traces.horovod.loop import LoopRun, loop_of, own_time
from solver.traces.horovod.payload_sizes import Sizes, tensor_sizes
from solver.traces.horovod.shares import communication
from solver.traces.horovod.statements import (
    BARRIER,
    RELEASES,
    irregular_said,
    left_out,
    loop_said,
    sizes_said,
    warnings,
)
from solver.traces.horovod.steps import RepeatedSteps, TimelineStep, buffers, split_steps
from solver.traces.report import report_of
from solver.traces.samples import samples_of
from solver.traces.steps import choose_step
from solver.traces.trace import Sample, Trace, TraceChannel, TraceOptions, as_trace_faults

FORMAT = "horovod"

_MARKS = (f'"{NEGOTIATE}'.encode(), f'"{CYCLE}"'.encode(), b'"start_time_since_epoch_in_micros"')


def looks_like(content: bytes) -> bool:
    """Tell whether a file's first bytes are those of a timeline."""
    head = beginning(content)
    return head.startswith(b"[") and any(mark in head for mark in _MARKS)


class _Built(NamedTuple):
    """The graph of a step, Horovod's loop in it, and what was decided."""

    graph: Graph
    loop: LoopRun
    dropped: tuple[str, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read one timeline, with a file of layers or without, and build one step.

    Steps are told by tensors that come again. The step is the one asked for, or the one of median
    length. With layers their times make the graph and its tensors are their gradients, matched by
    the end of the name; without, a tensor is released when its negotiation began, and what ran
    between two releases is compute. Horovod's cycles are ops between releases and launches, and
    the copies around an operation are part of its launch. Bytes are those that the timeline has,
    else those of the layers or of ``parameters``.

    Raises
    ------
    InvalidTrace
        When there is no timeline or more than one, a file is broken, there is no such step, no
        operation that steps repeat, or a tensor of the step has no bytes.

    Notes
    -----
    O(bytes of the files).
    """
    (own, place), beside = with_companion(files, is_layers, ("timeline", "layers"))
    recorded = timeline(own, place)
    layers = read_layers(*beside) if beside else []
    known = dict(options.parameters or ()) | {
        name: size for name, size in gradients_of(layers).items() if size is not None
    }
    sizes = tensor_sizes(recorded.launches, recorded.workers, known)
    steps = split_steps(recorded.launches, sizes.bytes)
    index = _choose(steps, options.step, place)
    step = steps.regular[index]
    if faults := list(_size_faults(step, sizes, place)):
        raise InvalidTrace(faults)
    if layers:
        built = _with_layers(options.name, recorded, step, layers, sizes, place)
    else:
        built = _alone(options.name, steps, step, sizes)
    measured = tuple(
        (name, round(time, 3)) for name, time in measured_times(built.loop.launches, sizes.bytes)
    )
    source = "the ranks that were ready" if recorded.workers else "no rank is named"
    if recorded.workers is None and recorded.highest_rank is not None:
        source = "a rank is named that cannot be"
    channel = TraceChannel(NETWORK, recorded.workers, source)
    sent = [buffers(each.launches) for each in steps.regular]
    works = (group[0].operated for groups in sent for group in groups)
    samples = tuple(_samples(sent, sizes))
    report = report_of(
        FORMAT,
        built.graph,
        steps=len(steps.regular),
        step=index,
        dropped=(*left_out(recorded.launches), *irregular_said(steps), *built.dropped),
        repaired=recorded.repaired,
        assumed=(*built.assumed, *loop_said(built.loop), *sizes_said(sizes)),
        warnings=(
            *built.warnings,
            *warnings(recorded, step, sizes, options),
            *overlapping_said({NETWORK: works}),
        ),
        measured_us=step.length,
        communication=communication(steps.regular, step, sizes.bytes, recorded.cycle),
        arrivals=arrivals_of(steps.regular),
    )
    trace = Trace(built.graph, report, measured, (channel,), samples)
    return checked(trace, TraceStep(graph=as_it_ran(built.graph, built.loop.launches)))


def _choose(steps: RepeatedSteps, step: int | None, place: str) -> int:
    """Return the index of the step to read: of those that have an end where none is asked for."""
    if not steps.regular:
        detail = (
            "No all-reduce found: the timeline has no operation that steps repeat. Give the file "
            "of rank 0, recorded over some steps of training."
        )
        raise InvalidTrace([Fault(place, FaultCode.NO_COLLECTIVE, detail)])
    return choose_step(step, [part.length for part in steps.regular])


def _size_faults(step: TimelineStep, sizes: Sizes, place: str) -> Iterator[Fault]:
    if len(step.launches) > MAX_STEP_COLLECTIVES:
        detail = (
            f"A step of {len(step.launches)} tensors: at most {MAX_STEP_COLLECTIVES:,} are read."
        )
        yield Fault(place, FaultCode.TOO_LARGE, detail)
    bytes_ = {
        launch.tensor: sizes.bytes.get(launch.tensor, 0 if launch.bytes == 0 else None)
        for launch in step.launches
    }
    give = " Give a file of layers, or names and bytes (parameters)."
    none = [tensor for tensor, size in bytes_.items() if size is None]
    empty = [tensor for tensor, size in bytes_.items() if size is not None and size <= 0]
    large = [tensor for tensor, size in bytes_.items() if size is not None and size > MAX_BYTES]
    for tensors, code, what, hint in (
        (none, FaultCode.NO_SIZES, "no bytes in the timeline", give),
        (empty, FaultCode.OUT_OF_RANGE, "0 bytes", " Bytes must be positive."),
        (large, FaultCode.OUT_OF_RANGE, "more than 2^60 bytes", ""),
    ):
        if tensors:
            more = f", and {len(tensors) - 1} more" if len(tensors) > 1 else ""
            which = f"{len(tensors)} of {len(step.launches)} tensors"
            detail = f"{which} have {what}: {tensors[0]!r}{more}.{hint}"
            yield Fault(place, code, detail)


def _alone(name: str, steps: RepeatedSteps, step: TimelineStep, sizes: Sizes) -> _Built:
    """Build the graph of a step from its own times."""
    rests = [part.rest for part in steps.regular if part.rest is not None]
    rest = step.rest
    said = [RELEASES, BARRIER]
    if rest is None and rests:
        rest = median(rests)
        said.append("The step has no end in the file: that op is as long as in the median step.")
    elif rest is None:
        said.append("No step has an end in the file: that op takes no time.")
    loop = loop_of(step.launches, {launch.tensor: launch.ready for launch in step.launches})
    with as_trace_faults():
        graph = build(name, with_waits(ops_of(step, sizes.bytes, rest or 0.0), loop.waits))
    return _Built(graph, loop, (), tuple(said))


def _with_layers(
    name: str,
    recorded: HorovodTimeline,
    step: TimelineStep,
    layers: Sequence[LayerTimes],
    sizes: Sizes,
    place: str,
) -> _Built:
    """Build the graph of layers that send the tensors of a step."""
    gradients = gradients_of(layers)
    by_tensor = matched((launch.tensor for launch in step.launches), gradients)
    if not by_tensor:
        detail = (
            f"No tensor of the timeline ends with the name of a gradient of the layers: tensors "
            f"as {step.launches[0].tensor!r}, {len(gradients)} gradients."
        )
        raise InvalidTrace([Fault(place, FaultCode.TRACES_DIFFER, detail)])
    tensors = {gradient: tensor for tensor, gradient in by_tensor.items()}
    launches = tuple(launch for launch in step.launches if launch.tensor in by_tensor)
    loop = loop_of(launches, released_by(layers, by_tensor, step, recorded.cycle_time))
    with as_trace_faults():
        graph = iteration(name, sized_layers(layers, tensors, sizes.bytes))
        graph = build(name, with_waits(graph.ops, loop.waits))
    lost = [launch.tensor for launch in step.launches if launch.tensor not in by_tensor]
    unsent = [gradient for gradient in gradients if gradient not in tensors]
    dropped = [f"{len(lost)} tensors of no gradient of the layers: {lost[0]!r}."] if lost else []
    warned = []
    if unsent:
        warned.append(
            f"{len(unsent)} gradients of the layers are not in the timeline ({unsent[0]!r}): they "
            "are sent where their bytes are given."
        )
    said = (
        f"Times are those of the {len(layers)} layers; {len(launches)} tensors of the timeline are "
        "their gradients, by the end of their names."
    )
    return _Built(graph, loop, tuple(dropped), (said,), tuple(warned))


def _samples(sent: Iterable[Sequence[Sequence[TensorLaunch]]], sizes: Sizes) -> Iterator[Sample]:
    """Yield the launches of steps; of two that ran at once neither tells a cost."""
    for groups in sent:
        before = 0.0
        alone = own_times([group[0].operated for group in groups])
        for group, ran in zip(groups, alone, strict=True):
            size = sum(sizes.bytes[launch.tensor] for launch in group)
            kind = KINDS[group[0].operation]
            is_own = ran is not None and group[0].time > 0
            took = own_time(group[0], before) if is_own else None
            yield from samples_of(NETWORK, kind, size, [took])
            before = max(before, group[0].end)
