"""POST /v1/cost-models, and clusters that use one: fits, ids, ranges, scaling, faults."""

from typing import Any

import pytest

from tests.app.service import Json, Service, faults, two_layers

PATH = "/v1/cost-models"
LINE = [[10**k, 50 + 0.001 * 10**k] for k in range(3, 8)]
#: T = 100 log2 D - 200 below 64 KiB, 1,000 + 0.01 D from there on.
CURVE = {
    "threshold_bytes": 65_536,
    "log_us": 100,
    "log_constant_us": -200,
    "us_per_byte": 0.01,
    "constant_us": 1_000,
    "least_us": 150,
}
TIMED = "time algbw busbw #wrong"
LOG = "\n".join(
    [
        "hostname:1:1 [0] NCCL INFO Launch mode Parallel",
        f"#  size  count  type  redop  root  {TIMED}  {TIMED}",
        "#  (B)  (elements)  (us)  (GB/s)  (GB/s)  (us)  (GB/s)  (GB/s)",
        "0 0 float sum -1 35.20 0.00 0.00 0 34.05 0.00 0.00 0",
        "1000000 250000 float sum -1 150.0 6.67 11.67 0 150.0 6.67 11.67 0",
        "4000000 1000000 float sum -1 450.0 8.89 15.56 0 450.0 8.89 15.56 0",
        "8000000 2000000 float sum -1 850.0 9.41 16.47 0 850.0 9.41 16.47 0",
    ]
)


def near(value: Any) -> Any:
    return pytest.approx(value, rel=1e-9)


def made(service: Service, **body: Any) -> Json:
    answer = service.client.post(PATH, json=body)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    assert answer.headers["location"] == f"{PATH}/{found['id']}"
    return found


def on(cluster: Json, **body: Any) -> Json:
    """Return the two layers on a cluster; without baselines."""
    return two_layers(baselines=[]) | {"cluster": cluster} | body


def planned(service: Service, cluster: Json) -> Json:
    answer = service.post(on(cluster))
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


def test_a_line_is_found_and_kept(service: Service) -> None:
    found = made(service, name="line", samples=LINE, workers=8, fit="linear")
    assert found["model"]["algorithm"] == "linear"
    assert found["model"]["constant_us"] == near(50)
    assert found["model"]["us_per_byte"] == near(0.001)
    assert found["model"]["measured_bytes"] == [1_000, 10_000_000]
    assert (found["model"]["workers"], found["samples"]) == (8, 5)
    (fit,) = found["fits"]
    assert fit["errors"]["worst"] == pytest.approx(0, abs=1e-9)
    assert [d["from_bytes"] for d in fit["errors"]["decades"]] == [10**k for k in range(3, 8)]
    assert service.client.get(f"{PATH}/{found['id']}").json() == found
    newest = service.client.get(PATH).json()["cost_models"][0]
    assert (newest["id"], newest["name"], newest["algorithm"]) == (found["id"], "line", "linear")


def test_a_benchmark_is_read_and_the_best_fit_comes_first(service: Service) -> None:
    found = made(service, text=LOG)
    assert found["model"]["workers"] == 8
    assert found["model"]["algorithm"] == found["fits"][0]["algorithm"] == "linear"
    assert found["model"]["us_per_byte"] == near(1e-4)
    assert [fit["algorithm"] for fit in found["fits"]] == ["linear", "table"]
    assert any("0 bytes" in note for note in found["notes"])
    assert any("piecewise" in note for note in found["notes"])  # three sizes are too few


def test_given_workers_win_over_the_text(service: Service) -> None:
    found = made(service, text=LOG, workers=16)
    assert found["model"]["workers"] == 16
    assert "The text says 8 workers; 16 were given, and count." in found["notes"]


@pytest.mark.parametrize(
    "model",
    [
        {"algorithm": "ring", "bandwidth_gbps": 10, "hop_us": 2},
        {"algorithm": "recursive_doubling", "bandwidth_gbps": 10},
        {"algorithm": "halving_doubling", "bandwidth_gbps": 10, "reduction_gbps": 100},
        {"algorithm": "double_binary_tree", "bandwidth_gbps": 10},
        {
            "algorithm": "hierarchical",
            "bandwidth_gbps": 100,
            "node_workers": 4,
            "node_bandwidth_gbps": 2400,
            "shared_nic": False,
        },
        *({"algorithm": "parameter_server", "bandwidth_gbps": 10, "placement": p} for p in
          ("ncc", "cc", "ncs", "cs")),
        {"algorithm": "in_network", "bandwidth_gbps": 10},
        {"algorithm": "table", "table": [[1_000, 100.0], [4_000_000, 4_000.0]], "workers": 8},
        {"algorithm": "linear", "constant_us": 50, "us_per_byte": 0.001, "workers": 8},
        {"algorithm": "piecewise", "piecewise": CURVE, "workers": 8},
    ],
    ids=lambda model: model.get("placement", model["algorithm"]),
)  # fmt: skip
def test_every_row_of_the_model_by_id_and_inline(service: Service, model: Json) -> None:
    stored = made(service, model=model)
    cluster = {"workers": 8, "startup_us": 30}
    by_id = planned(service, cluster | {"cost_model": stored["id"]})
    inline = planned(service, cluster | {"cost_model": stored["model"]})
    same = ("iteration_time_us", "lower_bound_us", "schedule", "osf", "warnings")
    assert {key: by_id[key] for key in same} == {key: inline[key] for key in same}
    assert by_id["iteration_time_us"] > by_id["compute_time_us"]
    assert by_id["request"]["cluster"]["cost_model"]["id"] == stored["id"]
    again = planned(service, by_id["request"]["cluster"])
    assert again["iteration_time_us"] == by_id["iteration_time_us"]
    whole = planned(service, cluster | {"cost_model": stored})  # as it was answered
    assert whole["iteration_time_us"] == by_id["iteration_time_us"]
    timeline = service.client.get(f"/v1/plans/{by_id['id']}/timeline.json")
    assert timeline.status_code == 200


def test_what_a_cluster_and_its_model_cost_together(service: Service) -> None:
    # one launch of 5,000,000 bytes: 30 us on top, 50 us, 0.001 us a byte; released at 1,700
    model = {"algorithm": "linear", "constant_us": 50, "us_per_byte": 0.001}
    body = on({"workers": 8, "startup_us": 30, "cost_model": model}, policy="single")
    answer = service.client.post(
        "/v1/simulations", json={k: body[k] for k in ("graph", "cluster", "policy")}
    ).json()
    (part,) = answer["schedule"]["parts"]
    assert part["end_us"] - part["start_us"] == near(30 + 50 + 5_000)
    assert [w["code"] for w in answer["warnings"]] == ["workers_unknown"]


def test_a_ring_as_a_model_is_the_ring(service: Service) -> None:
    ring = {"bandwidth_gbps": 10, "startup_us": 50}
    plain = planned(service, {"workers": 8, **ring})
    model = planned(service, {"workers": 8, "cost_model": ring})
    faster = planned(service, {"workers": 8, "bandwidth_gbps": 20, "cost_model": ring})
    assert model["iteration_time_us"] == plain["iteration_time_us"]
    assert faster["iteration_time_us"] < plain["iteration_time_us"]
    assert model["warnings"] == plain["warnings"] == faster["warnings"] == []


def test_leaving_the_measured_range_is_said(service: Service) -> None:
    model = {"algorithm": "linear", "us_per_byte": 0.001, "constant_us": 50, "workers": 8}
    found = planned(service, {"workers": 8, "cost_model": model | {"measured_bytes": [1, 10**6]}})
    (warning,) = found["warnings"]
    assert warning["pointer"] == "/cluster/cost_model"
    assert warning["code"] == "outside_measured_range"
    assert "outside of what was measured, 1 to 1,000,000 bytes" in warning["detail"]
    table = {"algorithm": "table", "table": [[1, 10.0], [1_000_000, 1_000.0]]}
    (warning,) = planned(service, {"workers": 8, **table})["warnings"]
    assert warning["pointer"] == "/cluster/table"
    inside = planned(service, {"workers": 8, "cost_model": model | {"measured_bytes": [1, 10**7]}})
    assert inside["warnings"] == []


def test_scaling_is_asked_for_and_marked(service: Service) -> None:
    model = {
        "algorithm": "linear",
        "us_per_byte": 0.001,
        "constant_us": 50,
        "workers": 8,
        "bandwidth_gbps": 10,
    }
    cluster = {"workers": 16, "bandwidth_gbps": 20, "cost_model": model}
    refused = service.post(on(cluster))
    assert refused.status_code == 422
    assert faults(refused) == {
        ("/cluster/workers", "not_measured"),
        ("/cluster/bandwidth_gbps", "not_measured"),
    }
    found = planned(service, cluster | {"extrapolate": True})
    (warning,) = found["warnings"]
    assert warning["code"] == "extrapolated"
    assert "workers of 8 scaled to 16 and Gbit/s of 10 scaled to 20" in warning["detail"]
    # the bytes of a launch at 16 workers and 20 Gbit/s, its fixed 50 us over 15 steps for 7
    on_top = planned(service, cluster | {"extrapolate": True, "startup_us": 30})
    line = [(p["bytes"], p["end_us"] - p["start_us"]) for p in on_top["schedule"]["parts"]]
    assert all(
        time == near(30 + 50 * 15 / 7 + 0.001 * size * (15 / 16) / (7 / 8) / 2)
        for size, time in line
    )
    one = planned(service, {"workers": 1, "cost_model": model})
    assert (one["iteration_time_us"], one["warnings"]) == (one["compute_time_us"], [])


def test_a_channel_has_a_model_of_its_own(service: Service) -> None:
    stored = made(service, samples=LINE, workers=4, fit="linear")
    body = on(
        {
            "workers": 8,
            "bandwidth_gbps": 10,
            "channels": {"nvlink": {"workers": 4, "cost_model": stored["id"]}},
        }
    )
    body["graph"]["ops"][1]["channel"] = "nvlink"
    answer = service.post(body)
    assert answer.status_code == 201
    channels = answer.json()["request"]["cluster"]["channels"]
    assert channels["nvlink"]["cost_model"]["us_per_byte"] == near(0.001)


REFUSED_MODELS = [
    ({}, {("/text", "missing_field")}),  # nothing to fit
    ({"samples": LINE, "text": LOG}, {("/text", "extra_field")}),  # two sources
    ({"text": "no benchmark"}, {("/text", "wrong_format")}),
    ({"text": LOG, "format": "osu"}, {("/text", "wrong_format")}),  # it is of nccl-tests
    ({"samples": [[1, 2.0]]}, {("/samples", "too_few_sizes")}),  # one size is no line
    ({"samples": []}, {("/samples", "too_few_sizes")}),
    ({"samples": [[0, 2.0], [1, -2.0]]}, {
        ("/samples/0/0", "out_of_range"), ("/samples/1/1", "out_of_range")}),
    ({"samples": LINE, "format": "csv"}, {("/format", "extra_field")}),
    ({"samples": LINE, "fit": "linear", "threshold_bytes": 9}, {
        ("/threshold_bytes", "extra_field")}),
    ({"samples": LINE, "fit": "piecewise", "threshold_bytes": 9}, {
        ("/threshold_bytes", "out_of_range")}),
    ({"samples": LINE, "fit": "cubic"}, {("/fit", "out_of_range")}),
    ({"model": {"algorithm": "ring"}}, {("/model/bandwidth_gbps", "missing_field")}),
    ({"model": {"algorithm": "linear"}}, {("/model/us_per_byte", "missing_field")}),
    ({"model": {"algorithm": "piecewise"}}, {("/model/piecewise", "missing_field")}),
    ({"model": {"id": "0123"}}, {("/model/id", "extra_field")}),
    ({"model": {"bandwidth_gbps": 1}, "workers": 8, "fit": "linear"}, {
        ("/workers", "extra_field"), ("/fit", "extra_field")}),
    ({"model": {"algorithm": "linear", "us_per_byte": 1, "measured_bytes": [9, 3], "hop_us": 1}}, {
        ("/model/measured_bytes", "out_of_range"), ("/model/hop_us", "extra_field")}),
    ({"model": {"algorithm": "table", "table": [[1, 2.0], [9, 8.0]],
        "measured_of_kinds": {"all_reduce": [9, 3]}}}, {
        ("/model/measured_of_kinds/all_reduce", "out_of_range")}),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), REFUSED_MODELS)
def test_refused_models(service: Service, body: Json, expected: set[tuple[str, str]]) -> None:
    answer = service.client.post(PATH, json=body)
    assert answer.status_code == 422
    assert faults(answer) == expected


LINEAR = {"algorithm": "linear", "us_per_byte": 0.001, "workers": 8}
REFUSED_CLUSTERS = [
    ({"cost_model": "0123"}, {("/cluster/cost_model", "unknown_cost_model")}),
    ({"cost_model": 7}, {("/cluster/cost_model", "wrong_type")}),
    ({"cost_model": {"algorithm": "ring"}}, {
        ("/cluster/cost_model/bandwidth_gbps", "missing_field")}),
    ({"cost_model": LINEAR, "hop_us": 1, "table": [[1, 2.0]]}, {
        ("/cluster/hop_us", "extra_field"), ("/cluster/table", "extra_field")}),
    ({"cost_model": LINEAR, "bandwidth_gbps": 10}, {("/cluster/bandwidth_gbps", "extra_field")}),
    ({"bandwidth_gbps": 10, "extrapolate": True}, {("/cluster/extrapolate", "extra_field")}),
    ({"bandwidth_gbps": 10, "node_workers": 4}, {("/cluster/node_workers", "extra_field")}),
    ({"bandwidth_gbps": 10, "algorithm": "linear"}, {("/cluster/algorithm", "out_of_range")}),
    ({"algorithm": "hierarchical", "bandwidth_gbps": 10}, {
        ("/cluster/node_workers", "missing_field"),
        ("/cluster/node_bandwidth_gbps", "missing_field")}),
    ({"algorithm": "hierarchical", "bandwidth_gbps": 10, "node_workers": 3,
      "node_bandwidth_gbps": 10}, {("/cluster/node_workers", "out_of_range")}),
    ({"algorithm": "parameter_server", "bandwidth_gbps": 10, "reduction_gbps": 1}, {
        ("/cluster/reduction_gbps", "extra_field")}),
    ({"cost_model": {"algorithm": "piecewise", "piecewise": {**CURVE, "log_us": -1}}}, {
        ("/cluster/cost_model/piecewise/log_us", "out_of_range")}),
]  # fmt: skip


@pytest.mark.parametrize(("cluster", "expected"), REFUSED_CLUSTERS)
def test_refused_clusters(service: Service, cluster: Json, expected: set[tuple[str, str]]) -> None:
    answer = service.post(on({"workers": 8, **cluster}))
    assert answer.status_code == 422
    assert faults(answer) == expected


def test_another_kind_needs_a_ring(service: Service) -> None:
    body = on({"workers": 8, "bandwidth_gbps": 10, "algorithm": "double_binary_tree"})
    body["graph"]["ops"][1]["kind"] = "all_gather"
    answer = service.post(body)
    assert faults(answer) == {("/cluster/algorithm", "not_all_reduce")}
    assert "a channel of its own" in answer.json()["detail"]


def test_each_kind_is_judged_by_its_own_table(service: Service) -> None:
    tables = {"all_gather": [[1, 5.0], [1_000, 6.0]]}
    nvlink = {"workers": 8, "algorithm": "table", "tables": tables}
    body = on({"workers": 8, "bandwidth_gbps": 10, "channels": {"nvlink": nvlink}})
    body["graph"]["ops"][1] |= {"channel": "nvlink", "kind": "all_gather"}
    (warning,) = service.post(body).json()["warnings"]
    assert warning["pointer"] == "/cluster/channels/nvlink/tables/all_gather"
    assert warning["code"] == "outside_measured_range"
    wide = {"all_gather": [[1, 5.0], [2**40, 6e6]]}
    model = {"algorithm": "table", "table": [[1, 5.0], [2, 6.0]], "tables": wide, "workers": 8}
    body["cluster"]["channels"]["nvlink"] = {"workers": 8, "cost_model": model}
    assert service.post(body).json()["warnings"] == []


def curves_of(service: Service, model_id: str) -> Json:
    answer = service.client.get(f"{PATH}/{model_id}/curves")
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def test_curves_are_the_fits_beside_the_samples(service: Service) -> None:
    twice = [*LINE, [1_000, 61]]  # at 1,000 bytes 51 and 61 us
    (kind,) = curves_of(service, made(service, samples=twice, workers=8)["id"])["kinds"]
    assert kind["kind"] == "all_reduce"
    assert kind["measured_bytes"] == [1_000, 10_000_000]
    first = {"bytes": 1_000, "mean_us": 56, "least_us": 51, "most_us": 61, "samples": 2}
    assert kind["measured"][0] == first
    assert [size["mean_us"] for size in kind["measured"][1:]] == [60, 150, 1_050, 10_050]
    curves = {curve["algorithm"]: curve for curve in kind["curves"]}
    assert set(curves) == {"linear", "piecewise", "table"}
    assert [c["is_model"] for c in kind["curves"]] == [True, False, False]
    for curve in kind["curves"]:
        times = {point["bytes"]: point["us"] for point in curve["points"]}
        assert list(times) == sorted(times)
        assert min(times) == 125
        assert max(times) == 80_000_000
        assert len(curve["residuals"]) == 5
    table = {point["bytes"]: point["us"] for point in curves["table"]["points"]}
    assert [table[10**k] for k in range(3, 8)] == [56, 60, 150, 1_050, 10_050]
    assert curves["table"]["residuals"] == [pytest.approx(0, abs=1e-12)] * 5
    line = curves["linear"]["points"]
    slope = (line[-1]["us"] - line[0]["us"]) / (line[-1]["bytes"] - line[0]["bytes"])
    start = line[0]["us"] - slope * line[0]["bytes"]
    expected = [(start + slope * size["bytes"]) / size["mean_us"] - 1 for size in kind["measured"]]
    assert curves["linear"]["residuals"] == pytest.approx(expected, abs=1e-9)


def test_curves_of_each_kind_and_of_figures(service: Service) -> None:
    tables = {"all_gather": [[1_000, 10.0], [8_000, 80.0]]}
    body = {"algorithm": "table", "table": [[500, 9.0], [4_000, 90.0]], "tables": tables}
    found = curves_of(service, made(service, model=body)["id"])
    assert [kind["kind"] for kind in found["kinds"]] == ["all_reduce", "all_gather"]
    assert [kind["measured_bytes"] for kind in found["kinds"]] == [[500, 4_000], [1_000, 8_000]]
    assert all(kind["measured"] == [] for kind in found["kinds"])
    gather = found["kinds"][1]["curves"][0]
    assert gather["residuals"] == []
    assert {"bytes": 8_000, "us": 80.0} in gather["points"]
    told = {"all_reduce": [700, 3_000], "all_gather": [2_000, 8_000]}
    own = curves_of(service, made(service, model={**body, "measured_of_kinds": told})["id"])
    assert {kind["kind"]: kind["measured_bytes"] for kind in own["kinds"]} == told
    nodes = {"algorithm": "hierarchical", "bandwidth_gbps": 10, "node_workers": 4}
    ring = curves_of(service, made(service, model=nodes | {"node_bandwidth_gbps": 100})["id"])
    assert ring["workers"] == 8
    assert ring["kinds"][0]["measured_bytes"] is None
    curve = made(service, model={"algorithm": "piecewise", "piecewise": CURVE})["id"]
    points = {
        p["bytes"]: p["us"] for p in curves_of(service, curve)["kinds"][0]["curves"][0]["points"]
    }
    assert points[65_536] == near(1_000 + 655.36)
    assert points[65_535] == pytest.approx(1_400, abs=0.01)


def test_curves_of_nothing(service: Service) -> None:
    assert service.client.get(f"{PATH}/0123456789abcdef/curves").status_code == 404
