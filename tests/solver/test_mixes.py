"""Jobs beside one another: against a fluid in exact fractions, and two graphs run as one."""

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from solver.buckets import Launch
from solver.chain import chain_of
from solver.costs import Cluster, network_of
from solver.graph import ALL_REDUCE, COMPUTE, Graph, Op, build
from solver.jobs.condense import profile_of_graph
from solver.jobs.mix import JobTerms, Mix, MixedJob, fair_terms, faults_of_mix
from solver.jobs.profile import Phase, profile_of_phases
from solver.jobs.simulate import simulate_mix, slowdowns_of
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from solver.simulation.replay import replay
from tests.jobs_oracle import PlainJob, PlainPhase, run_plainly

#: A byte takes a microsecond at so many Gbit/s.
UNIT = 0.008


def drawn(seed: int) -> tuple[Mix, list[JobTerms], list[PlainJob], dict[str, Fraction]]:
    """Draw jobs of phases on links, on a coarse grid so that ties occur."""
    rng = random.Random(seed)
    names = "abc"[: rng.randint(1, 3)]
    capacity = {name: rng.choice((4, 8, 10)) for name in names}
    links = {name: size * UNIT for name, size in capacity.items()}
    jobs, terms, plain = [], [], []
    for j in range(rng.randint(1, 4)):
        phases, exact = [], []
        for _ in range(rng.randint(1, 3)):
            path = tuple(rng.sample(names, rng.randint(1, len(names))))
            compute, size = rng.randint(0, 12), rng.choice((0, 8, 20, 40))
            most = rng.choice((None, 2, 4, 16))
            compute += not compute and not size
            phases.append(
                Phase(float(compute), float(size), path, None if most is None else most * UNIT)
            )
            exact.append(
                PlainPhase(
                    Fraction(compute),
                    Fraction(size),
                    path if size else (),
                    None if most is None else Fraction(most),
                )
            )
        jobs.append(MixedJob(f"job {j}", (profile_of_phases(phases, links),)))
        offset = rng.choice((0, 0, 3, 10))
        priority = rng.choice((0, 1, 2)) if seed % 3 == 0 else 0
        period = rng.choice((None, 60, 90)) if seed % 4 == 0 else None
        terms.append(JobTerms(float(offset), priority, None if period is None else float(period)))
        held = None if period is None else Fraction(period)
        plain.append(PlainJob(exact, Fraction(offset), priority, held))
    return (
        Mix(tuple(links.items()), tuple(jobs)),
        terms,
        plain,
        {name: Fraction(size) for name, size in capacity.items()},
    )


@pytest.mark.parametrize("seed", range(40))
def test_jobs_beside_one_another_are_the_fluid(seed: int) -> None:
    mix, terms, plain, capacity = drawn(seed)
    run = simulate_mix(mix, terms, 12)
    if run.is_cut:  # a lower class is never served
        return
    if run.pattern_us is None:
        times = run_plainly(plain, capacity, 12)
        for found, exact in zip(run.times, times, strict=True):
            skipped = len(exact) // 4
            want = [float(t) for t in exact]
            assert list(found) == pytest.approx(want[skipped : skipped + len(found)], rel=1e-6) or (
                len(exact) > 12
            )
        return
    # the mean of the pattern is that of many iterations, but for the first and the last
    times = run_plainly(plain, capacity, 45)
    for mean, exact in zip(run.means, times, strict=True):
        settled = [float(t) for t in exact[15:]]
        assert mean == pytest.approx(sum(settled) / len(settled), rel=0.08)


@pytest.mark.parametrize("seed", range(60))
def test_first_iterations_are_the_fluid(seed: int) -> None:
    mix, terms, plain, capacity = drawn(seed)
    run = simulate_mix(mix, terms, 1)
    if run.is_cut or run.pattern_us is not None:  # then the times are not of the first
        return
    times = run_plainly(plain, capacity, 1)
    for found, exact in zip(run.times, times, strict=True):
        skipped = len(exact) // 4  # of jobs so short that they began again
        assert found[0] == pytest.approx(float(exact[skipped]), rel=1e-9)


def drawn_graph(rng: random.Random, name: str, channel: str) -> Graph:
    """Draw a layer chain, or a graph in which collectives come after others."""
    layers = rng.randint(1, 6)
    ops: list[Op] = []
    for k in range(layers):
        after = (ops[-1].id,) if ops and ops[-1].kind == COMPUTE else ()
        backward = f"{name}b{k}"
        ops.append(Op(backward, COMPUTE, float(rng.randint(1, 9)), None, after, f"{name}/gpu"))
    for k in range(layers):
        waits: tuple[str, ...] = (f"{name}b{k}",)
        if k and rng.random() < 0.3:
            waits += (f"{name}s{k - 1}",)
        ops.append(Op(f"{name}s{k}", ALL_REDUCE, None, rng.randint(1, 30) * 4, waits, channel))
    before = ops[layers - 1].id
    for k in reversed(range(layers)):
        ops.append(
            Op(
                f"{name}f{k}",
                COMPUTE,
                float(rng.randint(0, 6)),
                None,
                (f"{name}s{k}", before),
            )
        )
        before = ops[-1].id
    # after which the next iteration meets nobody of this one
    ops.append(Op(f"{name}last", COMPUTE, 10_000.0, None, (before,)))
    return build(name, ops)


def own(rng: random.Random) -> Cluster:
    return Cluster(
        rng.randint(2, 4),
        rng.randint(2, 9) * UNIT,
        startup_us=float(rng.randint(0, 3)),
        path=("up",),
    )


@pytest.mark.parametrize("seed", range(40))
def test_first_iterations_of_graphs_are_those_of_both_as_one_graph(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(3, 9) * UNIT
    first, second = drawn_graph(rng, "x", "cx"), drawn_graph(rng, "y", "cy")
    channels = (("cx", own(rng)), ("cy", own(rng)))
    cluster = Cluster(2, 1.0, channels=channels, links=(("up", size),))
    network = network_of(cluster)
    wfbp = POLICIES["wfbp"]
    count = len(first.ops)
    alone = [simulate(graph, network, wfbp).plan for graph in (first, second)]
    jobs = [
        MixedJob(graph.name, (profile_of_graph(graph, network, replay(plan)),))
        for graph, plan in zip((first, second), alone, strict=True)
    ]
    one = build("both", [*first.ops, *second.ops])
    both = simulate(one, network, replay(joined(one, (first, second), alone)))
    run = simulate_mix(Mix((("up", size),), tuple(jobs)), (JobTerms(),) * 2, 1)
    assert run.times[0][0] == pytest.approx(max(both.ends[:count]), rel=1e-9)
    assert run.times[1][0] == pytest.approx(max(both.ends[count:]), rel=1e-9)


def joined(one: Graph, graphs: Sequence[Graph], plans: Sequence[Sequence[Launch]]) -> list[Launch]:
    """Return the launches of plans of single tensors as those of all graphs as one."""
    number = {one.ops[place].id: i for i, place in enumerate(chain_of(one).positions.tolist())}
    found = []
    for graph, plan in zip(graphs, plans, strict=True):
        places = chain_of(graph).positions.tolist()
        for bucket, size in plan:
            found.append(Launch((number[graph.ops[places[bucket[0]]].id],), size))
    return found


@pytest.mark.parametrize("policy", ["wfbp", "ddp", "horovod", "bytescheduler", "p3"])
@pytest.mark.parametrize("seed", range(8))
def test_a_job_alone_takes_the_time_of_its_graph_to_the_last_bit(seed: int, policy: str) -> None:
    rng = random.Random(seed)
    graph = drawn_graph(rng, "x", "cx")
    size = rng.choice((0.3, 0.07, 0.011))
    cluster = Cluster(
        2, 1.0, channels=(("cx", own(rng)),), links=(("up", size),), compute_slowdown=1.1
    )
    found = simulate(graph, cluster, POLICIES[policy])
    profile = profile_of_graph(graph, network_of(cluster), POLICIES[policy])
    mix = Mix((("up", size),), (MixedJob("x", (profile,)),))
    run = simulate_mix(mix, fair_terms(mix), 5)
    assert profile.alone_us == found.iteration_time
    assert run.means == (found.iteration_time,)
    assert not run.lost


def halves(offset: float = 0.0, priority: int = 0) -> tuple[Mix, tuple[JobTerms, ...]]:
    """Two jobs that compute 100 us and send for 100 us."""
    links = {"up": 100 * UNIT}
    profile = profile_of_phases([Phase(100.0, 10_000.0, ("up",))], links)
    mix = Mix(tuple(links.items()), tuple(MixedJob(name, (profile,)) for name in "xy"))
    return mix, (JobTerms(), JobTerms(offset, priority))


@pytest.mark.parametrize(("offset", "time"), [(0.0, 300.0), (50.0, 250.0), (100.0, 200.0)])
def test_two_halves_by_hand(offset: float, time: float) -> None:
    # fair halves while both send: what a shift spares of it is spared for ever
    mix, terms = halves(offset)
    run = simulate_mix(mix, terms)
    assert run.means == pytest.approx((time, time))
    assert run.pattern_us == pytest.approx(time)
    lost = dict(run.lost)
    assert lost.get((0, 1, 0), 0.0) == pytest.approx(time - 200)
    assert lost.get((1, 0, 0), 0.0) == pytest.approx(time - 200)


def test_a_priority_parts_two_halves_by_itself() -> None:
    # the lower waits once, and from then on computes while the higher sends
    mix, terms = halves(priority=1)
    assert slowdowns_of(mix, simulate_mix(mix, terms)) == (1.0, 1.0)


def test_a_period_holds_a_job_back() -> None:
    mix, _ = halves()
    terms = (JobTerms(0.0, 0, 250.0), JobTerms(100.0, 0, 250.0))
    assert simulate_mix(mix, terms).means == (250.0, 250.0)


def test_what_crosses_a_link_is_what_jobs_send() -> None:
    mix, terms = halves()
    run = simulate_mix(mix, terms, is_traced=True)
    sent = sum((each.end - each.begin) * each.rate for each in run.carried)
    assert sent == pytest.approx(20_000)
    assert run.window[1] - run.window[0] == pytest.approx(300)


def test_same_input_same_run() -> None:
    for seed in (1, 7, 12):
        mix, terms, *_ = drawn(seed)
        assert simulate_mix(mix, terms, 12) == simulate_mix(mix, terms, 12)


@pytest.mark.parametrize("seed", range(20))
def test_twice_the_bytes_and_compute_take_twice_the_time(seed: int) -> None:
    mix, terms, *_ = drawn(seed)
    slow = Mix(tuple((name, gbps / 2) for name, gbps in mix.links), mix.jobs)
    assert (
        all(
            after >= before * (1 - 1e-6)
            for before, after in zip(
                simulate_mix(mix, terms, 1).means, simulate_mix(slow, terms, 1).means, strict=True
            )
        )
        or len(mix.jobs) > 1
    )


def test_faults_are_all_named() -> None:
    profile = profile_of_phases([Phase(1.0, 8.0, ("up",))], {"up": 1.0})
    idle = profile_of_phases([Phase(0.0)], {})
    jobs = (MixedJob("x", (profile,), 0.0), MixedJob("x", (idle,)))
    found = list(faults_of_mix(Mix((("down", 0.0),), jobs)))
    assert [fault.code for fault in found] == [
        "out_of_range",  # the link's capacity
        "out_of_range",  # the weight
        "unknown_link",
        "duplicate_id",
        "out_of_range",  # no time
    ]


@pytest.mark.parametrize("seed", range(0, 40, 5))
def test_times_are_the_same_whoever_is_blamed(seed: int) -> None:
    mix, terms, _, _ = drawn(seed)
    full, brief = (simulate_mix(mix, terms, is_blamed=is_blamed) for is_blamed in (True, False))
    assert (brief.times, brief.begins, brief.pattern_us) == (
        full.times,
        full.begins,
        full.pattern_us,
    )
    assert brief.lost == ()
    traced = simulate_mix(mix, terms, is_traced=True, is_blamed=False)
    assert traced.carried == simulate_mix(mix, terms, is_traced=True).carried
