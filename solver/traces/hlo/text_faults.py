"""What is wrong with computations that can be read: names, operands, and who runs whom."""

from collections.abc import Iterator, Mapping
from itertools import chain

from solver.codes import FaultCode
from solver.errors import Fault
from solver.traces.hlo.module import HloComputation

#: Opcodes with the least operands that are taken, and those that run a computation.
_LEAST = {
    **dict.fromkeys(("dot", "convolution", "dynamic-update-slice"), 2),
    **dict.fromkeys(("slice", "dynamic-slice", "gather", "bitcast", "get-tuple-element"), 1),
    **dict.fromkeys(("while", "all-reduce-done", "all-gather-done", "async-done"), 1),
    **dict.fromkeys(("collective-permute-done", "async-update", "copy-done"), 1),
}
_RUN = {"fusion", "call", "while", "conditional", "async-start"}
#: Computations that run one another in a longer row are no program's.
_DEEPEST = 64


def unknown_names(found: Mapping[str, HloComputation]) -> Iterator[Fault]:
    """List operands and computations that are not there, and what is read before it is written."""
    for computation in found.values():
        before: set[str] = set()
        for one in computation.instructions.values():
            for name in (*one.operands, *one.after()):
                if name not in before:
                    why = "later" if name in computation.instructions else "nowhere"
                    yield line_fault(one.line, f"{one.name!r} takes {name!r}, which is {why} there")
            runs = (*one.calls(), *one.branches())
            for name in runs:
                if name not in found:
                    yield line_fault(one.line, f"{one.name!r} runs {name!r}, which is not there")
            if len(one.operands) < _LEAST.get(one.opcode.removesuffix("-start"), 0):
                yield line_fault(one.line, f"{one.name!r} lacks an operand of {one.opcode}")
            if one.opcode in _RUN and not runs:
                yield line_fault(one.line, f"{one.name!r} does not say which computation it runs")
            before.add(one.name)


def circular(found: Mapping[str, HloComputation]) -> Iterator[Fault]:
    """Say so where a computation runs itself, through others or not."""
    runs = {
        name: [ran for one in each.instructions.values() for ran in (*one.calls(), *one.branches())]
        for name, each in found.items()
    }
    left, depth = dict.fromkeys(runs, 0), dict.fromkeys(runs, 0)
    for ran in chain.from_iterable(runs.values()):
        left[ran] += 1
    free = [name for name, count in left.items() if not count]
    while free:
        name = free.pop()
        for ran in runs[name]:
            depth[ran] = max(depth[ran], depth[name] + 1)
            left[ran] -= 1
            if not left[ran]:
                free.append(ran)
    around = next((name for name, count in left.items() if count), None)
    deep = next((name for name, row in depth.items() if row > _DEEPEST), None)
    if around is not None:
        detail = f"HLO text: computation {around!r} runs itself, or is run by one that does."
        yield Fault("", FaultCode.CYCLE, detail)
    elif deep is not None:
        detail = f"HLO text: more than {_DEEPEST} computations run one another up to {deep!r}."
        yield Fault("", FaultCode.TOO_DEEP, detail)


def line_fault(line: int, why: str, *, twice: bool = False) -> Fault:
    """Say what is wrong with a line of HLO text."""
    code = FaultCode.DUPLICATE_ID if twice else FaultCode.WRONG_FORMAT
    return Fault("", code, f"HLO text, line {line:,}: {why}.")
