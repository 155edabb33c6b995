"""On what an answer rests, against figures by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.calibration.channels import fit_channel
from solver.calibration.spread import spread_of
from solver.costs import Affine, Cluster, CostError, alike, cost_error_of, network_of
from solver.costs.cost_error import weighted
from solver.evidence.evidence import FitError, evidence_of, stated_evidence
from solver.graph import COMPUTE, NETWORK, Op, RecordedStep, build, with_barrier
from solver.graph.compact import compact
from solver.planning.headline import headline
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.programs.plan import ProgramOptions
from solver.programs.plan import plan as plan_program
from solver.programs.problem import ProgramProblem
from solver.simulation.what_if import Change, apply_changes

#: 30 us of compute, then 20 us of an all-reduce, then 10 us.
OPS = [
    Op("b", COMPUTE, 30.0),
    Op("all_reduce 1", "all_reduce", None, 1_000, ("b",)),
    Op("f", COMPUTE, 10.0, None, ("all_reduce 1",)),
]
RECORDED = RecordedStep(75.0, 70.0)
GRAPH = build("recorded", OPS, recorded=RECORDED)
COST = Affine(10.0, 0.01)
FITTED = CostError(0.2, 0.4, 0.1)


def on(**channels):
    return replace(alike(COST), errors=tuple(channels.items()))


def test_a_plan_says_what_it_rests_on():
    found = plan(GRAPH, on(network=FITTED)).evidence
    assert (found.recorded_us, found.recorded_simulated_us) == (75.0, 60.0)
    assert (found.cost_error, found.spread, found.cut) == (FitError(0.2, 0.4), 0.1, None)
    assert found.trust_below == pytest.approx(0.2)  # 1 - 60 / 75, above 0.2 of 20 us of 60
    assert found.assumed == ()
    assert found.sentences[:3] == (
        "The recorded step took 0.075 ms; simulated with the costs of this cluster it takes "
        "0.060 ms, 20.0 % less.",
        "The costs fit what was measured within 20.0 % in the median, nine of ten within 40.0 %.",
        "Repeated measurements of one size were 10.0 % apart.",
    )
    assert found.sentences[3].startswith("Trust no gain below 20.0 %. Recorded launches include")


@pytest.mark.parametrize(
    ("recorded", "error", "said"),
    [
        (75.0, FITTED, "Trust no gain below 20.0 %. Recorded launches include"),
        (75.0, None, "Trust no gain below 20.0 %. No launch was measured for the costs"),
        (
            24.0,
            None,
            "Trust no gain: measured and simulated times are 150.0 % apart, more than any",
        ),
    ],
)
def test_how_far_a_gain_is_trusted_is_said_with_what_makes_it_better(recorded, error, said):
    graph = build("step", OPS, recorded=RecordedStep(recorded))
    found = plan(graph, on(network=error) if error else alike(COST)).evidence
    assert any(each.startswith(said) for each in found.sentences)


@pytest.mark.parametrize(
    ("recorded", "error", "trust"),
    [
        (None, None, None),
        (RecordedStep(), None, None),
        (RecordedStep(60.0), None, 0.0),
        (RecordedStep(None, 80.0), None, 0.25),
        (RecordedStep(50.0), None, 0.2),
        (None, CostError(0.3), 0.1),  # a third of the step is communication
        (None, CostError(0.3, 0.9, 0.6), 0.2),
        (None, CostError(None, 0.9), None),
        (RecordedStep(57.0), CostError(0.6), 0.2),
    ],
)
def test_the_largest_of_what_is_off_counts(recorded, error, trust):
    graph = build("step", OPS, recorded=recorded)
    found = plan(graph, on(network=error) if error else alike(COST)).evidence
    assert found.trust_below == (trust if trust is None else pytest.approx(trust))


def test_an_unsound_recording_carries_no_gain():
    """Not of a plan, of a changed graph or of a merged one, whatever the costs are."""
    why = "It takes 9 us; simulated it takes 75 us."
    graph = build("step", OPS, recorded=RecordedStep(75.0, 9.0, unsound=(why,)))
    for one in (graph, compact(graph), apply_changes(graph, [Change("b", duration_factor=2.0)])):
        planned = plan(one, alike(COST))
        assert planned.evidence.unsound == (why,)
        assert f"No gain is claimed: {why}" in planned.evidence.sentences
        assert not any("Trust no gain" in said for said in planned.evidence.sentences)
        gains = headline(one, alike(COST), Options(), planned).gains
        assert {gain.verdict for gain in gains} == {"too_close"}
        assert {gain.why for gain in gains} == {f"No gain is claimed: {why}"}
        changed = one.recorded.known_us is None
        assert [gain.over for gain in gains][:1] == ["ddp" if changed else "recorded"]
    assert stated_evidence(graph, "bandwidths").unsound == (why,)


def test_nothing_measured_is_said_to_be_assumed():
    found = plan(build("stated", OPS), network_of(Cluster(8, 10, 50))).evidence
    assert found.sentences == ()
    assert found.assumed == (
        "No step was recorded: the times of compute are as stated.",
        "How far the costs of network are off is not known.",
    )


def test_what_costs_assume_of_a_transport_is_in_the_sentences():
    graph = build("g", OPS)
    stated = network_of(Cluster(8, 10, 50, negotiation_us_per_worker=5.0, line_rate_share=0.8))
    said = (
        "The costs of network assume 5 us of negotiation a worker and launch and 0.8 of the "
        "bandwidth for the transport.",
    )
    found = evidence_of(graph, stated)
    assert found.sentences == said
    assert set(said) < set(found.assumed)
    assert evidence_of(graph, network_of(Cluster(8, 10, 50))).sentences == ()


def test_a_step_of_another_cluster_is_not_compared():
    table = ((1, 10.0), (10_000, 20.0))
    cluster = Cluster(8, algorithm="table", table=table, measured_workers=4, extrapolate=True)
    found = plan(GRAPH, cluster).evidence
    assert (found.recorded_us, found.recorded_simulated_us, found.trust_below) == (75.0, None, None)
    assert found.assumed[-1] == (
        "The costs of network were measured elsewhere, and are scaled as a ring's."
    )
    assert found.sentences == ("The recorded step took 0.075 ms.",)
    assert plan(GRAPH, replace(cluster, workers=4)).evidence.recorded_simulated_us is not None


def test_a_search_without_time_says_so_in_its_evidence():
    ops = [Op(f"b{i}", COMPUTE, float(1 + i % 3), stream="s") for i in range(60)]
    sends = [Op(f"g{i}", "all_reduce", None, 999 + 7 * i, (f"b{i}",)) for i in range(60)]
    uses = [Op(f"f{i}", COMPUTE, 9.0 - i % 5, None, (f"g{i}",), stream="t") for i in range(60)]
    found = plan(build("many", [*ops, *sends, *uses]), alike(COST), Options(time_limit_s=1e-9))
    assert found.cut == found.evidence.cut


def test_a_program_says_what_it_rests_on():
    problem = ProgramProblem(GRAPH, on(network=FITTED))
    found = plan_program(problem, ProgramOptions(baselines=("in_order",))).evidence
    assert (found.recorded_us, found.recorded_simulated_us) == (75.0, 60.0)
    assert found.trust_below == pytest.approx(0.2)


def test_what_does_not_change_the_step_keeps_its_recording():
    assert with_barrier(GRAPH).recorded == compact(GRAPH).recorded == RECORDED
    chain = [Op(f"b{i}", COMPUTE, 3.0, None, (f"b{i - 1}",) if i else ()) for i in range(10)]
    ops = [*chain, Op("g", "all_reduce", None, 8, ("b9",)), Op("f", COMPUTE, 1.0, None, ("g",))]
    small = compact(build("long", ops, recorded=RECORDED))
    assert (len(small.ops), small.recorded) == (3, RECORDED)
    assert apply_changes(GRAPH, []).recorded == RECORDED
    assert apply_changes(GRAPH, [Change("b", duration_factor=2.0)]).recorded is None


def test_errors_count_by_the_bytes_of_their_channel():
    ops = [
        *OPS,
        Op("x", "all_gather", None, 3_000, ("b",), "other"),
        Op("y", "all_gather", None, 9_000, ("b",), "unknown"),
    ]
    network = on(network=CostError(0.1, 0.2), other=CostError(0.5, None, 0.3), idle=CostError(9.0))
    graph = build("two", ops)
    found = cost_error_of(network, graph)
    assert found is not None
    assert found.median == pytest.approx(0.4)
    assert (found.p90, found.spread) == (0.2, 0.3)
    assert cost_error_of(alike(COST), graph) is None
    said = evidence_of(graph, network).assumed[1]
    assert said == "How far the costs of unknown are off is not known."


def test_a_cluster_takes_its_errors_to_its_network():
    other = Cluster(4, 10, cost_error=CostError(0.3))
    network = network_of(Cluster(8, 10, cost_error=FITTED, channels=(("x", other), ("y", other))))
    assert dict(network.errors) == {NETWORK: FITTED, "x": CostError(0.3), "y": CostError(0.3)}
    assert network.scaled == ()


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.1, 9)), min_size=1))
def test_a_mean_is_between_the_least_and_the_most(rows):
    found = weighted((CostError(value), weight) for value, weight in rows)
    values = [value for value, _ in rows]
    assert min(values) - 1e-9 <= found.median <= max(values) + 1e-9
    assert (found.p90, found.spread) == (None, None)


def test_no_weight_has_no_mean():
    assert weighted([]) is None
    assert weighted([(FITTED, 0)]) is None


def test_spread_of_sizes_that_were_measured_often():
    def spread(*rows: tuple[int, float]) -> float | None:
        sizes, times = (np.array(each, dtype=float) for each in zip(*rows, strict=True))
        return spread_of(sizes, times)

    assert spread((1, 5.0), (1, 9.0), (2, 5.0)) is None
    assert spread(*((8, float(t)) for t in (10, 6, 8))) == pytest.approx(0.4)  # 9.6 - 6.4 of 8
    often = [(size, time) for size in (1, 2, 3) for time in (10.0, 10.0, 10.0 * size)]
    assert spread(*often) == pytest.approx(0.8)  # of three sizes the middle one: 18 - 10 of 10


def test_a_fit_of_launches_has_its_errors_and_their_spread():
    samples = [(size, 10.0 + 0.01 * size) for size in (100, 1_000, 10_000) for _ in range(20)]
    late = [*samples, (10_000, 220.0)]
    (exact,) = fit_channel({"all_reduce": samples}, 4)
    assert exact.p90 == pytest.approx(0.0, abs=1e-9)
    assert exact.spread == 0.0
    (fit,) = fit_channel({"all_reduce": late}, 4)
    line = fit.line
    misses = [abs((line.startup_us + line.us_per_byte * n) / t - 1) for n, t in late]
    assert fit.p90 == pytest.approx(float(np.quantile(misses, 0.9)))
