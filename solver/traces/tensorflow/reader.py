"""From a trace of TensorFlow's to the rows of a step, and to a graph where it has collectives."""

import re
from collections.abc import Iterator, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import NETWORK, build
from solver.traces.cut_files import whole_steps
from solver.traces.exit_check import TraceStep, checked
from solver.traces.files import beginning, single_file
from solver.traces.report import report_of
from solver.traces.sentences import counted, named
from solver.traces.spans import length_of
from solver.traces.steps import check_number, choose_step
from solver.traces.tensorflow.events import StepRecording
from solver.traces.tensorflow.iteration import collective_tasks, iteration
from solver.traces.tensorflow.profile import profiled_steps
from solver.traces.tensorflow.rows import Rows, rows_of
from solver.traces.tensorflow.session import is_session, session
from solver.traces.trace import Trace, TraceChannel, TraceOptions, as_trace_faults
from solver.traces.unsized import total_unsized
from solver.traces.xplane import is_planes, profile_of

FORMAT = "tensorflow"

#: A process of a session's timeline: a device of a task.
_SESSION = re.compile(rb'"/job:[^"]{1,200}/task:[^"]{1,200} Compute"')

#: Said of a trace of parameter servers.
NO_GRAPH = "Rows of a step with parameter servers, and no graph: there is no collective to plan."

_SHOW = "write the timeline with show_memory=True, or give names and bytes (parameters)"


def looks_like(content: bytes) -> bool:
    """Tell whether a file is a session's timeline, or the profiler's of anything but XLA's ops."""
    head = beginning(content)
    if is_planes(content):
        return True
    if not head.startswith(b"{") or b'"traceEvents"' not in head:
        return False
    with_memory = b'"Allocators"' in head and b' Compute"' in head
    return (
        with_memory
        or _SESSION.search(head) is not None
        or b'"highres-ticks"' in head
        or b'"/host:CPU"' in head
    )


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read a step: rows of what tasks computed and sent, or a graph of the collectives of a task.

    Of a profile of several steps the step is the one asked for, or the one of median length; rows
    are those of all steps that send something, unless one is asked for. Of
    several tasks with collectives the graph is that of the first, or of ``rank``. Bytes are those
    that a timeline shows, else those of ``parameters``: of the tensor, of the variable that it is
    read from, or of the one that it is the gradient of.

    Raises
    ------
    InvalidTrace
        When the file is broken, has neither collectives nor transfers between tasks, there is no
        such step or rank, no bytes of what is sent, or the graph would break a rule.

    Notes
    -----
    O(events log events).
    """
    found = profile_of(single_file(files), "")
    steps = [session(found)] if is_session(found) else profiled_steps(found)
    cut, until = found.cut, found.until
    del found  # its events are larger than the steps
    said: list[str] = []
    if cut is not None:
        ends = [max((op.end for op in one.ops), default=0.0) for one in steps]
        steps, said = whole_steps(steps, ends, cut, until)
    able = [one for one in steps if one.sent or collective_tasks(one.ops)]
    if not able:
        detail = (
            "Neither collectives nor transfers between tasks found: the trace is of one task. "
            "Record a run with parameter servers, or with a distribution strategy."
        )
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
    index = choose_step(options.step, [one.length for one in able])
    step = able[index]
    known = dict(options.parameters or ())
    tasks = collective_tasks(step.ops)
    if tasks:
        return _graph(able, index, _ranked(tasks, options.rank), options, said)
    rows = rows_of(step, known)
    if not rows.sized:
        raise InvalidTrace([_no_sizes(rows.unsized)])
    report = report_of(
        FORMAT,
        None,
        steps=len(able),
        step=index,
        ops=len(rows.ops),
        dropped=step.dropped,
        assumed=(*step.assumed, *_rows_said(rows)),
        warnings=(*said, *_rows_warned(rows)),
        measured_us=step.length,
    )
    others = able if options.step is None else [step]
    every = (rows if one is step else rows_of(one, known) for one in others)
    profiled = tuple(each.ops for each in every if each.sized)
    return checked(Trace(None, report, profiled=profiled))


def _ranked(tasks: Sequence[str], rank: int | None) -> str:
    check_number(rank or 0, len(tasks), "Tasks", are="have collectives")
    return tasks[rank or 0]


def _graph(
    steps: Sequence[StepRecording], index: int, task: str, options: TraceOptions, said: list[str]
) -> Trace:
    """Build the graph of a task's step."""
    step, known = steps[index], dict(options.parameters or ())
    it, samples, overlapping = iteration(step, task, known)
    if not it.measured:
        raise InvalidTrace([_no_sizes([name for name, *_ in it.unsized])])
    with as_trace_faults():
        graph = build(options.name, it.ops)
    channel = TraceChannel(NETWORK, None, "the trace names no group")
    others = [op for op in step.ops if op.task != task]
    dropped = [f"{len(others):,} ops of other tasks than {task}."] if others else []
    if step.sent:
        dropped.append(f"{len(step.sent):,} tensors sent between tasks: the graph has none.")
    own = [op for op in step.ops if op.task == task]
    report = report_of(
        FORMAT,
        graph,
        steps=len(steps),
        step=index,
        dropped=(*step.dropped, *dropped),
        unsized=total_unsized(it.unsized),
        assumed=(*step.assumed, f"The compute ops of {task} run one at a time."),
        warnings=(*said, *overlapping),
        measured_us=length_of(own),
    )
    trace = Trace(graph, report, it.measured, (channel,), samples)
    return checked(trace, TraceStep(), on_host=step.on_host, unsound=step.unsound)


def _no_sizes(tensors: Sequence[str]) -> Fault:
    return Fault("", FaultCode.NO_SIZES, f"No bytes of {named(tensors)}: {_SHOW}.")


def _rows_said(rows: Rows) -> Iterator[str]:
    if rows.supplied:
        yield f"Bytes of {counted(rows.supplied, 'transfer')} are those that were given."


def _rows_warned(rows: Rows) -> Iterator[str]:
    yield NO_GRAPH
    if rows.unsized:
        which = counted(len(rows.unsized), "transfer has", "transfers have")
        yield (
            f"{which} no bytes ({named(rows.unsized)}): taken for an order alone, which costs "
            "nothing."
        )
