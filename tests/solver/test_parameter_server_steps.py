"""Steps: what is refused, parsing behind transfers, orders of downlinks, steps of graphs."""

import math
from fractions import Fraction

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidSteps
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.limits import MAX_BYTES, MAX_FAULTS_SOUGHT
from solver.models.layers import Layer, iteration
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.of_graph import step_of
from solver.parameter_server.orders import ORDERS, in_order
from solver.parameter_server.parsing import with_parsing
from solver.parameter_server.record import RunOptions
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import StepOp, build_step, servers_of
from tests.sampling import cases
from tests.solver.test_parameter_server_run import (
    GBPS,
    LAYERS,
    NO_WINDOW,
    SERIAL,
    compute,
    profiles,
    pull,
    push,
    update,
)
from tests.strategies import graphs

# What is refused.

A, B = ":a", ":b"
BAD_RESOURCE = [("/ops/0/resource", "out_of_range")]

REJECTED = [
    # nothing at all
    ([], [("/ops", "missing_field")]),
    # resources that there are not: unknown, empty, with an empty name, a named worker
    ([StepOp("x", "disk", 1.0)], BAD_RESOURCE),
    ([StepOp("x", "", 1.0)], BAD_RESOURCE),
    ([StepOp("x", "uplink:", None, 1)], BAD_RESOURCE),
    ([StepOp("x", "worker:a", 1.0)], BAD_RESOURCE),
    # a transfer has bytes, from 1 to 2^60, and no time
    ([StepOp("x", "uplink")], [("/ops/0/bytes", "missing_field")]),
    ([StepOp("x", "downlink")], [("/ops/0/bytes", "missing_field")]),
    ([pull("x", 0)], [("/ops/0/bytes", "out_of_range")]),
    ([pull("x", -1)], [("/ops/0/bytes", "out_of_range")]),
    ([pull("x", MAX_BYTES + 1)], [("/ops/0/bytes", "out_of_range")]),
    ([StepOp("x", "uplink", 1.0, 1)], [("/ops/0/duration_us", "extra_field")]),
    (
        [StepOp("x", "uplink", 1.0)],
        [("/ops/0/duration_us", "extra_field"), ("/ops/0/bytes", "missing_field")],
    ),
    # what is computed has a time, from 0 to a hundred days, and no bytes
    ([StepOp("x", "worker")], [("/ops/0/duration_us", "missing_field")]),
    ([StepOp("x", "server")], [("/ops/0/duration_us", "missing_field")]),
    ([compute("x", -1.0)], [("/ops/0/duration_us", "out_of_range")]),
    ([compute("x", math.nan)], [("/ops/0/duration_us", "out_of_range")]),
    ([compute("x", math.inf)], [("/ops/0/duration_us", "out_of_range")]),
    ([update("x", 1e13)], [("/ops/0/duration_us", "out_of_range")]),
    ([StepOp("x", "server", 1.0, 1)], [("/ops/0/bytes", "extra_field")]),
    (
        [StepOp("x", "worker", None, 1)],
        [("/ops/0/bytes", "extra_field"), ("/ops/0/duration_us", "missing_field")],
    ),
    # each transfer within the limit, all of them not
    ([pull("x", MAX_BYTES), push("y", 1)], [("/ops", "out_of_range")]),
    # names: taken, unknown, its own
    ([compute("x", 1.0), compute("x", 1.0)], [("/ops/1/id", "duplicate_id")]),
    ([compute("x", 1.0, "y")], [("/ops/0/after/0", "unknown_op")]),
    ([compute("x", 1.0, "x")], [("/ops/0/after/0", "self_loop")]),
    # a cycle
    ([compute("x", 1.0, "y"), compute("y", 1.0, "x")], [("/ops/0", "cycle")]),
    # a server named in some places, in another not
    ([pull("x", 1, server=A), push("y", 1)], [("/ops", "missing_field")]),
    (
        [pull("x", 1, server=A), push("y", 1, server=B), update("z", 1.0)],
        [("/ops", "missing_field")],
    ),
    # three servers
    (
        [update(f"u{i}", 1.0, server=f":s{i}") for i in range(17)],
        [("/ops", "out_of_range")],
    ),
    # all at once
    (
        [compute("x", -1.0, "u"), pull("x", 0, server=A), push("z", 1, "z"), StepOp("w", "disk")],
        [
            ("/ops/0/duration_us", "out_of_range"),
            ("/ops/1/bytes", "out_of_range"),
            ("/ops/3/resource", "out_of_range"),
            ("/ops/1/id", "duplicate_id"),
            ("/ops/0/after/0", "unknown_op"),
            ("/ops/2/after/0", "self_loop"),
            ("/ops", "missing_field"),
        ],
    ),
]


def faults(call, *arguments):
    with pytest.raises(InvalidSteps) as caught:
        call(*arguments)
    return [(fault.pointer, fault.code) for fault in caught.value.faults]


@pytest.mark.parametrize(("ops", "expected"), REJECTED)
def test_rejected(ops, expected):
    assert faults(build_step, ops) == expected


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        (
            [StepOp("x", "disk", 1.0)],
            "Op 'x': resource must be worker, server, uplink or downlink, the last three with ':' "
            "and a server's name, got 'disk'.",
        ),
        ([pull("x", 0)], "Op 'x': bytes must be 1 to 2^60, got 0."),
        ([StepOp("x", "uplink:a")], "Op 'x' on 'uplink:a' needs bytes."),
        ([compute("x", -1.0)], "Op 'x': duration_us must be 0 to 8.64e+12, got -1.0."),
        ([StepOp("x", "worker")], "Op 'x' on 'worker' needs duration_us."),
        (
            [pull("x", 1, server=A), push("y", 1)],
            "Some ops name their server ('a'), others do not; name it in all or in none.",
        ),
        (
            [pull(f"p{i}", 1, server=f":s{i}") for i in range(17)],
            f"At most 16 servers, got 17: {', '.join(repr(f's{i}') for i in range(17))}.",
        ),
    ],
)
def test_messages_name_the_thing_and_the_rule(ops, message):
    with pytest.raises(InvalidSteps) as caught:
        build_step(ops)
    assert str(caught.value) == message


def test_of_too_many_faults_the_first_are_listed():
    found = faults(build_step, [compute(f"c{i}", -1.0) for i in range(MAX_FAULTS_SOUGHT + 5)])
    assert [code for _, code in found] == ["out_of_range"] * MAX_FAULTS_SOUGHT + ["too_many_faults"]


def test_limits_are_allowed():
    step = build_step([pull("x", MAX_BYTES), compute("c", 0.0), compute("d", 8.64e12)])
    assert step.bytes_on("downlink", None) == MAX_BYTES


def test_a_step():
    step = build_step(
        [
            push("u", 3, "c", "c", server=B),
            compute("c", 2.0, "p"),
            pull("p", 5, server=A),
            pull("q", 7, server=A),
        ]
    )
    assert step.preds == ((1,), (2,), (), ())
    assert step.succs == ((), (0,), (1,), ())
    assert step.order == (2, 3, 1, 0)
    assert step.servers == ("b", "a")
    assert [step.bytes_on("downlink", s) for s in step.servers] == [0, 12]
    assert [op.kind for op in step.ops] == ["uplink", "worker", "downlink", "downlink"]
    assert [op.server for op in step.ops] == ["b", None, "a", "a"]
    assert [op.stream for op in step.ops] == [None] * 4


def test_servers_of_steps():
    named = [build_step([pull("p", 1, server=s)]) for s in (B, A)]
    alone = build_step([compute("c", 1.0)])
    unnamed = build_step([pull("p", 1)])
    assert servers_of([alone]) == ()
    assert servers_of([unnamed, alone]) == (None,)
    assert servers_of([alone, *named, named[0]]) == ("b", "a")
    # no step, 17 servers in all, a name in one step and none in the other
    assert faults(servers_of, []) == [("", "missing_field")]
    many = [build_step([pull("p", 1, server=f":s{i}")]) for i in range(15)]
    assert faults(servers_of, [*named, *many]) == [("", "out_of_range")]
    assert faults(servers_of, [*named, unnamed]) == [("", "missing_field")]


# Parsing.


def lines(step):
    return [(op.id, op.resource, op.duration_us or op.bytes, op.after) for op in step.ops]


def test_each_receiver_parses_what_comes():
    assert lines(with_parsing(SERIAL, 0.001, 0.5)) == [
        ("p", "downlink", 4000, ()),
        ("p:parse", "worker", 4.5, ("p",)),
        ("c", "worker", 5.0, ("p:parse",)),
        ("u", "uplink", 3000, ("c",)),
        ("u:parse", "server", 3.5, ("u",)),
        ("d", "server", 2.0, ("u:parse",)),
    ]


def test_parsing_is_on_the_server_that_receives():
    step = build_step([push("u", 1000, server=A), push("v", 2000, "u", server=B)])
    assert lines(with_parsing(step, 0.0, 2.0)) == [
        ("u", "uplink:a", 1000, ()),
        ("u:parse", "server:a", 2.0, ("u",)),
        ("v", "uplink:b", 2000, ("u:parse",)),
        ("v:parse", "server:b", 2.0, ("v",)),
    ]


def test_without_overhead_it_is_the_same_step():
    assert with_parsing(SERIAL, 0.0, 0.0) is SERIAL


def test_parsing_takes_a_free_name():
    step = build_step([pull("p", 1), compute("p:parse", 1.0, "p"), compute("p:parse'", 1.0)])
    parsed = with_parsing(step, 0.0, 1.0)
    assert [op.id for op in parsed.ops] == ["p", "p:parse''", "p:parse", "p:parse'"]
    assert parsed.ops[2].after == ("p:parse''",)


def test_parsing_longer_than_an_op_may_be_is_refused():
    step = build_step([compute("c", 1.0), pull("p", 9), pull("q", 10), push("u", 11)])
    with pytest.raises(InvalidSteps) as caught:
        with_parsing(step, 8.64e11, 0.0)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [("/ops/3/bytes", "out_of_range")]
    expected = "Op 'u': parsing its 11 bytes takes 9.504e+12 us; an op takes 8.64e+12 us at most."
    assert str(caught.value) == expected


@given(profiles(), st.integers(0, 3), st.integers(0, 3))
@settings(max_examples=cases(200))
def test_parsing_only_lengthens_the_paths_through_transfers(steps, us_per_kilobyte, us):
    step = steps[0]
    parsed = with_parsing(step, us_per_kilobyte / 1000, float(us))
    before, after = (longest_paths(s, us_per_kilobyte, us) for s in (step, parsed))
    assert {name: after[name] for name in before} == before
    transfers = [op for op in step.ops if op.is_transfer]
    assert len(parsed.ops) == len(step.ops) + len(transfers) * bool(us or us_per_kilobyte)


def longest_paths(step, us_per_kilobyte, us):
    """End of each op of a step, its resources being without limit, and parsing in transfers.

    What parses a transfer ends with it.
    """
    times: dict[str, Fraction] = {}
    for i in step.order:
        op = step.ops[i]
        begin = max((times[other] for other in op.after), default=Fraction(0))
        parse = Fraction(us_per_kilobyte * (op.bytes or 0), 1000) + us if op.is_transfer else 0
        length = 0 if op.id.endswith(":parse") else Fraction(op.duration_us or 0)
        times[op.id] = begin + length + parse
    return times


# Orders.

#: Two pulls for f1, one more for f2, another one for f3 alone and one that nothing needs.
BRANCHES = build_step(
    [
        pull("p3", 1),
        pull("p2", 1),
        compute("f1", 1.0, "p1", "p1'"),
        pull("p1", 1),
        pull("p0", 1),
        compute("f2", 1.0, "f1", "p2"),
        pull("p1'", 1),
        compute("f3", 1.0, "p3"),
        push("u", 1, "f2", "f3"),
        update("d", 1.0, "u"),
        pull("late", 1, "f1"),
    ]
)


def pulls(step):
    return [op.id for op in step.ops if op.kind == "downlink"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("fifo", ["p3", "p2", "p1", "p0", "p1'", "late"]),
        # f1 needs 2, f2 needs 3, the update all but p0
        ("tic", ["p1", "p1'", "p2", "p3", "p0", "late"]),
        ("reverse", ["p0", "p3", "p2", "p1'", "p1", "late"]),
    ],
)
def test_orders_by_hand(order, expected):
    step = in_order(BRANCHES, order, 0)
    assert pulls(step) == expected
    others = [op for op in BRANCHES.ops if op.kind != "downlink"]
    assert [op for op in step.ops if op.kind != "downlink"] == others
    assert [op.kind for op in step.ops] == [op.kind for op in BRANCHES.ops]


def test_the_pulls_leave_in_the_order():
    run = run_steps([in_order(BRANCHES, "tic", 0)], 1, NO_WINDOW, RunOptions(1, 0), range(1))
    ops = in_order(BRANCHES, "tic", 0).ops
    # the late one is ready when p1 and p1' are there and f1 has ended: behind the others
    left = [ops[s.op].id for s in run.services if ops[s.op].kind == "downlink"]
    assert left == ["p1", "p1'", "p2", "p3", "p0", "late"]


def test_parsing_does_not_change_the_order():
    for order in ORDERS:
        before = pulls(in_order(BRANCHES, order, 1))
        assert pulls(in_order(with_parsing(BRANCHES, 0.0, 1.0), order, 1)) == before


def test_random_is_one_permutation_for_all_steps_of_a_seed():
    names = [f"p{i}" for i in range(6)]
    step = build_step([pull(name, 1) for name in names])
    other = build_step([compute("c", 1.0), *(pull(name, 2) for name in reversed(names))])
    seen = {seed: pulls(in_order(step, "random", seed)) for seed in range(20)}
    assert all(sorted(order) == names for order in seen.values())
    assert len(set(map(tuple, seen.values()))) > 15
    assert seen == {seed: pulls(in_order(other, "random", seed)) for seed in range(20)}


def test_an_order_that_is_the_given_one_is_the_same_step():
    assert in_order(BRANCHES, "fifo", 0) is BRANCHES
    assert in_order(LAYERS, "tic", 0) is LAYERS


@given(profiles(), st.sampled_from(ORDERS), st.integers(0, 5))
@settings(max_examples=cases(300))
def test_an_order_moves_the_ready_downlinks_alone(steps, order, seed):
    step = steps[0]
    moved = in_order(step, order, seed)
    assert sorted(moved.ops) == sorted(step.ops)
    for before, after in zip(step.ops, moved.ops, strict=True):
        ready = before.kind == "downlink" and not before.after
        assert (after.kind == "downlink" and not after.after) if ready else after == before


@given(profiles())
@settings(max_examples=cases(300))
def test_tic_is_by_the_least_set_with_another_downlink(steps):
    step = steps[0]
    graph = nx.DiGraph((other, op.id) for op in step.ops for other in op.after)
    graph.add_nodes_from(op.id for op in step.ops)
    downlinks = {op.id for op in step.ops if op.kind == "downlink"}
    needed = [
        downlinks & nx.ancestors(graph, op.id) for op in step.ops if op.kind in {"worker", "server"}
    ]
    ready = [op.id for op in step.ops if op.id in downlinks and not op.after]
    loads = [
        min((len(need) for need in needed if name in need and len(need) > 1), default=math.inf)
        for name in ready
    ]
    fewest = [
        min((len(need) for need in needed if name in need), default=math.inf) for name in ready
    ]
    keys = zip(loads, fewest, range(len(ready)), ready, strict=True)
    expected = [name for *_, name in sorted(keys)]
    assert [p for p in pulls(in_order(step, "tic", 0)) if p in ready] == expected
    assert [p for p in pulls(in_order(step, "reverse", 0)) if p in ready] == expected[::-1]


# Steps of graphs.


def test_a_graph_as_a_step():
    graph = iteration(
        "two", [Layer("1", 3.0, 4.0, (("w1", 2000),)), Layer("2", 1.0, 2.0, (("w2", 4000),))]
    )
    step = step_of(graph, 1, 0.001)
    assert lines(step) == [
        ("grad:w1:pull", "downlink", 2000, ()),
        ("grad:w2:pull", "downlink", 4000, ()),
        ("forward:1", "worker", 3.0, ("grad:w1:pull",)),
        ("forward:2", "worker", 1.0, ("forward:1", "grad:w2:pull")),
        ("backward:2", "worker", 2.0, ("forward:2",)),
        ("grad:w2:push", "uplink", 4000, ("backward:2",)),
        ("grad:w2:update", "server", 4.0, ("grad:w2:push",)),
        ("backward:1", "worker", 4.0, ("backward:2",)),
        ("grad:w1:push", "uplink", 2000, ("backward:1",)),
        ("grad:w1:update", "server", 2.0, ("grad:w1:push",)),
    ]
    # pulls 0-2 and 2-6, forward 2-5 and 6-7, backward 7-9 and 9-13, pushes 9-13 and 13-15
    (ends,) = run_steps([step], 1, NO_WINDOW, RunOptions(1, 0)).ends
    assert ends == (19.0,)  # updates 13-17 and 17-19


#: VGG-11's weights by layer, in floats: convolutions of 3 x 3, and the last three layers.
VGG_11 = [
    *(9 * a * b for a, b in [(3, 64), (64, 128), (128, 256), (256, 256)]),
    *(9 * a * b for a, b in [(256, 512), (512, 512), (512, 512), (512, 512)]),
    *(25088 * 4096, 4096 * 4096, 4096 * 1000),
]


def test_vgg_11_on_two_servers_is_as_uneven_as_in_the_paper():
    layers = [Layer(str(i), 1.0, 1.0, ((f"w{i}", 4 * n),)) for i, n in enumerate(VGG_11)]
    step = step_of(iteration("VGG-11", layers), servers=2)
    assert step.servers == ("ps1", "ps2")
    # figure 23: 407 MB and 100 MB
    sizes = [[step.bytes_on(kind, s) for s in step.servers] for kind in ("downlink", "uplink")]
    assert sizes[0] == sizes[1]
    assert [round(size / 2**20) for size in sizes[0]] == [407, 100]


def op(name, *after, us=1.0):
    return Op(name, COMPUTE, us, None, after)


def reduce(name, *after, size=1000, kind=ALL_REDUCE, channel="network"):
    return Op(name, kind, None, size, after, channel)


def test_without_a_forward_pass_the_backward_pass_waits_for_all_pulls():
    step = step_of(build("b", [op("b"), reduce("g", "b"), reduce("h")]))
    assert lines(step) == [
        ("g:pull", "downlink", 1000, ()),
        ("h:pull", "downlink", 1000, ()),
        ("forward:end", "worker", None, ("g:pull", "h:pull")),
        ("b", "worker", 1.0, ("forward:end",)),
        ("g:push", "uplink", 1000, ("b",)),
        ("g:update", "server", None, ("g:push",)),
        ("h:push", "uplink", 1000, ("forward:end",)),
        ("h:update", "server", None, ("h:push",)),
    ]


def test_pulls_stand_in_the_order_of_need():
    ops = [op("b"), reduce("g1", "b"), reduce("g2", "b"), reduce("g3", "b"), reduce("g0", "b")]
    forward = [op("f1", "g2"), op("f2", "f1", "g3", "g1")]
    step = step_of(build("x", [*ops, *forward]))
    assert pulls(step) == ["g2:pull", "g1:pull", "g3:pull", "g0:pull"]
    assert [o.after for o in step.ops if o.id == "b"] == [("forward:end",)]


def test_names_that_are_taken_get_a_prime():
    ops = [op("g:pull"), reduce("g", "g:pull"), op("g:push", "g"), op("g:update")]
    step = step_of(build("x", ops))
    assert {o.id for o in step.ops} == {
        *("g:pull'", "g:push'", "g:update'"),
        *("g:pull", "g:push", "g:update"),
    }


def test_a_stream_keeps_its_order():
    ops = [Op(f"s{i}", COMPUTE, 1.0, None, (), stream="gpu") for i in range(3)]
    step = step_of(build("x", [*ops, reduce("g", "s0")]))
    after = {o.id: o.after for o in step.ops}
    assert [after[f"s{i}"] for i in range(3)] == [("g:pull",), ("s0",), ("s1",)]


NOT_STEPS = [
    # compute that communication slows down
    (
        [op("b")._replace(slowdown=(("network", 1.2),)), reduce("g", "b")],
        1,
        0.0,
        [("/ops/0/slowdown", "extra_field")],
    ),
    # a collective behind another one, directly and not
    ([op("b"), reduce("g", "b"), reduce("h", "g")], 1, 0.0, [("/ops/2", "not_layered")]),
    (
        [op("b"), reduce("g", "b"), op("f", "g"), reduce("h", "f")],
        1,
        0.0,
        [("/ops/3", "not_layered")],
    ),
    # another kind
    ([op("b"), reduce("g", "b", kind=ALL_GATHER)], 1, 0.0, [("/ops/1/kind", "not_all_reduce")]),
    # two channels
    (
        [op("b"), reduce("g", "b"), reduce("h", "b", channel="nvlink")],
        1,
        0.0,
        [("/ops/2/channel", "out_of_range")],
    ),
    # no server, three servers
    ([op("b"), reduce("g", "b")], 0, 0.0, [("/servers", "out_of_range")]),
    ([op("b"), reduce("g", "b")], 17, 0.0, [("/servers", "out_of_range")]),
    # an update that takes too long
    ([op("b"), reduce("g", "b")], 1, 1e10, [("/ops/1/bytes", "out_of_range")]),
    # both directions together are more than a step may carry
    ([op("b"), reduce("g", "b", size=MAX_BYTES)], 1, 0.0, [("/ops", "out_of_range")]),
    # all at once
    (
        [op("b"), reduce("g", "b"), reduce("h", "g", kind=ALL_GATHER, channel="nvlink")],
        17,
        1e10,
        [
            ("/servers", "out_of_range"),
            ("/ops/1/bytes", "out_of_range"),
            ("/ops/2", "not_layered"),
            ("/ops/2/kind", "not_all_reduce"),
            ("/ops/2/channel", "out_of_range"),
            ("/ops/2/bytes", "out_of_range"),
        ],
    ),
]


@pytest.mark.parametrize(("ops", "servers", "us_per_byte", "expected"), NOT_STEPS)
def test_graphs_that_are_no_steps(ops, servers, us_per_byte, expected):
    assert faults(step_of, build("x", ops), servers, us_per_byte) == expected


@given(graphs(), st.booleans(), st.integers(1, 2))
@settings(max_examples=cases(300))
def test_a_step_of_a_graph_pulls_computes_pushes_and_updates(graph, barrier, servers):
    graph = with_barrier(graph) if barrier else graph
    step = step_of(graph, servers, 1e-4)
    digraph = nx.DiGraph((other, o.id) for o in graph.ops for other in o.after)
    digraph.add_nodes_from(o.id for o in graph.ops)
    stepped = nx.DiGraph((other, o.id) for o in step.ops for other in o.after)
    stepped.add_nodes_from(o.id for o in step.ops)
    ops = {o.id: o for o in step.ops}
    tensors = [o for o in graph.ops if o.kind == ALL_REDUCE]
    computed = [o for o in graph.ops if o.kind == COMPUTE]
    forward = set().union(*(nx.descendants(digraph, t.id) for t in tensors))
    for t in tensors:
        pulled, pushed, updated = (ops[f"{t.id}:{kind}"] for kind in ("pull", "push", "update"))
        assert (pulled.bytes, pushed.bytes) == (t.bytes, t.bytes)
        assert updated.duration_us == pytest.approx(t.bytes * 1e-4)
        assert pulled.after == ()
        assert updated.after == (pushed.id,)
        assert len({o.resource.partition(":")[2] for o in (pulled, pushed, updated)}) == 1
        # what came after the collective comes after the pull, what came before it, the push
        assert nx.descendants(digraph, t.id) <= nx.descendants(stepped, pulled.id)
        assert nx.ancestors(digraph, t.id) <= nx.ancestors(stepped, pushed.id)
        assert pulled.id in nx.ancestors(stepped, pushed.id)
    for o in computed:
        assert (ops[o.id].resource, ops[o.id].duration_us) == ("worker", o.duration_us)
        part = forward if o.id in forward else {c.id for c in computed} - forward
        # within its part it comes after the same ops; behind the forward part comes the other
        before = nx.ancestors(stepped, o.id)
        assert before & part == nx.ancestors(digraph, o.id) & part
        assert o.id in forward or forward <= before
    # the whole runs to its end
    run = run_steps([step], 2, ServerLinks(GBPS, 150_000), RunOptions(2, 0), range(2))
    assert len(run.ends[0]) == 2
    assert step.bytes_on("downlink", None) == (0 if servers == 2 else sum(t.bytes for t in tensors))


@given(graphs())
@settings(max_examples=cases(100))
def test_two_servers_hold_what_is_fair_by_turns(graph):
    step = step_of(graph, 2)
    held = {"ps1": 0, "ps2": 0}
    for o in step.ops:
        if o.kind == "downlink":
            assert o.server == min(held, key=held.get)
            held[o.server] += o.bytes
