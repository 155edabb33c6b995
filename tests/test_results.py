"""What the public functions return: shown, drawn, written, read and pickled; and its examples."""

import doctest
import json
import pickle
import sys
from importlib import import_module
from typing import Any

import pytest

import interlace
from app import VERSION
from app.errors import NotInstalled
from solver.costs.network import cluster_behind

CLUSTER = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}
SHAPE = {
    "model": "llama3-8b",
    "gpu": "h100",
    "gpus": 16,
    "levels": [
        {"name": "node", "gpus": 8, "bandwidth_gbps": 3_600},
        {"name": "network", "gpus": 16, "bandwidth_gbps": 400},
    ],
    "global_batch": 16,
}


@pytest.fixture(scope="module")
def plan() -> interlace.Plan:
    return interlace.plan("two_layers", CLUSTER)


@pytest.fixture(scope="module")
def sweep() -> interlace.Sweep:
    return interlace.sweep(
        "two_layers", [{"workers": n, "bandwidth_gbps": 10} for n in (2, 4)], ["ddp", "pace"]
    )


def test_a_version() -> None:
    assert interlace.__version__ == VERSION


def test_each_result_is_a_line(plan: interlace.Plan, sweep: interlace.Sweep) -> None:
    simulation = interlace.simulate("two_layers", CLUSTER, "ddp")
    for each in (plan, sweep, simulation, plan.graph):
        assert "\n" not in repr(each)
        assert len(repr(each)) <= 120
    assert repr(interlace.MODELS["vgg16"]()) == (
        "<Graph 'VGG-16 (generated)': 32 compute ops, 32 collectives of 553.4 MB>"
    )


def test_a_notebook_shows_the_first_screen(plan: interlace.Plan, sweep: interlace.Sweep) -> None:
    html = plan._repr_html_()
    assert plan.brief is not None
    assert plan.brief == plan.answer().brief
    assert html.startswith("<div><p><b>Worth it: what you run, DDP, takes 8.750 ms")
    assert "Next: run the plan (PyTorch: interlace_client.torch.PlannedDDP)." in html
    assert html.count("<svg") == 1
    assert "ddp, network</text>" in html
    assert "plan, network</text>" in html
    assert "lower bound 8.400 ms" in html
    assert "<th>fastest</th>" in sweep._repr_html_()
    assert interlace.Sweep()._repr_html_() == "<div><p><b>Sweep: 0 cells of ; </b></p></div>"
    assert "<svg" in interlace.simulate("two_layers", CLUSTER, "ddp")._repr_html_()


def test_two_plans_side_by_side(plan: interlace.Plan) -> None:
    """Python compares with what the service answers of the same two plans."""
    first = interlace.plan("two_layers", CLUSTER, {"barrier": True})
    compared = interlace.compare(first, plan)
    assert repr(compared) == f"<PlanComparison: {compared.sentence}>"
    assert compared.notes == ["Their options differ: barrier True and False."]
    figures = {each.name: (each.first, each.second) for each in compared.figures}
    times = (first.iteration_time_us / 1e3, plan.iteration_time_us / 1e3)
    assert figures["iteration time"] == pytest.approx(times)
    assert interlace.compare(plan, plan).changed == []
    assert "<th>first</th><th>second</th>" in compared._repr_html_()
    assert list(compared.to_pandas()["name"]) == list(figures)


def test_names_are_no_markup() -> None:
    op = interlace.Op
    ops = [op("b", "compute", 9.0), op("g", "all_reduce", None, 10**6, ("b",), channel="<b>")]
    cluster = {**CLUSTER, "channels": {"<b>": {"bandwidth_gbps": 10}}}
    assert "<b>, <b>" not in interlace.plan(interlace.build("<b>", ops), cluster)._repr_html_()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("two_layers", {}),
        ("two_layers", {"barrier": True, "baselines": ["ddp", "pace"]}),
        ("vgg16", {}),
    ],
)
def test_a_plan_is_equal_after_json_and_pickle(name: str, options: dict[str, Any]) -> None:
    plan = interlace.plan(name, CLUSTER, options)
    text = interlace.to_json(plan)
    read = interlace.from_json(text)
    assert read == plan
    assert isinstance(read, interlace.Plan)
    assert json.loads(interlace.to_json(read)) == json.loads(text)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert again.headline == plan.headline


def test_other_results_are_equal_after_pickling(sweep: interlace.Sweep) -> None:
    simulation = interlace.simulate("two_layers", CLUSTER, "ddp")
    graph, cluster = interlace.MODELS["vgg16"](), interlace.Cluster(8, bandwidth_gbps=10)
    network = interlace.network_of(cluster)
    alike = interlace.alike(interlace.calibrate([(2**k, 50 + 2.0**k) for k in range(20)]).cost)
    for each in (sweep, simulation, graph, cluster, network, alike):
        assert pickle.loads(pickle.dumps(each)) == each
    assert pickle.loads(pickle.dumps(sweep)).policies == ("ddp", "pace")


def test_graphs_and_networks_are_equal_after_json() -> None:
    graph = interlace.MODELS["vgg16"]()
    assert interlace.from_json(interlace.to_json(graph)) == graph
    inner = interlace.Cluster(4, bandwidth_gbps=100)
    cluster = interlace.Cluster(8, bandwidth_gbps=10, channels=(("tp", inner),))
    network = interlace.network_of(cluster)
    read = interlace.from_json(interlace.to_json(network))
    assert read == network
    assert cluster_behind(read) == cluster
    other = [op._replace(channel="tp") if op.kind != "compute" else op for op in graph.ops]
    moved = interlace.build("moved", other)
    assert interlace.from_json(json.loads(interlace.to_json(moved))) == moved


def test_what_has_no_json(plan: interlace.Plan) -> None:
    own = interlace.alike(interlace.calibrate([(2**k, 50 + 2.0**k) for k in range(20)]).cost)
    with pytest.raises(interlace.InvalidCluster, match="costs of one's own"):
        interlace.to_json(own)
    with pytest.raises(TypeError, match="has JSON, not <class 'int'>"):
        interlace.to_json(1)  # type: ignore[arg-type]
    torn = json.loads(interlace.to_json(plan))
    del torn["graph"]
    with pytest.raises(interlace.InvalidOptions, match="with its graph and its request"):
        interlace.from_json(torn)
    with pytest.raises(interlace.InvalidCluster, match="workers must be"):
        interlace.from_json({"workers": 0})


@pytest.mark.usefixtures("fonts")
def test_plots(plan: interlace.Plan, sweep: interlace.Sweep) -> None:
    names = [tick.get_text() for tick in plan.plot().axes[0].get_yticklabels()]
    assert names == ["ddp, compute", "ddp, network", "plan, compute", "plan, network"]
    labels = [line.get_label() for line in sweep.plot().axes[0].get_lines()]
    assert labels == ["ddp", "pace", "bound"]
    assert interlace.simulate("two_layers", CLUSTER, "ddp").plot().axes


def test_data_frames(plan: interlace.Plan, sweep: interlace.Sweep) -> None:
    pytest.importorskip("pandas")
    assert list(plan.to_pandas()["bytes"]) == [4_000_000, 1_000_000]
    tensors = plan.to_pandas("tensors").set_index("id")["wait_us"]
    assert list(plan.to_pandas()["wait_us"]) == [tensors["g2"], tensors["g1"]]
    assert plan.to_pandas("launches").shape == (3, 5)
    assert set(plan.to_pandas("tensors")["id"]) == {"g1", "g2"}
    assert list(sweep.to_pandas()["fastest"]) == ["pace", "pace"]
    assert len(interlace.simulate("two_layers", CLUSTER, "ddp").to_pandas()) == 2
    with pytest.raises(ValueError, match="no table 'ops': one of buckets, launches, tensors"):
        plan.to_pandas("ops")


@pytest.mark.parametrize(("package", "ask"), [("matplotlib", "plot"), ("pandas", "to_pandas")])
def test_what_is_not_installed_is_named(
    plan: interlace.Plan, monkeypatch: pytest.MonkeyPatch, package: str, ask: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(NotInstalled, match="pip install"):
        getattr(plan, ask)()


@pytest.mark.parametrize(
    "name", ["functions", "results.plan", "results.simulation", "results.sweep", "wire"]
)
def test_examples_of_docstrings(name: str) -> None:
    found = doctest.testmod(import_module(f"interlace.{name}"))
    assert found.attempted
    assert not found.failed


def test_a_ranking_of_shapes() -> None:
    found = interlace.shape(SHAPE)
    assert repr(found).startswith("<Shapes of llama3-8b on 16 GPUs: Best: ")
    assert found._repr_html_().startswith("<div><p><b>Best: ")
    assert pickle.loads(pickle.dumps(found)) == found
    pytest.importorskip("pandas")
    assert found.to_pandas()["shape"][0] == found.best[0].name
