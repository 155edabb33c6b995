"""From the files of nodes to a report of their training, and to the graph of one iteration."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median_low

import numpy as np

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph, InvalidTrace
from solver.graph import ALL_REDUCE, COMPUTE, NETWORK, Graph, Op, build, first_of
from solver.traces.dlc.grammar import COLUMNS, OF_SCHEDULER, PUSH, ROW, SET_UP
from solver.traces.dlc.overheads import overheads_of
from solver.traces.dlc.phases import IterationPhases, early_answers, iterations_of, phases_of
from solver.traces.dlc.records import Records, records_of
from solver.traces.dlc.volume import lengths_of, volume_of
from solver.traces.dlc_report import DlcReport
from solver.traces.exit_check import checked
from solver.traces.files import SEEN, places_of
from solver.traces.report import report_of
from solver.traces.sentences import counted
from solver.traces.steps import choose_step
from solver.traces.trace import Trace, TraceChannel, TraceOptions, without_graph

FORMAT = "dlc"

ASSUMED = (
    "A key's push and pull are the all-reduce of its gradient, of the bytes of the pushed message.",
    "Forward and backward pass are one op up to the first push: only pushes tell gradients apart.",
    "Messages travel side by side and wait for other workers: no cost is fitted to their times.",
)


@dataclass(frozen=True, slots=True)
class _Worker:
    """A worker's file, its place among all files, and its iterations."""

    file: int
    records: Records
    phases: IterationPhases


def looks_like(content: bytes) -> bool:
    """Tell whether a file has the columns of a DLC trace, or a message of one."""
    head = content[:SEEN]
    if COLUMNS.search(head) or OF_SCHEDULER.search(head):
        return True
    return any(ROW.match(line) for line in head.split(b"\n", 64))


def nodes_of(files: Sequence[bytes]) -> list[Records]:
    """Read the files of one training, a node each, in the order given.

    Raises
    ------
    InvalidTrace
        With every line that cannot be read, files of one node, and files whose headers do not tell
        of the same workers and servers. Pointers are ``/line``, or ``/files/i/line`` of several.
    """
    nodes: list[Records] = []
    faults: list[Fault] = []
    for content, place in zip(files, places_of(files), strict=True):
        try:
            nodes.append(records_of(content, place))
        except InvalidTrace as error:
            faults += error.faults
    faults += first_of(_differing(nodes)) if not faults else []
    if faults:
        raise InvalidTrace(faults)
    return nodes


def _differing(nodes: Sequence[Records]) -> Iterator[Fault]:
    names = [node.name for node in nodes]
    counts = [(node.workers, node.servers) for node in nodes]
    for i, (name, count) in enumerate(zip(names, counts, strict=True)):
        if name in names[:i]:
            detail = f"This is {name}, as file {names.index(name) + 1} is: give each node once."
            yield Fault(f"/files/{i}", FaultCode.RANKS_DIFFER, detail)
        if count != counts[0]:
            detail = (
                f"File {i + 1} is of {_counted(count)}, the first of {_counted(counts[0])}: not "
                "nodes of one training."
            )
            yield Fault(f"/files/{i}", FaultCode.RANKS_DIFFER, detail)


def _counted(count: tuple[int | None, int | None]) -> str:
    return "{} workers and {} servers".format(*("?" if n is None else n for n in count))


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read the files of one training, one a node, and build one iteration of one worker.

    The report has the iterations of all workers with their phases, the overheads, the volume and
    the message lengths. The graph is that of the iteration asked for, counted from 0, or of the one
    of median length over the workers of those recorded as a whole; of several workers that of the
    file asked for, or of the one that computed longest, which the others wait for. Its compute ops
    end at a push each, and release what is pushed. Files of servers alone give a report and no
    graph; so do those whose graph would break a rule, with a warning that says which.

    Raises
    ------
    InvalidTrace
        With every line that is neither header nor row, operations that are there twice, rows of
        several nodes in a file, a node twice, headers that differ; when there is no such iteration
        or file.
    """
    nodes = nodes_of(files)
    workers = [
        _Worker(i, node, phases_of(node)) for i, node in enumerate(nodes) if not node.is_server
    ]
    workers.sort(key=lambda worker: worker.records.rank)
    servers = sorted((n for n in nodes if n.is_server), key=lambda node: node.rank)
    dlc = _measured(workers, servers)
    numbers = sorted({number for w in workers for number in w.phases.number.tolist()})
    chosen = _chosen(workers, numbers, options, len(files))
    report = report_of(
        FORMAT,
        None,
        steps=len(numbers),
        dropped=_dropped(nodes),
        warnings=(*_cut_said(nodes), *_warnings(workers, chosen)),
        dlc=dlc,
    )
    rest = Trace(None, report, messages=tuple(nodes))
    if chosen is None:
        return checked(rest)
    worker, number = chosen
    place = int(np.searchsorted(worker.phases.number, number))
    try:
        graph = _graph(options.name, worker, place)
    except InvalidGraph as error:
        return checked(without_graph(rest, error.faults))
    report = report_of(
        FORMAT,
        graph,
        steps=len(numbers),
        step=numbers.index(number),
        dropped=report.dropped,
        assumed=(*ASSUMED, *_which(worker, workers)),
        warnings=report.warnings,
        measured_us=float(worker.phases.length[place]),
        dlc=dlc,
    )
    count = worker.records.workers
    channel = TraceChannel(NETWORK, count, "num_workers of the header")
    return checked(Trace(graph, report, channels=(channel,), messages=tuple(nodes)))


def _measured(workers: Sequence[_Worker], servers: Sequence[Records]) -> DlcReport:
    overheads, is_synchronous = overheads_of([(w.records, w.phases) for w in workers], servers)
    volumes = [volume_of(w.records, w.phases) for w in workers]
    volumes += [volume_of(server, None) for server in servers]
    return DlcReport(
        nodes=(*(w.records.name for w in workers), *(server.name for server in servers)),
        is_synchronous=is_synchronous,
        iterations=tuple(i for w in workers for i in iterations_of(w.records, w.phases)),
        overheads=overheads,
        volume=tuple(volume for volume in volumes if volume is not None),
        message_lengths=tuple(lengths_of([*(w.records for w in workers), *servers])),
    )


def _chosen(
    workers: Sequence[_Worker], numbers: Sequence[int], options: TraceOptions, files: int
) -> tuple[_Worker, int] | None:
    """Choose a worker and the number of its iteration; None where none was recorded as a whole."""
    able = list(workers)
    if options.rank is not None:
        able = [worker for worker in workers if worker.file == options.rank]
        if not able:
            detail = f"Files 0 to {files - 1} are there, and {options.rank} is no worker's."
            raise InvalidTrace([Fault("", FaultCode.OUT_OF_RANGE, detail)])
    lengths: dict[int, list[int]] = {}
    for worker in able:
        whole = worker.phases.is_whole
        pairs = (worker.phases.number[whole].tolist(), worker.phases.length[whole].tolist())
        for number, length in zip(*pairs, strict=True):
            lengths.setdefault(number, []).append(length)
    most = max(map(len, lengths.values()), default=0)
    known = {n: median_low(each) for n, each in lengths.items() if len(each) == most}
    if options.step is None and not known:
        return None
    number = numbers[choose_step(options.step, [known.get(number) for number in numbers])]
    if number not in lengths:
        detail = f"Iteration {options.step} was not recorded as a whole."
        raise InvalidTrace([Fault("", FaultCode.OUT_OF_RANGE, detail)])
    computed = [(_computed(worker, number), -worker.records.rank, worker) for worker in able]
    return max(computed, key=lambda each: each[:2])[2], number


def _computed(worker: _Worker, number: int) -> int:
    """How long a worker computed in an iteration [us]; -1 where that is not known."""
    place = np.flatnonzero((worker.phases.number == number) & worker.phases.is_whole)
    phases = worker.phases
    return int((phases.last_push - phases.start)[place[0]]) if place.size else -1


def _graph(name: str, worker: _Worker, place: int) -> Graph:
    """Build an iteration: a chain of compute ops, each of which releases what is pushed then."""
    records, phases = worker.records, worker.phases
    rows = np.flatnonzero((records.stage == PUSH) & (records.iteration == phases.number[place]))
    rows = rows[np.lexsort((records.peer[rows], records.key[rows], records.time[rows]))]
    keys = records.key[rows].tolist()
    peers = records.peer[rows].tolist()
    ops: list[Op] = []
    before: tuple[str, ...] = ()
    now = int(phases.start[place])
    for row, key, peer in zip(rows.tolist(), keys, peers, strict=True):
        called = f"{key}@s{peer}" if keys.count(key) > 1 else f"{key}"
        time = int(records.time[row])
        compute = f"compute:{called}"
        ops.append(Op(compute, COMPUTE, float(time - now), None, before))
        before, now = (compute,), time
        ops.append(Op(f"grad:{called}", ALL_REDUCE, None, int(records.length[row]), before))
    return build(name, ops)


def _dropped(nodes: Sequence[Records]) -> Iterator[str]:
    for node in nodes:
        is_setup = node.stage == SET_UP
        setups = int(is_setup.sum())
        before = int((node.iteration[~is_setup] < 0).sum())
        if setups or before:
            yield (
                f"{node.name}: {setups:,} set-up messages, {before:,} messages of the parameters' "
                "initialization."
            )


def _cut_said(nodes: Sequence[Records]) -> Iterator[str]:
    for node in nodes:
        if node.cut is not None:
            yield f"{node.name}: {node.cut.said}"


def _warnings(workers: Sequence[_Worker], chosen: tuple[_Worker, int] | None) -> Iterator[str]:
    for worker in workers:
        count = int((~worker.phases.is_whole).sum())
        if count:
            what = counted(count, "iteration was", "iterations were")
            yield (
                f"{worker.records.name}: {what} not recorded as a whole; what they do not tell is "
                "null."
            )
        if early := early_answers(worker.records):
            yield (
                f"{worker.records.name}: {counted(early, 'answer comes', 'answers come')} before "
                "what is answered (a confirmation before its push, a parameter before its "
                "request): times are wrong."
            )
    if chosen is None:
        why = "no iteration was recorded as a whole" if workers else "no worker's file was given"
        yield f"There is no graph: {why}."


def _which(worker: _Worker, workers: Sequence[_Worker]) -> Iterator[str]:
    if len(workers) > 1:
        yield f"The graph is that of {worker.records.name}."
