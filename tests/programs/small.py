"""Small problems at random, on a coarse grid of whole times, so that exact answers exist."""

import random
from dataclasses import replace

from solver.costs import ChannelCost, Network
from solver.costs.functions.affine import Affine
from solver.graph import Buffer, Graph, Op, build
from solver.programs.execute import ProgramRun, execute
from solver.programs.policies.in_order import in_order
from solver.programs.problem import InputsHeld, ProgramLimits, ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program

KINDS = ("all_gather", "reduce_scatter", "all_reduce")


def small(
    seed: int,
    ops: int = 12,
    collectives: int = 5,
    memory: bool = True,
    inputs_held: InputsHeld = "wait",
) -> ProgramProblem:
    """Draw a problem of one free stream and two channels; a copy of n bytes takes n / 2 us.

    With ``memory`` it has a limit between the least that one op alone needs and the peak of the
    program in order; the limit is not below that of some program.
    """
    draw = random.Random(seed)
    graph = _graph(draw, ops, collectives)
    prices = {
        (channel, kind): Affine(float(draw.randint(0, 6)), draw.choice((0.5, 0.5, 1.0)))
        for channel in "ab"
        for kind in KINDS
    }

    def cost(lane: ChannelCost) -> Affine:
        return prices[lane.channel, lane.kind]

    copy = draw.choice((0.032, 0.064, None))
    network = Network(cost, workers=(("a", 2), ("b", 2)))
    limits = ProgramLimits(bucket_bytes=draw.choice((None, None, 16)))
    problem = ProgramProblem(graph, network, copy, limits, inputs_held)
    if not memory:
        return problem
    runs = [execute(problem, in_order(problem)), *(_shuffled(problem, draw) for _ in range(8))]
    peaks = [run.peak_bytes for run in runs]
    least = min(peaks)
    limit = least + draw.randint(0, max(0, peaks[0] - least))
    return replace(problem, limits=replace(problem.limits, memory_bytes=limit))


def _graph(draw: random.Random, ops: int, collectives: int) -> Graph:
    """Draw ops that come after earlier ones, and buffers that they write and read."""
    sends = set(draw.sample(range(ops), collectives))
    if draw.random() < 0.3:
        sends = {*range(min(2, collectives)), *sorted(sends)[: max(0, collectives - 2)]}
        sends |= set(
            draw.sample([i for i in range(ops) if i not in sends], collectives - len(sends))
        )
    found: list[Op] = []
    buffers: list[Buffer] = []
    density = draw.choice((0.8, 1.3, 2.0))
    for i in range(ops):
        count = min(i, int(draw.random() * density + 0.6))
        after = tuple(f"o{j}" for j in sorted(draw.sample(range(i), count)))
        if i in sends:
            size = 4 * draw.randint(1, 5)
            kind, channel = draw.choice(KINDS[: draw.randint(1, 3)]), draw.choice("aab")
            found.append(Op(f"o{i}", kind, None, size, after, channel, cut=False))
        else:
            found.append(Op(f"o{i}", "compute", float(draw.randint(0, 9)), None, after, stream="s"))
    for i in range(ops):
        readers = tuple(op.id for op in found if f"o{i}" in op.after)
        kept = draw.random() < 0.2
        buffers.append(Buffer(f"b{i}", 4 * draw.randint(1, 8), f"o{i}", readers, kept))
    readers = tuple(f"o{i}" for i in sorted(draw.sample(range(ops), 2)))
    buffers.append(Buffer("input", 4 * draw.randint(0, 8), None, readers))
    return build("small", found, buffers, ["s"])


def _shuffled(problem: ProgramProblem, draw: random.Random) -> ProgramRun:
    """Run a program of single launches in another order, each waited for at once."""
    graph = problem.graph
    places = {i: b for b, i in enumerate(graph.collectives)}
    waiting = [len(preds) for preds in graph.preds]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    steps: list[HostStep] = []
    while ready:
        i = ready.pop(draw.randrange(len(ready)))
        if i in places:
            steps += [HostStep(LAUNCH, places[i]), HostStep(WAIT, places[i])]
        else:
            steps.append(HostStep(COMPUTE, i))
        for j in graph.succs[i]:
            waiting[j] -= 1
            if waiting[j] == 0:
                ready.append(j)
    return execute(problem, Program(tuple((i,) for i in graph.collectives), tuple(steps)))


def layers(seed: int) -> ProgramProblem:
    """Draw a backward pass of four layers on one channel, or the same with all edges reversed.

    Each layer but the last to run has a gradient that is sent beside the chain of its layers.
    """
    draw = random.Random(seed)
    is_backward = draw.random() < 0.5
    kind = "reduce_scatter" if is_backward else "all_gather"
    edges = [(f"d{i}", f"d{i + 1}") for i in range(3)]
    edges += [(f"d{i}", f"w{i}") for i in range(3)] + [(f"w{i}", f"r{i}") for i in range(3)]
    edges.append(("d3", "r3"))
    if not is_backward:
        edges = [(j, i) for i, j in edges]
    names = [f"{letter}{i}" for i in range(4) for letter in "dwr" if letter != "w" or i < 3]
    ops = []
    for name in names if is_backward else names[::-1]:
        after = tuple(i for i, j in edges if j == name)
        if name[0] == "r":
            size = 2 * draw.randint(1, 8)
            ops.append(Op(name, kind, None, size, after, "a", cut=False))
        else:
            ops.append(Op(name, "compute", float(draw.randint(1, 9)), None, after, stream="s"))
    price = Affine(float(draw.randint(0, 4)), draw.choice((0.5, 1.0)))
    network = Network(lambda _: price, workers=(("a", 2),))
    return ProgramProblem(build("layers", ops, (), ["s"]), network, draw.choice((0.032, None)))
