"""Plans and bounds of general graphs, against every bucket and order, CP-SAT and the policies."""

import functools
import importlib
from dataclasses import replace

import pytest

from solver.bounds.general import lower_bound
from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, ChannelCost, MeasuredCost, alike
from solver.fusion.general.annealing_rounds import Improvement, improve
from solver.fusion.general.judge import GraphJudge
from solver.fusion.general.search import decide
from solver.fusion.search import Allowance, Candidate, SearchOptions
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, NETWORK, Op, build
from solver.planning.check import check
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice, applies, candidates
from solver.simulation.engine import costs_of, simulate
from solver.simulation.replay import replay
from tests import dag_oracles
from tests.dag_graphs import FAMILIES, Case, case
from tests.sampling import cases

DECIDE = importlib.import_module(decide.__module__)
IMPROVE = importlib.import_module(improve.__module__)
FEW, MANY = range(100), range(cases(2000))
#: No search at all, and one that only ends with its moves.
BRIEF, LONG = (
    SearchOptions(allowance=Allowance(0)),
    SearchOptions(candidates=candidates()),
)


def planned(drawn: Case, search: SearchOptions = BRIEF, *, fuse: bool = True):
    chain = chain_of(drawn.graph)
    return decide(drawn.graph, chain, costs_of(chain, drawn.network), search, fuse=fuse)


def bound(drawn: Case) -> float:
    chain = chain_of(drawn.graph)
    return lower_bound(drawn.graph, chain, costs_of(chain, drawn.network)).value


def time_of(drawn: Case, sends) -> float:
    return simulate(drawn.graph, drawn.network, replay(sends)).iteration_time


def small(seeds: range) -> list[Case]:
    """Graphs of up to six collectives."""
    return [case(seed, 2, 6) for seed in seeds]


@functools.cache
def optima(seeds: range, parts: int, limit_s: float) -> list[dag_oracles.Exact]:
    """CP-SAT's answers for the small graphs."""
    problems = [dag_oracles.problem_of(drawn) for drawn in small(seeds)]
    return dag_oracles.exact(problems, parts, limit_s)


def launches(drawn: Case, sends) -> list[dag_oracles.Launch]:
    """Name the tensors of sends by position."""
    positions = chain_of(drawn.graph).positions.tolist()
    return [(tuple(positions[i] for i in send.bucket), send.bytes) for send in sends]


def test_every_family_is_drawn():
    assert {case(seed).name.split()[0] for seed in FEW} == set(FAMILIES)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.long
def test_cp_sat_is_every_bucket_and_order(cut):
    cases = [case(seed, 2, 4) for seed in range(60)]
    if cut:  # at every byte, so small ones only
        sizes = [[op.bytes or 0 for op in c.graph.ops if op.kind != COMPUTE] for c in cases]
        cases = [c for c, s in zip(cases, sizes, strict=True) if len(s) <= 3 and sum(s) <= 18]
    problems = [dag_oracles.problem_of(drawn) for drawn in cases]
    for drawn, found in zip(cases, dag_oracles.exact(problems, 2 if cut else 1, 60.0), strict=True):
        assert found.value == dag_oracles.brute_force(drawn, cut=cut), drawn.name
        assert found.value == dag_oracles.time_of(drawn, found.launches), drawn.name


@pytest.mark.long
def test_bound_is_never_above_the_optimum():
    for drawn, answer in zip(small(FEW), optima(FEW, 1, 60.0), strict=True):
        assert answer.closed
        assert answer.value is not None
        assert bound(drawn) <= answer.value + 1e-6, drawn.name


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.long
def test_bound_is_never_above_many_optima(parts):
    """Uncut all close; of two parts a bucket most do, and of the others a plan counts."""
    answers = optima(MANY, parts, 60.0 if parts == 1 else 0.01)
    closed = sum(answer.closed for answer in answers)
    assert closed == len(MANY) if parts == 1 else closed > len(MANY) // 2
    for drawn, answer in zip(small(MANY), answers, strict=True):
        if answer.value is not None:
            assert bound(drawn) <= answer.value + 1e-6, drawn.name


@pytest.mark.long
def test_plan_is_near_the_optimum(monkeypatch):
    """Of the uncut plans, with a tenth of the moves; a plan with cuts may be shorter."""
    monkeypatch.setattr(IMPROVE, "_MOVES", 2000)
    gaps = []
    for drawn, answer in zip(small(FEW), optima(FEW, 1, 60.0), strict=True):
        assert answer.value is not None
        search = replace(LONG, bound=bound(drawn))
        gaps.append(max(0.0, time_of(drawn, planned(drawn, search)) / answer.value - 1))
    assert sum(gaps) / len(gaps) <= 0.01
    assert max(gaps) <= 0.08


def test_plan_is_what_it_says():
    """By definition: an evaluation of the launches, and the certificate, agree with the plan."""
    for seed in range(60):
        drawn = case(seed)
        found = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=0.0))
        assert check(drawn.graph, drawn.network, found) == pytest.approx(found.iteration_time_us)
        assert found.lower_bound_us <= found.iteration_time_us + 1e-6
        sends = planned(drawn)
        by_definition = dag_oracles.time_of(drawn, launches(drawn, sends))
        assert time_of(drawn, sends) == by_definition


@pytest.fixture
def brief(monkeypatch):
    """A search of few moves: what comes before it is looked at."""
    monkeypatch.setattr(IMPROVE, "_MOVES", 60)


def test_no_policy_is_faster(brief):
    """Slices are of 200,000 bytes and more, buffers of megabytes: sizes to match."""
    for seed in range(60):
        drawn = case(seed, unit=400_000)
        chain = chain_of(drawn.graph)
        value = time_of(drawn, planned(drawn, LONG))
        for name, policy in POLICIES.items():
            if applies(Choice(name), chain):
                theirs = simulate(drawn.graph, drawn.network, policy).iteration_time
                assert value <= theirs * (1 + 1e-9), (drawn.name, name)


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "pace"])
def test_policies_send_everything(name):
    """No policy waits for what it holds back itself: there is no deadlock, and no byte is lost."""
    for seed in range(cases(300)):
        drawn = case(seed, 2, 12, unit=150_000)
        timeline = simulate(drawn.graph, drawn.network, POLICIES[name])
        sent = [op.bytes for op in drawn.graph.ops if op.bytes]
        assert sum(part.bytes for part in timeline.launches) == sum(sent)
        after = dag_oracles.after_of(drawn.graph)
        for op, above in enumerate(after):
            assert all(timeline.starts[op] >= timeline.ends[j] - 1e-6 for j in above)


def test_without_fusion_each_tensor_is_alone(brief):
    for seed in range(40):
        drawn = case(seed)
        chain = chain_of(drawn.graph)
        sends = planned(drawn, LONG, fuse=False)
        assert sorted(sends) == [Launch((i,), size) for i, size in enumerate(chain.bytes.tolist())]
        for name in ("wfbp", "tictac"):
            theirs = simulate(drawn.graph, drawn.network, POLICIES[name]).iteration_time
            assert time_of(drawn, sends) <= theirs


def test_same_plan_again(brief):
    for seed in range(20):
        drawn = case(seed)
        assert planned(drawn, LONG) == planned(drawn, LONG)


def test_twice_the_time_is_twice_the_plan(brief):
    for seed in range(20):
        drawn = case(seed)
        ops = [
            op if op.duration_us is None else op._replace(duration_us=2 * op.duration_us)
            for op in drawn.graph.ops
        ]
        costs = {lane: Affine(2 * c.startup, 2 * c.per_byte) for lane, c in drawn.costs.items()}
        double = Case("twice", build("twice", ops), costs)
        assert bound(double) == pytest.approx(2 * bound(drawn))
        twice = 2 * time_of(drawn, planned(drawn, LONG))
        assert time_of(double, planned(double, LONG)) == pytest.approx(twice)


def test_on_paper():
    """The gather opens the second compute op; first come, first served sends the other first.

    Compute 0 to 10, gather to 16, compute to 26, last collective to 32: the longest path. The
    all-reduce fills the channel from 16 to 22.
    """
    ops = [
        Op("a", COMPUTE, 10.0),
        Op("early", ALL_REDUCE, None, 4, ("a",)),
        Op("gather", ALL_GATHER, None, 4, ("a",)),
        Op("b", COMPUTE, 10.0, None, ("gather",)),
        Op("late", ALL_REDUCE, None, 4, ("b",)),
    ]
    costs = {ChannelCost(NETWORK, kind): Affine(2.0, 1.0) for kind in (ALL_REDUCE, ALL_GATHER)}
    drawn = Case("paper", build("paper", ops), costs)
    assert bound(drawn) == time_of(drawn, planned(drawn)) == 32.0
    assert simulate(drawn.graph, drawn.network, POLICIES["wfbp"]).iteration_time == 38.0


def test_kinds_that_share_a_channel():
    """No collective comes after another: what is fused and what is not is by kind alone.

    Four launches of 10 us start-up and 1 us, two of each kind; fused by kind, 12 us each.
    """
    ops = [Op("a", COMPUTE, 5.0)]
    for i, kind in enumerate((ALL_REDUCE, ALL_GATHER, ALL_REDUCE, ALL_GATHER)):
        ops.append(Op(f"g{i}", kind, None, 1, ("a",)))
    costs = {ChannelCost(NETWORK, kind): Affine(10.0, 1.0) for kind in (ALL_REDUCE, ALL_GATHER)}
    drawn = Case("kinds", build("kinds", ops), costs)
    chain = chain_of(drawn.graph)
    assert not chain.before
    assert not chain.is_layered
    assert bound(drawn) == time_of(drawn, planned(drawn, LONG)) == 29.0
    judge = GraphJudge(drawn.graph, chain, costs_of(chain, drawn.network))
    alone = judge.split([Launch((i,), 1) for i in range(len(chain))])
    better = improve([alone], judge, Improvement(chain.tail.tolist(), [[], []], bound=29.0))
    assert judge.value(better) == 29.0


#: A launch takes 1 us up to 32,768 bytes, and 100 us more for each doubling.
STEEP = MeasuredCost(
    tuple(32_768 * 2**k for k in range(16)), tuple(1.0 + 100 * k for k in range(16)), 1e-3, 0.0
)


@pytest.mark.parametrize(("fusion", "time"), [("joint", 10 + 65), ("none", 10 + 601 + 2)])
def test_steep_costs_are_paid_in_thrifty_parts(fusion, time, brief):
    """One tensor goes in 64 launches of 32,768 bytes, two of 16,384 bytes in one; else whole."""
    ops = [Op("a", COMPUTE, 10.0)]
    for i, size in enumerate((64 * 32_768, 16_384, 16_384)):
        ops.append(Op(f"g{i}", ALL_REDUCE, None, size, ("a",)))
    graph = build("steep", ops)
    answer = plan(graph, alike(STEEP), Options(fusion, baselines=()))
    assert check(graph, alike(STEEP), answer) == answer.iteration_time_us == time
    assert answer.lower_bound_us == pytest.approx(75.0)
    assert plan(graph, alike(STEEP), Options(fusion, baselines=())).launches == answer.launches


def test_no_more_parts_than_can_be_searched(monkeypatch):
    """Least time per byte is at 1 byte: as many launches are not tried, but four."""
    monkeypatch.setattr(DECIDE, "_PARTS", 4)
    ops = [Op("a", COMPUTE, 1.0), Op("g", ALL_REDUCE, None, 99_999, ("a",))]
    cost = MeasuredCost((1, 10, 100_000), (1e-6, 20.0, 9e5), 9.0, 0.0)
    graph = build("many", ops)
    assert len(decide(graph, chain_of(graph), [cost], LONG)) == 4


def test_an_allowance_that_is_spent_between_policies():
    """The plans of a few sizes are looked at, the policies no longer."""
    drawn = case(3)
    looked = []

    def policy(chain, costs):
        looked.append(chain)
        return POLICIES["wfbp"](chain, costs)

    steps = DECIDE._SIMULATED * 5 * len(drawn.graph.ops)  # of a few plans
    few = replace(LONG, allowance=Allowance(steps), candidates=(Candidate("last", policy),))
    value = time_of(drawn, planned(drawn, few))
    assert not looked
    assert planned(drawn, replace(few, allowance=Allowance()))
    assert looked
    assert bound(drawn) <= value
    assert value <= simulate(drawn.graph, drawn.network, POLICIES["tictac"]).iteration_time


def test_the_fused_ops_are_a_graph_that_takes_the_same_time():
    for seed in FEW:
        drawn = case(seed)
        answer = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=0.05))
        fused = build("fused", answer.fused)
        chain = chain_of(fused)
        names = [fused.ops[i].id for i in chain.positions.tolist()]
        index = {}
        for bucket in answer.buckets:
            named = [n for n in names if n.split("+")[0] in bucket.tensors]
            assert len(named) == 1
            index[bucket.id] = names.index(named[0])
        sends = [Launch((index[part.bucket],), part.bytes) for part in answer.parts]
        time = simulate(fused, drawn.network, replay(sends)).iteration_time
        assert time == pytest.approx(answer.iteration_time_us)
