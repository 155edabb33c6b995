"""Until when what a launch reads is held: the rule counted again, on paper, and both compared."""

import random
from dataclasses import replace
from math import inf

import pytest

from solver.costs import alike
from solver.costs.functions.affine import Affine
from solver.graph import Buffer, Op, build
from solver.programs.check import memory_faults, program_faults
from solver.programs.execute import execute
from solver.programs.explanation.sentences import held_to_waits
from solver.programs.policies import POLICIES
from solver.programs.problem import InputsHeld, ProgramProblem
from solver.programs.program import HostStep, Program, with_waits
from solver.programs.result import Executed
from solver.programs.search.draft import ProgramDraft
from solver.programs.search.flat import Flat, is_one_stream
from solver.programs.search.late_waits import wait_late
from tests.programs.drawn import drawn
from tests.programs.exact import by_hand, optima
from tests.programs.small import small
from tests.sampling import cases

RULES: tuple[InputsHeld, ...] = ("wait", "launch")


def level(problem, program, spans, now):
    """Count the bytes that are held right behind an instant, straight from the model."""
    graph = problem.graph
    at = {(do, what): span for (do, what), span in zip(program.steps, spans, strict=True)}
    bucket_of = {graph.ops[i].id: b for b, own in enumerate(program.buckets) for i in own}
    place = {op.id: i for i, op in enumerate(graph.ops)}
    end = max((span.end for span in spans), default=0.0)

    def let_go(b):
        return at[problem.inputs_held, b].end

    def has_written(name):
        if name not in bucket_of:
            return at["compute", place[name]].end
        b = bucket_of[name]
        return at["unpack" if len(program.buckets[b]) > 1 else "launch", b].end

    def begins(name):
        step = ("launch", bucket_of[name]) if name in bucket_of else ("compute", place[name])
        return at[step].start

    def has_read(name):
        return let_go(bucket_of[name]) if name in bucket_of else at["compute", place[name]].end

    total = 0
    for buffer in graph.buffers:
        own = buffer.written_by
        first = 0.0 if own is None else begins(own)
        uses = [has_read(name) for name in buffer.read_by]
        uses += [] if own is None else [has_written(own)]
        uses += [end] if buffer.kept else []
        total += buffer.bytes * (first <= now < max(uses, default=0.0))
    for b, members in enumerate(program.buckets):
        if len(members) > 1:
            kind = graph.ops[members[0]].kind
            ranks = dict(problem.network.workers).get(graph.ops[members[0]].channel, 1)
            whole = sum(graph.ops[i].bytes for i in members)
            shards = sum((graph.ops[i].bytes + ranks - 1) // ranks for i in members)
            packed = shards if kind == "all_gather" else whole
            unpacked = shards if kind == "reduce_scatter" else whole
            total += packed * (at["pack", b].start <= now < let_go(b))
            total += unpacked * (at["launch", b].start <= now < at["unpack", b].end)
    return total


def random_program(problem, draw):
    """Fuse at random what may be, and ask for ops, launches and early waits in a random order."""
    graph = problem.graph
    buckets: list[tuple[int, ...]] = [(i,) for i in graph.collectives]
    if draw.random() < 0.6:
        program = POLICIES["inductor"](problem)
        buckets = list(program.buckets)
    waiting = {
        ("launch", b): {j for i in own for j in graph.preds[i]} for b, own in enumerate(buckets)
    }
    waiting |= {
        ("compute", i): set(graph.preds[i])
        for i, op in enumerate(graph.ops)
        if op.kind == "compute"
    }
    order: list[tuple[str, int]] = []
    done: set[int] = set()
    while waiting:
        able = [item for item, before in waiting.items() if before <= done]
        item = draw.choice(able)
        del waiting[item]
        order.append(item)
        done |= {item[1]} if item[0] == "compute" else set(buckets[item[1]])
        if item[0] == "launch" and draw.random() < 0.3:
            order.append(("wait", item[1]))
    return with_waits(problem, buckets, order)


@pytest.mark.parametrize("seed", range(cases(600, 60)))
def test_the_memory_of_a_run_is_that_of_the_model(seed):
    """At every instant, under both rules, with several streams, kept and input buffers."""
    draw = random.Random(seed)
    for inputs_held in RULES:
        problem = replace(drawn(draw), inputs_held=inputs_held)
        program = random_program(problem, draw)
        run = execute(problem, program)
        times = sorted({0.0, *(time for span in run.spans for time in span)})
        levels = [level(problem, program, run.spans, now) for now in times[:-1]]
        assert run.peak_bytes == max(levels, default=0)
        profile = dict(run.profile)
        found = 0
        for now, held in zip(times[:-1], levels, strict=True):
            found = profile.get(now, found)
            assert found == held, now


@pytest.mark.parametrize("seed", range(cases(600, 60)))
def test_held_to_the_wait_is_never_less(seed):
    """The same program takes the same time and, at every instant, as much memory or more."""
    draw = random.Random(seed)
    problem = drawn(draw)
    program = random_program(problem, draw)
    longer, shorter = (execute(replace(problem, inputs_held=each), program) for each in RULES)
    assert longer.spans == shorter.spans
    assert longer.peak_bytes >= shorter.peak_bytes
    for one, other in zip(longer.holdings, shorter.holdings, strict=True):
        assert (one.name, one.bytes, one.start_us) == (other.name, other.bytes, other.start_us)
        assert one.end_us >= other.end_us


@pytest.mark.parametrize("inputs_held", RULES)
@pytest.mark.parametrize("seed", range(cases(300, 40)))
def test_a_draft_takes_what_the_executor_says(seed, inputs_held):
    draw = random.Random(seed)
    problem = replace(drawn(draw, with_buffers=True), inputs_held=inputs_held)
    if not is_one_stream(problem):
        problem = small(seed, ops=16, collectives=6, memory=False, inputs_held=inputs_held)
    program = random_program(problem, draw)
    for limit in (None, 10):
        limited = replace(problem, limits=replace(problem.limits, memory_bytes=limit))
        draft = ProgramDraft(Flat(limited))
        for is_eager in (True, False):
            draft.follow(program, is_eager=is_eager)
            draft.execute(inf)
            time, peak = draft.value, draft.peak
            run = execute(problem, draft.program())
            assert time == pytest.approx(run.iteration_time)
            assert peak == run.peak_bytes


@pytest.mark.parametrize("seed", range(cases(300, 40)))
def test_waits_are_put_off_within_the_limit_at_no_cost_of_time(seed):
    """No program is longer or above the limit, no wait comes earlier, and launches stay."""
    problem = small(seed, ops=16, collectives=6, memory=False)
    program = random_program(problem, random.Random(seed))
    before = execute(problem, program)
    for more in (0, 8, 1_000):
        limits = replace(problem.limits, memory_bytes=before.peak_bytes + more)
        tight = replace(problem, limits=limits)
        later = wait_late(Flat(tight), program)
        after = execute(tight, later)
        assert list(program_faults(tight, later)) == []
        assert list(memory_faults(tight, after)) == []
        assert after.iteration_time <= before.iteration_time * (1 + 1e-12)
        assert places(later) >= places(program)
        if more == 1_000:  # all that there is
            order = [step for step in program.steps if step.do in {"compute", "launch"}]
            assert said(later) == said(with_waits(problem, program.buckets, order))


def places(program):
    """How many ops of compute stand before all waits, in all."""
    computed, found = 0, 0
    for do, _ in program.steps:
        computed += do == "compute"
        found += computed * (do == "wait")
    return found


def said(program):
    """The steps by ops, whatever the buckets are called."""
    buckets = program.buckets
    return [(do, what if do == "compute" else buckets[what]) for do, what in program.steps]


def paper(inputs_held):
    """A gradient of 8 bytes that is sent in 10 us beside compute, and one of 4 sent after it.

    ``a`` writes g, r sends it to s of 2 bytes; ``b`` runs 20 us and writes h of 4 bytes, q sends it
    to t of 1 byte; ``c`` of 20 us writes 5 bytes. All results are kept.
    """
    ops = [
        Op("a", "compute", 10.0, stream="s"),
        Op("r", "reduce_scatter", None, 8, ("a",), "n", cut=False),
        Op("b", "compute", 20.0, None, ("a",), stream="s"),
        Op("q", "reduce_scatter", None, 4, ("b",), "n", cut=False),
        Op("c", "compute", 20.0, None, ("b",), stream="s"),
    ]
    buffers = [
        Buffer("g", 8, "a", ("r",)),
        Buffer("s", 2, "r", (), True),
        Buffer("h", 4, "b", ("q",)),
        Buffer("t", 1, "q", (), True),
        Buffer("k", 5, "c", (), True),
    ]
    graph = build("paper", ops, buffers, ["s"])
    return ProgramProblem(graph, alike(Affine(10.0, 0.0)), inputs_held=inputs_held)


ALONE = ((1,), (3,))
LATE = ("compute 0", "launch 0", "compute 2", "launch 1", "compute 4", "wait 0", "wait 1")
EARLY = ("compute 0", "launch 0", "compute 2", "wait 0", "launch 1", "compute 4", "wait 1")
FUSED = ("compute 0", "compute 2", "pack 0", "launch 0", "compute 4", "wait 0", "unpack 0")


def of_steps(buckets, steps):
    asked = [step.split() for step in steps]
    return Program(buckets, tuple(HostStep(do, int(what)) for do, what in asked))


@pytest.mark.parametrize(
    ("buckets", "steps", "inputs_held", "profile"),
    [
        # g alone; from 10 with s; from 20 r has ended; b writes h from 10 on; q and c from 30
        (ALONE, LATE, "launch", ((0, 8), (10, 14), (20, 6), (30, 12), (40, 8), (50, 0))),
        # g and h stay until both waits at 50
        (ALONE, LATE, "wait", ((0, 8), (10, 14), (30, 20), (50, 0))),
        # waited for at 30, g goes there
        (ALONE, EARLY, "wait", ((0, 8), (10, 14), (30, 12), (50, 0))),
        # one bucket: 12 packed and 12 unpacked, from 30; what is packed and its members to 40
        (((1, 3),), FUSED, "launch", ((0, 8), (10, 12), (30, 44), (40, 20), (50, 0))),
        (((1, 3),), FUSED, "wait", ((0, 8), (10, 12), (30, 44), (50, 0))),
    ],
)
def test_on_paper(buckets, steps, inputs_held, profile):
    """Three ops of 10, 20 and 20 us, launches of 10 us; copies take no time; one worker."""
    problem = paper(inputs_held)
    run = execute(problem, of_steps(buckets, steps))
    assert run.profile == profile
    assert run.peak_bytes == max(held for _, held in profile)


@pytest.mark.parametrize(("inputs_held", "said"), [("wait", "6 B less"), ("launch", None)])
def test_what_is_held_to_waits_alone_is_said(inputs_held, said):
    """On paper, of the late waits above: 20 bytes instead of 14."""
    problem = paper(inputs_held)
    program = of_steps(ALONE, LATE)
    found = held_to_waits(Executed(problem, program, execute(problem, program)))
    assert found is None if said is None else said in found


@pytest.mark.long
@pytest.mark.parametrize("inputs_held", RULES)
def test_both_oracles_agree_under_both_rules(inputs_held):
    problems = [
        small(seed, 5, 2, inputs_held=inputs_held) for seed in range(2000, 2000 + cases(50, 10))
    ]
    assert [by_hand(problem) for problem in problems] == [value for value, _ in optima(problems)]
