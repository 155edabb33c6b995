"""Plans as files of frameworks: what they say, that nothing is missing, and what they take."""

import ast
import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.bounds import general as general_bounds
from solver.bounds.bound import lower_bound
from solver.chain import chain_of
from solver.codes import FaultCode
from solver.costs import Affine, Cluster, alike, network_of
from solver.errors import InvalidPlan
from solver.exports import EXPORTS, ExplicitPlan
from solver.exports.frameworks.forms import whole_buckets
from solver.exports.frameworks.names import NAMES_NOTE
from solver.exports.frameworks.one_size import best_size
from solver.graph import ALL_REDUCE, BROADCAST, COMPUTE, Op, build
from solver.models.layers import Layer, iteration
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.result import SlotRun, SlottedSchedule
from solver.policies import POLICIES
from solver.simulation.engine import costs_of, simulate
from tests.sampling import cases
from tests.strategies import costs, dags, graphs, networks, sends

FRAMEWORKS = ("ddp", "deepspeed", "horovod")
SIMPLE = ("chrome", "csv", *FRAMEWORKS)

# Backward c, b, a of 10 us each; forward a, b, c of 10 us each; a byte takes a microsecond.
LAYERS = [
    Layer(name, 10.0, 10.0, ((f"{name}.weight", size),))
    for name, size in (("a", 20), ("b", 4), ("c", 8))
]
THREE = iteration("three", LAYERS)
A, B, C = (f"grad:{name}.weight" for name in "abc")
BYTE_US = alike(Affine(0.0, 1.0))


def planned(graph, found):
    """Name what is sent."""
    ids = [graph.ops[i].id for i in chain_of(graph).positions.tolist()]
    names = {bucket: f"b{k}" for k, bucket in enumerate(dict.fromkeys(s.bucket for s in found))}
    return ExplicitPlan(
        tuple(ExplicitBucket(n, tuple(ids[i] for i in bucket)) for bucket, n in names.items()),
        tuple(ExplicitPart(names[s.bucket], s.bytes) for s in found),
    )


def by_hand(buckets, parts, slotted=None):
    return ExplicitPlan(
        tuple(ExplicitBucket(name, tensors) for name, *tensors in buckets),
        tuple(ExplicitPart(*part) for part in parts),
        slotted,
    )


def policy_plan(graph, network):
    """A plan that no order of launches can put in a deadlock."""
    sent = simulate(graph, network, POLICIES["ddp_priority"]).launches
    return planned(graph, sent)


def literal(text, name):
    """Read a list from a snippet."""
    found = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)]
    (value,) = (node.value for node in found if ast.unparse(node.targets[0]) == name)
    return ast.literal_eval(value)


def written(export):
    """Buckets of a form, as parameter names."""
    if export.format == "ddp":
        found = [b["parameters"] for b in json.loads(export.files["buckets.json"])["buckets"]]
        assert literal(export.files["ddp_buckets.py"], "BUCKETS") == found
        return found
    return literal(export.files["horovod_groups.py"], "GROUPS")


@settings(max_examples=cases(20))
@given(st.data())
def test_forms_of_any_plan(data):
    graph, cost = data.draw(graphs()), data.draw(costs())
    network, chain = alike(cost), chain_of(graph)
    given_plan = planned(graph, data.draw(sends(chain)))
    bound = lower_bound(graph, chain, costs_of(chain, network)).value
    for name in SIMPLE:
        found = EXPORTS[name](graph, network, given_plan)
        assert found.format == name
        assert found.iteration_time_us >= bound * (1 - 1e-9)
        if name in {"ddp", "horovod"}:
            buckets = {frozenset(bucket.tensors) for bucket in given_plan.buckets}
            assert {frozenset(bucket) for bucket in written(found)} == buckets
            assert len(written(found)) == len(buckets)
        if name == "ddp":
            groups = [sorted(places(graph, bucket)) for bucket in written(found)]
            assert found.iteration_time_us == pytest.approx(fifo(graph, cost, groups))
            content = json.loads(found.files["buckets.json"])
            taken = content["bucket_cap_mb_iteration_time_us"]
            assert taken == pytest.approx(capped(graph, cost, content["bucket_cap_mb"] * 2**20))
        if name == "deepspeed":
            elements = json.loads(found.files["ds_config.json"])["zero_optimization"]
            taken = zero(graph, cost, 4 * elements["reduce_bucket_size"])
            assert found.iteration_time_us == pytest.approx(taken)


def places(graph, tensors):
    ids = {op.id: i for i, op in enumerate(graph.ops)}
    return [ids[tensor] for tensor in tensors]


def paths(graph):
    """Longest compute path into each op and from each op, by names; collectives take nothing."""
    ops = {op.id: op for op in graph.ops}
    ends, tails = {}, {}

    def end(name):
        if name not in ends:
            start = max((end(other) for other in ops[name].after), default=0.0)
            ends[name] = start + (ops[name].duration_us or 0.0)
        return ends[name]

    def tail(name):
        if name not in tails:
            after = (op for op in graph.ops if name in op.after)
            tails[name] = max(((op.duration_us or 0.0) + tail(op.id) for op in after), default=0.0)
        return tails[name]

    return {name: end(name) for name in ops}, {name: tail(name) for name in ops}


def barred(graph, ready, cost):
    """Run launches of (ready, bytes) first in first out, then what waits for all of them."""
    ends, tails = paths(graph)
    now = 0.0
    for moment, size in sorted(ready):
        now = max(now, moment) + cost.time(size)
    compute = max(ends.values())
    return max(compute, now + max(tails[op.id] for op in graph.ops if op.kind == ALL_REDUCE))


def fifo(graph, cost, groups):
    """What DDP takes, computed anew."""
    ends, _ = paths(graph)
    ready = [max(ends[graph.ops[i].id] for i in group) for group in groups]
    sizes = [sum(graph.ops[i].bytes for i in group) for group in groups]
    return barred(graph, list(zip(ready, sizes, strict=True)), cost)


def capped(graph, cost, cap):
    """What DDP takes with one cap [bytes], computed anew."""
    ends, _ = paths(graph)
    groups: list[list[int]] = [[]]
    held = 0
    tensors = [i for i, op in enumerate(graph.ops) if op.kind == ALL_REDUCE]
    for i in sorted(tensors, key=lambda i: ends[graph.ops[i].id]):
        if held >= cap:
            groups.append([])
            held = 0
        groups[-1].append(i)
        held += graph.ops[i].bytes
    return fifo(graph, cost, groups)


def zero(graph, cost, most):
    """What DeepSpeed takes with a buffer of so many bytes, computed anew."""
    ends, _ = paths(graph)
    tensors = [op for op in graph.ops if op.kind == ALL_REDUCE]
    tensors.sort(key=lambda op: ends[op.id])
    sent, held = [], 0
    for op in tensors:
        if held and held + op.bytes > most:
            sent.append((ends[op.id], held))
            held = 0
        held += op.bytes
    return barred(graph, [*sent, (ends[tensors[-1].id], held)], cost)


@settings(max_examples=cases(15))
@given(st.data())
def test_forms_of_general_graphs(data):
    drawn, network = data.draw(dags()), data.draw(networks())
    sharded = {op.kind for op in drawn.ops} - {COMPUTE, ALL_REDUCE, BROADCAST}
    for name in FRAMEWORKS if sharded else ():
        with pytest.raises(InvalidPlan) as refused:
            EXPORTS[name](drawn, network, policy_plan(drawn, network))
        codes = [fault.code for fault in refused.value.faults]
        assert codes.count(FaultCode.NOT_DATA_PARALLEL) == len(sharded)
    plain = [op._replace(kind=BROADCAST) if op.kind in sharded else op for op in drawn.ops]
    graph = build("plain", plain)
    chain = chain_of(graph)
    given_plan = policy_plan(graph, network)
    gradients = {
        graph.ops[p].id
        for p, lane in zip(chain.positions.tolist(), chain.lane, strict=True)
        if chain.lanes[lane].kind == ALL_REDUCE
    }
    bound = general_bounds.lower_bound(graph, chain, costs_of(chain, network)).value
    for name in SIMPLE:
        if name in FRAMEWORKS and not gradients:
            with pytest.raises(InvalidPlan, match="no all-reduce"):
                EXPORTS[name](graph, network, given_plan)
            continue
        found = EXPORTS[name](graph, network, given_plan)
        assert found.iteration_time_us >= bound * (1 - 1e-9)
        if name in {"ddp", "horovod"}:
            names = [tensor for bucket in written(found) for tensor in bucket]
            assert len(names) == len(set(names))
            assert set(names) <= gradients


IN_PARTS = by_hand(
    [("y", B, C), ("x", A)],
    [("y", 12), ("x", 20)],
    SlottedSchedule(4.0, (SlotRun(5, 3, "y"),), 84.0),
)


def test_ddp_by_hand():
    # b and c are sent together at 20, done at 32; a then, done at 52; 30 us of forward follow.
    found = EXPORTS["ddp"](THREE, BYTE_US, IN_PARTS)
    assert (found.iteration_time_us, found.plan_time_us) == (82.0, 82.0)
    assert json.loads(found.files["buckets.json"]) == {
        "buckets": [
            {"parameters": ["c.weight", "b.weight"], "bytes": 12},
            {"parameters": ["a.weight"], "bytes": 20},
        ],
        "bucket_cap_mb_list": [12 / 2**20, 20 / 2**20],
        "bucket_cap_mb": 4 / 2**20,
        "bucket_cap_mb_iteration_time_us": 80.0,
    }
    assert written(found) == [["c.weight", "b.weight"], ["a.weight"]]
    assert found.notes == (
        NAMES_NOTE,
        "DistributedDataParallel with the one bucket_cap_mb that comes nearest, 3.8147e-06, takes "
        "0.080 ms; with bucket_cap_mb_list (PyTorch 2.13) it has the plan's buckets from the "
        "second iteration on.",
        "That is faster than these files: the plan was not made for PyTorch, whose optimizer waits "
        "for all gradients. Plan with a barrier.",
    )


def test_horovod_by_hand():
    # All are ready in the cycle at 1000: 32 us of sending, then 30 us of forward.
    found = EXPORTS["horovod"](THREE, BYTE_US, IN_PARTS)
    assert (found.iteration_time_us, found.plan_time_us) == (1062.0, 82.0)
    assert found.files["horovod.env"] == (
        "HOROVOD_FUSION_THRESHOLD=1048576\nHOROVOD_CYCLE_TIME=1\nHOROVOD_DISABLE_GROUP_FUSION=1\n"
    )
    assert written(found) == [["c.weight", "b.weight"], ["a.weight"]]


@pytest.mark.parametrize(("size", "mib"), [(2**20 - 2 * 64, 1), (2**20 - 2 * 64 + 1, 2)])
def test_horovods_buffer_holds_each_tensor_with_its_padding(size, mib):
    layers = [Layer(n, 1.0, 1.0, ((n, b),)) for n, b in (("a", 8), ("b", size - 8))]
    graph = iteration("padded", layers)
    plan = by_hand([("x", "grad:a", "grad:b")], [("x", size)])
    found = EXPORTS["horovod"](graph, BYTE_US, plan)
    assert f"HOROVOD_FUSION_THRESHOLD={mib * 2**20}\n" in found.files["horovod.env"]


def test_deepspeed_by_hand():
    # With 8 bytes c goes when b does not fit, at 20, b at 30, when a does not, a at 34, to 54.
    found = EXPORTS["deepspeed"](THREE, BYTE_US, IN_PARTS)
    assert found.iteration_time_us == 84.0
    assert json.loads(found.files["ds_config.json"]) == {
        "zero_optimization": {
            "stage": 1,
            "overlap_comm": True,
            "contiguous_gradients": True,
            "reduce_scatter": False,
            "reduce_bucket_size": 2,
        }
    }
    assert found.notes[0] == "One size, 2 elements, for all: 3 buckets in place of the plan's 2."


def test_csv_by_hand():
    found = EXPORTS["csv"](THREE, BYTE_US, IN_PARTS)
    assert found.iteration_time_us == found.plan_time_us == 82.0
    assert found.files == {
        "parts.csv": "bucket,channel,start_us,end_us,offset_bytes,bytes\n"
        "y,network,20.0,32.0,0,12\nx,network,32.0,52.0,0,20\n",
        "buckets.csv": f"bucket,tensor,kind,channel,bytes\ny,{B},all_reduce,network,4\n"
        f"y,{C},all_reduce,network,8\nx,{A},all_reduce,network,20\n",
        "slots.csv": "slot,count,start_us,bucket\n5,3,20.0,y\n",
    }
    assert found.notes == ()


def test_chrome_by_hand():
    found = EXPORTS["chrome"](THREE, BYTE_US, IN_PARTS)
    trace = json.loads(found.files["trace.json"])
    assert trace["otherData"] == {
        "graph": "three",
        "iteration_time_us": 82.0,
        "ddp_iteration_time_us": 92.0,  # one bucket of all three
    }
    names = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert names == ["plan", "ddp"]


def notes_of(graph, given_plan, name="ddp"):
    found = EXPORTS[name](graph, BYTE_US, given_plan)
    return found, " ".join(found.notes)


def test_what_is_lost_is_said():
    sizes = (4, 20, 8)
    layers = [Layer(n, 10.0, 10.0, ((n, size),)) for n, size in zip("abc", sizes, strict=True)]
    graph = iteration("cut", layers)
    buckets = [("c", "grad:c"), ("b", "grad:b"), ("a", "grad:a")]
    # b is cut at 30 for a: 64 us; whole, a ends at 44 and the forward pass at 74.
    found, notes = notes_of(graph, by_hand(buckets, [("c", 8), ("b", 10), ("a", 4), ("b", 10)]))
    assert (found.iteration_time_us, found.plan_time_us) == (74.0, 64.0)
    assert "1 of 3 buckets are sent in 2 parts" in notes
    assert "overtake" not in notes
    assert "A plan made with a barrier" in notes
    _, notes = notes_of(graph, by_hand(buckets, [("c", 8), ("a", 4), ("b", 20)]))
    assert "Some buckets overtake others" in notes
    assert "parts" not in notes
    runs = by_hand([("x", "grad:a", "grad:c"), ("b", "grad:b")], [("b", 20), ("x", 12)])
    found, notes = notes_of(graph, runs)
    assert "not runs of the order of release" in notes
    assert json.loads(found.files["buckets.json"])["bucket_cap_mb_list"] is None
    assert "no slots" in EXPORTS["csv"](graph, BYTE_US, runs).notes[0]


def test_the_cost_of_a_barrier_is_said():
    # ga is sent 10..15, gb 20..50; f1 need not wait for gb: 60 us, with a barrier 70.
    graph = build(
        "late",
        [
            Op("b1", COMPUTE, 10.0),
            Op("ga", ALL_REDUCE, None, 5, ("b1",)),
            Op("b2", COMPUTE, 10.0, None, ("b1",)),
            Op("gb", ALL_REDUCE, None, 30, ("b2",)),
            Op("f1", COMPUTE, 10.0, None, ("b2", "ga")),
            Op("f2", COMPUTE, 10.0, None, ("f1", "gb")),
        ],
    )
    found, notes = notes_of(graph, by_hand([("x", "ga"), ("y", "gb")], [("x", 5), ("y", 30)]))
    assert (found.iteration_time_us, found.plan_time_us) == (70.0, 60.0)
    assert "which takes 10.0 us of the time" in notes


def test_activations_on_another_channel_are_no_gradients():
    ops = [
        Op("b", COMPUTE, 10.0),
        Op("act", ALL_REDUCE, None, 5, ("b",), "nvlink"),
        Op("own", BROADCAST, None, 5, ("b",)),
        Op("g", ALL_REDUCE, None, 7, ("b",)),
    ]
    buckets = [("x", "act"), ("y", "g"), ("z", "own")]
    mixed = by_hand(buckets, [("x", 5), ("y", 7), ("z", 5)])
    for name in ("ddp", "horovod"):
        found, notes = notes_of(build("mixed", ops), mixed, name)
        assert written(found) == [["g"]]
        assert "2 other collectives are the program's own" in notes
    found, _ = notes_of(build("mixed", ops[:2]), by_hand([("x", "act")], [("x", 5)]))
    assert written(found) == [["act"]]


def test_tensors_without_names_of_parameters_are_refused():
    ops = [Op("b", COMPUTE, 10.0)]
    ids = ["all_reduce 1", "fc.weight", "all_reduce 2", "grad:any thing", "fc.", "all_reduce 3"]
    ops += [Op(name, ALL_REDUCE, None, 4, ("b",)) for name in ids]
    buckets = [("x", *ids[1:3]), ("y", "fc."), ("z", "grad:any thing"), ("w", *ids[::5])]
    plan = by_hand(buckets, [("x", 8), ("y", 4), ("z", 4), ("w", 8)])
    for name in ("ddp", "horovod"):
        with pytest.raises(InvalidPlan) as refused:
            EXPORTS[name](build("nameless", ops), BYTE_US, plan)
        assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [
            ("/buckets/0/tensors/1", FaultCode.NO_PARAMETER_NAMES),
            ("/buckets/1/tensors/0", FaultCode.NO_PARAMETER_NAMES),
            ("/buckets/3/tensors/0", FaultCode.NO_PARAMETER_NAMES),
        ]
        assert "2 of 2 tensors of bucket 'w'" in refused.value.faults[2].detail


def test_names_are_written_as_they_are():
    names = ['we"ird', "{x}", "back\\slash", "new\nline", '"""', "ü"]
    graph = iteration("names", [Layer(name, 1.0, 1.0, ((name, 4),)) for name in names])
    for form in ("ddp", "horovod"):
        found = written(EXPORTS[form](graph, BYTE_US, policy_plan(graph, BYTE_US)))
        assert [tensor for bucket in found for tensor in bucket] == names[::-1]


@pytest.mark.parametrize("name", SIMPLE)
def test_a_plan_of_another_graph_is_refused(name):
    with pytest.raises(InvalidPlan):
        EXPORTS[name](THREE, BYTE_US, by_hand([("x", "grad:other")], [("x", 4)]))


@pytest.mark.parametrize("barrier", [False, True])
def test_forms_of_a_found_plan(barrier):
    network = network_of(Cluster(16, bandwidth_gbps=1e-4, startup_us=1.0))
    answer = plan(THREE, network, Options(barrier=barrier))
    buckets = tuple(ExplicitBucket(b.id, b.tensors) for b in answer.buckets)
    parts = tuple(ExplicitPart(p.bucket, p.bytes) for p in answer.parts)
    forms = {
        name: EXPORTS[name](answer.graph, network, ExplicitPlan(buckets, parts, answer.slotted))
        for name in SIMPLE
    }
    for name, found in forms.items():
        again = EXPORTS[name](answer.graph, network, ExplicitPlan(buckets, parts, answer.slotted))
        assert found == again
        assert found.plan_time_us == answer.iteration_time_us
        assert found.iteration_time_us >= answer.lower_bound_us * (1 - 1e-9)
    if barrier:
        assert forms["ddp"].iteration_time_us == pytest.approx(answer.iteration_time_us)
    rows = csv.DictReader(io.StringIO(str(forms["csv"].files["parts.csv"])))
    table = [(row["bucket"], float(row["start_us"]), int(row["bytes"])) for row in rows]
    assert table == [(p.bucket, p.start_us, p.bytes) for p in answer.parts]


def tried_of(given_plan):
    tried = []

    def time(size):
        tried.append(size)
        return 1.0

    assert best_size(THREE, given_plan, time) == (32, 1.0)
    return tried


def test_sizes_that_are_tried():
    given_plan = whole_buckets(THREE, BYTE_US, IN_PARTS)
    assert tried_of(given_plan) == [32, 20, 16, 12, 11, 8, 7, 6, 5, 4, 3, 2, 1]
    assert best_size(THREE, given_plan, lambda size: abs(size - 10.0)) == (11, 1.0)


def test_few_sizes_of_a_large_graph(monkeypatch):
    monkeypatch.setattr("solver.exports.frameworks.one_size._STEPS", 0)
    assert tried_of(whole_buckets(THREE, BYTE_US, IN_PARTS)) == [32, 11, 5, 1]
