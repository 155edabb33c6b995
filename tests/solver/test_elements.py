"""Parts end between elements, and tensors of different keys or elements share no bucket."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import Launch, largest_part, whole_elements
from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.errors import InvalidGraph, InvalidPlan
from solver.fusion.layered import FUSIONS
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.planning.check import InfeasiblePlan, check
from solver.planning.explicit import ExplicitBucket, ExplicitPart, explicit_launches
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.schedule import SCHEDULERS
from solver.simulation.engine import simulate
from solver.simulation.what_if import Change, adapt_plan, apply_changes
from tests.sampling import cases
from tests.strategies import costs, dags, graphs

ALL = tuple(Choice(policy) for policy in POLICIES)


@st.composite
def with_elements(draw, source, sorts) -> Graph:
    """The same graph with other sizes: whole elements of one of some sorts (bytes, key)."""
    graph = draw(source)

    def changed(op):
        if op.kind == COMPUTE:
            return op
        element, key = draw(st.sampled_from(sorts))
        size = draw(st.integers(1, 150_000)) * element
        return op._replace(bytes=size, element_bytes=element, fuse_key=key)

    return build(graph.name, map(changed, graph.ops))


def one_sort(source):
    return st.sampled_from([2, 3, 4, 1_000]).flatmap(
        lambda element: with_elements(source, [(element, None)])
    )


def several_sorts(source):
    return with_elements(source, [(4, None), (2, None), (2, "float16"), (2, "bfloat16"), (1, None)])


def is_whole(graph, launches) -> bool:
    """Whether launches carry each byte once, in whole elements, of tensors of one sort."""
    chain = chain_of(graph)
    ops = [graph.ops[i] for i in chain.positions.tolist()]
    left = {bucket: sum(ops[i].bytes for i in bucket) for bucket, _ in launches}
    for bucket, size in launches:
        (element,) = {ops[i].element_bytes for i in bucket}
        assert len({(ops[i].kind, ops[i].channel, ops[i].fuse_key) for i in bucket}) == 1
        assert size > 0
        assert size % element == 0
        left[bucket] -= size
    return not any(left.values()) and sorted(i for bucket in left for i in bucket) == list(
        range(len(ops))
    )


@pytest.mark.parametrize("schedule", SCHEDULERS)
@pytest.mark.parametrize("fusion", FUSIONS)
@given(graph=one_sort(graphs()), cost=costs())
@settings(max_examples=cases(60))
def test_every_plan_is_in_whole_elements(fusion, schedule, graph, cost):
    answer = plan(graph, alike(cost), Options(fusion, schedule, baselines=ALL))
    assert is_whole(graph, answer.launches)
    assert check(graph, alike(cost), answer) == pytest.approx(answer.iteration_time_us)


@pytest.mark.parametrize("name", POLICIES)
@given(graph=st.one_of(one_sort(graphs()), several_sorts(dags())), cost=costs())
@settings(max_examples=cases(60))
def test_every_policy_sends_whole_elements(name, graph, cost):
    if name != "pace" or chain_of(graph).is_layered:
        assert is_whole(graph, simulate(graph, alike(cost), POLICIES[name]).plan)


@given(graph=several_sorts(st.one_of(graphs(), dags())), cost=costs())
@settings(max_examples=cases(100))
def test_only_tensors_of_one_sort_share_a_bucket(graph, cost):
    answer = plan(graph, alike(cost), Options(baselines=(Choice("ddp"),)))
    assert is_whole(graph, answer.launches)
    assert check(graph, alike(cost), answer) == pytest.approx(answer.iteration_time_us)


@given(
    cost=costs(),
    budget=st.floats(0, 2_000),
    most=st.integers(1, 60).map(lambda n: n * 20_000),
    element=st.sampled_from([1, 20_000, 40_000]),
)
@settings(max_examples=cases(200))
def test_the_largest_part_is_that_of_brute_force(cost, budget, most, element):
    most = whole_elements(most, element)
    if element == 1:
        assert largest_part(cost, budget, most, element) == cost.fits(budget, most)
        return
    fitting = [n for n in range(element, most + 1, element) if cost.time(n) <= budget]
    assert largest_part(cost, budget, most, element) == max(fitting, default=0)


def test_a_part_is_cut_between_elements_on_paper():
    # 1 us a byte: 5 bytes of g fit before h goes, so one element of 4; the other follows h
    graph = build(
        "cut",
        [
            Op("b", COMPUTE, 0.0),
            Op("c", COMPUTE, 5.0, None, ("b",)),
            Op("g", ALL_REDUCE, None, 8, ("b",), element_bytes=4),
            Op("h", ALL_REDUCE, None, 4, ("c",), element_bytes=4),
            Op("f", COMPUTE, 50.0, None, ("h",)),
        ],
    )
    answer = plan(graph, alike(Affine(0.0, 1.0)), Options("none"))
    assert [(p.bucket, p.start_us, p.bytes) for p in answer.parts] == [
        ("b0", 0.0, 4),
        ("b1", 5.0, 4),
        ("b0", 9.0, 4),
    ]


TWO_SORTS = build(
    "two sorts",
    [
        Op("b", COMPUTE, 10.0),
        Op("g", ALL_REDUCE, None, 8, ("b",), element_bytes=4),
        Op("h", ALL_REDUCE, None, 8, ("b",), element_bytes=4),
        Op("k", ALL_REDUCE, None, 8, ("b",), element_bytes=4, fuse_key="norms"),
    ],
)
FUSED = (ExplicitBucket("x", ("g", "h")), ExplicitBucket("y", ("k",)))


def test_a_plan_cuts_no_element():
    parts = [ExplicitPart("x", 12), ExplicitPart("y", 8), ExplicitPart("x", 4)]
    chain = chain_of(TWO_SORTS)
    assert [size for _, size in explicit_launches(TWO_SORTS, chain, FUSED, parts)] == [12, 8, 4]
    parts = [ExplicitPart("x", 14), ExplicitPart("y", 8), ExplicitPart("x", 2)]
    with pytest.raises(InvalidPlan) as caught:
        explicit_launches(TWO_SORTS, chain, FUSED, parts)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [
        ("/schedule/parts/0/bytes", "out_of_range"),
        ("/schedule/parts/2/bytes", "out_of_range"),
    ]


@pytest.mark.parametrize(
    "other",
    [{"fuse_key": "norms"}, {"element_bytes": 2}],
)
def test_a_plan_mixes_no_sorts(other):
    ops = [op._replace(fuse_key=None) for op in TWO_SORTS.ops]
    graph = build("mixed", [op._replace(**other) if op.id == "k" else op for op in ops])
    with pytest.raises(InvalidPlan) as caught:
        explicit_launches(
            graph,
            chain_of(graph),
            [ExplicitBucket("x", ("g", "h", "k"))],
            [ExplicitPart("x", 24)],
        )
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/buckets/0/tensors", "mixed_bucket")


def test_the_certificate_sees_elements_and_keys():
    cost = alike(Affine(1.0, 1.0))
    answer = plan(TWO_SORTS, cost)
    assert check(TWO_SORTS, cost, answer) == answer.iteration_time_us
    larger = [op._replace(element_bytes=8) if op.id == "g" else op for op in TWO_SORTS.ops]
    with pytest.raises(InfeasiblePlan, match="differ in fuse_key or element_bytes"):
        check(build("larger", larger), cost, answer)
    halves = plan(TWO_SORTS, cost, Options("none"))
    (first, *rest) = halves.parts
    one = replace(first, end_us=first.start_us + 4.0, bytes=3)
    two = replace(first, start_us=one.end_us, offset_bytes=3, bytes=first.bytes - 3)
    with pytest.raises(InfeasiblePlan, match="ends within an element"):
        check(TWO_SORTS, cost, replace(halves, parts=(one, two, *rest)))


@pytest.mark.parametrize(
    ("size", "element", "place"),
    [
        (6, 4, "bytes"),  # one element and a half
        (2, 4, "bytes"),  # less than one
        (4, 0, "element_bytes"),
        (4, -4, "element_bytes"),
    ],
)
def test_a_tensor_is_whole_elements(size, element, place):
    with pytest.raises(InvalidGraph) as caught:
        build(
            "odd",
            [Op("b", COMPUTE, 1.0), Op("g", ALL_REDUCE, None, size, ("b",), element_bytes=element)],
        )
    assert [(f.pointer, f.code) for f in caught.value.faults] == [
        (f"/ops/1/{place}", "out_of_range")
    ]


def test_changed_tensors_and_plans_keep_whole_elements():
    after = apply_changes(TWO_SORTS, [Change("g", bytes_factor=0.3), Change("h", bytes_factor=1.6)])
    assert [op.bytes for op in after.ops[1:]] == [4, 12, 8]
    halves = [Launch((0, 1), 12), Launch((2,), 8), Launch((0, 1), 4)]
    assert [size for _, size in adapt_plan(halves, TWO_SORTS, after)] == [12, 8, 4]


def test_a_key_of_its_own_costs_a_launch_of_its_own():
    cost = alike(Affine(10.0, 1.0))
    keyed = plan(TWO_SORTS, cost)
    assert sorted(sorted(bucket.tensors) for bucket in keyed.buckets) == [["g", "h"], ["k"]]
    assert keyed.iteration_time_us == 10 + 2 * 10 + 24
    free = build("free", [op._replace(fuse_key=None) for op in TWO_SORTS.ops])
    assert plan(free, cost).iteration_time_us == 10 + 10 + 24
