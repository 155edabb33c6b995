"""Flows of a launch side by side on a link: on paper, and single flow by single flow."""

import random
from itertools import accumulate

import numpy as np
import pytest

from solver.clusters.allocation import AllocationOptions, allocate
from solver.clusters.beside import PlacedJob, Profiles, links_of, mix_of
from solver.clusters.figures import with_figures
from solver.clusters.mapping import MappingJudge
from solver.clusters.regular import fat_tree
from solver.clusters.topology import Topology
from solver.clusters.wiring import wiring_of
from solver.clusters.workloads import DataParallelJob, ShapedJob, Workload
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Op, build
from solver.jobs.blame import use_of_links
from solver.jobs.estimate import estimated_slowdowns
from solver.jobs.mix import JobTerms, Mix, MixedJob, fair_terms
from solver.jobs.policies import cassini_shifts
from solver.jobs.profile import Phase, profile_of_phases
from solver.jobs.simulate import simulate_mix, slowdowns_of
from solver.shapes.hardware import ACCELERATORS
from solver.shapes.job_shape import JobShape
from solver.shapes.published import PUBLISHED
from solver.simulation.fair_flows import FairFlows
from tests.benchmarks.allocations import clustered
from tests.flow_oracle import FlowJob, run_flows, way_between
from tests.solver.test_links import begun

#: The links of two racks that all meet on.
UPLINKS = ("leaf1-1>spine1", "leaf1-2>spine1")


def two_racks(over: float = 4.0) -> Topology:
    """Return 2 racks of 4 nodes of one GPU; uplinks have 1,600 / ``over`` Gbit/s."""
    return with_figures(fat_tree(1, 2, 4, 400.0, over, gpus=1), node_gbps=3600)


def ring_job(compute_us: float, size: int, slots: int, kind: str = ALL_REDUCE) -> DataParallelJob:
    ops = [Op("c", COMPUTE, compute_us), Op("s", kind, None, size, ("c",))]
    return DataParallelJob(build("ring", ops), slots, 1, "wfbp")


def put(topology: Topology, name: str, job: Workload, nodes: list[int]) -> PlacedJob:
    return PlacedJob(name, job, MappingJudge(wiring_of(topology), job)(np.array(nodes)))


def crossing(kind: str = ALL_REDUCE) -> tuple[Topology, tuple[PlacedJob, PlacedJob]]:
    """Return a ring that goes to and fro between racks, 4 flows up each, and one of two nodes."""
    tree = two_racks()
    to_and_fro = put(tree, "four", ring_job(10.0, 8_000_000, 6, kind), [0, 4, 1, 5, 2, 6])
    return tree, (to_and_fro, put(tree, "one", ring_job(10.0, 8_000_000, 2, kind), [3, 7]))


@pytest.mark.parametrize(("kind", "passes"), [(ALL_REDUCE, 2.0), (ALL_GATHER, 1.0)])
def test_bytes_and_rates_on_an_uplink_by_hand(kind: str, passes: float) -> None:
    # six nodes to and fro: 3 flows up each uplink of 400 Gbit/s, 133 each; alone they fill it.
    # With the flow of the other job 4 flows share it: 100 Gbit/s each, 3 : 1.
    tree, jobs = crossing(kind)
    assert jobs[0].mapping.gbps == pytest.approx((400 / 3,))
    assert [links_of(wiring_of(tree), job)[0][UPLINKS[0]] for job in jobs] == [3.0, 1.0]
    mix = mix_of(wiring_of(tree), Profiles(tree), jobs)
    assert [name for name, _ in mix.links] == list(UPLINKS)
    sent = [job.profiles[0].bytes_on()[UPLINKS[0]] for job in mix.jobs]
    flow = passes * 5 / 6 * 8_000_000  # what each node sends to the next
    assert sent == pytest.approx([3 * flow, passes / 2 * 8_000_000])
    # each flow at 12,500 bytes/us: the ring of two ends first, the other goes on at 16,667
    run = simulate_mix(mix, fair_terms(mix), 1, is_traced=True)
    first = 10 + passes / 2 * 8_000_000 / 12_500
    assert min(piece.end for piece in run.carried) == pytest.approx(first)
    rates = {piece.job: piece.rate for piece in run.carried if piece.end == pytest.approx(first)}
    assert rates == pytest.approx({0: 37_500.0, 1: 12_500.0})


def test_flows_of_a_phase_by_hand() -> None:
    # a link of 100 bytes/us: 4 flows have 80 of it and end at 225, when the other has 7,500 left
    links = {"up": 0.8}
    phases = (Phase(100.0, 10_000.0, ("up",), flows=4), Phase(100.0, 10_000.0, ("up",)))
    jobs = [
        MixedJob(name, (profile_of_phases([phase], links),))
        for name, phase in zip("ab", phases, strict=True)
    ]
    assert [job.alone_us for job in jobs] == [200.0, 200.0]
    assert jobs[0].profiles[0].bytes_on() == {"up": 10_000.0}
    mix = Mix(tuple(links.items()), tuple(jobs))
    late = JobTerms(period_us=1_000.0)
    run = simulate_mix(mix, (late, JobTerms()), 1, is_traced=True)
    assert run.carried[0].end == pytest.approx(225.0)
    assert run.times[1] == pytest.approx((300.0,))


def test_an_exchange_has_a_flow_to_each_other_rank() -> None:
    # 8 ranks in 2 racks: 4 x 4 flows up each, of a seventh of what a rank sends
    tree = two_racks()
    job = ShapedJob(
        PUBLISHED["mixtral-8x7b"], ACCELERATORS["h100"], JobShape(dp=8, ep=8, micro_batches=2), 1
    )
    placed = put(tree, "experts", job, list(range(8)))
    crossed = dict(
        zip([g.name for g in job.groups], links_of(wiring_of(tree), placed), strict=True)
    )
    assert crossed["expert"][UPLINKS[0]] == pytest.approx(16)
    assert crossed["expert"]["node1>leaf1-1"] == pytest.approx(7)
    assert crossed["data"][UPLINKS[0]] == 1
    profile = Profiles(tree).of(placed, links_of(wiring_of(tree), placed))
    busy = job.busy_us(tree, placed.mapping.gbps)
    each = {
        g.name: us * at * 125
        for g, us, at in zip(job.groups, busy, placed.mapping.gbps, strict=True)
    }
    found = profile.bytes_on()
    assert found[UPLINKS[0]] == pytest.approx(16 / 7 * each["expert"] + each["data"])
    assert found["node1>leaf1-1"] == pytest.approx(each["expert"] + each["data"])


@pytest.mark.parametrize("seed", range(60))
def test_times_are_those_of_single_flows(seed: int) -> None:
    rng = random.Random(seed)
    topology = clustered(rng, 12)
    topology = with_figures(topology, hop_us=0.0, node_hop_us=0.0, startup_us=0.0)
    free = list(range(len(topology.nodes)))
    rng.shuffle(free)
    placed, plain = [], []
    for name in "abc":
        slots = rng.randint(2, 4)
        if len(free) < slots:
            break
        nodes = [free.pop() for _ in range(slots)]
        compute, size = float(rng.randint(50, 400)), rng.randint(1, 40) * 100_000
        placed.append(put(topology, name, ring_job(compute, size, slots), nodes))
        ways = [(topology.nodes[i].name, *topology.nodes[i].above) for i in nodes]
        flows = [way_between(one, two) for one, two in zip(ways, ways[1:] + ways[:1], strict=True)]
        each = 2 * (slots - 1) / slots * size
        plain.append(FlowJob(compute, each, placed[-1].mapping.gbps[0] * 125, flows))
    mix = mix_of(wiring_of(topology), Profiles(topology), tuple(placed))
    capacity = {link.name: (link.capacity_gbps or 0.0) * 125 for link in topology.links}
    run = simulate_mix(mix, fair_terms(mix), 3)
    run_flows(plain, capacity, 3)
    if run.pattern_us is not None:
        return
    for found, begins, exact in zip(run.times, run.begins, plain, strict=True):
        starts = [0.0, *accumulate(exact.times)]
        first = min(range(len(starts)), key=lambda k: abs(starts[k] - begins[0]))
        want = exact.times[first : first + len(found)]
        assert want
        assert list(found[: len(want)]) == pytest.approx(want, rel=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_weighted_rates_are_those_of_single_flows(seed: int) -> None:
    rng = random.Random(seed)
    capacities = [float(rng.randint(1, 9)) for _ in range(4)]
    paths = [rng.sample(range(4), rng.randint(1, 3)) for _ in range(5)]
    weights = [[float(rng.randint(1, 4)) for _ in path] for path in paths]
    wants = {i: float(rng.choice((1, 2, 5))) for i in range(5)}
    rates = begun(FairFlows(paths, capacities, [0] * 5, weights), wants)
    used = [0.0] * 4
    for i, rate in rates.items():
        for link, weight in zip(paths[i], weights[i], strict=True):
            used[link] += rate * weight
    assert all(use <= most * (1 + 1e-9) for use, most in zip(used, capacities, strict=True))
    for i, rate in rates.items():  # each is at its most, or fastest on a full link of its path
        assert rate == wants[i] or any(
            used[link] >= capacities[link] * (1 - 1e-9)
            and all(rates[j] <= rate * (1 + 1e-9) for j in rates if link in paths[j])
            for link in paths[i]
        )


def test_who_slows_whom_goes_by_what_each_has_of_the_link() -> None:
    # of two jobs that slow it down, the one with two flows has twice as much of the link
    tree = with_figures(fat_tree(1, 2, 8, 400.0, 8.0, gpus=1), node_gbps=3600)
    two = put(tree, "two", ring_job(10.0, 8_000_000, 4), [0, 8, 1, 9])
    others = (put(tree, "x", ring_job(10.0, 8_000_000, 2), [2, 10]),)
    one = put(tree, "one", ring_job(10.0, 1_000_000, 2), [3, 11])
    mix = mix_of(wiring_of(tree), Profiles(tree), (two, *others, one))
    lost = dict(simulate_mix(mix, fair_terms(mix), 1).lost)
    by = {other: us for (job, other, _), us in lost.items() if job == 2}
    assert by[0] == pytest.approx(2 * by[1])


def test_a_spread_job_alone_is_as_it_is_without_others() -> None:
    tree, (four, one) = crossing()
    mix = mix_of(wiring_of(tree), Profiles(tree), (four, one))
    late = (JobTerms(), JobTerms(offset_us=1e9))
    run = simulate_mix(mix, late, 1)
    assert run.times[0][0] == four.mapping.time_us


def test_use_estimate_and_shifts_count_all_flows() -> None:
    tree, jobs = crossing()
    mix = mix_of(wiring_of(tree), Profiles(tree), jobs)
    run = simulate_mix(mix, fair_terms(mix), 4, is_traced=True)
    assert max(use_of_links(mix, run, 50)[UPLINKS[0]]) == pytest.approx(1.0)
    slow = slowdowns_of(mix, run)
    assert slow[0] > 1.1
    assert estimated_slowdowns(mix) == pytest.approx(slow, rel=0.5)
    assert cassini_shifts(mix)[1].offset_us > 0


def test_sets_that_share_an_uplink_with_a_spread_ring_are_ranked_below() -> None:
    tree = two_racks()
    running = [put(tree, "spread", ring_job(10.0, 8_000_000, 4), [0, 4, 1, 5])]
    sets = [np.array([2, 6]), np.array([2, 3])]
    found = allocate(
        wiring_of(tree),
        ring_job(10.0, 8_000_000, 2),
        np.array([2, 3, 6]),
        sets,
        running,
        AllocationOptions(),
    )
    assert [each.candidate for each in found.ranked] == [1, 0]
    assert found.ranked[1].jobs[1].slowdown > 1.2
