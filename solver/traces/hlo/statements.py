"""What the report of a program says: what was assumed, and what a plan cannot rely on."""

from collections.abc import Iterable, Iterator, Sequence

from solver.graph import ALL_TO_ALL
from solver.traces.hlo.devices import Device
from solver.traces.hlo.module import HloModule
from solver.traces.hlo.program import ProgramOp, ProgramReader
from solver.traces.hlo.times import InstructionTimes
from solver.traces.sentences import counted, named


def assumed(
    times: InstructionTimes, device: Device | None, ops: Sequence[ProgramOp], module: HloModule
) -> Iterator[str]:
    """Yield what the text does not say."""
    computing = sum(op.sent is None and op.one is not None for op in ops)
    if times.given:
        yield f"{times.given:,} of {computing:,} ops of compute take the times that were given."
    if device is not None and times.given < computing:
        rates = ", ".join(_rates(device))
        yield (
            f"{computing - times.given:,} ops of compute take what a roofline of {device.name} "
            f"says: the longer of products and convolutions at {device.efficiency:g} of its peak "
            f"(TFLOP/s: {rates}), and of bytes read and written at {device.memory_gbs:,g} GB/s "
            f"({device.source}). A kernel's start-up is not counted."
        )
    yield "Compute is one stream of free order, and a collective's launch costs the stream nothing."
    yield (
        "Inputs are live throughout, unless they are donated; a value from its op to its last "
        "reader. XLA may write a result over an operand that nobody reads later: not counted."
    )
    if module.aliases:
        yield "Results that are aliased to donated inputs share their memory."


def _rates(device: Device) -> Iterator[str]:
    """Yield the rates that differ, each with its types."""
    types: dict[float, list[str]] = {}
    for kind, rate in device.tflops:
        types.setdefault(rate, []).append(kind)
    for rate, kinds in types.items():
        yield f"{rate:g} {'/'.join(kinds)}".strip()


def unknown(given: Iterable[str], module: HloModule) -> Iterator[str]:
    """Say which times were given of what the text does not have, as those of another program."""
    there = {name for each in module.computations.values() for name in each.instructions}
    strange = [name for name in given if name not in there]
    if strange:
        yield (
            f"Of {counted(len(strange), 'time')} that {'was' if len(strange) == 1 else 'were'} "
            f"given ({named(strange)}) the text has no instruction: not used. XLA names anew with "
            "each change of the program or of its flags."
        )


def warnings(times: InstructionTimes, program: ProgramReader, apart: int) -> Iterator[str]:
    """Yield what a plan of the program cannot rely on."""
    sent = [op for op in program.ops if op.sent is not None]
    if not any(op.sent.is_async for op in sent if op.sent):
        yield (
            "No collective has a start and a done, as where XLA compiled for a CPU: what it fuses "
            "for the device that will run the program may differ."
        )
    combined = [
        op.id for op in sent if op.sent and op.sent.tensors > 1 and op.sent.kind != ALL_TO_ALL
    ]
    if combined:
        yield (
            f"XLA made {counted(len(combined), 'collective')} of several tensors "
            f"({named(combined)}): each stays one. Compile with the combiners' thresholds at 0 for "
            "a plan to choose."
        )
    for name, turns in program.loops.items():
        yield (
            f"Loop {name!r} is taken apart into {counted(turns, 'turn')}. XLA schedules its body "
            "once, for all turns: a plan may order each in its own way."
        )
    if times.opaque:
        yield (
            f"The work of {counted(len(times.opaque), 'custom call')} ({named(times.opaque)}) is "
            "not known: bytes count alone. Give their times."
        )
    if apart:
        what = counted(apart, "value")
        yield f"{what} written over another that is read later in some order: both are counted."
