"""Costs from iteration times: hidden truths found again, what is not told, what is refused."""

import math
import random

import numpy as np
import pytest
from scipy.optimize import minimize

from solver.costs import Affine, ChannelCost, Cluster, alike, network_of
from solver.errors import InvalidMeasurements, InvalidOptions
from solver.estimation.estimate import estimate
from solver.estimation.least_squares import EstimationProblem, fit, objective
from solver.estimation.parameters import parameters_of
from solver.estimation.runs import MeasuredRun
from solver.estimation.shapes import with_growth, with_slow_launches
from solver.estimation.table_runs import runs_of
from solver.estimation.times_table import TimesRow, is_times, read_times
from solver.graph import ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.models import MODELS, gpt2
from solver.policies import POLICIES
from solver.policies.choice import Choice, bind
from solver.simulation.engine import simulate

TRUTH = {"startup_us": 120.0, "hop_us": 12.0, "bandwidth_gbps": 17.0}
CLUSTER = Cluster(8, bandwidth_gbps=10, startup_us=50)
SIZES = (4_000_000, 90_000, 2_500_000, 600_000, 8_000_000, 30_000, 1_200_000, 200_000)


def layers(sizes=SIZES, speed=1.0):
    """Backward pass, a tensor after each layer, and the next forward pass."""
    ops = [Op("b0", COMPUTE, 900.0 * speed)]
    for i, size in enumerate(sizes, 1):
        ops.append(Op(f"b{i}", COMPUTE, (500.0 + 130 * i) * speed, None, (f"b{i - 1}",)))
        ops.append(Op(f"g{i}", ALL_REDUCE, None, size, (f"b{i}",)))
    last = f"b{len(sizes)}"
    for i in range(len(sizes), 0, -1):
        ops.append(Op(f"f{i}", COMPUTE, 300.0 * speed, None, (last, f"g{i}")))
        last = f"f{i}"
    return build("layers", ops)


GRAPHS = {"small": layers(), "wide": layers(tuple(3 * size for size in SIZES[:5]))}


def true_time(model, workers, policy, speed=1.0, startup_us=120.0, hop_us=12.0, gbps=17.0):
    """Time with the truth, its graph and its cost made here: ring by MODEL.md section 2."""
    sizes = SIZES if model == "small" else tuple(3 * size for size in SIZES[:5])
    graph = layers(sizes, speed)
    waits = policy not in {"p3", "bytescheduler", "tictac", "pace"}
    graph = with_barrier(graph) if waits else graph
    if workers == 1:
        return sum(op.duration_us or 0 for op in graph.ops)
    launch = Affine(
        startup_us + 2 * (workers - 1) * hop_us, 2 * (workers - 1) / workers / gbps / 125
    )
    return simulate(graph, alike(launch), POLICIES[policy]).iteration_time


def run(model, workers, policy, time=None, **more):
    waits = policy not in {"p3", "bytescheduler", "tictac", "pace"}
    return MeasuredRun(model, GRAPHS[model], False, workers, Choice(policy, waits), time, **more)


def timed(models, workers, policies, speed=1.0, noise=0.0, **truth):
    rng = random.Random(7)
    return [
        run(m, w, p, true_time(m, w, p, speed, **truth) * math.exp(noise * rng.gauss(0, 1)))
        for m in models
        for w in workers
        for p in policies
    ]


def values_of(found):
    return {each.parameter.label: each.value for each in found.parameters}


def reasons_of(found):
    return {each.parameter.label: each.reason for each in found.parameters}


@pytest.mark.parametrize("speed", [0.6, 1.0, 1.7])
def test_a_hidden_truth_is_found(speed):
    runs = timed(["small", "wide"], [1, 4, 16], ["wfbp", "ddp"], speed)
    found = estimate(runs, CLUSTER)
    values = values_of(found)
    assert values.pop("compute_scale of small") == pytest.approx(speed, rel=1e-3)
    assert values.pop("compute_scale of wide") == pytest.approx(speed, rel=1e-3)
    assert values.pop("compute_slowdown") == pytest.approx(1, rel=1e-3)
    assert values == pytest.approx(TRUTH, rel=1e-3)
    assert found.worst_error < 1e-3
    assert set(reasons_of(found).values()) == {None}


@pytest.mark.parametrize(
    "truth",
    [
        {"startup_us": 1000.0, "hop_us": 3.0, "gbps": 90.0},
        {"startup_us": 15.0, "hop_us": 40.0, "gbps": 3.0},
    ],
)
def test_far_from_the_defaults(truth):
    found = estimate(timed(["small"], [1, 2, 8, 32], ["wfbp", "single"], 0.8, **truth), CLUSTER)
    wanted = {"startup_us": truth["startup_us"], "hop_us": truth["hop_us"]}
    wanted |= {"bandwidth_gbps": truth["gbps"], "compute_scale of small": 0.8}
    wanted["compute_slowdown"] = 1
    for label, value in values_of(found).items():
        if value is not None:
            assert value == pytest.approx(wanted[label], rel=1e-3), label
    assert found.worst_error < 1e-3


def test_other_rows_are_predicted():
    runs = timed(["small"], [1, 2, 4, 16], ["wfbp", "ddp"], 1.3)
    others = [run("small", 64, "wfbp"), run("small", 8, "ddp"), run("small", 8, "bytescheduler")]
    found = estimate([*runs, *others], CLUSTER)
    for each, time in zip(others, found.times[-3:], strict=True):
        wanted = true_time("small", each.workers, each.choice.policy, 1.3)
        assert time == pytest.approx(wanted, rel=1e-3)
    assert found.errors[-3:] == (None, None, None)
    assert all(error is not None for error in found.errors[:-3])


def test_noise_is_told_and_stays_in_the_errors():
    runs = timed(["small"], [1, 4, 32], ["wfbp", "ddp", "p3"], noise=0.02)
    found = estimate(runs, CLUSTER)
    assert 0.01 < found.noise < 0.04
    wanted = TRUTH | {"compute_scale of small": 1.0, "compute_slowdown": 1.0}
    for each in found.parameters:
        if each.value is not None:
            assert abs(math.log(each.value / wanted[each.parameter.label])) < 4 * each.error


def test_one_worker_tells_the_speed_alone():
    found = estimate(timed(["small"], [1], ["wfbp"], 1.4), CLUSTER)
    values = values_of(found)
    assert values.pop("compute_scale of small") == pytest.approx(1.4, rel=1e-3)
    assert set(values.values()) == {None}
    used = {each.parameter.name: each.used for each in found.parameters}
    # typical of 10 Gbit/s: a hop of 30 us
    assert (used["bandwidth_gbps"], used["startup_us"], used["hop_us"]) == (10, 50, 30)
    assert reasons_of(found)["startup_us"] == "No row with a time depends on it."


def test_one_number_of_workers_does_not_tell_hops_from_start_ups():
    runs = timed(["small"], [1, 8], ["wfbp", "ddp", "single", "tictac"])
    found = estimate(runs, CLUSTER)
    values, reasons = values_of(found), reasons_of(found)
    assert values["bandwidth_gbps"] == pytest.approx(17, rel=1e-3)
    assert values["startup_us"] is None
    assert values["hop_us"] is None
    assert "only together with startup_us" in reasons["hop_us"]
    assert "only together with hop_us" in reasons["startup_us"]
    # the sum is told, and used: 120 + 14 x 12
    used = {each.parameter.name: each.used for each in found.parameters}
    assert used["startup_us"] + 14 * used["hop_us"] == pytest.approx(288, rel=1e-3)


def test_where_compute_hides_all_the_bandwidth_is_not_told():
    runs = timed(["small"], [1, 2, 4], ["wfbp"], 50.0, gbps=4000.0, startup_us=0.1, hop_us=0.0)
    found = estimate(runs, Cluster(8, bandwidth_gbps=3000))
    assert {name for name, value in values_of(found).items() if value} == {"compute_scale of small"}


def test_networks_have_costs_of_their_own_and_share_the_speed():
    slow = [
        run("small", w, p, true_time("small", w, p, 1.2, gbps=5.0), network="tcp")
        for w in (1, 4, 16)
        for p in ("wfbp", "ddp")
    ]
    fast = [
        run("small", w, p, true_time("small", w, p, 1.2, gbps=60.0, startup_us=40.0), network="ib")
        for w in (4, 16)
        for p in ("wfbp", "ddp")
    ]
    values = values_of(estimate([*slow, *fast], CLUSTER))
    assert values["bandwidth_gbps of tcp"] == pytest.approx(5, rel=1e-3)
    assert values["bandwidth_gbps of ib"] == pytest.approx(60, rel=1e-3)
    assert values["startup_us of ib"] == pytest.approx(40, rel=1e-3)
    assert values["compute_scale of small"] == pytest.approx(1.2, rel=1e-3)


def test_of_a_nominal_bandwidth_the_share_is_told():
    runs = [
        run("small", w, "wfbp", true_time("small", w, "wfbp", gbps=0.8 * gbps), bandwidth_gbps=gbps)
        for w in (1, 4, 16)
        for gbps in (2.0, 10.0, 25.0)
    ]
    values = values_of(estimate(runs, CLUSTER))
    assert values["bandwidth_share"] == pytest.approx(0.8, rel=1e-3)
    assert "bandwidth_gbps" not in values


def test_a_model_without_times_has_the_speed_of_the_others():
    runs = [*timed(["small"], [1, 2, 4, 16], ["wfbp", "ddp"], 1.5), run("wide", 8, "wfbp")]
    found = estimate(runs, CLUSTER)
    (other,) = (each for each in found.parameters if each.parameter.of == "wide")
    assert other.value is None
    assert other.used == pytest.approx(1.5, rel=1e-3)
    assert other.reason.startswith("No row of this model has a time")
    assert found.times[-1] == pytest.approx(true_time("wide", 8, "wfbp", 1.5), rel=1e-3)


def test_an_odd_time_does_not_decide():
    runs = timed(["small", "wide"], [1, 2, 4, 8, 16], ["wfbp", "ddp"])
    odd = MeasuredRun(
        **{f: getattr(runs[7], f) for f in MeasuredRun.__slots__} | {"time_us": 2 * runs[7].time_us}
    )
    found = estimate([*runs[:7], odd, *runs[8:]], CLUSTER)
    assert found.median_error < 0.01
    assert values_of(found)["bandwidth_gbps"] == pytest.approx(17, rel=0.1)


def test_a_parameter_of_a_policy():
    times = {}
    for w in (2, 4, 8, 32):
        launch = Affine(120 + 24 * (w - 1), 2 * (w - 1) / w / 17 / 125)
        policy = bind(Choice("ddp", parameters=(("bucket_cap_mb", 2.0),)))
        times[w] = simulate(with_barrier(layers()), alike(launch), policy)
    runs = [run("small", w, "ddp", found.iteration_time) for w, found in times.items()]
    runs += timed(["small"], [1, 2, 8, 32], ["wfbp"])
    found = estimate(runs, CLUSTER, ["ddp.bucket_cap_mb"])
    assert found.median_error < 0.02
    (cap,) = (each for each in found.parameters if each.parameter.is_of_policy)
    assert 1 < cap.used < 5
    # the same buckets come of other caps, so none is told
    assert cap.value is None


def one_tensor(bytes_=8_000_000):
    """Compute, a tensor after it, and compute after that."""
    return build(
        "one",
        [
            Op("b", COMPUTE, 5_000.0),
            Op("g", ALL_REDUCE, None, bytes_, ("b",)),
            Op("f", COMPUTE, 2_000.0, None, ("g",)),
        ],
    )


@pytest.mark.parametrize("share", [0.6, 1.0, 1.7])
@pytest.mark.parametrize("given", [(4,), (4, 16), (2, 4, 8)])
def test_the_likeliest_figures_by_another_search(share, given):
    """The iteration in a formula, the objective of MODEL.md section 2.1 by Nelder and Mead."""
    times = {1: 8_400.0} | {n: share * (7_000 + 4_000 * math.log2(n)) for n in given}
    runs = [
        MeasuredRun("one", one_tensor(), False, n, Choice("wfbp", True), t)
        for n, t in times.items()
    ]
    found = estimate(runs, Cluster(8, bandwidth_gbps=10, startup_us=50, hop_us=4))
    medians, spreads = np.log([1.0, 10.0, 50.0, 4.0]), np.array([1.0, 1.0, 1.1, 1.1])

    def objective(x):
        scale, gbps, startup, hop = np.exp(x)
        total = float(np.sum(((x - medians) / spreads) ** 2)) / 2
        for n, time in times.items():
            send = startup + 2 * (n - 1) * hop + 2 * (n - 1) / n * 8e6 / gbps / 125
            simulated = 7_000 * scale + (send if n > 1 else 0)
            total += math.hypot(1, math.log(simulated / time) / found.noise) - 1
        return total

    tries = [
        minimize(
            objective,
            medians + by,
            method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
        )
        for by in (0.0, 0.5, -0.5)
    ]
    best = min(tries, key=lambda each: each.fun)
    names = ("compute_scale", "bandwidth_gbps", "startup_us", "hop_us")
    used = {each.parameter.name: each.used for each in found.parameters}
    mine = np.log([used[name] for name in names])
    assert objective(mine) <= best.fun + 1e-3
    assert mine == pytest.approx(best.x, abs=0.05)


@pytest.mark.parametrize("noise", [-0.1, 0.03, 0.3])
@pytest.mark.parametrize("policy", ["wfbp", "horovod", "bytescheduler"])
def test_the_noise_of_a_single_row_is_no_start_up(noise, policy):
    """A row that compute explains, and off by some noise: nobody believes in a long start-up."""
    graph = MODELS["vgg16"]()
    compute = sum(graph.durations)
    fast = Cluster(8, bandwidth_gbps=70, startup_us=30, hop_us=5)
    waits = policy != "bytescheduler"
    real = simulate(
        with_barrier(graph) if waits else graph, network_of(fast), bind(Choice(policy))
    ).iteration_time
    alone = MeasuredRun("vgg16", graph, False, 1, Choice("wfbp", True), compute)
    row = MeasuredRun(
        "vgg16", graph, False, 8, Choice(policy, waits), real * math.exp(noise), "rdma", 100.0
    )
    found = estimate([alone, row], Cluster(8))
    used = {each.parameter.name: each.used for each in found.parameters}
    assert 20 < used["startup_us"] < 1000
    assert 1 < used["hop_us"] < 50
    assert 0.25 < used["bandwidth_share"] < 1.6
    assert {each.value for each in found.parameters if each.parameter.name in {
        "startup_us", "hop_us"}} == {None}  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "nominal", "startup", "hop"),
    [
        (Cluster(8), None, 100, 30),
        (Cluster(8), 10.0, 100, 30),
        (Cluster(8), 56.0, 100, 300 / 56),
        (Cluster(8), 400.0, 100, 5),
        (Cluster(8), 1.0, 100, 40),
        (Cluster(8, bandwidth_gbps=25), None, 100, 12),
        (Cluster(8, bandwidth_gbps=25, startup_us=7, hop_us=2), 100.0, 7, 2),
    ],
)
def test_what_is_likely_before_any_row(cluster, nominal, startup, hop):
    alone = run("small", 1, "wfbp", 10_000.0, bandwidth_gbps=nominal)
    found = estimate([alone, run("small", 8, "wfbp", bandwidth_gbps=nominal)], cluster)
    used = {each.parameter.name: each.used for each in found.parameters}
    assert used["startup_us"] == startup
    assert used["hop_us"] == pytest.approx(hop)
    assert used.get("bandwidth_share", 0.75) == 0.75


def slowed(factor):
    """Rows whose compute takes so many times as long beside launches."""
    found = []
    for n, policy in [(n, p) for n in (1, 2, 4, 16) for p in ("wfbp", "p3", "single")]:
        launch = Affine(20 + 4 * (n - 1), 2 * (n - 1) / n / 50 / 125)
        graph = layers() if policy == "p3" else with_barrier(layers())
        time = sum(graph.durations)
        if n > 1:
            time = simulate(graph, alike(launch, factor), POLICIES[policy]).iteration_time
        found.append(run("small", n, policy, time))
    return found


@pytest.mark.parametrize("factor", [1.25, 1.6])
def test_contention_is_found_where_rows_tell_it(factor):
    found = estimate(slowed(factor), CLUSTER)
    values = values_of(found)
    assert values["compute_slowdown"] == pytest.approx(factor, rel=1e-2)
    assert values["bandwidth_gbps"] == pytest.approx(50, rel=1e-2)


def test_an_interval_is_as_wide_as_what_is_not_known():
    """Without a row of the network only what is plausible bounds it; noise alone is the rest."""
    asked = run("small", 16, "single")
    alone = estimate([run("small", 1, "wfbp", 8_540.0), asked], CLUSTER)
    told = estimate([*timed(["small"], [1, 2, 4, 16, 32], ["wfbp", "ddp"]), asked], CLUSTER)
    (low, high), (near, far) = alone.intervals[-1], told.intervals[-1]
    wanted = true_time("small", 16, "single")
    assert low < wanted < high
    assert high > 1.5 * low
    assert near == pytest.approx(wanted, rel=1e-3)
    assert far == pytest.approx(wanted, rel=1e-3)


def test_a_share_may_be_far_less_than_nominal_and_hardly_more():
    asked = [run("small", 8, "wfbp", bandwidth_gbps=100.0)]
    (share,) = (p for p in parameters_of(asked, Cluster(8)) if p.name == "bandwidth_share")
    low, high = (share.median * math.exp(2 * s) for s in (-share.spread, share.above))
    assert low < 0.35  # of 100 Gbit/s
    assert 1.1 < high < 1.3


def test_the_same_runs_give_the_same_estimate():
    runs = timed(["small"], [1, 4, 16], ["ddp"], noise=0.01)
    assert estimate(runs, CLUSTER) == estimate(runs, CLUSTER)


def test_a_launch_of_so_many_bytes_takes_twice_as_long_as_its_bytes():
    line = alike(Affine(50.0, 2e-4))
    cost = with_slow_launches(line, 131_072.0)(ChannelCost("network", ALL_REDUCE))
    assert cost.time(131_072) == pytest.approx(50 + 2 * 131_072 * 2e-4)
    assert cost.time(4 * 131_072) == pytest.approx(50 + 1.5 * 4 * 131_072 * 2e-4)
    assert cost.time(2**32) == pytest.approx(50 + 2**32 * 2e-4, rel=0.01)


@pytest.mark.parametrize(
    ("workers", "growth", "hop"),
    # as they are with 8 workers, and on a ring; 15 / 7 as many steps, or the root of it
    [(8, 0.5, 4.0), (16, 1.0, 4.0), (16, 0.5, 4 * (7 / 15) ** 0.5)],
)
def test_start_ups_grow_as_a_power_of_the_steps(workers, growth, hop):
    ring = Cluster(workers, 10, hop_us=4.0)
    assert with_growth(ring, growth).hop_us == pytest.approx(hop)
    tree = Cluster(workers, 10, hop_us=4.0, algorithm="double_binary_tree")
    assert with_growth(tree, growth) == tree


def slow_launches(n, policy):
    """Time where launches of 300 KB take twice as long as their bytes do, and steps take none."""
    line = Affine(100, 2 * (n - 1) / n / 10 / 125)
    graph = layers() if policy == "bytescheduler" else with_barrier(layers())
    cost = with_slow_launches(alike(line), 3e5)
    return simulate(graph, cost, POLICIES[policy]).iteration_time


def test_times_where_launches_cost_what_no_line_says():
    """Of 4 and 8 workers to 16: a line alone takes slow launches for steps, and is 16 % off."""
    known = [
        run("small", n, policy, slow_launches(n, policy))
        for policy in ("wfbp", "ddp")
        for n in (4, 8)
    ]
    alone = run("small", 1, "wfbp", sum(layers().durations))
    found = estimate([alone, *known, run("small", 16, "bytescheduler")], CLUSTER)
    assert found.times[-1] == pytest.approx(slow_launches(16, "bytescheduler"), rel=0.1)


@pytest.mark.parametrize(
    ("runs", "cluster", "parameters", "says"),
    [
        ([run("small", 8, "wfbp")], CLUSTER, (), "No row has a time"),
        ([run("small", 8, "wfbp", 1.0)], CLUSTER, ("wfbp.x",), "cannot be estimated"),
        ([run("small", 8, "ddp", 1.0)], CLUSTER, ("ddp.bucket_cap_mb",) * 2, "twice"),
        # whole numbers of bytes are no figures to fit
        (
            [run("small", 8, "horovod", 1.0)],
            CLUSTER,
            ("horovod.fusion_threshold_bytes",),
            "must be one of horovod.cycle_time_us",
        ),
        (
            [run("small", 8, "wfbp", 1.0)],
            Cluster(8, algorithm="table", table=((1, 1.0), (2, 2.0))),
            (),
            "was measured",
        ),
    ],
)
def test_refused(runs, cluster, parameters, says):
    with pytest.raises((InvalidMeasurements, InvalidOptions), match=says):
        estimate(runs, cluster, parameters)


# the table

TABLE = """# measured last week
model,workers,policy,time_ms,throughput,batch,network,bandwidth_gbps,barrier
vgg16,1,wfbp,850,,64,,,
vgg16,8,horovod:cycle_time_us=5000;fusion_threshold_bytes=67108864,,400,64,tcp,10,
resnet50,16,"bytescheduler:partition_bytes=auto,credit_bytes=16000000",,,,,,yes
"""


def test_a_table_is_read():
    assert is_times(TABLE)
    first, second, third = read_times(TABLE)
    assert first == TimesRow("vgg16", None, 1, Choice("wfbp"), 850e3, batch=64)
    parameters = (("cycle_time_us", 5000), ("fusion_threshold_bytes", 67108864))
    assert second.policy == Choice("horovod", parameters=parameters)
    assert (second.throughput, second.network, second.bandwidth_gbps) == (400, "tcp", 10)
    assert third.policy.parameters == (("partition_bytes", "auto"), ("credit_bytes", 16000000))
    assert (third.time_us, third.barrier) == (None, True)
    runs = runs_of((first, second, third), {})
    assert [each.time_us for each in runs] == [850e3, 8 * 64 / 400 * 1e6, None]
    assert [each.choice.barrier for each in runs] == [True, True, True]
    assert runs[0].graph is runs[1].graph


def test_what_crosses_iterations_has_no_barrier():
    rows = read_times("model,workers,policy\nvgg16,8,wfbp\nvgg16,8,bytescheduler\nvgg16,8,p3\n")
    assert [each.choice.barrier for each in runs_of(rows, {})] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("size,time\n1,2\n", "No header found"),
        ("model,workers,policy,colour\nvgg16,8,wfbp,red\n", "Unknown column 'colour'"),
        ("model,workers,policy\nvgg16,,wfbp\n", "Line 2: workers is empty"),
        ("model,workers,policy\nvgg16,2.5,wfbp\n", "must be a whole number, got 2.5"),
        ("model,workers,policy\nvgg16,0,wfbp\n", "workers must be a number from 1"),
        ("model,workers,policy,time_us\nvgg16,8,wfbp,fast\n", "time_us must be a number"),
        ("model,workers,policy,time_us\nvgg16,8,wfbp,nan\n", "time_us must be a number"),
        ("model,workers,policy,barrier\nvgg16,8,wfbp,maybe\n", "barrier must be true or false"),
        ("model,workers,policy\nvgg16,8,horovod:fast\n", "NAME:KEY=VALUE"),
        # a number with commas, two times, a column twice
        ("model,workers,policy,time_us\nvgg16,8,ddp,1,000,000\n", "6 cells, .* 4 columns"),
        ("model,workers,policy,time_us,time_ms\nvgg16,8,ddp,5e5,100\n", "one time is enough"),
        ("model,workers,policy,time_us,time_us\nvgg16,8,ddp,1,2\n", "'time_us' is there twice"),
    ],
)
def test_a_table_that_is_refused(text, says):
    with pytest.raises(InvalidMeasurements, match=says):
        read_times(text)


@pytest.mark.parametrize(
    ("row", "pointer"),
    [
        (TimesRow(None, None, 8, Choice("wfbp")), "/rows/0/model"),
        (TimesRow("vgg16", "mine", 8, Choice("wfbp")), "/rows/0/model"),
        (TimesRow("vgg17", None, 8, Choice("wfbp")), "/rows/0/model"),
        (TimesRow(None, "mine", 8, Choice("wfbp")), "/rows/0/graph"),
        (TimesRow("vgg16", None, 8, Choice("fast")), "/rows/0/policy"),
        (TimesRow("vgg16", None, 8, Choice("ddp", parameters=(("x", 1),))), "/rows/0/policy/x"),
        (TimesRow("vgg16", None, 8, Choice("wfbp"), throughput=1.0), "/rows/0/batch"),
        (TimesRow("vgg16", None, 8, Choice("wfbp"), 1.0, 1.0, 64), "/rows/0/throughput"),
        # images are no sequences, and no position is learned for so long a one
        (TimesRow("vgg16", None, 8, Choice("wfbp"), tokens=128), "/rows/0/tokens"),
        (TimesRow(None, "mine", 8, Choice("wfbp"), tokens=128), "/rows/0/tokens"),
        (TimesRow("bert_base", None, 8, Choice("wfbp"), tokens=513), "/rows/0/tokens"),
    ],
)
def test_a_row_that_is_refused(row, pointer):
    with pytest.raises(InvalidMeasurements) as refused:
        runs_of([row], {"mine": GRAPHS["small"]} if row.tokens else {})
    assert [fault.pointer for fault in refused.value.faults] == [pointer]


def test_a_sequence_of_a_row_is_as_long_as_it_says():
    text = "model,workers,policy,batch,tokens\ngpt2,8,ddp,2,512\ngpt2,8,ddp,4,256\ngpt2,8,ddp,,\n"
    graphs = [each.graph for each in runs_of(read_times(text), {})]
    wanted = [gpt2(2, 512), gpt2(4, 256), gpt2()]
    assert [each.durations for each in graphs] == [each.durations for each in wanted]


def test_a_table_of_too_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr("solver.estimation.times_table.MAX_RUNS", 1)
    with pytest.raises(InvalidMeasurements, match="Line 3: at most 1 rows are read"):
        read_times("model,workers,policy\nvgg16,8,wfbp\nvgg16,8,ddp\n")


def test_a_row_names_a_graph_that_is_given():
    [found] = runs_of([TimesRow(None, "mine", 8, Choice("wfbp"), 5.0)], {"mine": GRAPHS["small"]})
    assert (found.model, found.graph, found.is_timed) == ("mine", GRAPHS["small"], True)


def test_a_search_that_is_cut_short_has_an_answer(monkeypatch):
    """However few rounds there are, and however odd the times, figures stay in their ranges."""
    monkeypatch.setattr("solver.estimation.least_squares._GAIN", -1.0)  # no search is enough
    monkeypatch.setattr("solver.estimation.refinement._SETTLED", math.inf)  # no noise settles
    runs = timed(["small"], [1, 4, 16], ["wfbp", "ddp"], noise=0.3)
    found = estimate(runs, CLUSTER)
    for each in found.parameters:
        assert each.parameter.least <= each.used <= each.parameter.most


def test_nothing_free_is_nothing_to_fit():
    found = estimate(timed(["small"], [4], ["wfbp"]), CLUSTER).parameters
    [hop] = [each.parameter for each in found if each.parameter.name == "hop_us"]
    none = EstimationProblem(None, (), np.zeros(0))
    assert fit(none, (), {hop: 3.0}, 0.1, 0.1) == {hop: 3.0}
    assert none.slopes({hop: 3.0}, [hop], 0.1).shape == (0, 1)
    assert objective(none, (), {hop: 3.0}, 0.1) == 0
