"""Why programs take as long as they do: what held each step, and what comes of moving launches."""

import random
from dataclasses import replace
from functools import cache

import pytest

from solver.bounds.status import FEASIBLE
from solver.costs import Network
from solver.costs.functions.affine import Affine
from solver.evidence.bound import Bound
from solver.graph import Buffer, Op, build
from solver.programs.check import program_faults
from solver.programs.execute import execute
from solver.programs.explanation.critical import critical_path, path_times
from solver.programs.explanation.earlier import launch_reasons, moved_before
from solver.programs.explanation.explain import explain_program
from solver.programs.explanation.holders import holds_of
from solver.programs.explanation.sensitivity import program_sensitivities
from solver.programs.explanation.sentences import more_memory, reason, summary
from solver.programs.policies import POLICIES
from solver.programs.problem import ProgramLimits, ProgramProblem, is_fusable
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program, with_waits
from solver.programs.result import Executed, ProgramPlan
from solver.programs.timeline import program_trace
from solver.wording import memory_size
from tests.programs.drawn import NO_LIMITS, drawn
from tests.sampling import cases

COUNT = cases(300)


@cache
def case(seed):
    """Draw a problem and a program of it, by a policy or with its buckets and order shuffled."""
    rng = random.Random(seed)
    limit = ProgramLimits(under_way_bytes=rng.choice((None, None, 20_000)))
    problem = drawn(rng, limits=limit)
    program = fused(problem, rng)
    if rng.random() < 0.3:
        program = POLICIES[rng.choice(tuple(POLICIES))](problem)
    if faults := list(program_faults(problem, program)):
        assert limit.under_way_bytes is not None, faults
        problem = replace(problem, limits=ProgramLimits())
    run = execute(problem, program)
    tight = replace(problem.limits, memory_bytes=run.peak_bytes)
    problem = replace(problem, limits=rng.choice((problem.limits, tight)))
    return problem, program, run


def fused(problem, rng):
    """Draw buckets of what may be fused, and any order of them and of compute."""
    graph = problem.graph
    buckets = [[i] for i in graph.collectives]
    for _ in range(6):
        a, b = rng.sample(range(len(buckets)), 2)
        other = [each for k, each in enumerate(buckets) if k not in {a, b}]
        other.append(sorted(buckets[a] + buckets[b]))
        if is_fusable(problem, other[-1]) and ordered(graph, other, rng):
            buckets = other
    return with_waits(problem, buckets, ordered(graph, buckets, rng))


def ordered(graph, buckets, rng):
    """Draw an order of compute and launches; None where buckets wait for one another."""
    home = {i: b for b, members in enumerate(buckets) for i in members}
    left = [(LAUNCH, b) for b in range(len(buckets))]
    left += [(COMPUTE, i) for i in range(len(graph.ops)) if i not in home]
    done: set[int] = set()
    order: list[tuple[str, int]] = []
    while left:
        ready = []
        for do, what in left:
            members = buckets[what] if do == LAUNCH else [what]
            if all(j in done for i in members for j in graph.preds[i]):
                ready.append((do, what))
        if not ready:
            return None
        do, what = rng.choice(ready)
        left.remove((do, what))
        order.append((do, what))
        done.update(buckets[what] if do == LAUNCH else [what])
    return order


def paper(limits=NO_LIMITS, order=None):
    """Return a, then x (20 us, of 1 us a byte) beside b; c needs x. a, b, c take 10 us each.

    The output of x is 20 bytes, those of b 5.
    """
    ops = [
        Op("a", "compute", 10.0, None, (), stream="s"),
        Op("b", "compute", 10.0, None, ("a",), stream="s"),
        Op("x", "all_reduce", None, 20, ("a",), "net", cut=False),
        Op("c", "compute", 10.0, None, ("b", "x"), stream="s"),
    ]
    buffers = [Buffer("whole", 20, "x", ("c",)), Buffer("work", 5, "b", ("b",))]
    network = Network(lambda lane: Affine(0.0, 1.0), workers=(("net", 2),))
    problem = ProgramProblem(build("paper", ops, buffers, ["s"]), network, None, limits)
    asked = order or [(COMPUTE, 0), (COMPUTE, 1), (LAUNCH, 0), (COMPUTE, 3)]
    program = with_waits(problem, [(2,)], asked)
    return problem, program, execute(problem, program)


def planned(problem, program, run):
    return ProgramPlan(problem, program, run, FEASIBLE, run.iteration_time, Bound("path", 0.0), ())


def test_on_paper_the_host_asks_late() -> None:
    """a 0-10, b 10-20, x 20-40, c 40-50: x could start at 10, and the iteration take 40 us."""
    problem, program, run = paper()
    why = explain_program(problem, program, run)
    assert [(s.do, s.id, s.start_us, s.end_us, s.why) for s in why.critical_path] == [
        ("compute", "a", 0, 10, "start"),
        ("compute", "b", 10, 20, "after"),
        ("launch", "bucket1", 20, 40, "stream"),
        ("compute", "c", 40, 50, "after"),
    ]
    times = why.path_times
    assert (times.compute_us, times.copies_us, times.channels_us) == (30, 0, {"net": 20})
    (launch,) = why.launches
    assert (launch.start_us, launch.could_start_us, launch.by) == (20, 10, "b")
    assert (launch.why, launch.moved.before) == ("missed", "b")
    assert (launch.moved.start_us, launch.moved.iteration_time_us) == (10, 40)
    assert why.limited_by == "compute"
    said = summary(planned(problem, program, run), why)
    assert said.startswith("Compute limits this program: its critical path of 0.050 ms is compute")
    assert "channel 'net' 0.020 ms (40.0 %)" in said
    assert "it would start at 0.010 ms, and save 0.010 ms, which the search did not find" in said


def test_on_paper_memory_keeps_a_launch() -> None:
    """Beside b the 20 bytes of x and its 5 are 25 from 10 us on; one after another 20."""
    problem, program, run = paper(ProgramLimits(memory_bytes=20))
    (launch,) = launch_reasons(problem, program, run, holds_of(problem, program, run))
    assert (launch.why, launch.moved.excess_bytes, launch.moved.peak_us) == ("memory", 5, 10)
    said = reason(planned(problem, program, run), launch)
    assert said == (
        "bucket1 starts at 0.020 ms, after 'b': asked for before 'b' it would start at 0.010 ms, "
        "and memory would exceed the limit by 5 B at 0.010 ms."
    )


def test_on_paper_an_input_keeps_a_launch() -> None:
    order = [(COMPUTE, 0), (LAUNCH, 0), (COMPUTE, 1), (COMPUTE, 3)]
    problem, program, run = paper(order=order)
    why = explain_program(problem, program, run)
    (launch,) = why.launches
    assert (launch.why, launch.by, launch.start_us, launch.could_start_us) == ("input", "a", 10, 10)
    gains = {each.name: each.gain_us for each in why.sensitivities}
    assert gains["bandwidth_faster"] == pytest.approx(20 - 20 / 1.1)
    assert gains["compute_faster"] == pytest.approx(20 - 20 / 1.1)
    assert (gains["startup_free"], gains["copies_free"]) == (0, 0)


def test_what_is_not_tried_says_so() -> None:
    problem, program, run = paper()
    holds = holds_of(problem, program, run)
    (launch,) = launch_reasons(problem, program, run, holds, most_executed=9)
    assert (launch.why, launch.moved) == ("host", None)
    assert "which was not tried" in reason(planned(problem, program, run), launch)


@pytest.mark.parametrize("seed", range(COUNT))
def test_each_step_starts_when_its_holder_ends(seed: int) -> None:
    problem, program, run = case(seed)
    for (do, _), span, holder in zip(
        program.steps, run.spans, holds_of(problem, program, run).holders, strict=True
    ):
        if do != WAIT:
            assert span.start == (0 if holder.step is None else run.spans[holder.step].end)


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_critical_path_covers_the_iteration(seed: int) -> None:
    problem, program, run = case(seed)
    path = critical_path(problem, program, run, holds_of(problem, program, run))
    ends = [0.0, *(step.end_us for step in path)]
    assert [step.start_us for step in path] == ends[:-1]
    assert ends[-1] == run.iteration_time
    times = path_times(path)
    total = times.compute_us + times.copies_us + sum(times.channels_us.values())
    assert total == pytest.approx(run.iteration_time)


def programs_with(problem, program, bucket):
    """Every program with a launch asked for somewhere earlier that is one of the problem."""
    free = replace(problem, limits=ProgramLimits())
    first = min(
        at for at, step in enumerate(program.steps) if step.id == bucket and step.do != COMPUTE
    )
    for place in range(first + 1):
        other = moved_before(program, bucket, place)
        if not list(program_faults(free, other)):
            yield other


def start_of(problem, program, bucket):
    spans = execute(problem, program).spans
    return spans[program.steps.index(HostStep(LAUNCH, bucket))].start


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_launch_could_start_where_moving_it_says(seed: int) -> None:
    """Of all places that it may be moved to, the earliest start is the one that is said."""
    problem, program, run = case(seed)
    for launch in launch_reasons(problem, program, run, holds_of(problem, program, run)):
        others = list(programs_with(problem, program, launch.bucket))
        starts = [start_of(problem, other, launch.bucket) for other in others]
        assert min(starts) == launch.could_start_us
        assert starts[-1] == launch.start_us
        if launch.why in {"start", "input", "stream"}:
            assert launch.could_start_us == launch.start_us


@pytest.mark.parametrize("seed", range(COUNT))
def test_a_reason_is_what_moving_does(seed: int) -> None:
    """Each figure of a move is that of one of the programs, which does what the reason says."""
    problem, program, run = case(seed)
    for launch in launch_reasons(problem, program, run, holds_of(problem, program, run)):
        if (moved := launch.moved) is None:
            continue
        assert launch.could_start_us <= moved.start_us < launch.start_us
        runs = [
            (other, execute(problem, other))
            for other in programs_with(problem, program, launch.bucket)
        ]
        figures = (moved.iteration_time_us, moved.peak_bytes, moved.peak_us)
        alike = [
            other
            for other, run in runs
            if figures == (run.iteration_time, run.peak_bytes, run.peak_us)
        ]
        assert alike
        breaks = [bool(list(program_faults(problem, other))) for other in alike]
        limit = problem.limits.memory_bytes
        same = abs(moved.iteration_time_us - run.iteration_time) <= 1e-7 * run.iteration_time
        is_over = limit is not None and moved.peak_bytes > limit
        assert {
            "memory": is_over,
            "under_way": not is_over and any(breaks),
            "time": moved.iteration_time_us > run.iteration_time and not same,
            "missed": moved.iteration_time_us < run.iteration_time and not same,
            "peak": same and moved.peak_bytes > run.peak_bytes,
            "put_off": same and moved.peak_bytes <= run.peak_bytes,
            "channel": True,
        }[launch.why]
        assert reason(planned(problem, program, run), launch)


@pytest.mark.parametrize("seed", range(COUNT))
def test_what_is_cheaper_never_costs(seed: int) -> None:
    problem, program, run = case(seed)
    for each in program_sensitivities(problem, program, run):
        assert each.gain_us >= 0
        assert each.gain_us == pytest.approx(run.iteration_time - each.iteration_time_us, abs=1e-3)


def test_the_cases_have_every_reason_and_copies() -> None:
    """What the properties above are of."""
    reasons, steps = set(), set()
    for seed in range(COUNT):
        problem, program, run = case(seed)
        why = explain_program(problem, program, run)
        reasons |= {launch.why for launch in why.launches}
        steps |= {step.do for step in why.critical_path}
        assert summary(planned(problem, program, run), why)
    assert reasons >= {"start", "input", "channel", "memory", "time", "peak", "put_off", "missed"}
    assert steps == {"compute", "pack", "launch", "unpack"}


def test_sizes_and_times_are_written() -> None:
    assert [memory_size(size) for size in (3, 2048, 5 * 2**20, 8 * 2**30)] == [
        "3 B",
        "2.000 KiB",
        "5.000 MiB",
        "8.000 GiB",
    ]
    assert more_memory(8 * 2**30, 4100.0) == "8.000 GiB more would save 4.100 ms."
    assert more_memory(2**30, 0.0) == "1.000 GiB more would save nothing that was found."


@pytest.mark.parametrize("word", ["compute", "bandwidth"])
def test_where_neither_alone_helps(word) -> None:
    """Compute and a launch of 10 us side by side: the path is of what the program has first."""
    ops = [
        Op("z", "compute", 0.0, None, (), stream="t"),
        Op("a", "compute", 10.0, None, (), stream="s"),
        Op("x", "all_reduce", None, 10, (), "net", cut=False),
    ]
    network = Network(lambda lane: Affine(0.0, 1.0), workers=(("net", 2),))
    problem = ProgramProblem(build("even", ops), network)
    asked = [HostStep(COMPUTE, 1), HostStep(LAUNCH, 0)][:: 1 if word == "compute" else -1]
    program = Program(((2,),), (HostStep(COMPUTE, 0), *asked, HostStep(WAIT, 0)))
    run = execute(problem, program)
    why = explain_program(problem, program, run)
    assert (run.iteration_time, why.limited_by, len(why.critical_path)) == (10, word, 1)
    assert all(each.gain_us == 0 for each in why.sensitivities)
    said = summary(planned(problem, program, run), why)
    assert ("The longest launch" in said) == (word == "bandwidth")
    events = program_trace(problem, {"plan": Executed(problem, program, run)}, {})["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X"}  # no memory without buffers


def test_nothing_takes_time() -> None:
    problem, program, _ = paper()
    ops = [op._replace(duration_us=0.0) if op.kind == COMPUTE else op for op in problem.graph.ops]
    free = Network(lambda lane: Affine(0.0, 0.0), workers=(("net", 2),))
    problem = ProgramProblem(build("none", ops, (), ["s"]), free)
    run = execute(problem, program)
    why = explain_program(problem, program, run)
    assert (why.limited_by, why.critical_path) == (None, ())
    assert summary(planned(problem, program, run), why) == "Nothing in this iteration takes time."
