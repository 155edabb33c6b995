"""The bound of programs: never above an optimum, and the figures of cases on paper."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from solver.costs import ChannelCost, Cluster, Cost, Network, network_of
from solver.costs.functions.affine import Affine
from solver.graph import Op, build
from solver.programs.bounds.bound import lower_bound
from solver.programs.execute import execute
from solver.programs.plan import plan
from solver.programs.policies import POLICIES
from solver.programs.problem import ProgramLimits, ProgramProblem
from tests import sampling
from tests.programs.exact import by_hand, optima
from tests.programs.shared import FOLDER, PYTORCH, load
from tests.programs.small import layers, small
from tests.sampling import cases


def _problem(*ops: Op, startup: float = 1.0, per_byte: float = 1.0) -> ProgramProblem:
    network = Network(lambda _: Affine(startup, per_byte), workers=(("network", 2),))
    return ProgramProblem(build("paper", ops, free=["s"]), network)


def _compute(name: str, time: float, *after: str) -> Op:
    return Op(name, "compute", time, after=after, stream="s")


def _gather(name: str, size: int, *after: str) -> Op:
    return Op(name, "all_gather", bytes=size, after=after, cut=False)


@pytest.mark.timeout(2_400)  # all cases are one call of CP-SAT
@pytest.mark.long
def test_bound_is_never_above_the_optimum() -> None:
    problems = [
        small(seed, 6 + seed % 3, 2 + seed % 2) for seed in range(2000 if sampling.full else 40)
    ]
    for problem, (value, proven) in zip(problems, optima(problems), strict=True):
        assert proven
        assert value is not None
        assert lower_bound(problem).value_us <= value * (1 + 1e-9)


@pytest.mark.long
def test_bound_of_layers_is_never_above_the_optimum() -> None:
    """What cannot be hidden at either end, where that decides."""
    problems = [layers(seed) for seed in range(cases(60, 12))]
    bounds = [lower_bound(problem) for problem in problems]
    assert sum(bound.kind == "overlap" for bound in bounds) >= len(problems) // 10
    for bound, (value, proven) in zip(bounds, optima(problems), strict=True):
        assert proven
        assert value is not None
        assert bound.value_us <= value * (1 + 1e-9)


@pytest.mark.long
def test_both_oracles_agree() -> None:
    problems = [small(seed, 5, 2) for seed in range(1000, 1000 + cases(50, 10))]
    assert [by_hand(problem) for problem in problems] == [value for value, _ in optima(problems)]


@pytest.mark.parametrize(
    ("ops", "kind", "value"),
    [
        # one after the other: 3, a launch of 1 + 4, 2
        ((_compute("a", 3), _gather("g", 4, "a"), _compute("b", 2, "g")), "path", 10.0),
        # 2 before the stream can end: the gather's 1 + 1; then 5 and 6, in any order
        ((_gather("g", 1), _compute("a", 5, "g"), _compute("b", 6, "g")), "path", 13.0),
        # two gathers as one, 1 + 3 + 4, then the op of either
        ((_gather("g", 3), _gather("h", 4), _compute("a", 2, "g", "h")), "path", 10.0),
        # r waits for d, e, f alone. Put off v or w to run beside it, and o or p comes after it: 9
        # for the 8 that they take. So 46 of compute, then 1 + 10
        (
            (
                _compute("d", 10),
                _compute("v", 8, "d"),
                _gather("o", 9, "v"),
                _compute("e", 10, "d"),
                _compute("w", 8, "e"),
                _gather("p", 9, "w"),
                _compute("f", 10, "e"),
                _gather("r", 10, "f"),
            ),
            "overlap",
            57.0,
        ),
        # the same from the other end
        (
            (
                _gather("r", 10),
                _compute("f", 10, "r"),
                _gather("p", 9),
                _compute("w", 8, "p"),
                _compute("e", 10, "f", "w"),
                _gather("o", 9),
                _compute("v", 8, "o"),
                _compute("d", 10, "e", "v"),
            ),
            "overlap",
            57.0,
        ),
        # h comes after g: two launches, 1 + 3 and 1 + 4
        ((_gather("g", 3), _gather("h", 4, "g"), _compute("a", 2, "h")), "path", 11.0),
    ],
)
def test_on_paper(ops: tuple[Op, ...], kind: str, value: float) -> None:
    bound = lower_bound(_problem(*ops))
    assert (bound.kind, bound.value_us) == (kind, value)


def test_a_chain_pays_each_start_up() -> None:
    """Three gathers of which two are on a chain: 2 start-ups and 6 bytes, not 1 and 6."""
    ops = _gather("g", 2), _gather("h", 2, "g"), _gather("i", 2), _compute("a", 1, "h", "i")
    assert lower_bound(_problem(*ops)).value_us == 2 * 1 + 6 + 1


def test_a_limit_of_buckets_splits_them() -> None:
    ops = [_gather(f"g{i}", 4) for i in range(4)]
    last = _compute("a", 0, *(op.id for op in ops))
    problem = replace(_problem(*ops, last), limits=ProgramLimits(bucket_bytes=8))
    optimum = 2 * (1 + 8)
    assert lower_bound(_problem(*ops, last)).value_us == 1 + 16
    assert 1 + 16 <= lower_bound(problem).value_us <= optimum


def test_no_policy_is_faster() -> None:
    for seed in range(cases(500, 60)):
        problem = small(seed, 5 + seed % 30, 2 + seed % 4, memory=False)
        least = lower_bound(problem).value_us
        for policy in POLICIES.values():
            time = execute(problem, policy(problem)).iteration_time
            assert least <= time * (1 + 1e-9)


def _twice(cost: Callable[[ChannelCost], Cost]) -> Callable[[ChannelCost], Cost]:
    return lambda lane: cost(lane).stretch(2, 2)


def test_twice_the_times_twice_the_bound() -> None:
    for seed in range(cases(100)):
        problem = small(seed, memory=False)
        ops = [
            op if op.duration_us is None else op._replace(duration_us=2 * op.duration_us)
            for op in problem.graph.ops
        ]
        twice = replace(
            problem,
            graph=build("twice", ops, problem.graph.buffers, problem.graph.free),
            network=replace(problem.network, cost=_twice(problem.network.cost)),
        )
        assert lower_bound(twice).value_us == pytest.approx(2 * lower_bound(problem).value_us)


@pytest.mark.skipif(not FOLDER.exists(), reason="the shared graphs are not here")
@pytest.mark.parametrize("name", PYTORCH)
def test_shared_graphs(name: str) -> None:
    """Above the load of the stream, and not above what PyTorch takes."""
    problem = load(name)
    value = lower_bound(problem).value_us
    assert sum(problem.graph.durations) < value or not problem.graph.free
    assert value <= 1000 * PYTORCH[name][0]


def test_a_limit_of_buckets_does_not_raise_the_bound_above_a_program():
    """On paper: five gathers of 10 us, one after another, between two ops of 1 us.

    The cost beyond what one bucket may carry is of no bucket.
    """
    ops = [Op("a", "compute", 1.0, stream="s")]
    ops += [Op(f"x{k}", "all_gather", None, 1000, ("a",), "c", cut=False) for k in range(5)]
    ops += [Op("b", "compute", 1.0, None, tuple(f"x{k}" for k in range(5)), stream="s")]
    table = (("all_gather", ((1000, 10.0), (2000, 100.0))),)
    channel = Cluster(4, algorithm="table", table=((1, 1.0),), tables=table)
    network = network_of(replace(channel, channels=(("c", channel),)))
    graph = build("table", ops, (), ["s"])
    for limit in (None, 1000, 2000):
        problem = ProgramProblem(graph, network, None, ProgramLimits(bucket_bytes=limit))
        found = plan(problem)
        assert found.run.iteration_time == 52.0
        assert found.bound.value_us == pytest.approx(52.0)
