"""OSF: the recursion, the simulator under a barrier, and the rows of a prediction."""

from math import inf

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver.chain import chain_of
from solver.costs import Affine, Cluster, alike, cost_of, network_of
from solver.errors import InvalidGraph
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Op, build, with_barrier
from solver.models.layers import Layer, iteration
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.prediction.osf import csf, osf, osf_fusion, osf_of
from solver.prediction.passes import (
    Passes,
    passes_of,
    passes_of_layers,
    times_of,
    why_no_chain,
)
from solver.prediction.scaling import FusedFactor, ScalingOptions, graph_of, predict
from solver.simulation.engine import simulate
from solver.simulation.what_if import Change, apply_changes
from solver.units import same
from tests.sampling import cases
from tests.strategies import affine_costs, costs, dags, graphs, networks

TIMES = st.integers(0, 6).map(lambda n: 100.0 * n)
SIZES = st.integers(0, 6).map(lambda n: 100_000 * n)
BUFFERS = st.sampled_from([1, 100_000, 250_000, 600_000, 1_500_000, inf])
TIMEOUTS = st.sampled_from([0.0, 50.0, 200.0, 300.0, inf])


def layer(number, forward, backward, size):
    return Layer(str(number), forward, backward, ((str(number), size),) if size else ())


@st.composite
def layered(draw, sizes=SIZES, most=7):
    rows = draw(st.lists(st.tuples(TIMES, TIMES, sizes), min_size=1, max_size=most))
    assume(any(size for *_, size in rows))
    return [layer(i, *row) for i, row in enumerate(rows, 1)]


def by_the_book(layers, time, buffer_bytes=None, timeout=None, printed=False):
    """Iteration time [us] from OSF's equations, with dicts by layer number and nothing else.

    With j = i in (8), > in (12), and t_b(i-1) in (13), as the text has them.
    """
    n = len(layers)
    t_b = {i: layers[i - 1].backward_us for i in range(1, n + 1)}
    d = {i: sum(size for _, size in layers[i - 1].gradients) for i in range(1, n + 1)}
    t_comp = sum(each.forward_us for each in layers) + sum(t_b.values())
    e = {i: sum(t_b[j] for j in range(i, n)) for i in range(1, n + 1)}
    down = range(n, 0, -1)
    if buffer_bytes is None:
        tau = {n: 0.0}
        for i in down[1:]:
            tau[i] = max(tau[i + 1] + time(d[i + 1]), e[i])  # (8)
        return t_comp + tau[1] + time(d[1]) - e[1]  # (3), (9), (10)
    b: dict[int, int] = {}
    f, wait = {}, {}
    for i in down:
        starts = i == n or b[i + 1] + d[i] > buffer_bytes or t_b[i] > timeout
        b[i] = d[i] if starts else b[i + 1] + d[i]  # (12)
    for i in down:
        late = i > 1 and t_b[i - 1] > timeout
        full = i > 1 and b[i] + d[i - 1] > buffer_bytes
        f[i] = b[i] if i == 1 or late or full else 0  # (13)
        wait[i] = timeout if late else t_b[i - 1] if full else 0.0  # (14)
    if printed:
        tau = {n: 0.0}
        for i in down[1:]:
            tau[i] = max(tau[i + 1] + wait[i + 1] + time(f[i + 1]), e[i])  # (15)
        return t_comp + tau[1] + time(f[1]) - e[1]  # (16)
    free = 0.0
    for i in down:
        if f[i]:
            free = max(free, e[i] + wait[i]) + time(f[i])
    return t_comp + max(free, e[1]) - e[1]


@given(layers=layered(), cost=costs())
@settings(max_examples=cases(300))
def test_without_fusion_it_is_the_papers_recursion(layers, cost):
    found = osf(passes_of_layers(layers), cost)
    assert found.iteration_time == pytest.approx(by_the_book(layers, cost.time))
    if found.iteration_time:
        assert found.factor == found.t_comp / found.iteration_time <= 1
    assert found.t_update >= found.t_overlap


@given(
    layers=layered(),
    cost=costs(),
    buffer=BUFFERS,
    timeout=TIMEOUTS,
    printed=st.sampled_from([0, 1]),
)
@settings(max_examples=cases(500))
def test_with_fusion_it_is_the_papers_recursion(layers, cost, buffer, timeout, printed):
    passes = passes_of_layers(layers)
    found = osf_fusion(passes, cost, buffer, timeout, paper_eq15=printed)
    expected = by_the_book(layers, cost.time, buffer, timeout, printed)
    assert found.iteration_time == pytest.approx(expected)


@given(layers=layered(), cost=costs())
@settings(max_examples=cases(300))
def test_the_simulator_agrees(layers, cost):
    graph = with_barrier(graph_of("drawn", layers))
    timeline = simulate(graph, alike(cost), POLICIES["wfbp"])
    found = osf(passes_of_layers(layers), cost)
    assert same(found.iteration_time, timeline.iteration_time)
    starts = [part.start - first_end(layers) for part in timeline.launches]
    assert [buffer.start for buffer in found.buffers] == pytest.approx(starts)


@given(layers=layered(), cost=costs())
@settings(max_examples=cases(300))
def test_all_bytes_in_one_launch_is_the_policy_single(layers, cost):
    # layer 1 has bytes, so that they are released after all compute
    layers = [layer(0, 100.0, 200.0, 1000), *layers]
    passes = passes_of_layers(layers)
    timeline = simulate(graph_of("drawn", layers), alike(cost), POLICIES["single"])
    assert csf(passes, cost) == pytest.approx(passes.t_comp / timeline.iteration_time)


def first_end(layers):
    """End of layer n's backward pass where the forward pass comes first [us]."""
    return sum(each.forward_us for each in layers) + layers[-1].backward_us


@given(layers=layered(), cost=costs(), buffer=BUFFERS, timeout=TIMEOUTS)
@settings(max_examples=cases(300))
def test_the_simulator_agrees_with_fusion(layers, cost, buffer, timeout):
    # a buffer is one tensor; its wait is an op beside the backward pass that only it waits for
    found = osf_fusion(passes_of_layers(layers), cost, buffer, timeout)
    ops = [Op("forward", COMPUTE, sum(each.forward_us for each in layers))]
    for number in range(len(layers), 0, -1):
        ops.append(Op(f"b{number}", COMPUTE, layers[number - 1].backward_us, None, (ops[-1].id,)))
    for sent in found.buffers:
        last = sent.layers[-1]
        wait = 0.0 if last == 1 else min(timeout, layers[last - 2].backward_us)  # (14)
        ops.append(Op(f"w{last}", COMPUTE, wait, None, (f"b{last}",)))
        ops.append(Op(f"g{last}", ALL_REDUCE, None, sent.bytes, (f"w{last}",)))
    timeline = simulate(with_barrier(build("drawn", ops)), alike(cost), POLICIES["wfbp"])
    assert same(found.iteration_time, timeline.iteration_time)
    starts = [part.start - first_end(layers) for part in timeline.launches]
    assert [sent.start for sent in found.buffers] == pytest.approx(starts)


@given(layers=layered(), cost=costs(), buffer=BUFFERS, timeout=TIMEOUTS)
@settings(max_examples=cases(300))
def test_every_byte_is_sent_once_and_in_time(layers, cost, buffer, timeout):
    passes = passes_of_layers(layers)
    sizes = dict(zip(range(len(layers), 0, -1), passes.bytes, strict=True))
    for printed, found in (
        (False, osf(passes, cost)),
        (False, osf_fusion(passes, cost, buffer, timeout)),
        (True, osf_fusion(passes, cost, buffer, timeout, paper_eq15=True)),
    ):
        carried = [i for sent in found.buffers for i in sent.layers]
        assert carried == sorted(set(carried), reverse=True)
        assert {i for i in sizes if sizes[i]} <= set(carried)
        free = 0.0
        for sent in found.buffers:
            assert sent.bytes == sum(sizes[i] for i in sent.layers) > 0
            backward = sum(layers[i - 1].backward_us for i in range(sent.layers[-1], len(layers)))
            assert sent.start >= max(free, backward)
            free = sent.start + cost.time(sent.bytes)
        waited = found.t_update - max(free, found.t_overlap)  # for an empty buffer, if printed
        assert waited == 0 or (printed and waited > 0)
    for sent in osf_fusion(passes, cost, buffer, timeout).buffers:
        full = [i for i in sent.layers if sizes[i]]
        assert sent.bytes <= buffer or len(full) == 1
        assert all(layers[i - 1].backward_us <= timeout for i in sent.layers[1:])


@given(layers=layered(), cost=costs(), buffer=BUFFERS, timeout=TIMEOUTS)
def test_eq_15_as_printed_is_never_faster(layers, cost, buffer, timeout):
    passes = passes_of_layers(layers)
    ours = osf_fusion(passes, cost, buffer, timeout)
    theirs = osf_fusion(passes, cost, buffer, timeout, paper_eq15=True)
    assert theirs.iteration_time >= ours.iteration_time
    assert [sent.layers for sent in theirs.buffers] == [sent.layers for sent in ours.buffers]


def test_eq_15_as_printed_may_be_slower_by_half():
    # nine buffers wait 1000 us each for a layer that the channel, always busy, cannot send yet
    passes = passes_of_layers([layer(i, 0.0, 1000.0, 100_000) for i in range(1, 11)])
    cost = Affine(0.0, 0.011)  # 1100 us a launch
    ours = osf_fusion(passes, cost, 150_000, inf)
    theirs = osf_fusion(passes, cost, 150_000, inf, paper_eq15=True)
    assert ours.iteration_time == pytest.approx(1000 + 1000 + 10 * 1100)
    assert theirs.iteration_time == pytest.approx(1000 + 9 * (1000 + 1100) + 1100)
    assert theirs.iteration_time / ours.iteration_time > 1.5


@given(layers=layered(), cost=costs())
def test_one_buffer_when_nothing_limits_it(layers, cost):
    passes = passes_of_layers(layers)
    found = osf_fusion(passes, cost, inf, inf)
    (sent,) = found.buffers
    assert sent == (tuple(range(len(layers), 0, -1)), sum(passes.bytes), found.t_overlap)
    assert found.factor == pytest.approx(csf(passes, cost))


@given(layers=layered(), cost=costs(), timeout=TIMEOUTS)
def test_a_buffer_of_no_bytes_is_no_fusion(layers, cost, timeout):
    passes = passes_of_layers(layers)
    assert osf_fusion(passes, cost, 0, timeout) == osf(passes, cost)


@given(layers=layered(), cost=costs(), buffer=BUFFERS, timeout=TIMEOUTS)
def test_twice_the_time_in_twice_the_time(layers, cost, buffer, timeout):
    assume(isinstance(cost, Affine))
    twice = [
        Layer(each.name, 2 * each.forward_us, 2 * each.backward_us, each.gradients)
        for each in layers
    ]
    slow = Affine(2 * cost.startup, 2 * cost.per_byte)
    once = osf_fusion(passes_of_layers(layers), cost, buffer, timeout)
    found = osf_fusion(passes_of_layers(twice), slow, buffer, 2 * timeout)
    assert found.iteration_time == pytest.approx(2 * once.iteration_time)


def test_by_hand():
    # e = 0, 300, 500; T = 100 + S/1000: updates 0..400, 400..700, 700..1300
    layers = [layer(1, 100, 200, 500_000), layer(2, 150, 300, 200_000), layer(3, 50, 400, 300_000)]
    passes, cost = passes_of_layers(layers), Affine(100.0, 0.001)
    assert passes == Passes(1200.0, (400, 300, 200), (300_000, 200_000, 500_000))
    found = osf(passes, cost)
    assert found.buffers == (((3,), 300_000, 0), ((2,), 200_000, 400), ((1,), 500_000, 700))
    assert (found.t_update, found.t_overlap) == (1300, 500)
    assert found.iteration_time == 1200 + 1300 - 500
    assert found.factor == 0.6
    # layers 3 and 2 fit; full, they wait for layer 1's backward pass: 500..1100, 1100..1700
    fused = osf_fusion(passes, cost, 500_000, inf)
    assert fused.buffers == (((3, 2), 500_000, 500), ((1,), 500_000, 1100))
    assert fused.iteration_time == 1200 + 1700 - 500
    # a timeout of 250 sends layer 3 at 250, until 650; then 2 and 1 together
    timed = osf_fusion(passes, cost, inf, 250)
    assert timed.buffers == (((3,), 300_000, 250), ((2, 1), 700_000, 650))
    assert timed.t_update == 650 + 800
    # printed, layer 2 waits 200 us more after 550, when the channel is free
    printed = osf_fusion(passes, cost, 250_000, 150, paper_eq15=True)
    assert [sent.start for sent in printed.buffers] == [150, 550 + 150, 550 + 150 + 300]
    assert csf(passes, cost) == 1200 / (1200 + 1100)


def test_without_fusion_start_ups_may_cost_more_than_overlap_saves():
    layers = [layer(i, 10.0, 20.0, 1000) for i in range(1, 51)]
    passes, cost = passes_of_layers(layers), Affine(100.0, 0.001)
    assert csf(passes, cost) > osf(passes, cost).factor
    assert osf_fusion(passes, cost, inf, inf).factor > osf(passes, cost).factor


def test_nothing_takes_no_time():
    passes, free = passes_of_layers([layer(1, 0.0, 0.0, 1000)]), Affine(0.0, 0.0)
    assert csf(passes, free) is None
    assert osf(passes, free).factor is None
    assert osf(passes, Affine(1.0, 0.0)).factor == 0
    assert csf(passes, Affine(1.0, 0.0)) == 0


def test_times_from_flops():
    # 32 samples of 10 GFLOP at half of 10 TFLOP/s: 64 ms, and twice that
    assert times_of(10e9, 32, 10e12, 0.5) == pytest.approx((64_000, 128_000))


# graphs


@given(layers=layered(sizes=st.integers(1, 6).map(lambda n: 100_000 * n)))
def test_a_graph_of_layers_gives_their_passes(layers):
    passes = passes_of_layers(layers)
    for graph in (graph_of("drawn", layers), iteration("drawn", layers)):
        found = passes_of(graph)
        assert found.bytes == passes.bytes
        assert found.t_comp == pytest.approx(passes.t_comp)
        assert found.backward[1:] == pytest.approx(passes.backward[1:])
        assert passes_of(with_barrier(graph)) == found


@given(graph=graphs(), cost=costs())
@settings(max_examples=cases(300))
def test_a_chain_is_simulated_in_the_time_of_the_recursion(graph, cost):
    gated = with_barrier(graph)
    found = osf_of(graph, alike(cost))
    chain = chain_of(gated)
    if found is None:
        # some compute goes on beside the last tensor and what waits for it
        assert chain.compute_time > chain.release[-1] + chain.tail[-1]
        with pytest.raises(InvalidGraph):
            passes_of(graph)
        return
    timeline = simulate(gated, alike(cost), POLICIES["wfbp"])
    assert same(found.iteration_time_us, timeline.iteration_time)
    assert found.t_comp_us == pytest.approx(chain.compute_time)
    assert found == osf_of(gated, alike(cost))


def test_tensors_of_one_op_and_compute_before_the_first():
    ops = [
        Op("forward", COMPUTE, 500.0),
        Op("b2", COMPUTE, 100.0, None, ("forward",)),
        Op("weight", ALL_REDUCE, None, 1000, ("b2",)),
        Op("bias", ALL_REDUCE, None, 10, ("b2",)),
        Op("b1", COMPUTE, 200.0, None, ("b2",)),
        Op("g1", ALL_REDUCE, None, 2000, ("b1",)),
        Op("step", COMPUTE, 50.0, None, ("weight", "bias", "g1")),
    ]
    passes = passes_of(build("a step", ops))
    assert passes == Passes(850.0, (600.0, 0.0, 200.0), (1000, 10, 2000))


B, G = Op("b", COMPUTE, 100.0), Op("g", ALL_REDUCE, None, 1000, ("b",))
WHY_NOT = [
    ([B, G, Op("h", ALL_REDUCE, None, 9, ("g",))], "'h' waits for 'g'"),
    ([B, G, Op("h", ALL_REDUCE, None, 9, ("b",), "nvlink")], "all_reduce on nvlink"),
    ([B, G, Op("h", ALL_GATHER, None, 9, ("b",))], "all_gather on network"),
    ([B, Op("h", ALL_GATHER, None, 9, ("b",))], "here are all_gather on network"),
    ([B, G, Op("c", COMPUTE, 70.0, None, ("b",))], "goes on for 70 us longer"),
]


@pytest.mark.parametrize(("ops", "reason"), WHY_NOT)
def test_a_graph_that_is_no_chain(ops, reason):
    graph = build("no chain", ops)
    assert osf_of(graph, alike(Affine(1.0, 0.0))) is None
    with pytest.raises(InvalidGraph, match=reason) as refused:
        passes_of(graph)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == ("", "not_layered")


def test_a_graph_that_sends_nothing_is_no_chain():
    graph = apply_changes(build("one tensor", [B, G]), [Change("g", remove=True)])
    assert osf_of(graph, alike(Affine(1.0, 0.0))) is None


# rows


def row_of(layers, cost, **asked):
    graph, passes = graph_of("drawn", layers), passes_of_layers(layers)
    (row,) = predict(graph, [(8, alike(cost))], ScalingOptions(**asked), passes)
    return graph, passes, row


@given(layers=layered(), cost=affine_costs(), buffer=st.sampled_from([0, 250_000]))
@settings(max_examples=cases(30))
def test_a_row_is_what_its_parts_say(layers, cost, buffer):
    graph, passes, row = row_of(layers, cost, buffers=(buffer, 10**9), timeout=200.0)
    alone = osf(passes, cost)
    assert (row.workers, row.osf, row.csf) == (8, alone.factor, csf(passes, cost))
    assert row.iteration_time_us == alone.iteration_time
    assert (row.t_comp_us, row.t_update_us) == (alone.t_comp, alone.t_update)
    assert row.t_overlap_us == alone.t_overlap
    assert [fused.buffer_bytes for fused in row.osf_fusion] == [buffer, 10**9]
    assert row.osf_fusion[0].factor == osf_fusion(passes, cost, buffer, 200.0).factor
    best = plan(graph, alike(cost), Options(baselines=(), barrier=True))
    assert row.plan == best.scaling_factor
    for policy, factor in (("mg_wfbp", row.mg_wfbp), ("ada_fusion", row.ada_fusion.factor)):
        timeline = simulate(with_barrier(graph), alike(cost), POLICIES[policy])
        if timeline.iteration_time:
            assert factor == pytest.approx(passes.t_comp / timeline.iteration_time)
    launches = simulate(graph, alike(cost), POLICIES["ada_fusion"]).launches
    assert row.ada_fusion.buckets == len(launches)
    if row.plan:
        slower = [row.osf, row.mg_wfbp, row.ada_fusion.factor, *(f.factor for f in row.osf_fusion)]
        assert max(slower) <= row.plan * (1 + 1e-7)
        assert row.plan <= row.bound * (1 + 1e-7)


def test_the_bound_of_a_table_may_be_out_of_reach():
    table = ((100_000, 500.0), (200_000, 500.0), (300_000, 1500.0))
    cost = cost_of(Cluster(4, algorithm="table", table=table))
    _, _, row = row_of([layer(i, 100.0, 100.0, 100_000) for i in (1, 2, 3)], cost)
    # plan: 400..900 and 900..1400; bound: 500 us for 200,000 bytes is the best, 750 for all
    assert row.plan == pytest.approx(600 / 1400)
    assert row.bound == pytest.approx(600 / 1150)


@given(layers=layered(sizes=st.integers(1, 6).map(lambda n: 100_000 * n)), cost=affine_costs())
@settings(max_examples=cases(30))
def test_a_graph_gets_its_barrier(layers, cost):
    rows = [
        predict(graph, [(8, alike(cost))])[0]
        for graph in (graph_of("drawn", layers), iteration("drawn", layers))
    ]
    for field in ("osf", "csf", "plan", "bound", "mg_wfbp"):
        of_layers, of_graph = (getattr(row, field) for row in rows)
        assert of_graph == pytest.approx(of_layers)


@given(graph=dags(), network=networks(), workers=st.sampled_from([2, 64]))
@settings(max_examples=cases(60), deadline=None)
def test_any_graph_has_a_row(graph, network, workers):
    """Each figure by hand: the launches of the policies, replayed one by one."""
    (row,) = predict(graph, [(workers, network)], ScalingOptions(buffers=(0, 9)))
    gated = with_barrier(graph)
    chain = chain_of(gated)
    compute = longest_path(gated)
    for policy, factor in (
        ("ddp", row.ddp),
        ("horovod", row.horovod),
        ("mg_wfbp", row.mg_wfbp),
        ("ada_fusion", row.ada_fusion.factor),
    ):
        time = replayed(gated, network, simulate(gated, network, POLICIES[policy]).launches)
        if all(network(lane).time(1) == 0 for lane in chain.lanes) and policy != "ada_fusion":
            time = compute
        assert factor == (pytest.approx(compute / time) if time else None)
        if factor is not None:
            assert factor <= row.bound * (1 + 1e-6)
    assert row.t_comp_us == pytest.approx(compute)
    none = why_no_chain(chain_of(graph), graph) is not None
    assert (row.osf is None and row.csf is None) == none or not compute
    assert (row.iteration_time_us is None) == (row.t_update_us is None) == none
    if none:
        assert row.osf_fusion == (FusedFactor(0, None), FusedFactor(9, None))


def longest_path(graph):
    """Longest path of compute [us]."""
    end: dict[int, float] = {}
    for i in graph.order:
        start = max((end[j] for j in graph.preds[i]), default=0.0)
        end[i] = start + (graph.ops[i].duration_us or 0.0)
    return max(end.values(), default=0.0)


def replayed(graph, network, launches):
    """Iteration time [us] with launches at their times: no heap, no rules, each end by its sum."""
    chain = chain_of(graph)
    done: dict[int, float] = {}
    bytes_of: dict[tuple[int, ...], int] = {}
    sent: dict[tuple[int, ...], int] = {}
    for each in launches:
        lane = chain.lanes[chain.lane[each.bucket[0]]]
        landed = each.start + network(lane).time(each.bytes)
        bytes_of[each.bucket] = sum(int(chain.bytes[i]) for i in each.bucket)
        sent[each.bucket] = sent.get(each.bucket, 0) + each.bytes
        for i in each.bucket:
            done[int(chain.positions[i])] = landed
    assert bytes_of == sent
    end: dict[int, float] = {}
    for i in graph.order:
        start = max((end[j] for j in graph.preds[i]), default=0.0)
        end[i] = done[i] if i in done else start + graph.ops[i].duration_us
        assert i not in done or end[i] >= start
    return max(end.values(), default=0.0)


def test_plans_share_what_one_may_look_at(monkeypatch):
    limits = []

    def spy(graph, network, options):
        limits.append((options.time_limit_s, options.share))
        return plan(graph, network, options)

    monkeypatch.setattr("solver.prediction.scaling.plan", spy)
    layers = [layer(1, 100.0, 200.0, 1000)]
    networks = [(n, alike(Affine(float(n), 0.0))) for n in (1, 2, 3, 4)]
    asked = ScalingOptions(time_limit_s=2.0)
    predict(graph_of("one", layers), networks, asked, passes_of_layers(layers))
    assert limits == [(0.5, 0.25)] * 4


def test_eq_15_as_printed_reaches_the_rows():
    layers = [layer(i, 0.0, 1000.0, 100_000) for i in range(1, 11)]
    cost = Affine(0.0, 0.011)
    factors = [
        row_of(layers, cost, buffers=(150_000,), paper_eq15=printed)[2].osf_fusion[0].factor
        for printed in (False, True)
    ]
    assert factors[1] < factors[0]


def test_a_row_for_each_count_and_one_worker_scales_perfectly():
    layers = [layer(i, 100.0, 200.0, 1_000_000) for i in range(1, 6)]
    networks = [
        (n, network_of(Cluster(workers=n, bandwidth_gbps=10, startup_us=50))) for n in (32, 8, 1)
    ]
    rows = predict(graph_of("five", layers), networks, ScalingOptions(), passes_of_layers(layers))
    assert [row.workers for row in rows] == [32, 8, 1]
    assert rows[0].osf < rows[1].osf < rows[2].osf == 1
    assert (rows[2].csf, rows[2].plan, rows[2].bound, rows[2].mg_wfbp) == (1, 1, 1, 1)
    cost = cost_of(Cluster(workers=32, bandwidth_gbps=10, startup_us=50))
    assert rows[0].osf == osf(passes_of_layers(layers), cost).factor


def test_no_counts_no_rows():
    layers = [layer(1, 100.0, 200.0, 1000)]
    assert predict(graph_of("one", layers), [], ScalingOptions(), passes_of_layers(layers)) == ()
