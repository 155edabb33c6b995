"""A cluster whose communication slows compute down: on the wire and on the command line."""

import json
from pathlib import Path

import pytest

from app.cli.clusters import on, overruled
from app.errors import InvalidRequest
from app.reading.requests import read_parsed
from app.schemas.clusters import ClusterBody
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.problem import CheckedRequest
from app.services.plans import solve
from app.services.predictions import answer_of
from tests.app.command import Run
from tests.app.service import Json, two_layers

#: Beside g2, from 800 on, b1 takes 1,800 us; nothing else runs beside a launch.
G1_RELEASED = 800 + 2 * 900
WFBP_US = 8750


def problem(body: Json) -> CheckedRequest[PlanRequest]:
    """Read a request as the service does."""
    return CheckedRequest(*read_parsed(body, PlanRequest))


def request_body(slowdown: float = 2, **options: object) -> Json:
    found = two_layers(**options)
    found["cluster"]["compute_slowdown"] = slowdown
    return found


@pytest.fixture
def slowed(tmp_path: Path) -> str:
    """The example whose file says that compute is slowed down."""
    path = tmp_path / "two.json"
    path.write_text(json.dumps(request_body()))
    return str(path)


def test_a_plan_says_what_is_not_known_of_it() -> None:
    answer = solve(problem(request_body(baselines=["wfbp", "pace"])))
    assert (answer.ideal_us, answer.osf, answer.schedule.slots) == (None, None, [])
    assert answer.schedule.slot_us is None
    (warning,) = answer.warnings
    assert (warning.pointer, warning.code) == ("/cluster/compute_slowdown", "compute_slowed")
    assert "compute 2 times as long" in warning.detail
    assert answer.request.cluster.compute_slowdown == 2
    wfbp, pace = answer.baselines
    assert wfbp.iteration_time_us == pytest.approx(WFBP_US)
    assert pace.iteration_time_us is not None
    assert answer.headline is not None
    assert {gain.barrier for gain in answer.headline.gains} == {True, False}
    assert all(gain.plan_us >= answer.lower_bound_us - 1e-6 for gain in answer.headline.gains)


def test_without_one_nothing_is_said() -> None:
    answer = solve(problem(request_body(1)))
    assert answer.warnings == []
    assert answer.ideal_us is not None
    assert answer.osf is not None


@pytest.mark.parametrize("slowdown", [0.99, 0, 101, "2", None])
def test_out_of_range(slowdown: float) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(request_body(slowdown), PlanRequest)
    assert [fault.pointer for fault in caught.value.faults] == ["/cluster/compute_slowdown"]


def test_a_channel_or_a_cost_model_has_none() -> None:
    body = request_body()
    body["cluster"]["channels"] = {"nvlink": {"bandwidth_gbps": 100, "compute_slowdown": 2}}
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(body, PlanRequest)
    pointers = [fault.pointer for fault in caught.value.faults]
    assert pointers == ["/cluster/channels/nvlink/compute_slowdown"]


def test_predictions_are_simulated_and_the_recursion_is_left_out() -> None:
    layers = [{"bytes": 1_000_000, "forward_us": 400, "backward_us": 900}] * 2
    cluster = {"workers": 8, "bandwidth_gbps": 10, "compute_slowdown": 1.26}
    raw = {"layers": layers, "cluster": cluster, "buffers_bytes": [1000]}
    answer = answer_of(None, PredictionRequest.model_validate(raw))
    assert answer.why_no_osf == (
        "OSF needs compute that communication does not slow down; compute_slowdown is 1.26."
    )
    (row,) = answer.rows
    assert (row.csf, row.osf, row.iteration_time_us) == (None, None, None)
    assert [each.factor for each in row.osf_fusion] == [None]
    # the forward pass and layer 2's backward pass, a launch with layer 1's beside it, the other
    launch = 1.75 * 1e6 / 1250
    assert row.mg_wfbp == pytest.approx(2600 / (1700 + max(launch, 1.26 * 900) + launch))
    cluster["compute_slowdown"] = 2
    (row,) = answer_of(None, PredictionRequest.model_validate(raw)).rows
    # 700 of layer 1's 900 are done beside the launch
    assert row.mg_wfbp == pytest.approx(2600 / (1700 + launch + 200 + launch))
    assert row.bound is not None
    assert row.bound >= row.mg_wfbp
    cluster["compute_slowdown"] = 1
    again = answer_of(None, PredictionRequest.model_validate(raw))
    assert again.why_no_osf is None
    assert again.rows[0].osf is not None


def test_a_simulation_by_flag_and_by_file(slowed: str, tmp_path: Path, run: Run) -> None:
    plain = tmp_path / "plain.json"
    plain.write_text(json.dumps(two_layers()))
    flags = ("--policy", "wfbp", "--json")
    asked = (
        ("simulate", slowed, *flags),
        ("simulate", str(plain), "--compute-slowdown", "2", *flags),
    )
    for arguments in asked:
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        answer = json.loads(done.stdout)
        assert answer["iteration_time_us"] == pytest.approx(WFBP_US)
        (g1,) = [each for each in answer["tensors"] if each["id"] == "g1"]
        assert g1["release_us"] == pytest.approx(G1_RELEASED)
    overridden = run("simulate", slowed, "--compute-slowdown", "1", *flags)
    tensors = json.loads(overridden.stdout)["tensors"]
    assert {each["id"]: each["release_us"] for each in tensors}["g1"] == pytest.approx(1700)


def test_what_a_plan_is_printed_with(slowed: str, run: Run) -> None:
    done = run("plan", slowed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "compute takes 2 times as long beside communication" in done.stdout
    assert "fixed" not in done.stdout


def test_a_sweep_and_a_prediction_by_flag(slowed: str, run: Run) -> None:
    asked = ("--workers", "8", "--compute-slowdown", "3", "--json")
    cell = json.loads(run("sweep", slowed, *asked).stdout)
    assert cell["request"]["cluster"]["compute_slowdown"] == 3
    assert cell["cells"][0]["iteration_time_us"]["wfbp"] == pytest.approx(WFBP_US)
    rows = json.loads(run("predict", slowed, *asked).stdout)
    assert "compute_slowdown is 3." in rows["why_no_osf"]


def test_an_export_says_that_its_durations_are_stretched(
    slowed: str, tmp_path: Path, run: Run
) -> None:
    done = run("export", slowed, "--format", "chakra", "--policy", "wfbp", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    said = " ".join((done.stdout + done.stderr).split())
    assert "compute beside communication takes 2 times as long: ASTRA-sim does not slow it" in said
    assert "8.750 ms" in said or "8,750" in said


def test_a_flag_is_about_the_whole_cluster() -> None:
    flags = {"compute_slowdown": 2, "startup_us": 5}
    cluster = {"workers": 4, "channels": {"x": {"startup_us": 1}}}
    assert on(cluster, flags, {"x"}) == {
        "workers": 4,
        "compute_slowdown": 2,
        "channels": {"x": {"startup_us": 5}},
    }
    model = {"cost_model": {"algorithm": "linear"}}
    kept = on({"workers": 4, "compute_slowdown": 1.5, "startup_us": 3}, model, {"network"})
    assert kept == {"workers": 4, "compute_slowdown": 1.5, **model}
    assert ClusterBody(workers=4, compute_slowdown=1.5).to_cluster().compute_slowdown == 1.5
    assert list(overruled({"workers": 4}, flags, {})) == [
        "5 us by --startup-us, instead of what was recorded.",
        "compute 2 times as long beside communication by --compute-slowdown, instead of what was "
        "recorded.",
    ]
