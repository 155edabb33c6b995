"""The check that every reader's trace passes before it is returned.

What cannot be what it says is refused: launches of a library of GPUs that were timed without its
kernels, collectives without bytes. What does not agree with itself is a warning, and the graph
keeps why (:class:`solver.graph.RecordedStep`): answers about it claim no gain then. That is a step
which, simulated as it was recorded, takes another time than it did; a channel or a stream that is
longer at work than the step; launches faster than any network, which then tell no cost; and
launches of no time, or costs slower than any network.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import COMPUTE, Graph, RecordedStep
from solver.limits import MAX_UNSOUND, MAX_UNSOUND_CHARACTERS
from solver.traces.launch_rates import implausible_said, without_impossible
from solver.traces.recorded import recorded_time
from solver.traces.report import Report
from solver.traces.sentences import named
from solver.traces.trace import Trace

#: From what share of the measured time on a difference is no measurement's error.
_APART = 0.03

#: Libraries whose launches are kernels, as annotations and ops name them.
_OF_KERNELS = re.compile(r"nccl|rccl|msccl|hccl|xccl", re.IGNORECASE)

#: Given a trace with both times of its step, sentences of what is assumed, and warnings.
Explain = Callable[[Trace], tuple[Iterable[str], Iterable[str]]]


class TraceStep(NamedTuple):
    """How the step of a trace ran.

    Attributes
    ----------
    explain
        What the format says of the comparison; None where it says nothing.
    graph
        The step as it ran, of the same collectives; None where that is the trace's graph.
    """

    explain: Explain | None = None
    graph: Graph | None = None


def checked(
    trace: Trace,
    step: TraceStep | None = None,
    *,
    on_host: Iterable[str] = (),
    unsound: Sequence[str] = (),
) -> Trace:
    """Return a trace with how long its step takes as it was recorded, and what there is to say.

    Its graph keeps both times and what is wrong (:class:`solver.graph.RecordedStep`).

    Parameters
    ----------
    trace
        As its reader made it.
    step
        Of a format that records when things ran; None of any other.
    on_host
        Names of launches that are kernels, where the files have their calls on the CPU alone.
    unsound
        What the reader itself found that takes any gain, in sentences.

    Raises
    ------
    InvalidTrace
        When launches of a library of GPUs have no kernels, or a collective no bytes.

    Notes
    -----
    O(ops + edges), and O(n log n) for n samples.
    """
    faults = [*_kernel_faults(on_host), *_byte_faults(trace)]
    if faults:
        raise InvalidTrace(faults)
    trace, fast = without_impossible(_warning(trace, unsound))
    odd = tuple(implausible_said(trace))
    trace, wrong = _warning(trace, odd), (*unsound, *fast, *odd)
    if step is None:
        return _keeping(trace, wrong) if wrong else trace
    trace, apart = _simulated(trace, step)
    return _keeping(trace, (*wrong, *apart))


def is_kernel(name: str) -> bool:
    """Tell whether a launch is a kernel, by the library in the name of its call."""
    return _OF_KERNELS.search(name) is not None


def _kernel_faults(on_host: Iterable[str]) -> Iterator[Fault]:
    """Refuse launches that are kernels, timed by the calls that enqueue them."""
    launched = list(dict.fromkeys(on_host))
    if launched:
        detail = (
            f"No kernel was recorded of {named(launched)}, which runs on GPUs: the calls on the "
            "CPU end when a launch is enqueued, so their times tell nothing. Record CUDA activity "
            "too: ProfilerActivity.CUDA in PyTorch's profiler, CUPTI in TensorFlow's."
        )
        yield Fault("", FaultCode.NO_KERNELS, detail)


def _byte_faults(trace: Trace) -> Iterator[Fault]:
    ops = trace.graph.ops if trace.graph else ()
    unsized = [op.id for op in ops if op.kind != COMPUTE and not op.bytes]
    if unsized:
        yield Fault("", FaultCode.NO_SIZES, f"No bytes of {named(unsized)}.")


def _keeping(trace: Trace, unsound: Iterable[str]) -> Trace:
    """Return a trace whose graph keeps what was recorded of its step."""
    measured, replayed = trace.report.measured_us, trace.report.recorded_us
    why = tuple(said[:MAX_UNSOUND_CHARACTERS] for said in unsound)[:MAX_UNSOUND]
    if trace.graph is None or (measured is None and replayed is None and not why):
        return trace
    unsized = trace.report.unsized
    late = trace.report.arrivals
    lost, rank = (late.lost_us, late.causes[0].rank) if late and late.causes else (None, None)
    recorded = RecordedStep(
        measured,
        replayed,
        lost,
        rank,
        sum(each.launches for each in unsized),
        round(sum(each.time_us for each in unsized), 3),
        why,
    )
    return replace(trace, graph=replace(trace.graph, recorded=recorded))


def _simulated(trace: Trace, step: TraceStep) -> tuple[Trace, tuple[str, ...]]:
    """Return a trace with the time of its step, simulated as it was recorded, and what is wrong."""
    ran = trace if step.graph is None else replace(trace, graph=step.graph)
    busy = tuple(_longer_than_the_step(ran))
    try:
        recorded = round(recorded_time(ran), 3)
    except ValueError as error:
        unsound = (*busy, f"The step cannot be simulated as recorded: {error}")
        return _warning(trace, unsound), unsound
    trace = replace(trace, report=replace(trace.report, recorded_us=recorded))
    assumed, warnings = step.explain(trace) if step.explain else ((), ())
    apart = tuple(warnings)
    if is_far(trace.report) and not apart:
        apart = (_far_said(trace.report),)
    report = replace(trace.report, assumed=(*trace.report.assumed, *assumed))
    unsound = (*busy, *(apart if is_far(report) else ()))
    return _warning(replace(trace, report=report), (*busy, *apart)), unsound


def _warning(trace: Trace, said: Iterable[str]) -> Trace:
    report = replace(trace.report, warnings=(*trace.report.warnings, *said))
    return replace(trace, report=report)


def _longer_than_the_step(trace: Trace) -> Iterator[str]:
    """Say which channels and streams are at work for longer than the step took."""
    if trace.graph is None or not trace.report.measured_us:
        return
    known = {op.id: op for op in trace.graph.ops if op.kind != COMPUTE}
    busy: dict[str, float] = {}
    for name, time in trace.measured:
        place = f"channel {known[name].channel}"
        busy[place] = busy.get(place, 0.0) + time
    for op in trace.graph.ops:
        if op.stream is not None and op.stream not in trace.graph.free:
            place = f"stream {op.stream}"
            busy[place] = busy.get(place, 0.0) + (op.duration_us or 0.0)
    for place, time in busy.items():
        if time > (1 + _APART) * trace.report.measured_us:
            yield (
                f"What runs on {place} takes {time:.3f} us, in a step of "
                f"{trace.report.measured_us:.3f} us: times overlap that cannot."
            )


def _far_said(report: Report) -> str:
    measured, recorded = report.measured_us or 0.0, report.recorded_us or 0.0
    return (
        f"The step took {measured:.3f} us; simulated with the recorded times of its collectives it "
        f"takes {recorded:.3f} us: something of it is not in the graph, or counts twice."
    )


def is_far(report: Report) -> bool:
    """Tell whether the simulation of the recorded step is far from what was measured."""
    measured, recorded = report.measured_us, report.recorded_us
    if not measured or recorded is None:
        return False
    return abs(recorded - measured) > _APART * measured
