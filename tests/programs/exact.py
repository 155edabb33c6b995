"""The exact optimum of small problems: CP-SAT in a process of its own, and every program by hand.

CP-SAT shares no code with the solver but the types of its input.
"""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from solver.costs import ChannelCost
from solver.programs.check import memory_faults, program_faults
from solver.programs.execute import ProgramRun, execute
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, PACK, UNPACK, WAIT, HostStep, Program

#: Units of time of the oracle in a microsecond.
_GRID = 4


def optima(
    problems: Sequence[ProgramProblem], effort: float = 20.0, most: Sequence[float] | None = None
) -> list[tuple[float | None, bool]]:
    """Return the least time [us] of each problem, None if nothing is feasible, and if proven.

    With ``most`` only programs of each problem that take so long at most are looked at [us].
    """
    limits = most if most is not None else [None] * len(problems)
    return list(each_optimum(zip(problems, limits, strict=True), effort))


def each_optimum(
    asked: Iterable[tuple[ProgramProblem, float | None]], effort: float
) -> Iterator[tuple[float | None, bool]]:
    """Yield what :func:`optima` returns, each as soon as it is known; one process for all.

    ``effort`` is CP-SAT's deterministic time for each problem: the same on every machine.
    """
    command = [sys.executable, "-m", "tests.programs.cp_sat"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as oracle:
        assert oracle.stdin is not None
        assert oracle.stdout is not None
        for problem, most in asked:
            plain = _plain(problem)
            if most is not None:
                plain["most"] = min(plain["most"], _whole(most * _GRID))
            print(json.dumps({"problem": plain, "effort": effort}), file=oracle.stdin, flush=True)
            value, proven = json.loads(oracle.stdout.readline())
            yield (None if value is None else value / _GRID), proven


def _plain(problem: ProgramProblem) -> dict[str, Any]:
    """Write a problem in whole numbers."""
    graph = problem.graph
    at = {op.id: i for i, op in enumerate(graph.ops)}
    lanes: dict[str, int] = {}
    prices, packed, unpacked = [], [], []
    lane: list[int | None] = []
    workers = dict(problem.network.workers)
    for op in graph.ops:
        if op.kind == "compute":
            lane.append(None)
            packed.append(0)
            unpacked.append(0)
            continue
        key = f"{op.channel} {op.kind} {op.fuse_key} {op.element_bytes}"
        if key not in lanes:
            lanes[key] = len(lanes)
            cost = problem.network(ChannelCost(op.channel, op.kind, op.fuse_key, op.element_bytes))
            start = cost.time(4) - (cost.time(8) - cost.time(4))
            prices.append(
                [_whole(start * _GRID), _whole((cost.time(8) - cost.time(4)) / 4 * _GRID)]
            )
        lane.append(lanes[key])
        size = op.bytes or 0
        shard = -(-size // workers[op.channel])
        packed.append(shard if op.kind == "all_gather" else size)
        unpacked.append(shard if op.kind == "reduce_scatter" else size)
    copy = 0 if problem.copy_gbps is None else _whole(2 * _GRID / (problem.copy_gbps * 125))
    durations = [_whole((op.duration_us or 0) * _GRID) for op in graph.ops]
    size_of = [op.bytes or 0 for op in graph.ops]
    most = sum(durations) + 2 * copy * sum(size_of)
    for i, k in enumerate(lane):
        if k is not None:
            most += prices[k][0] + prices[k][1] * size_of[i]
    return {
        "after": [[at[name] for name in op.after] for op in graph.ops],
        "bytes": size_of,
        "duration": durations,
        "lane": lane,
        "channel": [None if op.kind == "compute" else op.channel for op in graph.ops],
        "price": prices,
        "packed": packed,
        "unpacked": unpacked,
        "copy": copy,
        "bucket_bytes": problem.limits.bucket_bytes,
        "memory": problem.limits.memory_bytes,
        "held_to_wait": problem.inputs_held == "wait",
        "buffers": [
            [
                b.bytes,
                None if b.written_by is None else at[b.written_by],
                [at[name] for name in b.read_by],
                b.kept,
            ]
            for b in graph.buffers
        ],
        "most": most,
        "size": max(sum(packed), sum(unpacked)),
    }


def _whole(value: float) -> int:
    assert value == round(value), value
    return round(value)


def by_hand(problem: ProgramProblem) -> float | None:
    """Return the least time of all programs, each of them run [us]; for very few ops."""
    runs = (run for run in every_run(problem) if not any(memory_faults(problem, run)))
    return min((run.iteration_time for run in runs), default=None)


def every_run(problem: ProgramProblem) -> Iterator[ProgramRun]:
    """Run every program, whatever memory it takes."""
    for buckets in _partitions(problem.graph.collectives):
        for steps in _orders(problem, buckets):
            yield execute(problem, Program(buckets, steps))


def _partitions(items: Sequence[int]) -> Iterator[tuple[tuple[int, ...], ...]]:
    if not items:
        yield ()
        return
    first, rest = items[0], items[1:]
    for count in range(len(rest) + 1):
        for others in itertools.combinations(rest, count):
            left = [i for i in rest if i not in others]
            for more in _partitions(left):
                yield ((first, *others), *more)


def _orders(
    problem: ProgramProblem, buckets: tuple[tuple[int, ...], ...]
) -> Iterator[tuple[HostStep, ...]]:
    """List every order of the steps that has no fault; the faults decide, at the end of each."""
    chains = _chains(problem, buckets)
    total = sum(map(len, chains))

    def is_ready(step: HostStep, done: set[int]) -> bool:
        if step.do not in {COMPUTE, PACK, LAUNCH}:
            return True
        members = (step.id,) if step.do == COMPUTE else buckets[step.id]
        return all(j in done for i in members for j in problem.graph.preds[i])

    def extend(
        steps: list[HostStep], places: list[int], done: set[int]
    ) -> Iterator[tuple[HostStep, ...]]:
        if total == len(steps):
            if not any(program_faults(problem, Program(buckets, tuple(steps)))):
                yield tuple(steps)
            return
        for k, chain in enumerate(chains):
            if places[k] == len(chain) or not is_ready(step := chain[places[k]], done):
                continue
            ended: set[int] = set()
            if places[k] + 1 == len(chain):
                ended = {step.id} if step.do == COMPUTE else set(buckets[step.id])
            steps.append(step)
            places[k] += 1
            yield from extend(steps, places, done | ended)
            places[k] -= 1
            steps.pop()

    yield from extend([], [0] * len(chains), set())


def _chains(problem: ProgramProblem, buckets: tuple[tuple[int, ...], ...]) -> list[list[HostStep]]:
    """List the steps of each op of compute, and of each bucket in their order."""
    ops = problem.graph.ops
    chains = [[HostStep(COMPUTE, i)] for i in range(len(ops)) if ops[i].kind == COMPUTE]
    for b, members in enumerate(buckets):
        copies = len(members) > 1
        steps = [HostStep(PACK, b)] * copies + [HostStep(LAUNCH, b), HostStep(WAIT, b)]
        chains.append(steps + [HostStep(UNPACK, b)] * copies)
    return chains
