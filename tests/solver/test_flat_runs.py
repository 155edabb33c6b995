"""Rules in flat arrays: the same iterations as by the plain engine, compiled or not."""

from functools import partial
from importlib import import_module
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Affine, alike
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.policies import POLICIES
from solver.policies.choice import Choice, applies, bind
from solver.simulation.engine import (
    Deadlock,
    Noise,
    _rules_of,
    iteration_time,
    launches_under,
    simulate,
    timer,
)
from solver.simulation.events import EventLoop
from solver.simulation.kernel import run as flat
from solver.simulation.kernel.heap import Heap
from solver.simulation.replay import replay
from solver.simulation.rules import Order, queues
from tests.plain import plain
from tests.sampling import cases
from tests.strategies import costs, dags, graphs, networks, sends

PLAIN_ENGINE, PLAIN_POLICIES, PLAIN_REPLAY, PLAIN_HEAP = plain(
    "solver.simulation.engine",
    "solver.policies",
    "solver.simulation.replay",
    "solver.simulation.kernel.heap",
)
#: What is tried both as imported and without a compiler.
MODULES = (
    "solver.simulation.engine",
    "solver.simulation.replay",
    "solver.simulation.rules",
    "solver.simulation.kernel.run",
    "solver.simulation.kernel.senders",
    "solver.policies",
)
#: Policies whose rules are Python: they run in the plain engine.
OWN = {"horovod"}


def rows(timeline):
    """A timeline as tuples: those of plain modules are of other classes."""
    launches = [tuple(launch) for launch in timeline.launches]
    return timeline.iteration_time, timeline.starts, timeline.ends, launches, timeline.events


@st.composite
def noises(draw, graph):
    times = st.integers(0, 4).map(lambda n: 100.0 * n)
    durations = [draw(times) if op.kind == COMPUTE else 0.0 for op in graph.ops]
    factors = st.sampled_from([0.0, 0.1, 1.0, 1 / 3, 2.0])
    return Noise(tuple(durations), tuple(draw(factors) for _ in graph.collectives))


@pytest.mark.parametrize("policy", POLICIES)
@given(data=st.data(), graph=dags(), network=networks())
@settings(max_examples=cases(100))
def test_every_policy_runs_as_in_the_plain_engine(policy, data, graph, network):
    if not applies(Choice(policy), chain_of(graph)):
        return
    noise = data.draw(st.none() | noises(graph))
    rules = _rules_of(graph, network, POLICIES[policy])
    expected = EventLoop(graph, network, POLICIES[policy], noise).run()
    assert (flat.run_of(graph, network, rules) is None) == (policy in OWN)
    assert simulate(graph, network, POLICIES[policy], noise) == expected
    assert iteration_time(graph, network, POLICIES[policy], noise) == expected.iteration_time
    assert launches_under(graph, network, POLICIES[policy]) == (
        simulate(graph, network, POLICIES[policy]).plan
    )
    found = PLAIN_ENGINE.simulate(graph, network, PLAIN_POLICIES.POLICIES[policy], noise)
    assert rows(found) == rows(expected)


@given(data=st.data(), graph=dags(), network=networks())
@settings(max_examples=cases(200))
def test_a_credit_runs_as_in_the_plain_engine(data, graph, network):
    parameters = {
        "partition_bytes": data.draw(st.sampled_from([100_000, 150_000, 4_000_000])),
        "credit_bytes": data.draw(st.sampled_from([1, 100_000, 300_000, 2**60])),
        "cycle_time_us": data.draw(st.sampled_from([None, 70.0, 300.0])),
    }
    noise = data.draw(st.none() | noises(graph))
    policy = partial(POLICIES["bytescheduler"], **parameters)
    rules = _rules_of(graph, network, policy)
    assert (flat.run_of(graph, network, rules) is None) == bool(parameters["cycle_time_us"])
    expected = EventLoop(graph, network, policy, noise).run()
    assert simulate(graph, network, policy, noise) == expected
    policy = partial(PLAIN_POLICIES.POLICIES["bytescheduler"], **parameters)
    assert rows(PLAIN_ENGINE.simulate(graph, network, policy, noise)) == rows(expected)


@given(data=st.data(), graph=graphs(), cost=costs())
@settings(max_examples=cases(300))
def test_a_plan_runs_as_in_the_plain_engine(data, graph, cost):
    launches = data.draw(sends(chain_of(graph)))
    noise = data.draw(st.none() | noises(graph))
    expected = EventLoop(graph, alike(cost), replay(launches), noise).run()
    assert simulate(graph, alike(cost), replay(launches), noise) == expected
    found = PLAIN_ENGINE.simulate(graph, alike(cost), PLAIN_REPLAY.replay(launches), noise)
    assert rows(found) == rows(expected)


def outcome(run):
    """What an iteration came to: its rows, or what it left unsent."""
    try:
        return rows(run())
    except (Deadlock, PLAIN_ENGINE.Deadlock) as error:
        return error.unsent


@given(data=st.data(), graph=dags(), network=networks())
@settings(max_examples=cases(200))
def test_a_plan_in_a_deadlock_leaves_the_same_unsent(data, graph, network):
    launches = data.draw(st.permutations(launches_under(graph, network, POLICIES["p3"])))
    launches = launches[: data.draw(st.integers(1, len(launches)))]
    expected = outcome(lambda: EventLoop(graph, network, replay(launches), None).run())
    assert outcome(lambda: simulate(graph, network, replay(launches))) == expected
    plan = PLAIN_REPLAY.replay(launches)
    assert outcome(lambda: PLAIN_ENGINE.simulate(graph, network, plan)) == expected


class Listed:
    """A queue by its definition: the least of what is ready, sought anew for each launch."""

    def __init__(self, units, order):
        self.units, self.order = units, order
        self.released, self.ready, self.sent = set(), {}, [0] * len(units)

    def release(self, tensor, now):
        self.released.add(tensor)
        for u, (bucket, _) in enumerate(self.units):
            if self.released.issuperset(bucket):
                self.ready.setdefault(u, now)

    def launch(self, now):
        waiting = [u for u in self.ready if self.sent[u] < len(self.units[u][1])]
        if not waiting:
            return None
        sign = -1 if self.order.latest_first else 1
        rank = self.order.ranks or [0] * len(self.units)
        unit = min(waiting, key=lambda u: (rank[u], sign * self.ready[u], u))
        self.sent[unit] += 1
        bucket, parts = self.units[unit]
        return Launch(bucket, parts[self.sent[unit] - 1])


@given(data=st.data(), graph=graphs(most=8), cost=costs())
@settings(max_examples=cases(300))
def test_a_queue_sends_the_ready_unit_of_the_least_rank(data, graph, cost):
    launches = data.draw(sends(chain_of(graph)))
    parts: dict = {}
    for bucket, size in launches:
        parts.setdefault(bucket, []).append(size)
    units = [(bucket, tuple(sizes)) for bucket, sizes in parts.items()]
    rank = st.integers(0, 2).map(float)
    some = st.lists(rank, min_size=len(units), max_size=len(units))
    order = Order(data.draw(st.just([]) | some), data.draw(st.booleans()))
    expected = simulate(graph, alike(cost), lambda chain, _: [Listed(units, order)])
    assert simulate(graph, alike(cost), lambda chain, _: queues(units, order, chain)) == expected


@given(data=st.data(), graph=dags(), network=networks())
@settings(max_examples=cases(100))
def test_a_timer_remembers_nothing_of_the_iteration_before(data, graph, network):
    policy = POLICIES[data.draw(st.sampled_from(["wfbp", "p3", "horovod", "bytescheduler"]))]
    time = timer(graph, network, policy)
    for noise in data.draw(st.lists(st.none() | noises(graph), min_size=1, max_size=4)):
        assert time(noise) == iteration_time(graph, network, policy, noise)


@given(kept=st.lists(st.tuples(*[st.integers(0, 3)] * 2), max_size=20), data=st.data())
@settings(max_examples=cases(200))
def test_a_heap_gives_its_rows_in_order(kept, data):
    for heap in (Heap(len(kept)), PLAIN_HEAP.Heap(len(kept))):
        inside = []
        for item, (major, minor) in enumerate(kept):
            heap.push(major, minor, item)
            inside.append((major, minor, item))
            if data.draw(st.booleans()):
                heap.pop()
                inside.remove(min(inside))
        while inside:
            before = heap.count
            heap.pop()
            inside.remove(min(inside))
            assert heap.count == before - 1 == len(inside)
            if inside:
                assert (heap.major[0], heap.minor[0], heap.item[0]) == min(inside)


TWO = build(
    "two",
    [
        Op("b", COMPUTE, 10.0),
        Op("g", ALL_REDUCE, None, 100, ("b",)),
        Op("h", ALL_REDUCE, None, 100, ("b",), "other"),
    ],
)
NETWORK = alike(Affine(1.0, 1.0))


@pytest.fixture(params=["compiled", "plain"])
def world(request):
    """The modules by their last names, as they are imported and as without a compiler."""
    TWO.memo.clear()
    find = plain if request.param == "plain" else lambda *names: map(import_module, names)
    return SimpleNamespace(**{module.__name__.split(".")[-1]: module for module in find(*MODULES)})


def run_of(world, rules):
    return world.run.run_of(TWO, NETWORK, rules)


def each_alone(world, chain):
    units = world.rules.whole_units([(i,) for i in range(len(chain))], chain)
    return world.rules.queues(units, world.rules.first_in_first_out, chain)


@pytest.mark.parametrize(
    "units",
    [
        [((0,), ()), ((1,), (100,))],  # no part
        [((0, 2), (100,)), ((1,), (100,))],  # no such tensor
        [((0, -1), (100,)), ((1,), (100,))],
    ],
)
def test_units_that_cannot_be_sent_are_refused(world, units):
    with pytest.raises(IndexError):
        world.senders.Units(units, chain_of(TWO))


def test_a_unit_waits_for_tensors_of_its_channel_alone(world):
    with pytest.raises(world.engine.Deadlock) as caught:
        world.engine.simulate(TWO, NETWORK, world.replay.replay([Launch((0, 1), 200)]))
    assert caught.value.unsent == (0, 1)


def test_too_little_noise_is_refused(world):
    for noise in (Noise((1.0,), ()), Noise((), (1.0,))):
        with pytest.raises(IndexError):
            world.engine.iteration_time(TWO, NETWORK, world.policies.POLICIES["wfbp"], noise)


def test_a_sender_without_an_order_sends_nothing(world):
    chain = chain_of(TWO)
    units = world.senders.Units(world.rules.whole_units([(0,), (1,)], chain), chain)
    senders = [world.senders.Sender(units)] * 2
    assert senders[0].launch(0.0) is None
    with pytest.raises(world.engine.Deadlock) as caught:
        world.engine.simulate(TWO, NETWORK, lambda *_: senders)
    assert caught.value.unsent == (0, 1)


def test_rules_of_different_units_run_in_the_plain_engine(world):
    def policy(chain, costs):
        return [each_alone(world, chain)[0], each_alone(world, chain)[1]]

    expected = world.engine.simulate(TWO, NETWORK, world.policies.POLICIES["wfbp"])
    assert run_of(world, policy(chain_of(TWO), ())) is None
    assert world.engine.simulate(TWO, NETWORK, policy) == expected


def test_rules_of_another_chain_run_in_the_plain_engine(world):
    assert run_of(world, each_alone(world, chain_of(build("one", TWO.ops[:2])))) is None


def test_fewer_rules_than_channels_are_an_error(world):
    rules = each_alone(world, chain_of(TWO))[:1]
    assert run_of(world, rules) is None
    with pytest.raises(IndexError):
        world.engine.simulate(TWO, NETWORK, lambda *_: rules)


def test_rules_of_python_run_in_the_plain_engine(world):
    assert run_of(world, world.policies.POLICIES["horovod"](chain_of(TWO), ())) is None


def test_slowed_compute_takes_as_long_by_each_way_to_ask(world):
    slowed, fifo = alike(Affine(1.0, 1.0), 2.0), world.policies.POLICIES["wfbp"]
    graph = build("after", [*TWO.ops, Op("c", COMPUTE, 500.0, None, ("b",))])
    timeline = world.engine.simulate(graph, slowed, fifo)
    assert timeline.iteration_time == 10 + 101 + (500 - 101 / 2)
    assert world.engine.iteration_time(graph, slowed, fifo) == timeline.iteration_time
    assert world.engine.timer(graph, slowed, fifo)(None) == timeline.iteration_time
    assert world.engine.launches_under(graph, slowed, fifo) == timeline.plan


@pytest.mark.parametrize("policy", ["wfbp", "ddp_priority", "p3"])
def test_a_model_runs_as_in_the_plain_engine(policy):
    graph, network = MODELS["resnet50"](), alike(Affine(50.0, 0.0014))
    choice = bind(Choice(policy))
    expected = EventLoop(graph, network, choice, None).run()
    assert simulate(graph, network, choice) == expected
    assert timer(graph, network, choice)(None) == expected.iteration_time
