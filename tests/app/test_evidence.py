"""What was measured is told alike by the command, by HTTP and in Python, whatever is asked."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.cli.files import GraphSource, read_plan
from app.cli.rendering.plans import render
from app.errors import InvalidRequest
from app.reading.references import Library
from app.reading.requests import read_body
from app.reading.traces import read_files
from app.schemas.clusters import ClusterBody
from app.schemas.cost_models import CostModelRequest
from app.schemas.plans import PlanAnswer, PlanRequest, TraceAnswer
from app.schemas.predictions import PredictionRequest
from app.schemas.problem import CheckedRequest, graph_json, graph_text
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest
from app.services import plans, predictions, simulations
from app.services.cost_models import run as cost_model
from app.services.graphs import graph_out
from app.services.sweeps import run as sweeps
from solver.costs import network_of
from solver.evidence.evidence import Evidence
from solver.graph import RecordedStep
from solver.planning.plan import plan
from solver.traces import TraceOptions
from tests.app.test_trace_requests import two_streams
from tests.kineto_events import sized, small, text

SHARED = Path(__file__).parents[2] / "shared" / "data" / "kineto"
if not SHARED.exists():
    SHARED = Path(__file__).parents[3] / "shared" / "data" / "kineto"

DLRM = sorted(SHARED.glob("*/dlrm_8rank_kineto/*.json.gz"))


def told_by_all(contents: Sequence[bytes]) -> list[Evidence]:
    """The evidence by the command's files, a posted graph, a stored graph, and in Python."""
    options = {"time_limit_s": 1.0}
    problem, report = read_plan(GraphSource("trace", contents, {}), options, [])
    assert report is not None
    command = plans.solve(problem)
    shown = " ".join(render(TraceAnswer.on(command, report), "trace").split())
    assert all(sentence in shown for sentence in command.evidence.sentences)
    read = TraceOptions("trace")
    made = graph_out(read_files(contents, None, read), read)
    assert made.graph is not None
    assert made.graph["recorded"]["measured_us"] == made.report.measured_us
    cluster = made.cluster
    posted = posting({"graph": made.graph, "cluster": cluster, "options": options})
    stored = graph_text(problem.graph)
    by_id = posting({"graph_id": "x", "cluster": cluster, "options": options}, stored)
    python = plan(problem.graph, network_of(ClusterBody.model_validate(cluster).to_cluster()))
    return [command.evidence, posted.evidence, by_id.evidence, python.evidence]


def posting(body: Any, stored: str | None = None) -> PlanAnswer:
    library = Library(lambda _: None, lambda _: stored)
    graph, request = read_body(json.dumps(body).encode(), PlanRequest, library)
    assert graph is not None
    return plans.solve(CheckedRequest(graph, request))


def test_every_way_to_ask_has_the_same_evidence() -> None:
    found = told_by_all([two_streams()])
    assert found == found[:1] * 4
    assert found[0].recorded_us == 100.0
    assert found[0].recorded_simulated_us is not None
    assert found[0].cost_error is not None
    assert found[0].trust_below is not None


@pytest.mark.skipif(not DLRM, reason="the shared traces are not here")
@pytest.mark.parametrize("files", [DLRM[:1], DLRM[1:], DLRM], ids=len)
def test_recorded_steps_tell_below_which_gain_nothing_follows(files: list[Path]) -> None:
    found = told_by_all([file.read_bytes() for file in files])
    assert found == found[:1] * 4
    evidence = found[0]
    assert evidence.recorded_us is not None
    assert evidence.recorded_simulated_us is not None
    assert evidence.cost_error is not None
    assert evidence.trust_below is not None
    apart = abs(evidence.recorded_simulated_us / evidence.recorded_us - 1)
    assert evidence.trust_below >= apart
    assert any(line.startswith("Trust no gain below ") for line in evidence.sentences)


def imported() -> tuple[Any, Any]:
    options = TraceOptions("trace")
    trace = read_files([two_streams()], None, options)
    assert trace.graph is not None
    return trace.graph, graph_out(trace, options).cluster


def test_simulations_predictions_and_sweeps_say_it_too() -> None:
    graph, cluster = imported()
    planned = plan(graph, network_of(ClusterBody.model_validate(cluster).to_cluster())).evidence
    asked = {"graph": graph_json(graph), "cluster": cluster}
    simulated = simulations.run(
        CheckedRequest(graph, SimulationRequest.model_validate(asked | {"policy": "wfbp"}))
    )
    assert simulated.evidence == planned
    predicted = predictions.answer_of(
        graph, PredictionRequest.model_validate(asked | {"workers": [4, 8], "time_limit_s": 0.1})
    )
    assert predicted.evidence == planned
    swept = sweeps.run(
        CheckedRequest(
            graph,
            SweepRequest.model_validate(
                asked | {"workers": [4, 8], "policies": [{"policy": "ddp"}]}
            ),
        )
    )
    here, there = (cell.evidence for cell in swept.cells)
    assert here == planned
    assert there is not None
    assert (there.recorded_us, there.recorded_simulated_us) == (None, None)
    assert there.cost_error == planned.cost_error
    assert swept.evidence == planned


def test_a_what_if_is_another_step() -> None:
    graph, cluster = imported()
    answer = posting(
        {
            "graph": graph_json(graph),
            "cluster": cluster,
            "what_if": [{"match": "*", "bytes_factor": 0.5}],
        }
    )
    assert answer.evidence.recorded_us == 100.0
    assert answer.what_if is not None


def test_a_graph_keeps_its_recording_as_text_and_as_json() -> None:
    graph, _ = imported()
    assert json.loads(graph_text(graph)) == graph_json(graph)
    assert graph.recorded == RecordedStep(**graph_json(graph)["recorded"])


def too_fast() -> bytes:
    """A trace of Kineto's of which the launches carry a terabyte in 20 us."""
    content: bytes = text(small(sized(10**11), sized(2 * 10**11)))
    return content


def test_a_recording_that_is_unsound_claims_no_gain_however_it_is_asked_for() -> None:
    found = told_by_all([too_fast()])
    assert found == found[:1] * 4
    (why,) = found[0].unsound
    assert "No cost is given" in why
    assert f"No gain is claimed: {why}" in found[0].sentences
    read = TraceOptions("trace")
    made = graph_out(read_files([too_fast()], None, read), read)
    assert why in made.report.warnings
    assert made.graph is not None
    assert made.graph["recorded"]["unsound"] == [why]
    answer = posting({"graph": made.graph, "cluster": made.cluster})
    assert answer.headline is not None
    assert {gain.verdict for gain in answer.headline.gains} == {"too_close"}
    assert answer.headline.sentence.count("No gain is claimed") == 1
    trace = read_files([too_fast()], None, read)
    assert trace.graph is not None
    assert json.loads(graph_text(trace.graph)) == graph_json(trace.graph)


@pytest.mark.parametrize("unsound", [["x" * 1_001], ["x"] * 17, ["a\nb"], [7]])
def test_reasons_of_a_posted_graph_are_few_short_and_plain(unsound: list[Any]) -> None:
    graph, _ = imported()
    body = {"graph": graph_json(graph) | {"recorded": {"unsound": unsound}}}
    with pytest.raises(InvalidRequest):
        posting(body)


def test_measurements_faster_than_any_link_are_said() -> None:
    """A gigabyte in half a millisecond, of two launches; over the fastest link it takes 0.56."""
    samples = [(10**6, 100.0), (10**9, 500.0)]
    (said,) = cost_model(CostModelRequest(samples=samples, fit="linear")).notes
    assert said.startswith("1 of 2 launches of all_reduce are faster than the fastest known link")
    (far,) = cost_model(CostModelRequest(samples=samples, workers=1_000, fit="linear")).notes
    assert "12,800 Gbit/s" in far
    samples[1] = (10**9, 600.0)
    assert cost_model(CostModelRequest(samples=samples, fit="linear")).notes == []


def test_measurements_of_which_most_are_faster_than_any_link_give_no_cost() -> None:
    """Microseconds that were seconds a million times over, say: no plan is to rest on them."""
    samples = [(size, size / 10**9) for size in (10**6, 10**7, 10**8)] + [(10**9, 600.0)]
    with pytest.raises(InvalidRequest) as refused:
        cost_model(CostModelRequest(samples=samples, fit="linear"))
    (fault,) = refused.value.faults
    assert fault.detail.startswith("3 of 4 launches of all_reduce are faster than the fastest")
    assert "units" in fault.detail


def test_measurements_give_a_model_that_says_how_well_it_fits() -> None:
    samples = [
        (size, 10.0 + size / 100 * wide)
        for size in (1000, 2000, 4000, 8000)
        for wide in (0.9, 1, 1.1)
    ]
    model = cost_model(CostModelRequest(samples=samples, workers=4)).model
    assert model.error_median is not None
    assert model.error_p90 is not None
    assert model.error_median <= model.error_p90 < 0.15
    spreads = sorted(
        0.8 * 0.2 * size / 100 / (10 + size / 100) for size in (1000, 2000, 4000, 8000)
    )
    assert model.spread == pytest.approx((spreads[1] + spreads[2]) / 2)
    assert ClusterBody(workers=4, cost_model=model).to_cluster().cost_error == model.cost_error
