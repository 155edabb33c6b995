"""Graphs: what is refused, and longest paths against networkx."""

import math
from typing import Any

import pytest
from hypothesis import given, settings

from solver import chain as chains
from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.errors import InvalidGraph
from solver.graph import ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.graph.durations import in_doubt
from solver.limits import MAX_FAULTS_SOUGHT
from solver.models import MODELS
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from tests import oracles
from tests.sampling import cases
from tests.strategies import graphs


def compute(name, *after, us=1.0):
    return Op(name, COMPUTE, us, None, after)


def reduce(name, *after, size=8):
    return Op(name, ALL_REDUCE, None, size, after)


REJECTED = [
    # a cycle of two, named
    ([compute("a", "b"), compute("b", "a"), reduce("g")], [("/ops/0", "cycle")]),
    # an edge to nowhere
    ([compute("a", "x"), reduce("g")], [("/ops/0/after/0", "unknown_op")]),
    # the same id twice
    ([compute("a"), compute("a"), reduce("g")], [("/ops/1/id", "duplicate_id")]),
    # an op after itself
    ([compute("a", "a"), reduce("g")], [("/ops/0/after/0", "self_loop")]),
    # below, at and above the limits
    ([compute("a", us=-1.0), reduce("g")], [("/ops/0/duration_us", "out_of_range")]),
    ([compute("a", us=math.nan), reduce("g")], [("/ops/0/duration_us", "out_of_range")]),
    ([compute("a", us=math.inf), reduce("g")], [("/ops/0/duration_us", "out_of_range")]),
    ([compute("a", us=1e13), reduce("g")], [("/ops/0/duration_us", "out_of_range")]),
    ([compute("a"), reduce("g", size=0)], [("/ops/1/bytes", "out_of_range")]),
    ([compute("a"), reduce("g", size=2**61)], [("/ops/1/bytes", "out_of_range")]),
    # each tensor within the limit, all of them not
    (
        [compute("a"), reduce("g", size=2**60), reduce("h", size=2**60)],
        [("/ops", "out_of_range")],
    ),
    # what an op must have
    ([Op("a", COMPUTE), reduce("g")], [("/ops/0/duration_us", "missing_field")]),
    ([compute("a"), Op("g", ALL_REDUCE)], [("/ops/1/bytes", "missing_field")]),
    ([compute("a"), reduce("g"), Op("s", "send", 1.0)], [("/ops/2/kind", "out_of_range")]),
    # nothing to compute, nothing to send
    ([reduce("g")], [("/ops", "no_compute")]),
    ([compute("a")], [("/ops", "no_collective")]),
    ([], [("/ops", "no_compute"), ("/ops", "no_collective")]),
    # a collective on a stream
    (
        [compute("a"), Op("g", ALL_REDUCE, None, 8, stream="s")],
        [("/ops/1/stream", "extra_field")],
    ),
    # a stream that runs an op before what it comes after
    (
        [
            Op("a", COMPUTE, 1.0, None, ("b",), stream="s"),
            Op("b", COMPUTE, 1.0, stream="s"),
            reduce("g"),
        ],
        [("/ops/0", "cycle")],
    ),
    # all faults at once
    (
        [compute("a", "x", us=-1.0), compute("a", "a"), reduce("g", size=0)],
        [
            ("/ops/0/duration_us", "out_of_range"),
            ("/ops/2/bytes", "out_of_range"),
            ("/ops/1/id", "duplicate_id"),
            ("/ops/0/after/0", "unknown_op"),
            ("/ops/1/after/0", "self_loop"),
        ],
    ),
]


@pytest.mark.parametrize(("ops", "faults"), REJECTED)
def test_rejected(ops, faults):
    with pytest.raises(InvalidGraph) as caught:
        build("bad", ops)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_of_too_many_faults_the_first_are_listed():
    ops = [compute(f"c{i}", us=-1.0) for i in range(MAX_FAULTS_SOUGHT + 5)]
    with pytest.raises(InvalidGraph) as caught:
        build("bad", [*ops, reduce("g")])
    codes = [fault.code for fault in caught.value.faults]
    assert codes == ["out_of_range"] * MAX_FAULTS_SOUGHT + ["too_many_faults"]


def test_messages_name_the_thing_and_the_rule():
    with pytest.raises(InvalidGraph) as caught:
        build("bad", [compute("a"), reduce("fc1.weight", "a", size=0)])
    assert str(caught.value) == "Tensor 'fc1.weight': bytes must be 1 to 2^60, got 0."


def test_a_cycle_says_which_edge_is_the_order_of_a_stream():
    ops = [Op("a", COMPUTE, 1.0, None, ("b",), stream="s"), Op("b", COMPUTE, 1.0, stream="s")]
    with pytest.raises(InvalidGraph, match=r"2: a -> \(next in stream 's'\) b -> a\."):
        build("bad", [*ops, reduce("g")])


def test_ops_of_a_stream_run_one_at_a_time_in_order():
    ops = [Op(f"s{i}", COMPUTE, 10.0, stream="gpu") for i in range(3)]
    graph = build("stream", [*ops, compute("free", us=10.0), reduce("g", "s1")])
    assert graph.preds == ((), (0,), (1,), (), (1,))
    assert chain_of(graph).compute_time == 30
    assert chain_of(graph).release.tolist() == [20]


def test_a_collective_may_come_after_another():
    ops = [compute("a"), reduce("g", "a"), compute("c", "g"), reduce("h", "c"), reduce("k", "a")]
    chain = chain_of(build("dag", ops))
    assert chain.positions.tolist() == [1, 4, 3]  # by release, then by what comes before
    assert tuple(chain.before) == (0, 0, 0b001)
    assert not chain.is_layered


def test_what_precedes_what_is_collected_when_it_is_looked_at(monkeypatch):
    """n sets of n bits: a simulation of many collectives does without them."""
    calls = []
    collect = chains._before

    def counted(*args):
        calls.append(1)
        return collect(*args)

    monkeypatch.setattr(chains, "_before", counted)
    ops = [compute("a"), reduce("g", "a"), reduce("h", "g"), reduce("k", "h"), reduce("l", "a")]
    graph = build("dag", ops)
    chain = chain_of(graph)
    simulate(graph, alike(Affine(1.0, 1.0)), POLICIES["wfbp"])
    assert chain.before
    assert len(chain.before) == 4
    assert not calls
    assert list(chain.before) == [0, 0, 0b0001, 0b0101]  # of g, l, h, k
    assert chain.before[1:3] == (0, 0b0001)
    assert calls == [1]


def test_a_barrier_holds_back_what_waits_for_last_collectives_alone():
    ops = [compute("a"), reduce("g", "a"), compute("c", "g"), reduce("h", "c"), reduce("k", "a")]
    graph = with_barrier(build("dag", [*ops, compute("e", "h")]))
    assert graph.ops[-1].after == ("h", "k")
    assert graph.ops[-2].after == ("h", "barrier")
    assert graph.ops[2].after == ("g",)


def test_the_cycle_named_is_a_short_one():
    # s -> t -> u -> s and the chord t -> s: the cycle of two is named, not that of three
    ops = [compute("in"), compute("s", "in", "u", "t"), compute("t", "s"), compute("u", "t")]
    with pytest.raises(InvalidGraph, match=r"cycle of 2: s -> t -> s\."):
        build("bad", [*ops, compute("behind", "s"), reduce("g", "behind")])


def test_a_cycle_with_two_ways_round_names_one():
    ops = [compute("s", "u"), compute("t", "s"), compute("v", "s"), compute("u", "t", "v")]
    with pytest.raises(InvalidGraph, match=r"cycle of 3: s -> t -> u -> s\."):
        build("bad", [*ops, reduce("g")])


def test_a_cycle_is_walked_once_where_ways_meet():
    # s -> t -> u and s -> v -> u, then u -> w -> s: u is reached twice before the cycle closes
    ops = [compute("s", "w"), compute("t", "s"), compute("v", "s"), compute("u", "t", "v")]
    with pytest.raises(InvalidGraph, match="cycle of 4"):
        build("bad", [*ops, compute("w", "u"), reduce("g")])


def test_a_long_cycle_is_abbreviated():
    ring = [compute(f"n{i}", f"n{(i - 1) % 1000}") for i in range(1000)]
    with pytest.raises(InvalidGraph, match=r"cycle of 1000: n0 -> .* -> \.\.\. -> n0\.$") as caught:
        build("bad", [*ring, reduce("g")])
    assert len(str(caught.value)) < 200


@given(graph=graphs())
@settings(max_examples=cases(200))
def test_releases_tails_and_compute_time_are_longest_paths(graph):
    chain = chain_of(graph)
    names = [graph.ops[i].id for i in chain.positions.tolist()]
    release, tail, length = oracles.releases_tails_and_length(graph)
    assert dict(zip(names, chain.release.tolist(), strict=True)) == release
    assert dict(zip(names, chain.tail.tolist(), strict=True)) == tail
    assert chain.compute_time == length
    keys = [(release[name], i) for name, i in zip(names, chain.positions.tolist(), strict=True)]
    assert keys == sorted(keys)


@given(graph=graphs())
def test_a_barrier_makes_all_tails_the_largest(graph):
    before, after = chain_of(graph), chain_of(with_barrier(graph))
    assert after.tail.tolist() == [before.tail.max()] * len(before)
    assert after.release.tolist() == before.release.tolist()


def test_a_barrier_finds_a_free_name():
    graph = build("b", [compute("barrier"), reduce("g", "barrier"), compute("f", "g")])
    assert with_barrier(graph).ops[-1].id == "barrier'"


@pytest.mark.parametrize("model", MODELS)
def test_milliseconds_are_asked_about(model):
    """Every published model in milliseconds, and none as it is."""
    graph = MODELS[model]()
    assert not in_doubt(graph)
    ops = [op._replace(duration_us=op.duration_us and op.duration_us / 1e3) for op in graph.ops]
    assert in_doubt(build("in ms", ops))


def test_only_short_ops_beside_large_collectives_are_in_doubt():
    def iteration(us, size, count=3):
        return build(
            "x", [*(compute(f"c{i}", us=us) for i in range(count)), reduce("g", size=size)]
        )

    assert in_doubt(iteration(10.0, 95_000 * 30 + 1))
    assert not in_doubt(iteration(10.0, 95_000 * 30))
    assert not in_doubt(iteration(50.0, 10**9))  # of ops so long nobody is asked
    assert not in_doubt(iteration(0.0, 10**9))  # nor of a graph that computes nothing


def odd(*values: Any, **fields: Any) -> Op:
    """Make an op of anything."""
    return Op(*values, **fields)


@pytest.mark.parametrize(
    ("wrong", "pointer", "said"),
    [
        (odd(5, "compute", 1.0), "/ops/0/id", "Op 0: id must be a string, got 5."),
        (odd("a", 3, 1.0), "/ops/0/kind", "Op 'a': kind must be a string, got 3."),
        (odd("a", "compute", "1"), "/ops/0/duration_us", 'must be a number, got "1".'),
        (odd("a", "compute", True), "/ops/0/duration_us", "must be a number, got true."),
        (odd("a", "compute", 1.0, None, "b"), "/ops/0/after", 'must be a list, got "b".'),
        (odd("a", "compute", 1.0, None, ("g", 3)), "/ops/0/after/1", "a string, got 3."),
        (odd("a", "compute", 1.0, stream=3), "/ops/0/stream", "must be a string, got 3."),
        (odd("a", "all_reduce", None, 4.5), "/ops/0/bytes", "Tensor 'a': bytes must be an integer"),
        (odd("a", "all_reduce", None, 4, (), None), "/ops/0/channel", "a string, got null."),
        (odd("a", "all_reduce", None, 4, fuse_key=1), "/ops/0/fuse_key", "a string, got 1."),
        (odd("a", "all_reduce", None, 4, element_bytes="4"), "/ops/0/element_bytes", "an integer"),
    ],
)
def test_values_of_the_wrong_type_are_faults_among_the_others(
    wrong: Op, pointer: str, said: str
) -> None:
    late = [Op("b", "compute", -1.0), Op("g", "all_reduce", None, 1)]
    with pytest.raises(InvalidGraph) as caught:
        build("wrong", [wrong, *late])
    first, *others = caught.value.faults
    assert (first.pointer, first.code) == (pointer, "wrong_type")
    assert said in first.detail
    assert [fault.pointer for fault in others] == ["/ops/1/duration_us"]


def test_whole_numbers_of_bytes_become_integers() -> None:
    ops = [Op("b", "compute", 1), odd("g", "all_reduce", None, 8.0, ["b"], element_bytes=4.0)]
    graph = build("whole", ops)
    assert graph == build(
        "whole", [ops[0], Op("g", "all_reduce", None, 8, ("b",), element_bytes=4)]
    )
    assert [type(value) for value in (graph.ops[1].bytes, graph.ops[1].element_bytes)] == [int, int]
    assert graph.ops[1].after == ("b",)
