"""From HLO text, with times or a device, to a graph of free order."""

from collections.abc import Mapping, Sequence

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import COMPUTE, NETWORK, Op, build
from solver.graph.names import OF_XLA
from solver.traces.exit_check import checked
from solver.traces.files import beginning, places_of, single_text
from solver.traces.hlo.costs import is_costs, read_costs
from solver.traces.hlo.devices import DEVICES, device_of
from solver.traces.hlo.groups import channel_names
from solver.traces.hlo.memory import arrays, leaf_at
from solver.traces.hlo.module import HloModule
from solver.traces.hlo.program import ProgramOp, ProgramReader
from solver.traces.hlo.statements import assumed, unknown, warnings
from solver.traces.hlo.text import read_module
from solver.traces.hlo.times import InstructionTimes, times_of
from solver.traces.report import report_of
from solver.traces.samples import samples_of
from solver.traces.trace import Sample, Trace, TraceChannel, TraceOptions, as_trace_faults
from solver.traces.xla import times_of_profile

FORMAT = "hlo"

_HLO = b"HloModule"


def looks_like(content: bytes) -> bool:
    """Tell whether a file is HLO text."""
    return beginning(content).startswith(_HLO)


def read(files: Sequence[bytes], options: TraceOptions) -> Trace:
    """Read a module and times of its instructions, in any order, as a graph of free order.

    Raises
    ------
    InvalidTrace
        When there is not one module and at most one file of times, the text is no HLO or holds
        what is not read, nothing tells how long an instruction takes, nothing is sent, or the
        graph would break a rule.

    Notes
    -----
    O(characters + ops * edges / 64).
    """
    (text, beside, profile), place = _sorted(files)
    module = read_module(single_text([text]))
    given = read_costs(beside, place) if beside is not None else {}
    if profile is not None:
        given = times_of_profile(profile, place, text)
    device = None if options.device is None else device_of(options.device)
    if device is None and not given:
        raise InvalidTrace([Fault("", FaultCode.NO_TIMES, _needs())])
    program = ProgramReader(module)
    if not any(op.sent for op in program.ops):
        detail = "No collective found: the program sends nothing, as one that is for one device."
        raise InvalidTrace([Fault("", FaultCode.NO_COLLECTIVE, detail)])
    apart = _settle(program, module)
    times = times_of(program.ops, module, given, device)
    channels = _channels(program.ops, module)
    ops = [_op(op, times, channels) for op in program.ops]
    with as_trace_faults():
        graph = build(options.name, ops, program.memory.buffers(), (OF_XLA,))
    workers: dict[str, int] = {}
    samples: list[Sample] = []
    measured: list[tuple[str, float]] = []
    for op, made in zip(program.ops, ops, strict=True):
        if op.sent is not None:
            name = made.channel
            workers[name] = max(workers.get(name, 0), op.sent.workers)
            if (time := times.of_launches.get(op.id)) is not None:
                measured.append((op.id, time))
                samples += samples_of(name, op.sent.kind, op.sent.bytes, [time])
    report = report_of(
        FORMAT,
        graph,
        assumed=assumed(times, device, program.ops, module),
        warnings=(*unknown(given, module), *warnings(times, program, apart)),
    )
    found = tuple(TraceChannel(name, n, "the program's groups") for name, n in workers.items())
    return checked(Trace(graph, report, tuple(measured), found, tuple(samples)))


def _sorted(
    files: Sequence[bytes],
) -> tuple[tuple[bytes, bytes | None, bytes | None], str]:
    """Return the module, the file of times and the profile, and the pointer to what is beside."""
    places = places_of(files)
    modules = [file for file in files if looks_like(file)]
    others = [i for i, file in enumerate(files) if not looks_like(file)]
    if len(modules) != 1 or len(others) > 1:
        code = FaultCode.TOO_MANY_FILES if modules else FaultCode.WRONG_FORMAT
        detail = (
            "Give one HLO text, and one file of times at most; "
            f"got {len(modules)} and {len(others)}."
        )
        raise InvalidTrace([Fault("", code, detail)])
    if not others:
        return (modules[0], None, None), ""
    other, place = files[others[0]], places[others[0]]
    if is_costs(other):
        return (modules[0], other, None), place
    return (modules[0], None, other), place


def _needs() -> str:
    return (
        "HLO text alone does not say how long its instructions take. Give a device for a roofline "
        f"(--device, ?device=: {', '.join(DEVICES)}, or tflops=...,memory_gbs=...), or times "
        "beside it: the costs text of profile-guided latency estimation, JSON of names and "
        "microseconds, or a profile."
    )


def _settle(program: ProgramReader, module: HloModule) -> int:
    """Say what is kept and what is written over inputs; return how many updates could not be."""
    donated = {(number, index) for _, number, index in module.aliases} | set(module.donors)
    for number, value in program.inputs.items():
        whole = (number, ()) in donated
        for k, leaf in enumerate(arrays(value)):
            if leaf.storage is not None and not whole and (number, (k,)) not in donated:
                leaf.storage.kept = True
    for leaf in arrays(program.result):
        if leaf.storage is not None:
            leaf.storage.kept = True
    for out, number, index in module.aliases:
        new = leaf_at(program.result, out)
        old = leaf_at(program.inputs[number], index) if number in program.inputs else None
        if old is not None and new is not None:
            program.memory.write_over(old, new)
    return program.memory.settle({op.id: op.after for op in program.ops})


def _channels(ops: Sequence[ProgramOp], module: HloModule) -> Mapping[str, str]:
    """Return the channel of each collective, by its id."""
    sent = [(op.id, op.sent) for op in ops if op.sent is not None]
    highest = max(max(map(max, each.groups)) for _, each in sent)
    keys = [(each.groups, each.are_pairs) for _, each in sent]
    names = channel_names(keys, max(module.devices or 1, highest + 1), NETWORK)
    return {name: names[key] for (name, _), key in zip(sent, keys, strict=True)}


def _op(op: ProgramOp, times: InstructionTimes, channels: Mapping[str, str]) -> Op:
    if op.sent is None:
        return Op(op.id, COMPUTE, times.of_compute[op.id], None, op.after, stream=OF_XLA)
    return Op(
        op.id,
        op.sent.kind,
        None,
        op.sent.bytes,
        op.after,
        channels[op.id],
        element_bytes=op.sent.element_bytes,
        fuse_key=op.sent.fuse_key,
        cut=False,
    )
