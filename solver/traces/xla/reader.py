"""From a profile of XLA's ops, and HLO text beside it, to a graph."""

from collections.abc import Iterator, Mapping, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import NETWORK, build
from solver.limits import MAX_BYTES, MAX_WORKERS
from solver.traces.channel_times import held_times, own_times, waiting_said
from solver.traces.exit_check import TraceStep, checked
from solver.traces.files import beginning, single_text, with_companion
from solver.traces.profiler import Events
from solver.traces.report import report_of
from solver.traces.samples import samples_of
from solver.traces.sentences import named
from solver.traces.steps import choose_rank, choose_step
from solver.traces.trace import Sample, Trace, TraceChannel, TraceOptions, as_trace_faults
from solver.traces.unsized import total_unsized
from solver.traces.xla.hlo import KINDS, instructions
from solver.traces.xla.iteration import iteration
from solver.traces.xla.runs import DeviceOp, DeviceRun, runs
from solver.traces.xplane import is_planes, profile_of

FORMAT = "xla"

_HLO = b"HloModule"
_SENDS = ("collective-permute", "send", "recv")
_GIVE = (
    "Give the program's HLO text beside the trace (compiled.as_text(), or "
    "XLA_FLAGS=--xla_dump_to), or names and bytes (parameters)."
)


def looks_like(content: bytes) -> bool:
    """Tell whether a file is a profile with ops of XLA; HLO text may be beside it."""
    head = beginning(content)
    if is_planes(content):
        return b"hlo_op" in content or b"XLA Ops" in content
    if not head.startswith(b"{") or b'"traceEvents"' not in head:
        return False
    is_profile = any(mark in head for mark in (b'"highres-ticks"', b'"/host:CPU"', b'"/device:'))
    return is_profile and (b'"hlo_op"' in content or b'"XLA Ops"' in content)


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read a profile, with the program's HLO text or without, and build one run of the program.

    The program is the one that ran longest in all; its runs are the steps, of which the one asked
    for is read, or the one of median length. The device is the one of ``rank``, or the one that
    was least in its collectives: the others waited for it there. Bytes are those that the events
    have, as those of a TPU do, else those of the HLO text, else those of ``parameters``.

    Raises
    ------
    InvalidTrace
        When a file is broken, there is no profile or more than one, no op or no collective, no
        such step or device, no collective has bytes, or the graph would break a rule.

    Notes
    -----
    O(events log events).
    """
    (profile, place), beside = with_companion(files, _is_hlo, ("profile", "HLO text"))
    recorded = profile_of(profile, place)
    programs = {program: instructions(lines) for program, lines in recorded.programs.items()}
    programs[""] = instructions(single_text([beside[0]]).splitlines()) if beside else {}
    every = runs(recorded, programs)
    name, devices, cut = _runs_of_longest(every, place)
    count = len(next(iter(devices.values())))
    first = next(iter(devices.values()))
    index = choose_step(options.step, [run.length for run in first])
    at_once = [some[index] for some in devices.values()]
    run = at_once[choose_rank(options.rank, [one.communicates for one in at_once], "Devices")]
    sizes, supplied = _sizes(run, options)
    if faults := list(_size_faults(run, sizes, place)):
        raise InvalidTrace(faults)
    it = iteration(run, sizes)
    with as_trace_faults():
        graph = build(options.name, it.ops)
    workers, source = _workers(run, len(devices))
    channel = TraceChannel(NETWORK, workers, source)
    samples = tuple(_samples(devices, count, sizes))
    report = report_of(
        FORMAT,
        graph,
        steps=count,
        step=index,
        dropped=_dropped(every, name, cut),
        unsized=total_unsized(it.unsized),
        assumed=_assumed(run, devices, supplied),
        warnings=(
            *_cut_said(recorded),
            *_warnings(run),
            *waiting_said(held_times(_collectives(run))),
            *([_GIVE] if it.unsized else []),
        ),
        measured_us=run.length,
    )
    return checked(Trace(graph, report, it.measured, (channel,), samples), TraceStep())


def times_of_profile(profile: bytes, place: str, text: bytes) -> dict[str, float]:
    """Return how long the instructions of a program took in a profile, by name [us].

    The mean over the runs of the program that ran longest; of a collective the mean of the least
    over the devices, which has the least waiting in it.

    Raises
    ------
    InvalidTrace
        When the file is no profile, or has no run of a program with collectives.
    """
    recorded = profile_of(profile, place)
    programs = {program: instructions(lines) for program, lines in recorded.programs.items()}
    programs[""] = instructions(single_text([text]).splitlines())
    _, devices, _ = _runs_of_longest(runs(recorded, programs), place)
    took: dict[str, list[float]] = {}
    for at_once in zip(*devices.values(), strict=True):
        ran: dict[str, list[list[float]]] = {}
        for run in at_once:
            own: dict[str, list[float]] = {}
            for part in run.parts:
                own.setdefault(part.name, []).append(part.end - part.start)
            for name, times in own.items():
                ran.setdefault(name, []).append(times)
        sends = {part.name for run in at_once for part in run.parts if part.opcode}
        for name, every in ran.items():
            joined = [min(some) for some in zip(*every, strict=False)] if name in sends else None
            took.setdefault(name, []).extend(joined or [t for some in every for t in some])
    return {name: round(sum(some) / len(some), 6) for name, some in took.items()}


def _runs_of_longest(
    every: Mapping[str, Sequence[DeviceRun]], place: str
) -> tuple[str, dict[str, list[DeviceRun]], int]:
    """Return the program that ran longest, its whole runs by device, and how many were cut."""
    name, devices = _of_program(every, place)
    whole, cut = _whole_runs(devices)
    return name, whole, cut


def _is_hlo(content: bytes) -> bool:
    return beginning(content).startswith(_HLO)


def _of_program(
    every: Mapping[str, Sequence[DeviceRun]], place: str
) -> tuple[str, dict[str, list[DeviceRun]]]:
    """Return the program with collectives that ran longest, and its runs by device."""
    times: dict[str, float] = {}
    for some in every.values():
        for run in some:
            if _collectives(run):
                times[run.program] = times.get(run.program, 0.0) + run.length
    if not times:
        detail = (
            "No op of XLA found: the profile has none of a device."
            if not every
            else "No collective found: the program ran on one device, or was not recorded."
        )
        raise InvalidTrace([Fault(place, FaultCode.NO_COLLECTIVE, detail)])
    name = min(times, key=lambda one: (-times[one], one))
    devices = {
        device: own
        for device, some in every.items()
        if (own := [run for run in some if run.program == name])
    }
    return name, devices


def _whole_runs(devices: Mapping[str, list[DeviceRun]]) -> tuple[dict[str, list[DeviceRun]], int]:
    """Leave out runs at either end that a device has fewer ops of than of others, or none.

    Returns
    -------
    tuple
        The runs of each device, of which those of one place belong together, and how many were
        left out. All that all devices have where none would be left.
    """
    count = min(len(some) for some in devices.values())
    most = {device: max(len(run.parts) for run in some) for device, some in devices.items()}
    whole = [
        i
        for i in range(count)
        if all(len(some[i].parts) == most[device] for device, some in devices.items())
    ]
    ends = slice(whole[0], whole[-1] + 1) if whole else slice(count)
    left = {device: some[ends] for device, some in devices.items()}
    return left, sum(map(len, devices.values())) - sum(map(len, left.values()))


def _collectives(run: DeviceRun) -> list[DeviceOp]:
    return [part for part in run.parts if part.opcode is not None]


def _sizes(run: DeviceRun, options: TraceOptions) -> tuple[dict[str, int], int]:
    """Return the bytes of collectives by name, and how many were given."""
    known = dict(options.parameters or ())
    sizes: dict[str, int] = {}
    supplied: set[str] = set()
    for part in _collectives(run):
        if part.bytes:
            sizes[part.name] = part.bytes
        elif part.name in known:
            sizes[part.name] = known[part.name]
            supplied.add(part.name)
    return sizes, len(supplied)


def _size_faults(run: DeviceRun, sizes: Mapping[str, int], place: str) -> Iterator[Fault]:
    if not _collectives(run):
        yield Fault(place, FaultCode.NO_COLLECTIVE, "This step launched no collective.")
    unsized = list(dict.fromkeys(part.name for part in _collectives(run) if part.name not in sizes))
    if unsized and not sizes:
        detail = f"No bytes of {named(unsized)} in the trace. {_GIVE}"
        yield Fault(place, FaultCode.NO_SIZES, detail)
    large = {part.name: None for part in _collectives(run) if (part.bytes or 0) > MAX_BYTES}
    if large:
        detail = f"The bytes of {named(list(large))} in the trace are more than 2^60."
        yield Fault(place, FaultCode.OUT_OF_RANGE, detail)


def _group_sizes(run: DeviceRun) -> list[int]:
    """List how many workers the groups of a run's collectives have, of those that can be."""
    written = {part.workers for part in _collectives(run) if part.workers is not None}
    return sorted(workers for workers in written if 1 <= workers <= MAX_WORKERS)


def _workers(run: DeviceRun, devices: int) -> tuple[int | None, str]:
    counts = _group_sizes(run)
    if len(counts) == 1:
        return counts[0], "the program's replica groups"
    if counts:
        return counts[-1], "the largest of the replica groups"
    return (devices, "the devices of the trace") if devices > 1 else (None, "one device alone")


def _samples(
    devices: Mapping[str, Sequence[DeviceRun]], count: int, sizes: Mapping[str, int]
) -> Iterator[Sample]:
    """Yield the launches of all steps with the least time of the devices that have them alike.

    A launch that overlaps others on every device tells no cost and is left out.
    """
    first = next(iter(devices.values()))
    for i in range(count):
        names = [part.name for part in _collectives(first[i])]
        alike = [_collectives(some[i]) for some in devices.values()]
        alike = [some for some in alike if [part.name for part in some] == names]
        ran = [own_times(some) for some in alike]
        for k, part in enumerate(_collectives(first[i])):
            if part.opcode:
                times = (own[k] for own in ran)
                yield from samples_of(NETWORK, KINDS[part.opcode], sizes.get(part.name), times)


def _dropped(every: Mapping[str, Sequence[DeviceRun]], name: str, cut: int) -> Iterator[str]:
    others = sum(run.program != name for some in every.values() for run in some)
    if others:
        yield f"{others:,} runs of other programs than {name or 'the one that is read'}."
    if cut:
        yield f"{cut:,} runs that were recorded in part, or not on all devices."


def _assumed(
    run: DeviceRun, devices: Mapping[str, Sequence[DeviceRun]], supplied: int
) -> Iterator[str]:
    yield (
        "Ops of a device run one after another; the first op that begins after a collective waits "
        "for it, for the trace does not name what an op takes."
    )
    if len(devices) > 1:
        yield f"The graph is that of {run.device}, of {len(devices)} devices."
    if supplied:
        yield f"Bytes of {supplied:,} collectives are those that were given."


def _cut_said(events: Events) -> Iterator[str]:
    if events.cut:
        yield f"{events.cut.said} Ops, runs and devices that came after it are missing."


def _warnings(run: DeviceRun) -> Iterator[str]:
    sends = sum(
        part.opcode is None and part.name.replace("_", "-").startswith(_SENDS) for part in run.parts
    )
    if sends:
        yield f"{sends:,} ops that send to one device each are compute in the graph."
    groups = _group_sizes(run)
    written = [part.workers for part in _collectives(run) if part.workers is not None]
    absurd = sum(not 1 <= workers <= MAX_WORKERS for workers in written)
    if absurd:
        yield (
            f"{absurd:,} collectives are of groups of no worker or of more than {MAX_WORKERS:,}: "
            "these do not count."
        )
    if len(groups) > 1:
        said = ", ".join(map(str, groups))
        yield f"Collectives are of groups of {said} workers: all share one channel in the graph."
