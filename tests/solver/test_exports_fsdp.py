"""The form of a plan for FSDP2: its time by PyTorch's streams and events, and what is refused."""

import json
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.codes import FaultCode
from solver.costs import Affine, alike
from solver.errors import InvalidPlan
from solver.exports import EXPORTS, ExplicitPlan
from solver.graph import ALL_GATHER, COMPUTE, REDUCE_SCATTER, Op, build, with_barrier
from solver.models.layers import Layer
from solver.models.parallel import fsdp
from solver.planning.explicit import ExplicitBucket, ExplicitPart
from solver.planning.headline import headline
from solver.planning.options import Options
from solver.planning.plan import compare, plan
from solver.policies import POLICIES
from solver.sharded.forms import fastest_form, ungated
from solver.sharded.memory import gathered_in_graph
from solver.sharded.units import Form, graph_of_form, join_units, units_of
from solver.simulation.engine import launches_under, simulate
from tests.sampling import cases
from tests.solver.test_exports import by_hand, literal, planned

BYTE_US = alike(Affine(0.0, 1.0))


class Streams:
    """Streams of a GPU as PyTorch fills them: works, events that are recorded, and waited for."""

    def __init__(self):
        self.queues: dict[str, deque] = {
            name: deque() for name in ("compute", "gather", "reduce", "sum")
        }
        self.sent = 0

    def run(self, stream, time):
        self.queues[stream].append(("run", time))

    def send(self, stream, channel, size):
        self.sent += 1
        self.queues[stream].append(("send", (channel, size, self.sent)))

    def record(self, stream):
        event: list[float] = []
        self.queues[stream].append(("record", event))
        return event

    def wait(self, stream, event):
        self.queues[stream].append(("wait", event))

    def end(self, cost):
        """Run all of it: a channel sends one thing at a time, what was ready first goes first.

        Of equals goes first what the host issued first: a reduce-scatter is ready with the end of a
        unit's backward pass, and so is a gather that waits for the copy-out of the next unit.
        """
        clocks = dict.fromkeys(self.queues, 0.0)
        free: dict[str, float] = {}
        while any(self.queues.values()):
            if any(self._advance(name, clocks) for name in self.queues):
                continue
            heads = {n: q[0][1] for n, q in self.queues.items() if q and q[0][0] == "send"}
            name = min(heads, key=lambda n: (clocks[n], heads[n][2]))
            channel, size, _ = self.queues[name].popleft()[1]
            free[channel] = max(clocks[name], free.get(channel, 0.0)) + cost.time(size)
            clocks[name] = free[channel]
        return max(clocks.values())

    def _advance(self, name, clocks):
        queue = self.queues[name]
        if not queue or queue[0][0] == "send":
            return False
        what, value = queue[0]
        if what == "wait" and not value:
            return False
        if what == "wait":
            clocks[name] = max(clocks[name], value[0])
        elif what == "record":
            value.append(clocks[name])
        else:
            clocks[name] += value
        queue.popleft()
        return True


def on_streams(units, layers, shards, step_us, cost):  # noqa: C901 - one walk, as the host's
    """Go through PyTorch's calls: what the host does, and the time that the GPU takes for it."""
    gpu = Streams()
    known = {layer.name: layer for layer in layers}
    members = [[known[name] for name in unit["modules"]] for unit in units]
    sizes = [sum(size for each in unit for _, size in each.gradients) for unit in members]
    within = "network" if shards is None else "nvlink"
    gathered, freed, held = {}, {}, None

    def unshard(k, freed_of):
        if k in gathered:
            return
        if k in freed_of:
            gpu.wait("gather", freed_of[k])
        gpu.send("gather", within, sizes[k])
        gathered[k] = gpu.record("gather")

    for k, unit in enumerate(units):
        unshard(k, {})
        if held is not None:
            gpu.wait("gather", held)
        gpu.wait("compute", gathered[k])
        held = gpu.record("compute")  # the copy-out
        for other in unit["forward_prefetch"]:
            unshard(other, {})
        for layer in members[k]:
            gpu.run("compute", layer.forward_us)
        if unit["reshard_after_forward"]:
            freed[k] = gpu.record("compute")
    gpu.wait("gather", held)
    gathered = {k: event for k, event in gathered.items() if k not in freed}
    reduced: list[list[float]] = []
    sums: list[list[float]] = []
    for k, unit in reversed(list(enumerate(units))):
        if k in freed:
            unshard(k, freed)
            gpu.wait("compute", gathered[k])
            gpu.wait("gather", gpu.record("compute"))
        for other in unit["backward_prefetch"]:
            unshard(other, freed)
        for layer in reversed(members[k]):
            gpu.run("compute", layer.backward_us)
        if reduced:
            gpu.wait("compute", reduced[-1])  # its input is held until then
        gpu.wait("reduce", gpu.record("compute"))
        gpu.send("reduce", within, sizes[k])
        reduced.append(gpu.record("reduce"))
        if shards is not None:
            gpu.wait("sum", reduced[-1])
            shares = (sum(size for _, size in each.gradients) for each in members[k])
            gpu.send("sum", "network", sum(-(-share // shards) for share in shares))
            sums.append(gpu.record("sum"))
    for event in (*reduced, *sums):
        gpu.wait("compute", event)
    gpu.run("compute", step_us)
    return gpu.end(cost)


def layers_of(draw, count):
    """Times and sizes that make no ties."""
    time = st.floats(1.0, 300.0)
    return [
        Layer(f"layers.{i}", draw(time), draw(time), ((f"w{i}", draw(st.integers(1, 400))),))
        for i in range(count)
    ]


@settings(max_examples=cases(60))
@given(st.data())
def test_the_time_is_that_of_pytorchs_streams(data):
    layers = layers_of(data.draw, data.draw(st.integers(1, 7)))
    shards = data.draw(st.sampled_from([None, None, 3]))
    step_us = data.draw(st.floats(0.0, 50.0))
    limit = data.draw(st.integers(1, 4))
    graph = fsdp("drawn", layers, shards, limit, step_us)
    cost = Affine(data.draw(st.floats(0.1, 100.0)), data.draw(st.floats(0.01, 2.0)))
    network = alike(cost)
    policy = POLICIES[data.draw(st.sampled_from(["wfbp", "single", "ddp"]))]
    plan = planned(graph, simulate(graph, network, policy).launches)
    found = EXPORTS["fsdp"](graph, network, plan)
    units = json.loads(found.files["units.json"])["units"]
    assert [name for unit in units for name in unit["modules"]] == [each.name for each in layers]
    again = on_streams(units, layers, shards, step_us, cost)
    assert found.iteration_time_us == pytest.approx(again)
    program = found.files["fsdp_units.py"]
    assert literal(program, "UNITS") == [unit["modules"] for unit in units]
    assert literal(program, "RESHARD") == [unit["reshard_after_forward"] for unit in units]
    assert literal(program, "FORWARD_PREFETCH") == [unit["forward_prefetch"] for unit in units]
    assert literal(program, "BACKWARD_PREFETCH") == [unit["backward_prefetch"] for unit in units]
    assert found == EXPORTS["fsdp"](graph, network, plan)
    barred = EXPORTS["fsdp"](with_barrier(graph), network, plan)
    assert barred.iteration_time_us == pytest.approx(found.iteration_time_us)


@settings(max_examples=cases(100))
@given(st.integers(0, 2**32), st.integers(0, 2), st.integers(0, 2))
def test_every_form_takes_the_time_of_pytorchs_streams(seed, ahead, back):
    """With numbers that nobody would choose, so that nothing is a tie by chance."""
    random = np.random.default_rng(seed)
    layers = [
        Layer(f"layers.{i}", random.uniform(1, 300), random.uniform(1, 300), ((f"w{i}", size),))
        for i, size in enumerate(random.integers(1, 400, random.integers(1, 8)).tolist())
    ]
    shards, step_us = (None, 3)[random.integers(2)], float(random.uniform(0, 50))
    cost = Affine(float(random.uniform(0.1, 100)), float(random.uniform(0.01, 2)))
    graph = fsdp("drawn", layers, shards, 4, step_us)
    form = Form(units_of(graph), ahead, back)
    columns = (form.units, form.reshards(), form.forward_prefetch(), form.backward_prefetch())
    units = [
        {
            "modules": list(unit.names),
            "reshard_after_forward": reshard,
            "forward_prefetch": forward,
            "backward_prefetch": backward,
        }
        for unit, reshard, forward, backward in zip(*columns, strict=True)
    ]
    timeline = simulate(graph_of_form(graph, form), alike(cost), POLICIES["wfbp"])
    assert timeline.iteration_time == pytest.approx(
        on_streams(units, layers, shards, step_us, cost)
    )


THREE = fsdp("three", [Layer(n, 10.0, 20.0, ((n, 4),)) for n in "abc"], step_us=5.0)


def alone(graph):
    """Each collective for itself, first come first served."""
    return planned(graph, simulate(graph, BYTE_US, POLICIES["wfbp"]).launches)


def test_by_hand():
    # Gathers end at 4, 8 and 12, forward 14, 24 and 34. c stays; b is gathered again at 24 to 28
    # and a when b has been copied out at 54, while b's backward runs 54..74. c's gradients go
    # at 58..62 behind a's gather, b's at 74..78, a's after 94: 98. The step ends at 103.
    found = EXPORTS["fsdp"](THREE, BYTE_US, alone(THREE))
    assert found.iteration_time_us == 103.0
    assert json.loads(found.files["units.json"])["units"] == [
        {
            "modules": ["a"],
            "reshard_after_forward": True,
            "forward_prefetch": [1],
            "backward_prefetch": [],
        },
        {
            "modules": ["b"],
            "reshard_after_forward": True,
            "forward_prefetch": [2],
            "backward_prefetch": [0],
        },
        {
            "modules": ["c"],
            "reshard_after_forward": False,
            "forward_prefetch": [],
            "backward_prefetch": [1],
        },
    ]
    assert found.notes[0] == (
        "3 units of the graph are 3 of FSDP2. Each asks for 1 ahead in the forward pass and 1 in "
        "the backward pass: up to 3 are gathered at once in the forward pass, 0.0 MB."
    )


def test_units_are_those_that_the_plan_sends_together():
    # With a start-up of 100 us for 4 bytes, one gather of two is worth its wait.
    network = alike(Affine(100.0, 1.0))
    buckets = [
        ("x", "gather:a", "gather:b"),
        ("y", "gather:c"),
        ("z", "regather:b", "regather:a"),
        ("w", "scatter:c"),
        ("v", "scatter:b", "scatter:a"),
    ]
    graph = fsdp("two", [Layer(n, 10.0, 20.0, ((n, 4),)) for n in "abc"], limit=3)
    parts = [("x", 8), ("y", 4), ("z", 8), ("w", 4), ("v", 8)]
    found = EXPORTS["fsdp"](graph, network, by_hand(buckets, parts))
    units = json.loads(found.files["units.json"])["units"]
    assert [unit["modules"] for unit in units] == [["a", "b"], ["c"]]
    assert [unit["reshard_after_forward"] for unit in units] == [True, False]


def test_a_channel_of_gathers_that_are_dropped_slows_nothing_down():
    # one unit of all stays gathered: nothing is on the channel of second gathers any more
    layers = fsdp("two", [Layer(n, 10.0, 20.0, ((n, 4),)) for n in "ab"], limit=3)
    ops = [
        op._replace(slowdown=(("again", 4.0), ("network", 2.0)))
        if op.kind == COMPUTE
        else op._replace(channel="again" if op.id.startswith("regather:") else op.channel)
        for op in layers.ops
    ]
    graph = build("two", ops)
    found = graph_of_form(graph, Form((join_units(units_of(graph)),), 0, 0))
    assert {op.channel for op in found.ops} == {"network"}
    assert {op.slowdown for op in found.ops if op.kind == COMPUTE} == {(("network", 2.0),)}


def test_nodes_too():
    graph = fsdp("hybrid", [Layer(n, 10.0, 20.0, ((n, 4),)) for n in "ab"], shards=2)
    found = EXPORTS["fsdp"](graph, BYTE_US, alone(graph))
    assert any("a mesh of two dimensions" in note for note in found.notes)


def f(name):
    return Op(name, COMPUTE, 1.0)


@pytest.mark.parametrize(
    ("ops", "details"),
    [
        # a plain all-reduce
        ([f("b"), Op("grad:w", "all_reduce", None, 4, ("b",))], ["no all-gather or reduce-"]),
        # names of a trace, which do not tell modules
        (
            [Op("all_gather 1", ALL_GATHER, None, 4), f("b"),
             Op("reduce_scatter 2", REDUCE_SCATTER, None, 4, ("b",))],
            ["2 all-gathers and reduce-scatters do not say of which module they are"],
        ),
        # half a unit each
        (
            [Op("gather:a", ALL_GATHER, None, 4), f("b")._replace(after=("gather:a",)),
             Op("scatter:c", REDUCE_SCATTER, None, 4, ("b",)),
             Op("regather:d", ALL_GATHER, None, 4, ("b",))],
            ["'a' has no scatter:a", "'d' has no gather:d", "'d' has no scatter:d",
             "'c' has no gather:c"],
        ),
        # collectives beside nothing
        (
            [f("b"), Op("gather:a", ALL_GATHER, None, 4), Op("scatter:a", REDUCE_SCATTER, None, 4)],
            ["gather:a has no compute op beside it", "scatter:a has no compute op beside it"],
        ),
        # another kind by that name
        (
            [Op("gather:a", REDUCE_SCATTER, None, 4, ("b",)), f("b")],
            ["1 all-gathers and reduce-scatters do not say"],
        ),
    ],
)  # fmt: skip
def test_what_is_no_fsdp_is_refused(ops, details):
    graph = build("other", ops)
    with pytest.raises(InvalidPlan) as refused:
        EXPORTS["fsdp"](graph, BYTE_US, alone(graph))
    assert {fault.code for fault in refused.value.faults} == {FaultCode.NOT_SHARDED}
    found = [fault.detail for fault in refused.value.faults]
    assert len(found) == len(details)
    for expected in details:
        assert any(expected in each for each in found), (expected, found)


def test_a_graph_that_begins_with_its_backward_pass_is_refused():
    ops = [
        Op("regather:a", ALL_GATHER, None, 4),
        f("backward b"),
        Op("scatter:b", REDUCE_SCATTER, None, 4, ("backward b",)),
        f("backward a")._replace(after=("backward b", "regather:a")),
        Op("scatter:a", REDUCE_SCATTER, None, 4, ("backward a",)),
        Op("gather:a", ALL_GATHER, None, 4),
        f("forward a")._replace(after=("backward a", "gather:a")),
        Op("gather:b", ALL_GATHER, None, 4),
        f("forward b")._replace(after=("forward a", "gather:b")),
    ]
    graph = build("turned", ops)
    with pytest.raises(InvalidPlan, match="forward pass must come before its backward") as refused:
        EXPORTS["fsdp"](graph, BYTE_US, alone(graph))
    assert {fault.code for fault in refused.value.faults} == {FaultCode.NOT_SHARDED}


def test_a_plan_of_another_graph_is_refused():
    other = ExplicitPlan((ExplicitBucket("x", ("gather:z",)),), (ExplicitPart("x", 4),))
    with pytest.raises(InvalidPlan):
        EXPORTS["fsdp"](THREE, BYTE_US, other)


def test_what_the_order_of_the_passes_costs_is_said():
    layers = [
        Layer(n, 10.0, 20.0, ((n, size),))
        for n, size in zip("abcde", (4, 4, 60, 4, 4), strict=True)
    ]
    graph = fsdp("early", layers, limit=5)  # all may be gathered at once, which FSDP2 never does
    found = EXPORTS["fsdp"](graph, BYTE_US, alone(graph))
    extra = found.iteration_time_us - found.plan_time_us
    assert extra > 0
    assert any(note.endswith(f"is lost, which takes {extra:,.1f} us.") for note in found.notes)


@settings(max_examples=cases(60))
@given(st.integers(0, 2**32), st.integers(1, 8))
def test_a_plan_promises_what_its_export_takes(seed, limit):
    """One form stands for both, and no form is faster than the bound that the promise states."""
    random = np.random.default_rng(seed)
    layers = [
        Layer(f"l{i}", random.uniform(1, 300), random.uniform(1, 300), ((f"w{i}", size),))
        for i, size in enumerate(random.integers(1, 400, random.integers(2, 8)).tolist())
    ]
    graph = fsdp("drawn", layers, limit=limit, step_us=5.0)
    network = alike(Affine(float(random.uniform(0.1, 100)), float(random.uniform(0.01, 2))))
    found = plan(graph, network, Options(baselines=(), time_limit_s=1.0))
    [promised] = headline(graph, network, Options(baselines=()), found).gains
    exported = EXPORTS["fsdp"](graph, network, planned(graph, found.launches))
    assert promised.plan_us == exported.iteration_time_us
    units = units_of(graph)
    joined = [join_units(units[: len(units) // 2]), join_units(units[len(units) // 2 :])]
    forms = [Form(units, 1, 1), Form(units, 3, 3), Form(tuple(joined), 2, 1)]
    times = [
        simulate(graph_of_form(graph, form), network, POLICIES["wfbp"]).iteration_time
        for form in forms
    ]
    bound, _ = compare(ungated(graph), network, Options(baselines=()))
    assert promised.lower_bound_us <= promised.plan_us
    assert bound <= min(times) * (1 + 1e-9)


def test_units_are_joined_within_the_memory_of_the_graph():
    """Launches cost so much that one gather of all would be fastest, and hold all at once."""
    layers = [Layer(f"l{k}", 10.0, 20.0, ((f"l{k}", 400),)) for k in range(9)]
    graph = fsdp("dear", layers, limit=4)
    network = alike(Affine(100.0, 0.01))
    launches = launches_under(graph, network, POLICIES["single"])
    found = fastest_form(graph, network, launches)
    assert found.limit == (1600, 2000)
    assert found.gathered[0] <= 1600
    assert found.gathered[1] <= 2000
    free = fsdp("dear", layers, limit=9)
    all_at_once = fastest_form(free, network, launches_under(free, network, POLICIES["single"]))
    assert len(all_at_once.form.units) == 1
    assert all_at_once.kept == 8


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("shards", [None, 2])
def test_no_more_is_gathered_at_once_than_in_the_graph_where_fsdp2_can(limit, shards):
    """A slow network and a large unit in the middle make prefetching pay."""
    layers = [
        Layer(f"l{k}", 900.0, 900.0, ((f"l{k}", 4000 if k == 5 else 500),)) for k in range(10)
    ]
    graph = fsdp("units", layers, shards, limit=limit)
    sizes = [4000 if k == 5 else 500 for k in range(10)]

    def window(count):
        return max(sum(sizes[k : k + count]) for k in range(10))

    most = gathered_in_graph(graph, units_of(graph))
    assert most.forward == (window(limit) if limit < 10 else None)
    assert most.backward == (window(limit + 1) if limit < 9 else None)
    network = alike(Affine(1.0, 1.0))
    found = EXPORTS["fsdp"](graph, network, alone(graph))
    units = json.loads(found.files["units.json"])["units"]
    ahead, back = (max(len(u[f"{p}_prefetch"]) for u in units) for p in ("forward", "backward"))
    assert 1 <= ahead <= max(1, limit - 2)
    assert 1 <= back <= limit
    if limit >= 5:
        assert ahead > 1
    told = [note for note in found.notes if "gathers more at once than the graph" in note]
    assert bool(told) == (limit < 3)
    if limit == 1:
        assert found.iteration_time_us < found.plan_time_us
        assert "us faster than the plan, whose lower bound is for the graph's limit" in told[0]
