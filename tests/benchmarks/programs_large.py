"""What planning a program of 4,500 ops and 800 collectives takes, and its first answer.

``python -m tests.benchmarks.programs_large``. Two graphs of ``shared/data/compiled``, the second
after the first, on their own channels. Processor time of this process [s]; the time limit, which is
of time by the clock, is out of the way.
"""

import time
from collections.abc import Iterator
from itertools import chain

from solver.costs import ChannelCost, Cost, Network
from solver.graph import Buffer, Graph, Op, build
from solver.programs.plan import ProgramOptions, plan
from solver.programs.problem import ProgramLimits, ProgramProblem
from solver.programs.program import Program
from tests.programs.shared import load

GRAPHS = ("llama3_8b_fw_64_2d", "dsv3_fw_64")


def joined(first: Graph, second: Graph) -> Graph:
    """Let the second graph begin when all of the first has ended, on channels of its own."""
    ends = [op.id for op, succs in zip(first.ops, first.succs, strict=True) if not succs]
    ops = [*_renamed(first, "0", ()), *_renamed(second, "1", tuple(f"0 {end}" for end in ends))]
    buffers = [
        _buffer(each, f"{k} ") for k, one in enumerate((first, second)) for each in one.buffers
    ]
    return build("joined", ops, buffers, ["gpu"])


def _renamed(graph: Graph, name: str, before: tuple[str, ...]) -> Iterator[Op]:
    for op in graph.ops:
        after = tuple(f"{name} {each}" for each in op.after) or before
        renamed = op._replace(id=f"{name} {op.id}", after=after)
        yield renamed if op.kind == "compute" else renamed._replace(channel=f"{name} {op.channel}")


def _buffer(buffer: Buffer, name: str) -> Buffer:
    writer = buffer.written_by
    return buffer._replace(
        id=name + buffer.id,
        written_by=None if writer is None else name + writer,
        read_by=tuple(name + each for each in buffer.read_by),
    )


def problem() -> ProgramProblem:
    """Return both graphs as one problem, without a limit of memory."""
    parts = [load(name) for name in GRAPHS]

    def cost(lane: ChannelCost) -> Cost:
        number, _, channel = lane.channel.partition(" ")
        return parts[int(number)].network(lane._replace(channel=channel))

    workers = chain.from_iterable(
        ((f"{k} {name}", count) for name, count in part.network.workers)
        for k, part in enumerate(parts)
    )
    graph = joined(parts[0].graph, parts[1].graph)
    return ProgramProblem(
        graph, Network(cost, workers=tuple(workers)), parts[0].copy_gbps, ProgramLimits()
    )


def main() -> None:
    """Print the size, the time of the first answer and of all, and how far the bound is."""
    asked = problem()
    began = time.process_time()
    first: list[float] = []

    def report(_program: Program, _value: float) -> None:
        first.append(time.process_time() - began)

    found = plan(asked, ProgramOptions(time_limit_s=600), report)
    took = time.process_time() - began
    graph, total = asked.graph, found.run.iteration_time
    print(f"{len(graph.ops):,} ops, {len(graph.collectives):,} collectives")
    print(f"first answer after {first[0]:.2f} s, all after {took:.1f} s of one core")
    gap = total / found.bound.value_us - 1
    print(f"{total / 1e3:.2f} ms, bound {found.bound.value_us / 1e3:.2f} ms, gap {gap:.2%}")


if __name__ == "__main__":
    main()
