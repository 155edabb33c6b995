"""Programs as files of other tools: what they say, and that what is simulated is what they say."""

import ast
import json
import random
import re

import pytest

from solver.codes import FaultCode
from solver.costs import Cluster, network_of
from solver.errors import InvalidPlan
from solver.exports.programs import PROGRAM_EXPORTS
from solver.exports.programs.demand import in_order_of_demand
from solver.exports.programs.prefetches import as_fsdp_runs, prefetches_of
from solver.graph import Buffer, Op, build
from solver.models.layers import Layer
from solver.models.parallel import fsdp
from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.plan import plan
from solver.programs.policies import POLICIES
from solver.programs.policies.in_order import in_order
from solver.programs.problem import ProgramLimits, ProgramProblem, lane_of
from solver.programs.program import COMPUTE, LAUNCH, WAIT, Program, with_waits
from solver.programs.xla.combiner import combined, output_bytes
from solver.programs.xla.form import OVERLAPS, XlaFlags, form_of, sizes_of
from tests.programs.drawn import drawn
from tests.programs.shared import FOLDER, load
from tests.sampling import cases

NETWORK = network_of(Cluster(2, bandwidth_gbps=0.008, startup_us=10.0))  # a byte takes 1 us
GATHER, SCATTER = "all_gather", "reduce_scatter"


def launch_order(program):
    return [i for do, b in program.steps if do == LAUNCH for i in program.buckets[b]]


def ids(problem, buckets):
    return [" ".join(problem.graph.ops[i].id for i in members) for members in buckets]


def gathers(*sizes, after=()):
    """Gathers g0, g1, ... of these sizes, then an op that needs all; the first of a pair in
    ``after`` needs the second.
    """
    ops = []
    for k, size in enumerate(sizes):
        needs = tuple(f"x{k}" for place, _ in after if place == k)
        for place, before in after:
            if place == k:
                ops.append(Op(f"x{k}", "compute", 1.0, after=(f"g{before}",), stream="gpu"))
        ops.append(Op(f"g{k}", GATHER, bytes=size, after=needs, cut=False))
    every = tuple(f"g{k}" for k in range(len(sizes)))
    ops.append(Op("last", "compute", 100.0, after=every, stream="gpu"))
    return ProgramProblem(build("gathers", ops, (), ["gpu"]), NETWORK)


@pytest.mark.parametrize(
    ("problem", "most", "buckets"),
    [
        (gathers(4, 4, 4), 0, ["g0", "g1", "g2"]),
        (gathers(4, 4, 4), 8, ["g0 g1", "g2"]),
        (gathers(4, 4, 4), 7, ["g0", "g1", "g2"]),
        (gathers(4, 4, 4), 12, ["g0 g1 g2"]),
        (gathers(4, 9, 4), 8, ["g0 g2", "g1"]),  # the one above the threshold does not end it
        (gathers(4, 6, 4, 2), 8, ["g0", "g1", "g2 g3"]),  # what does not fit does
        (gathers(4, 4, 4, after=[(1, 0)]), 12, ["g0", "g1 g2"]),  # and what needs it
        (gathers(4, 4, 4, after=[(2, 0)]), 12, ["g0 g1", "g2"]),
    ],
)
def test_combiners_on_paper(problem, most, buckets):
    order = list(problem.graph.collectives)
    assert ids(problem, combined(problem, order, {GATHER: most})) == buckets


def test_a_circle_through_two_buckets_is_none():
    # a0 before b1 and b0 before a1: a0 with a1 and b0 with b1 would wait for each other
    ops = [
        Op("a0", GATHER, bytes=4),
        Op("b0", SCATTER, bytes=4),
        Op("x", "compute", 1.0, after=("b0",), stream="gpu"),
        Op("a1", GATHER, bytes=4, after=("x",)),
        Op("y", "compute", 1.0, after=("a0",), stream="gpu"),
        Op("b1", SCATTER, bytes=4, after=("y",)),
    ]
    problem = ProgramProblem(build("circle", ops, (), ["gpu"]), NETWORK)
    order = list(problem.graph.collectives)
    assert ids(problem, combined(problem, order, {GATHER: 8, SCATTER: 8})) == ["a0 a1", "b0", "b1"]
    assert ids(problem, combined(problem, order, {SCATTER: 8})) == ["a0", "b0 b1", "a1"]
    both = ((0, 3), (1, 5))
    with pytest.raises(InvalidPlan) as refused:
        in_order_of_demand(problem, both, [])
    assert [fault.code for fault in refused.value.faults] == [FaultCode.DEADLOCK]


def test_of_a_reduce_scatter_the_output_counts():
    ops = [Op(f"s{k}", SCATTER, bytes=8) for k in range(2)]
    ops.append(Op("last", "compute", 1.0, after=("s0", "s1"), stream="gpu"))
    problem = ProgramProblem(build("scatters", ops, (), ["gpu"]), NETWORK)
    assert [output_bytes(problem, i) for i in (0, 1)] == [4, 4]
    assert ids(problem, combined(problem, [0, 1], {SCATTER: 8})) == ["s0 s1"]
    assert ids(problem, combined(problem, [0, 1], {SCATTER: 7})) == ["s0", "s1"]


def naive(problem, order, thresholds):  # noqa: C901 - one walk, to be read as a whole
    """Combine by walking the whole graph, with its buckets, for each question."""
    graph = problem.graph
    home: dict[int, tuple[int, ...]] = {i: (i,) for i in order}

    def reaches(start, goals):
        stack, seen = list(start), set()
        while stack:
            for j in graph.succs[stack.pop()]:
                for k in home.get(j, (j,)):
                    if k in goals:
                        return True
                    if k not in seen:
                        seen.add(k)
                        stack.append(k)
        return False

    left: list[int] = list(order)
    found: list[tuple[int, ...]] = []
    while left:
        lane = lane_of(graph, left[0])
        most: int = thresholds.get(lane.kind, 0)
        bucket: list[int] = []
        for i in list(left):
            if lane_of(graph, i) != lane:
                continue
            if output_bytes(problem, i) > most:
                found.append((i,))
                left.remove(i)
                continue
            total = output_bytes(problem, i)
            for j in bucket:
                total += output_bytes(problem, j)
            if total > most or reaches(bucket, {i}) or reaches([i], set(bucket)):
                break
            bucket.append(i)
            left.remove(i)
        if bucket:
            found.append(tuple(sorted(bucket)))
            home |= {i: tuple(bucket) for i in bucket}
    return sorted(found)


@pytest.mark.parametrize("seed", range(cases(150)))
def test_combiners_as_walked_and_their_programs_are_sound(seed):
    rng = random.Random(seed)
    problem = drawn(rng, 10, 12)
    program = POLICIES[rng.choice(tuple(POLICIES))](problem)
    order = launch_order(program)
    most = {kind: rng.choice((0, 2000, 8000, 20_000, 90_000)) for kind in (GATHER, SCATTER)}
    most["all_reduce"] = 20_000
    found = combined(problem, order, most)
    assert sorted(found) == naive(problem, order, most)
    form = form_of(problem, XlaFlags(tuple(most.items()), rng.choice(OVERLAPS)))
    in_graph = [i for i in problem.graph.order if i in problem.graph.collectives]
    assert form.program.buckets == combined(problem, in_graph, most)
    assert list(program_faults(problem, form.program)) == []
    assert most_under_way(form.program) <= form.flags.overlap


@pytest.mark.parametrize("seed", range(cases(60)))
def test_flags_say_what_was_simulated_and_no_tried_one_is_better(seed):
    rng = random.Random(seed)
    problem = drawn(rng, 10, 10)
    program = POLICIES["inductor"](problem)
    found = PROGRAM_EXPORTS["xla"](problem, program)
    text = str(found.files["xla.env"])
    flags = re.findall(r"--xla_gpu_(\w+)_combine_threshold_bytes=(\d+)", text)
    most = {kind: int(size) for kind, size in flags}
    overlap = int(re.findall(r"parallel_collective_overlap_limit=(\d+)", text)[0])
    kinds = {problem.graph.ops[i].kind for i in problem.graph.collectives}
    assert set(most) == kinds & {GATHER, SCATTER, "all_reduce"}
    told = XlaFlags(tuple(most.items()), overlap)
    assert form_of(problem, told).run.iteration_time == found.iteration_time_us
    assert execute(problem, program).iteration_time == found.plan_time_us
    sizes = sizes_of(problem, program)
    others = [XlaFlags(told.thresholds, most) for most in OVERLAPS]
    others += [told.threshold(kind, size) for kind, own in sizes.items() for size in own]
    times = [form_of(problem, flags).run.iteration_time for flags in others]
    assert found.iteration_time_us <= min(times)
    assert list(found.files) == ["xla.env"]  # no costs of instructions that XLA does not know
    assert PROGRAM_EXPORTS["xla"](problem, program).files == found.files


def most_under_way(program):
    """Return how many buckets are launched and not waited for at a time, at most."""
    now = most = 0
    for do, _ in program.steps:
        now += (do == LAUNCH) - (do == WAIT)
        most = max(most, now)
    return most


def test_xlas_own_thresholds_are_tried():
    problem = gathers(4, 4, 4, 4)
    program = with_waits(problem, [(0, 1, 2), (3,)], [(LAUNCH, 0), (LAUNCH, 1), (COMPUTE, 4)])
    found = PROGRAM_EXPORTS["xla"](problem, program)
    # one launch of the first three and one of the last: 10 + 6 + 10 + 2 us; XLA's own: 10 + 8
    assert found.files["xla.env"] == (
        'XLA_FLAGS="--xla_gpu_enable_latency_hiding_scheduler=true '
        "--xla_gpu_all_gather_combine_threshold_bytes=31457287 "
        '--xla_gpu_experimental_parallel_collective_overlap_limit=1"\n'
    )
    assert found.iteration_time_us < found.plan_time_us
    assert "no longer than the plan" in found.notes[0]
    saved = next(note for note in found.notes if note.startswith("Against XLA"))
    assert "0.0 % saved" in saved  # by default all are one, too


def test_a_limit_of_memory_is_said_as_a_share():
    buffers = [Buffer("in", 30, None, (), kept=True)]
    graph = build("more", gathers(4, 4).graph.ops, buffers, ["gpu"])
    problem = ProgramProblem(graph, NETWORK, limits=ProgramLimits(memory_bytes=40))
    notes = PROGRAM_EXPORTS["xla"](problem, in_order(problem)).notes
    assert any("give 100 x 10 / (M - 30)" in note for note in notes)


def test_what_flags_do_not_carry_is_said():
    """Two gathers of which the second is needed first: XLA's scheduler goes by the graph."""
    problem = drawn(random.Random(6), 10, 10)
    best = plan(problem).program
    found = PROGRAM_EXPORTS["xla"](problem, best)
    assert found.iteration_time_us > found.plan_time_us
    assert any(note.startswith("The flags do not carry the plan") for note in found.notes)


@pytest.mark.parametrize(("kept", "is_above"), [(True, True), (False, False)])
def test_a_form_above_the_memory_limit_says_so(kept, is_above):
    buffers = [Buffer("b", 50, None, (), kept)]  # one that nobody reads and nobody keeps is none
    graph = build("more", gathers(4, 4).graph.ops, buffers, ["gpu"])
    problem = ProgramProblem(graph, NETWORK, limits=ProgramLimits(memory_bytes=40))
    notes = PROGRAM_EXPORTS["xla"](problem, in_order(problem)).notes
    assert any("more than the limit of 40 bytes" in note for note in notes) == is_above


@pytest.mark.parametrize("seed", range(cases(60)))
def test_a_program_in_order_of_demand_is_sound_and_keeps_an_order_that_fits(seed):
    rng = random.Random(seed)
    problem = drawn(rng)
    program = POLICIES[rng.choice(tuple(POLICIES))](problem)
    wanted = [step for step in program.steps if step.do in {COMPUTE, LAUNCH}]
    same = in_order_of_demand(problem, program.buckets, wanted)
    assert [step for step in same.steps if step.do in {COMPUTE, LAUNCH}] == wanted
    rng.shuffle(wanted)
    other = in_order_of_demand(problem, program.buckets, wanted)
    assert list(program_faults(problem, other)) == []
    assert list(program_faults(problem, in_order_of_demand(problem, program.buckets, []))) == []


# -- units of FSDP2


def units_problem(limit=3):
    layers = [Layer(name, 100.0, 200.0, ((f"{name}.w", 8),)) for name in "abcd"]
    graph = fsdp("units", layers, limit=limit)
    ops = [op if op.kind == "compute" else op._replace(cut=False) for op in graph.ops]
    return ProgramProblem(build("units", ops, (), ["gpu"]), NETWORK)


def written(problem, buckets, order):
    """Write a program by names; one name is an op or, with spaces, a bucket's launch."""
    place = {op.id: i for i, op in enumerate(problem.graph.ops)}
    members = [tuple(place[name] for name in names.split()) for names in buckets]
    steps = [
        (LAUNCH, buckets.index(each)) if each in buckets else (COMPUTE, place[each])
        for each in order
    ]
    program = with_waits(problem, members, steps)
    assert list(program_faults(problem, program)) == []
    return program


BY_HAND = (
    "gather:a gather:b", "gather:c", "gather:d", "regather:c", "regather:b", "regather:a",
    "scatter:d", "scatter:c", "scatter:b", "scatter:a",
)  # fmt: skip
HOST = (
    "gather:a gather:b", "gather:c", "forward:a", "gather:d", "forward:b", "forward:c",
    "forward:d", "regather:c", "backward:d", "regather:b", "scatter:d", "backward:c",
    "regather:a", "scatter:c", "backward:b", "scatter:b", "backward:a", "scatter:a", "optimizer",
)  # fmt: skip


def test_prefetch_lists_on_paper():
    problem = units_problem()
    program = written(problem, BY_HAND, HOST)
    found = PROGRAM_EXPORTS["fsdp"](problem, program)
    units = json.loads(found.files["units.json"])["units"]
    assert units == [
        {
            "modules": modules,
            "reshard_after_forward": reshard,
            "forward_prefetch": ahead,
            "backward_prefetch": back,
        }
        for modules, reshard, ahead, back in (
            (["a", "b"], True, [1], []),  # gather c is launched before forward a
            (["c"], True, [2], [0]),  # d before forward c; b, so a and b, before backward c
            (["d"], False, [], [1]),
        )
    ]
    tree = ast.parse(found.files["fsdp_units.py"])
    lists = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
    }
    assert lists["FORWARD_PREFETCH"] == [[1], [2], []]
    assert lists["BACKWARD_PREFETCH"] == [[], [0], [1]]
    form = as_fsdp_runs(problem, prefetches_of(problem, program))
    assert list(program_faults(problem, form)) == []
    names = [
        problem.graph.ops[what if do == COMPUTE else form.buckets[what][0]].id
        for do, what in form.steps
        if do in {COMPUTE, LAUNCH}
    ]
    assert names == [
        "gather:a", "gather:c", "forward:a", "forward:b", "gather:d", "forward:c", "forward:d",
        "regather:c", "backward:d", "scatter:d", "regather:b", "backward:c", "scatter:c",
        "backward:b", "backward:a", "scatter:b", "optimizer",
    ]  # fmt: skip
    assert found.iteration_time_us == execute(problem, form).iteration_time
    assert found.plan_time_us == execute(problem, program).iteration_time


def test_nothing_is_ahead_of_a_program_that_waits_at_once():
    problem = units_problem()
    found = prefetches_of(problem, in_order(problem))
    assert len(found.units) == 4
    assert not any((*found.forward, *found.backward))


def test_names_of_nodes_do_not_tell_units():
    problem = gathers(4, 4)
    with pytest.raises(InvalidPlan, match="gather:NAME") as refused:
        PROGRAM_EXPORTS["fsdp"](problem, in_order(problem))
    assert {fault.code for fault in refused.value.faults} == {FaultCode.NOT_SHARDED}


def test_a_unit_that_would_wait_for_itself_is_refused():
    # with limit 1 the second gather of a waits for the backward pass of c and of b
    problem = units_problem(limit=1)
    program = in_order(problem)
    ids_of = {op.id: i for i, op in enumerate(problem.graph.ops)}
    pair = (ids_of["gather:a"], ids_of["gather:b"])
    assert any(set(problem.graph.preds[ids_of["gather:b"]]))
    buckets = (pair, *(m for m in program.buckets if m[0] not in pair))
    with pytest.raises(InvalidPlan, match="come before itself"):
        as_fsdp_runs(problem, prefetches_of(problem, Program(buckets, program.steps)))


@pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the shared graphs")
def test_a_real_graph():
    problem = load("llama3_8b_bw_64_2d")
    alone = XlaFlags(((GATHER, 0), (SCATTER, 0), ("all_reduce", 0)))
    found = form_of(problem, alone).run.iteration_time
    # its scheduler has one resource for all collectives, where the graph has two channels
    theirs = execute(problem, POLICIES["xla_lhs"](problem)).iteration_time
    assert theirs < found <= 1.4 * theirs
