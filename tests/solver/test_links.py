"""Launches over shared links against a fluid in exact fractions, by hand, and by what must hold."""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import pytest

from solver.costs import Cluster, network_of
from solver.errors import InvalidCluster
from solver.explanation.explain import explain
from solver.explanation.sensitivity import sensitivities
from solver.graph import ALL_REDUCE, COMPUTE, SEND_RECV, Graph, Op, build
from solver.planning.check import check
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from solver.simulation.fair_flows import FairFlows

WFBP = POLICIES["wfbp"]
#: A byte takes a microsecond at so many Gbit/s.
UNIT = 0.008


class Send(NamedTuple):
    """One send of the fluid: released after some compute, over a path."""

    release: int
    startup: int
    bytes: int
    rate: int
    path: tuple[str, ...]
    priority: int = 0


def fluid(sends: Sequence[Send], capacity: dict[str, int]) -> list[Fraction]:
    """Return when each send ends, each on a channel of its own; all times exact."""
    waits = {i: Fraction(send.release + send.startup) for i, send in enumerate(sends)}
    left = {i: Fraction(send.bytes) for i, send in enumerate(sends)}
    ends: dict[int, Fraction] = {}
    now = Fraction(0)
    while len(ends) < len(sends):
        going = [i for i, at in waits.items() if at <= now and i not in ends]
        rates = grown(sends, going, capacity)
        times = [left[i] / rates[i] for i in going if rates[i]]
        times += [at - now for at in waits.values() if at > now]
        step = min(times)
        now += step
        for i in going:
            left[i] -= rates[i] * step
            if not left[i]:
                ends[i] = now
    return [ends[i] for i in range(len(sends))]


def grown(
    sends: Sequence[Send], going: Sequence[int], capacity: dict[str, int]
) -> dict[int, Fraction]:
    """Let rates grow together, class after class, each until it or one of its links is full."""
    rates = dict.fromkeys(going, Fraction(0))
    for priority in sorted({sends[i].priority for i in going}, reverse=True):
        rising = {i for i in going if sends[i].priority == priority}
        while rising:
            steps = [sends[i].rate - rates[i] for i in rising]
            for link, most in capacity.items():
                used = sum(rates[i] for i in going if link in sends[i].path)
                count = sum(link in sends[i].path for i in rising)
                steps += [(most - used) / Fraction(count)] if count else []
            step = min(steps)
            for i in rising:
                rates[i] += step
            full = {
                link
                for link, most in capacity.items()
                if sum(rates[i] for i in going if link in sends[i].path) == most
            }
            rising = {i for i in rising if rates[i] < sends[i].rate and not full & {*sends[i].path}}
    return rates


def problem(sends: Sequence[Send], capacity: dict[str, int]) -> tuple[Graph, Cluster]:
    ops, channels = [], []
    for i, send in enumerate(sends):
        ops.append(Op(f"c{i}", COMPUTE, float(send.release)))
        ops.append(Op(f"s{i}", SEND_RECV, None, send.bytes, (f"c{i}",), f"l{i}"))
        own = Cluster(
            2,
            send.rate * UNIT,
            startup_us=float(send.startup),
            path=send.path,
            priority=send.priority,
        )
        channels.append((f"l{i}", own))
    links = tuple((name, most * UNIT) for name, most in capacity.items())
    return build("links", ops), Cluster(2, 1.0, channels=tuple(channels), links=links)


def drawn(seed: int) -> tuple[list[Send], dict[str, int]]:
    rng = random.Random(seed)
    capacity = {name: rng.randint(1, 8) for name in "abcd"[: rng.randint(1, 4)]}
    sends = [
        Send(
            rng.randint(0, 12),
            rng.choice((0, 0, 1, 5)),
            rng.randint(1, 40),
            rng.randint(1, 6),
            tuple(rng.sample(sorted(capacity), rng.randint(0, len(capacity)))),
            rng.choice((0, 0, 0, 1, 2)) if seed % 2 else 0,
        )
        for _ in range(rng.randint(1, 7))
    ]
    sends = [send if send.path else send._replace(priority=0) for send in sends]
    return sends, capacity


@pytest.mark.parametrize("seed", range(60))
def test_shared_links_are_the_fluid(seed: int) -> None:
    sends, capacity = drawn(seed)
    graph, cluster = problem(sends, capacity)
    found = simulate(graph, cluster, WFBP)
    ends = [found.ends[2 * i + 1] for i in range(len(sends))]
    assert ends == pytest.approx([float(end) for end in fluid(sends, capacity)], rel=1e-9)


def begun(flows: FairFlows, wants: dict[int, float]) -> dict[int, float]:
    """Begin to send on each channel, and return the rates of all."""
    for channel, rate in wants.items():
        flows.begin(channel, 1.0, rate, 1.0, (0.0, 1.0))
    return {channel: rate * flows.speed[channel] for channel, rate in wants.items()}


@pytest.mark.parametrize("seed", range(60))
def test_rates_are_max_min_fair(seed: int) -> None:
    rng = random.Random(seed)
    paths = [rng.sample(range(4), rng.randint(1, 3)) for _ in range(6)]
    capacities = [float(rng.randint(1, 9)) for _ in range(4)]
    wants = {i: float(rng.randint(1, 5)) for i in range(6)}
    rates = begun(FairFlows(paths, capacities, [0] * 6), wants)
    used = [sum(rates[i] for i in rates if link in paths[i]) for link in range(4)]
    assert all(use <= most * (1 + 1e-9) for use, most in zip(used, capacities, strict=True))
    for i, rate in rates.items():  # each is at its most, or fastest on a full link of its path
        assert rate == wants[i] or any(
            used[link] >= capacities[link] * (1 - 1e-9)
            and all(rates[j] <= rate * (1 + 1e-9) for j in rates if link in paths[j])
            for link in paths[i]
        )


def test_two_sends_on_an_uplink_by_hand() -> None:
    # both at 4 from 0; the uplink takes 6: 3 each until the shorter ends at 4, then 4 for the rest
    sends = [Send(0, 0, 12, 4, ("up",)), Send(0, 0, 20, 4, ("up", "other"))]
    graph, cluster = problem(sends, {"up": 6, "other": 100})
    found = simulate(graph, cluster, WFBP)
    assert (found.ends[1], found.ends[3]) == (4.0, 4.0 + 8 / 4)


def test_a_higher_class_goes_first() -> None:
    sends = [Send(0, 0, 12, 4, ("up",)), Send(1, 0, 8, 4, ("up",), 1)]
    graph, cluster = problem(sends, {"up": 4})
    found = simulate(graph, cluster, WFBP)
    assert (found.ends[1], found.ends[3]) == (5.0, 3.0)


def test_an_all_reduce_crosses_as_its_bus_bandwidth_says() -> None:
    # a ring of 4 passes 1.5 times its bytes over each link: with the link's capacity it is alone
    ops = [Op("c", COMPUTE, 1.0), Op("sum", ALL_REDUCE, None, 4_000, ("c",))]
    graph = build("sum", ops)
    alone = Cluster(4, 8.0, startup_us=3.0)  # 1,000 bytes a microsecond
    crossing = Cluster(4, 8.0, startup_us=3.0, path=("up",), links=(("up", 8.0),))
    half = Cluster(4, 8.0, startup_us=3.0, path=("up",), links=(("up", 4.0),))
    times = [simulate(graph, each, WFBP).iteration_time for each in (alone, crossing, half)]
    assert times == [1 + 3 + 6, 1 + 3 + 6, 1 + 3 + 12]


@pytest.mark.parametrize("seed", range(20))
def test_links_with_room_change_nothing_to_the_byte(seed: int) -> None:
    sends, capacity = drawn(seed)
    wide = dict.fromkeys(capacity, 1_000)
    odd = [send._replace(bytes=send.bytes * 997 + 1) for send in sends]
    graph, cluster = problem(odd, wide)
    _, apart = problem([send._replace(path=(), priority=0) for send in odd], {})
    assert simulate(graph, cluster, WFBP).launches == simulate(graph, apart, WFBP).launches


@pytest.mark.parametrize("seed", range(20))
def test_more_capacity_never_hurts_the_last_end(seed: int) -> None:
    # with each send released by compute alone the fluid's last end is monotone on one link
    sends, _ = drawn(seed)
    some = [send._replace(path=("up",)) for send in sends]
    times = []
    for most in (1, 2, 4, 8, 16):
        graph, cluster = problem(some, {"up": most})
        times.append(simulate(graph, cluster, WFBP).iteration_time)
    assert all(late >= early * (1 - 1e-9) for late, early in pairwise(times))


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_over_links_is_certified(seed: int) -> None:
    sends, capacity = drawn(seed)
    graph, cluster = problem(sends, capacity)
    found = plan(graph, cluster)
    assert check(found.graph, network_of(cluster), found) == pytest.approx(found.iteration_time_us)
    assert found.lower_bound_us <= found.iteration_time_us * (1 + 1e-9)


@pytest.mark.parametrize(
    ("cluster", "pointer", "code"),
    [
        (Cluster(2, 1.0, path=("up",)), "/path/0", "unknown_link"),
        (Cluster(2, 1.0, path=("a", "a"), links=(("a", 1.0),)), "/path/1", "duplicate_id"),
        # one card says what is shared, or the links do
        (Cluster(2, 1.0, path=("a",), shares="n", links=(("a", 1.0),)), "/shares", "extra_field"),
        (Cluster(2, 1.0, priority=1), "/priority", "extra_field"),
        (Cluster(2, 1.0, links=(("a", 0.0),)), "/links/a/capacity_gbps", "out_of_range"),
        (
            Cluster(2, 1.0, channels=(("x", Cluster(2, 1.0, path=("up",))),)),
            "/channels/x/path/0",
            "unknown_link",
        ),
        (
            Cluster(2, 1.0, channels=(("x", Cluster(2, 1.0, links=(("a", 1.0),))),)),
            "/channels/x/links",
            "extra_field",
        ),
    ],
)
def test_odd_links_are_refused(cluster: Cluster, pointer: str, code: str) -> None:
    with pytest.raises(InvalidCluster) as error:
        network_of(cluster)
    assert [(f.pointer, f.code) for f in error.value.faults] == [(pointer, code)]


def test_twice_the_bandwidth_of_one_channel_leaves_its_links():
    # 100 bytes of each of two channels cross a link of a byte a us: 200 us, 100 if it is doubled
    ops = [Op("c", COMPUTE, 1.0)]
    ops += [Op(f"s{i}", SEND_RECV, None, 100, ("c",), channel=f"dp{i}") for i in range(2)]
    graph = build("two", ops)
    lanes = {f"dp{i}": Cluster(2, UNIT, 0, path=("nic0",)) for i in (0, 1)}
    network = network_of(
        Cluster(2, UNIT, 0, channels=tuple(lanes.items()), links=(("nic0", UNIT),))
    )
    timeline = simulate(graph, network, WFBP)
    found = sensitivities(
        graph, network, lambda _: WFBP, timeline, explain(graph, network, timeline)
    )
    gains = {(each.name, each.channel): each.gain_us for each in found}
    assert gains["bandwidth_double", None] == pytest.approx(100)
    assert (gains["channel_double", "dp0"], gains["channel_double", "dp1"]) == (0, 0)
