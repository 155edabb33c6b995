"""A module as ops: what runs, what it waits for, what it reads and writes.

The entry computation is gone through in its order. What names or numbers values passes them on;
a call that sends is taken apart, and so is each turn of a loop that sends; all else is an op.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces.hlo.groups import GroupFault
from solver.traces.hlo.memory import Leaf, ProgramMemory, Value, arrays, nothing
from solver.traces.hlo.module import HloComputation, HloInstruction, HloModule
from solver.traces.hlo.sent import SENDING, SentTensors, collective_in, sent_by
from solver.traces.hlo.shapes import Shape
from solver.traces.hlo.work import FREE, trips, updated_operand
from solver.traces.xla.hlo import DONE, START

_PASSED_ON = FREE - {"parameter", "constant", "partition-id", "replica-id"} | {"async-update"}
_SEND_ALONE = ("send", "recv")
#: Places in tuples have no more digits.
_DIGITS = 9
#: So many ops are made of a module, at most: of loops each turn has its own.
MOST_OPS = 20_000


class ProgramOp(NamedTuple):
    """An instruction that runs.

    Attributes
    ----------
    id
        Unique: the name, and in a call or a loop where it is before it.
    one, within
        The instruction and its computation; None of the ends of a loop's turns.
    after
        Ids of ops that must have ended.
    sent
        Of a collective; None of what computes.
    """

    id: str
    one: HloInstruction | None
    within: HloComputation
    after: tuple[str, ...]
    sent: SentTensors | None = None


@dataclass(frozen=True, slots=True)
class _Frame:
    """A computation while it is gone through.

    ``values`` by name, ``prefix`` of the ids of its ops, ``barrier`` that all of them wait for.
    """

    computation: HloComputation
    values: dict[str, Value]
    prefix: str = ""
    barrier: str | None = None

    def after(self, one: HloInstruction) -> Iterable[str]:
        """Yield what an instruction waits for: what it reads, and what it is told to."""
        for name in (*one.operands, *one.after()):
            for leaf in arrays(self.values[name]):
                if leaf.after is not None:
                    yield leaf.after
        if self.barrier is not None:
            yield self.barrier


class ProgramReader:
    """A module while it is read as ops; :func:`program_of` does so.

    Attributes
    ----------
    ops
        In an order in which they can run.
    memory
        Their buffers.
    inputs, result
        The values of the entry's parameters, by number, and of its root.
    loops
        Names of the loops that were taken apart, with their turns.
    """

    def __init__(self, module: HloModule) -> None:
        self.ops: list[ProgramOp] = []
        self.memory = ProgramMemory()
        self.inputs: dict[int, Value] = {}
        self.loops: dict[str, int] = {}
        self._module = module
        self._faults: list[Fault] = []
        self._sends = sending(module)
        self._begun: dict[str, None] = {}
        self._done_shapes = {
            name: _shapes_of_done(each) for name, each in module.computations.items()
        }
        frame = _Frame(module.entry, {})
        for one in module.entry.instructions.values():
            if one.number is not None:
                value = self.memory.written(one.name, one.shape, None)
                frame.values[one.name] = self.inputs[one.number] = value
        self.result = self._run(frame)
        if self._faults:
            raise InvalidTrace(self._faults)

    def _run(self, frame: _Frame) -> Value:
        """Go through a computation; return its result."""
        for one in frame.computation.instructions.values():
            if one.name not in frame.values:
                frame.values[one.name] = self._value(one, frame)
        return frame.values[frame.computation.root]

    def _value(self, one: HloInstruction, frame: _Frame) -> Value:  # noqa: PLR0911 - a table
        operands = [frame.values[name] for name in one.operands]
        if one.opcode == "tuple":
            return tuple(operands)
        if one.opcode == "get-tuple-element":
            return self._element(one, operands[0])
        if one.opcode in _PASSED_ON:
            return operands[0] if operands else nothing(one.shape)
        if one.opcode in FREE:
            return nothing(one.shape)
        if one.opcode.removesuffix(DONE) in _SEND_ALONE:
            return self._refused(one, "sends alone are not read, collective-permutes are")
        if one.opcode.endswith(DONE):
            return self._ended(one, operands)
        begins = one.opcode.endswith(START)
        collective = collective_in(one, self._module)
        if collective is not None:
            return self._send(one, collective, frame, operands, begins=begins)
        if any(name in self._sends for name in (*one.calls(), *one.branches())):
            return self._opened(one, frame, operands)
        name = self._add(frame, one, frame.after(one))
        self._read(operands, name)
        if begins:
            self._begun[name] = None
            return Leaf(None, name)
        value = self.memory.written(name, one.shape, name)
        self._write_over(one, operands, value)
        return value

    def _refused(self, one: HloInstruction, why: str) -> Value:
        detail = f"HLO text, line {one.line:,}: {one.name!r} ({one.opcode}): {why}."
        self._faults.append(Fault("", FaultCode.NOT_SUPPORTED, detail))
        return nothing(one.shape)

    def _element(self, one: HloInstruction, value: Value) -> Value:
        index = one.attribute("index") or ""
        is_number = index.isdecimal() and len(index) <= _DIGITS
        if isinstance(value, Leaf) or not is_number or int(index) >= len(value):
            return self._refused(one, "it takes no element of a tuple")
        return value[int(index)]

    def _ended(self, one: HloInstruction, operands: list[Value]) -> Value:
        begun = operands[0].after if operands and isinstance(operands[0], Leaf) else None
        if begun not in self._begun:
            return self._refused(one, "it ends nothing that was begun")
        return self.memory.written(begun or "", one.shape, begun)

    def _send(
        self,
        one: HloInstruction,
        collective: HloInstruction,
        frame: _Frame,
        operands: list[Value],
        *,
        begins: bool,
    ) -> Value:
        done = self._done_shapes[frame.computation.name].get(one.name)
        if begins and done is None:
            return self._refused(one, "it is begun and never done")
        shape = done if begins and done is not None else one.shape
        try:
            sent = sent_by(collective, shape, self._module, is_async=begins)
        except GroupFault as why:
            return self._refused(one, str(why))
        name = self._add(frame, one, frame.after(one), sent)
        self._read(operands, name)
        if begins:
            self._begun[name] = None
            return Leaf(None, name)
        return self.memory.written(name, shape, name)

    def _opened(self, one: HloInstruction, frame: _Frame, operands: list[Value]) -> Value:
        """Take apart what has collectives inside."""
        if one.opcode == "while":
            return self._loop(one, frame, operands[0])
        if one.opcode != "call":
            return self._refused(one, "it has collectives inside, and which run is not known")
        inside = self._module.computations[one.calls()[0]]
        return self._inlined(inside, operands, f"{frame.prefix}{one.name}/", frame.barrier)

    def _inlined(
        self, inside: HloComputation, arguments: list[Value], prefix: str, barrier: str | None
    ) -> Value:
        values: dict[str, Value] = {}
        for one in inside.instructions.values():
            if one.number is not None:
                missing = one.number >= len(arguments)
                values[one.name] = nothing(one.shape) if missing else arguments[one.number]
        return self._run(_Frame(inside, values, prefix, barrier))

    def _loop(self, one: HloInstruction, frame: _Frame, state: Value) -> Value:
        """Take each turn of a loop apart; a turn begins when the one before it is over."""
        turns = trips(one)
        if turns is None:
            why = "it has collectives inside, and how often it runs is not known: unroll it"
            return self._refused(one, why)
        body = self._module.computations[one.calls()[0]]
        self.loops[one.name] = turns
        barrier = self._add(frame, one, frame.after(one), end="begin")
        for turn in range(turns):
            first = len(self.ops)
            prefix = f"{frame.prefix}{one.name}[{turn}]/"
            state = self._inlined(body, [state], prefix, barrier)
            ended = [barrier, *(op.id for op in self.ops[first:])]
            barrier = self._add(frame, one, ended, end=f"{turn}")
        return _behind(state, barrier)

    def _add(
        self,
        frame: _Frame,
        one: HloInstruction,
        after: Iterable[str],
        sent: SentTensors | None = None,
        *,
        end: str | None = None,
    ) -> str:
        """Add an op, or the end of a loop's turn; return its id."""
        if len(self.ops) == MOST_OPS:
            detail = f"HLO text: at most {MOST_OPS:,} ops are read, loops turn by turn."
            raise InvalidTrace([Fault("", FaultCode.TOO_LARGE, detail)])
        name = frame.prefix + one.name + ("" if end is None else f"[{end}]")
        what = one if end is None else None
        unique = tuple(dict.fromkeys(after))
        self.ops.append(ProgramOp(name, what, frame.computation, unique, sent))
        return name

    def _read(self, operands: list[Value], name: str) -> None:
        for value in operands:
            for leaf in arrays(value):
                if leaf.storage is not None:
                    leaf.storage.readers[name] = None

    def _write_over(self, one: HloInstruction, operands: list[Value], value: Value) -> None:
        """Remember what is written over its operand: a slice that is updated, a loop's state."""
        if one.opcode == "while":
            pairs = zip(arrays(operands[0]), arrays(value), strict=False)
        else:
            updated = updated_operand(one, self._module)
            if updated is None or updated >= len(operands):
                return
            pairs = zip(arrays(operands[updated]), arrays(value), strict=False)
        for old, new in pairs:
            self.memory.write_over(old, new)


def _behind(value: Value, barrier: str) -> Value:
    """Make what reads a value wait for a barrier."""
    if isinstance(value, Leaf):
        return Leaf(value.storage, barrier)
    return tuple(_behind(part, barrier) for part in value)


def _shapes_of_done(computation: HloComputation) -> dict[str, Shape]:
    """Return what comes out of each instruction that is begun, by the name of its begin."""
    begun: dict[str, str] = {}
    shapes: dict[str, Shape] = {}
    for one in computation.instructions.values():
        if one.opcode.endswith(START):
            begun[one.name] = one.name
        elif one.opcode == "async-update":
            begun[one.name] = begun.get(one.operands[0], "")
        elif one.opcode.endswith(DONE) and one.operands:
            shapes[begun.get(one.operands[0], "")] = one.shape
    return shapes


def sending(module: HloModule) -> Mapping[str, None]:
    """Return the computations that send, themselves or in what they run.

    Computations come before those that run them, as the text has them, or not: O(rows of calls).
    """
    senders: dict[str, None] = {}
    before = -1
    while before != len(senders):
        before = len(senders)
        for name, each in module.computations.items():
            if name not in senders and any(
                one.opcode.removesuffix(START) in SENDING
                or one.opcode in _SEND_ALONE
                or any(run in senders for run in (*one.calls(), *one.branches()))
                for one in each.instructions.values()
            ):
                senders[name] = None
    return senders
