"""Plans in flat arrays against the judge, and changes of them by what must stay true."""

import importlib
import random
from collections.abc import Sequence
from functools import partial
from math import inf

import pytest

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, ChannelCost, MeasuredCost, Network
from solver.fusion.general.annealing.anneal import PlanAnnealer
from solver.fusion.general.annealing_rounds import Improvement, improve
from solver.fusion.general.flat import capacities, launches_of, least_times, plan_of, problem_of
from solver.fusion.general.judge import GraphJudge
from solver.fusion.general.latest import LatestEnds, latest_ends
from solver.fusion.general.window import Whole, Window, window
from solver.fusion.search import Allowance
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.limits import MAX_BYTES
from solver.simulation.engine import costs_of, simulate
from solver.simulation.replay import replay
from tests.dag_graphs import Case, case
from tests.plain import plain
from tests.sampling import cases

IMPROVE = importlib.import_module(improve.__module__)
#: A launch of twice the bytes takes longer by what a table says, with two steps.
STEPS = MeasuredCost((4, 8, 9, 30, 31, 60), (5.0, 6.0, 20.0, 25.0, 90.0, 100.0), 2.0, 0.0)


def judge_of(drawn: Case, *, is_stepped: bool = False) -> GraphJudge:
    chain = chain_of(drawn.graph)
    costs = [STEPS] * len(chain.lanes) if is_stepped else costs_of(chain, drawn.network)
    return GraphJudge(drawn.graph, chain, costs)


def random_plan(judge: GraphJudge, generator: random.Random):
    """Draw buckets in each lane, cut some, and send all in a random order of each channel.

    Of three plans two keep to what precedes what, and can be executed for the most part.
    """
    chain = judge.chain
    wild = generator.random() < 1 / 3
    depth = [chain.before[i].bit_count() if chain.before else 0 for i in range(len(chain))]
    buckets: dict[tuple[int, int, int], list[int]] = {}
    for i, lane in enumerate(chain.lane):
        near = 0 if wild else depth[i]
        buckets.setdefault((near, lane, generator.randrange(3)), []).append(i)
    launches = []
    for members in buckets.values():
        bucket, total = tuple(members), sum(judge.bytes[i] for i in members)
        part = generator.randrange(1, total) if generator.random() < 0.3 and total > 1 else total
        launches += [Launch(bucket, size) for size in (part, total - part) if size]
    generator.shuffle(launches)
    if not wild:
        launches.sort(key=lambda launch: depth[launch.bucket[0]])
    return judge.split(launches)


def alone(judge: GraphJudge):
    return judge.split([Launch((i,), size) for i, size in enumerate(judge.bytes)])


def urgency(judge: GraphJudge) -> list[float]:
    return [float(tail) for tail in judge.chain.tail]


def pieces(judge: GraphJudge) -> list[list[int]]:
    return [[8] for _ in judge.lane_costs]


def annealer_of(judge: GraphJudge, lists, seed: int = 0, *, fuse: bool = True) -> PlanAnnealer:
    problem, capacity = problem_of(judge), capacities(judge, [lists])
    annealer = PlanAnnealer(problem, urgency(judge), pieces(judge), capacity, seed, fuse=fuse)
    annealer.begin(plan_of(problem, capacity, lists))
    return annealer


def tell_time(told: list[float], _: Sequence[Launch], value: float) -> None:
    told.append(value)


def assert_is_a_plan(lists, judge: GraphJudge) -> None:
    """Each tensor is in one bucket, and the launches of a bucket carry its bytes in elements."""
    sent: dict[tuple[int, ...], int] = {}
    for channel, launches in enumerate(lists):
        for bucket, size in launches:
            assert size > 0
            assert {judge.channel[i] for i in bucket} == {channel}
            assert len({judge.chain.lane[i] for i in bucket}) == 1
            assert bucket == tuple(sorted(bucket))
            sent[bucket] = sent.get(bucket, 0) + size
    assert sorted(i for bucket in sent for i in bucket) == list(range(len(judge.chain)))
    assert all(size == judge.total(bucket) for bucket, size in sent.items())


@pytest.mark.parametrize("seed", range(20))
def test_plans_take_what_the_judge_says(seed):
    """By the judge, and by the simulator: 20,000 random plans, a third of which deadlock."""
    generator = random.Random(seed)
    finite = 0
    for turn in range(cases(100)):
        drawn = case(1000 * seed + turn, 4, 14)
        judge = judge_of(drawn)
        problem = problem_of(judge)
        for _ in range(10):
            lists = random_plan(judge, generator)
            plan = plan_of(problem, capacities(judge, [lists]), lists)
            run = judge.execute(lists)
            assert plan.execute(inf) == run.value == plan.value
            assert_is_a_plan(launches_of(plan), judge)
            assert launches_of(plan) == lists
            if run.value < inf:
                finite += 1
                assert list(plan.start) == list(run.starts)
                assert list(plan.end) == list(run.ends)
                assert plan.execute(run.value) == run.value
                assert plan.execute(run.value * (1 - 1e-6) - 1e-6) == inf
        flat = [launch for launches in lists for launch in launches]
        if run.value < inf:
            assert run.value == simulate(drawn.graph, drawn.network, replay(flat)).iteration_time
    assert finite > cases(100)


def test_no_room_for_a_launch():
    judge = judge_of(case(1))
    lists = alone(judge)
    with pytest.raises(OverflowError, match="no room for another launch"):
        plan_of(problem_of(judge), [0 for _ in lists], lists)


@pytest.mark.parametrize("is_stepped", [False, True])
@pytest.mark.parametrize("fuse", [False, True])
def test_changes_keep_a_plan_a_plan(is_stepped, fuse):
    """What the search comes to takes what the judge says, and the best is the least of all."""
    for seed in range(cases(200)):
        judge = judge_of(case(seed, 4, 12), is_stepped=is_stepped)
        start = alone(judge)
        annealer = annealer_of(judge, start, seed, fuse=fuse)
        least = annealer.here.value
        for temperature in (30.0, 10.0, 3.0, 0.0):
            for _ in range(8):
                annealer.run(40, temperature, 0.0)
                here, best = launches_of(annealer.here), launches_of(annealer.best)
                for lists in (here, best):
                    assert_is_a_plan(lists, judge)
                assert judge.value(here) == annealer.here.value
                assert judge.value(best) == annealer.best.value
                least = min(least, annealer.here.value)
                assert annealer.best.value <= least * (1 + 1e-7)
                if not fuse:
                    assert [sorted(channel) for channel in here] == [sorted(c) for c in start]


def test_what_is_on_the_longest_path_has_no_time_to_spare():
    """A certificate: each listed waits for the next, or for its bucket; none may be later."""
    looked = 0
    for seed in range(cases(300)):
        judge = judge_of(case(seed, 4, 14))
        lists = random_plan(judge, random.Random(seed))
        run = judge.execute(lists)
        if run.value == inf:
            continue
        annealer = annealer_of(judge, lists)
        annealer.trace()
        latest = latest_ends(lists, run, judge, run.value)
        plan, path = annealer.here, annealer.path[: annealer.steps]
        for k, launch in enumerate(path):
            bucket = plan.bucket[launch]
            channel = judge.channel[plan.first[bucket]]
            place = plan.place[launch]
            assert plan.finish[launch] == pytest.approx(latest.in_order[channel][place])
            if annealer.waited[k]:
                assert plan.finish[path[k + 1]] == plan.begin[launch]
                assert plan.place[path[k + 1]] == place - 1
            else:
                assert plan.begin[launch] == plan.release[bucket]
            looked += 1
    assert looked > cases(300)


def test_a_search_without_a_compiler_finds_the_same():
    """The same lines as Python: the same plans, stretches too, and the same refusals."""
    modules = ("annealing.problem", "annealing.anneal", "window", "flat", "judge")
    names = [f"solver.fusion.general.{name}" for name in modules]
    names += ["solver.chain", "solver.costs", "solver.graph"]
    problem_py, anneal_py, window_py, flat_py, judge_py, chain_py, costs_py, graph_py = plain(
        *names
    )
    assert not problem_py.IS_COMPILED
    for seed in range(cases(60)):
        drawn = case(seed, 4, 12)
        is_stepped = bool(seed % 3 == 0)
        if seed % 6 == 1:  # a tensor of as many bytes as there may be
            (size,) = (op.bytes for op in case(seed, 1, 1).graph.ops if op.bytes)
            drawn = case(seed, 1, 1, MAX_BYTES // size)
        ours = judge_of(drawn, is_stepped=is_stepped)
        mine = annealer_of(ours, alone(ours), seed)
        graph = graph_py.build(drawn.name, [graph_py.Op(*op) for op in drawn.graph.ops])
        chain = chain_py.chain_of(graph)
        if is_stepped:
            costs = [costs_py.MeasuredCost(STEPS.sizes, STEPS.measured, STEPS.slope, STEPS.startup)]
            costs *= len(chain.lanes)
        else:
            lines = [drawn.costs[ChannelCost(*lane)] for lane in chain.lanes]
            costs = [costs_py.Affine(line.startup, line.per_byte) for line in lines]
        judge = judge_py.GraphJudge(graph, chain, costs)
        lists = judge.split([Launch((i,), size) for i, size in enumerate(judge.bytes)])
        problem, capacity = flat_py.problem_of(judge), flat_py.capacities(judge, [lists])
        if seed % 2:  # no room for parts but where launches have been joined
            capacity = [len(launches) for launches in lists]
            start = plan_of(problem_of(ours), capacity, lists)
            mine = PlanAnnealer(
                start.problem, urgency(ours), pieces(ours), capacity, seed, fuse=True
            )
            mine.begin(start)
        theirs = anneal_py.PlanAnnealer(
            problem, urgency(judge), pieces(judge), capacity, seed, fuse=True
        )
        theirs.begin(flat_py.plan_of(problem, capacity, lists))
        with pytest.raises(OverflowError):
            flat_py.plan_of(problem, [0 for _ in lists], lists)
        for temperature in (20.0, 5.0, 1.0, 0.0):
            enough = mine.best.value if temperature == 5.0 else 0.0
            assert mine.run(400, temperature, enough) == theirs.run(400, temperature, enough)
            assert mine.here.value == theirs.here.value
            assert launches_of(mine.here) == flat_py.launches_of(theirs.here)
        for share in (0.9, 0.5, 0.1):
            assert mine.here.execute(share * mine.best.value) == inf
            assert theirs.here.execute(share * mine.best.value) == inf
        found = launches_of(mine.best)
        assert found == flat_py.launches_of(theirs.best)
        best = theirs.best.value
        theirs.begin(flat_py.plan_of(problem, capacity, lists))  # which is no better
        assert theirs.best.value == best
        whole = Whole(found, ours, problem_of(ours), least_times(ours))
        same = window_py.Whole(found, judge, problem, flat_py.least_times(judge))
        assert (whole.value, whole.path, whole.starts) == (same.value, same.path, same.starts)
        middle = (whole.value / 3, whole.value * 2 / 3)
        assert_same_stretch(
            window(whole, middle), window_py.window(same, middle), anneal_py.PlanAnnealer, flat_py
        )


def assert_same_stretch(cut: Window, other, annealer, flat_py) -> None:
    """A stretch cut out, and changed, by the same lines as Python."""
    assert (cut.launches, cut.tensors) == (other.launches, other.tensors)
    assert cut.places == other.places
    if not cut.tensors:
        return
    room = [2 * len(launches) + 8 for launches in cut.launches]
    args = [0.0] * len(cut.tensors), [[8] for _ in cut.lanes], room, 0
    small = PlanAnnealer(cut.problem, *args, fuse=True)
    small.begin(plan_of(cut.problem, room, cut.launches))
    smaller = annealer(other.problem, *args, fuse=True)
    smaller.begin(flat_py.plan_of(other.problem, room, other.launches))
    assert small.run(200, 3.0, 0.0) == smaller.run(200, 3.0, 0.0)
    assert small.best.value == smaller.best.value


def assert_looks_back(whole: Whole, latest: LatestEnds) -> None:
    """The longest paths are what is left when all starts as late as the judge's oracle says."""
    paths = [whole.value - start for start in latest.starts]
    assert whole.path == pytest.approx(paths, abs=1e-6)
    for channel, launches in enumerate(whole.lists):
        for place, launch in enumerate(launches):
            time = whole.judge.cost[launch.bucket[0]].time(launch.bytes)
            start = latest.in_order[channel][place] - time
            assert whole.rest(channel, place) == pytest.approx(whole.value - start)
        assert whole.rest(channel, len(launches)) == 0.0


@pytest.mark.parametrize("is_stepped", [False, True])
def test_a_stretch_takes_what_the_whole_takes(is_stepped):
    """A change of a stretch lengthens or shortens the plan by what the small problem says.

    But for paths that pass the stretch by, which no change there shortens.
    """
    looked = 0
    for seed in range(cases(300)):
        generator = random.Random(seed)
        judge = judge_of(case(seed, 8, 24), is_stepped=is_stepped)
        least = least_times(judge)
        lists = random_plan(judge, generator)
        run = judge.execute(lists)
        if run.value == inf:
            continue
        whole = Whole(lists, judge, problem_of(judge), least)
        assert whole.value == run.value
        assert_looks_back(whole, latest_ends(lists, run, judge, run.value))
        low, high = sorted(generator.uniform(-0.2, 1.2) * run.value for _ in range(2))
        stretch = (max(0.0, low), inf if high > run.value else high)
        cut = window(whole, stretch)
        if not cut.tensors:
            continue
        capacity = [2 * len(launches) + 8 for launches in cut.launches]
        plan = plan_of(cut.problem, capacity, cut.launches)
        assert cut.put_back(plan, lists) == lists
        assert plan.execute(inf) <= run.value * (1 + 1e-9)
        some = [[8] for _ in cut.lanes]
        annealer = PlanAnnealer(
            cut.problem, [0.0] * len(cut.tensors), some, capacity, seed, fuse=True
        )
        annealer.begin(plan)
        passing = run.value if plan.value < run.value * (1 - 1e-9) else 0.0
        for temperature in (30.0, 3.0, 0.0):
            annealer.run(60, temperature, 0.0)
            annealer.trace()
            path = annealer.path[: annealer.steps]
            assert len(set(path)) == len(path), "each launch is listed once"
            changed = cut.put_back(annealer.here, lists)
            assert_is_a_plan(changed, judge)
            value = judge.value(changed)
            assert value >= annealer.here.value * (1 - 1e-9)
            if value > annealer.here.value * (1 + 1e-9):
                # something passes the stretch by: what was there before is in its way
                assert value <= max(run.value, passing) * (1 + 1e-9)
            looked += 1
    assert looked > cases(300)


def test_a_plan_in_stretches_is_better_than_its_start(monkeypatch):
    """Graphs that are longer than a stretch; never worse, the same twice, and as it says."""
    monkeypatch.setattr(IMPROVE, "_MOVES", 300)
    monkeypatch.setattr(IMPROVE, "_WINDOW_MOVES", 2_000)
    for seed in range(cases(20, 6)):
        judge = judge_of(case(seed, 60, 90))
        start = alone(judge)
        told: list[float] = []
        tell = partial(tell_time, told)
        how = Improvement(urgency(judge), pieces(judge), seed, report=tell)
        found = improve([start], judge, how)
        assert_is_a_plan(found, judge)
        assert judge.value(found) <= judge.value(start)
        assert found == improve([start], judge, how)
        if judge.value(found) < judge.value(start):
            assert min(told) == pytest.approx(judge.value(found), rel=1e-6)
        none = Improvement(urgency(judge), pieces(judge), allowance=Allowance(0))
        assert improve([start], judge, none) == start


def test_a_network_by_channel_and_kind():
    """Lanes of one channel have costs of their own, also in a stretch."""
    drawn = case(7, 8, 12)
    assert isinstance(drawn.network, Network)
    judge = judge_of(drawn)
    lists = alone(judge)
    cut = window(Whole(lists, judge, problem_of(judge), least_times(judge)), (0.0, inf))
    assert sorted(set(cut.lanes)) == sorted(set(judge.chain.lane))
    assert [len(launches) for launches in cut.launches] == [len(launches) for launches in lists]


def few_launches(*ops: Op) -> tuple[int, float]:
    """Plan 90 tensors of 1 us that are released at once, with a start-up of 50 us."""
    tensors = [Op(f"g{i}", ALL_REDUCE, None, 1, ("a",)) for i in range(90)]
    graph = build("small", [Op("a", COMPUTE, 1.0), *tensors, *ops])
    chain = chain_of(graph)
    judge = GraphJudge(graph, chain, [Affine(50.0, 1.0)])
    found = improve([alone(judge)], judge, Improvement(urgency(judge), pieces(judge)))
    return sum(map(len, found)), judge.value(found)


def test_launches_become_fewer_on_the_way(monkeypatch):
    """With hardly a change of the whole, which makes three stages of one, none and none."""
    monkeypatch.setattr(IMPROVE, "_MOVES", 3)
    count, value = few_launches()
    assert count <= 4
    assert value == 1.0 + 50.0 * count + 90.0


def test_what_passes_a_stretch_by_is_not_shortened_there(monkeypatch):
    monkeypatch.setattr(IMPROVE, "_MOVES", 3)
    assert few_launches(Op("long", COMPUTE, 10_000.0)) == (90, 10_000.0)
