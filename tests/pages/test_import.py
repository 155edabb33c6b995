"""From files to a plan: dropped or chosen, read, and planned by clicking alone."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from solver.costs import ALGORITHMS, MEASURED
from solver.glossary import LABELS
from solver.policies import POLICIES
from solver.traces import READERS
from solver.traces.hlo.devices import DEVICES
from tests.app.compiled import COMPILED
from tests.app.service import Json, Service, two_layers
from tests.pages.accessible import breaches, everywhere
from tests.pages.ended import ended
from tests.pages.hostile import HOSTILE

DATA = Path(__file__).parents[1] / "data"
TRACE = [DATA / f"kineto_gloo_{rank}.json.gz" for rank in (0, 1)]


def choose(page: Page, *files: Path) -> None:
    page.goto("/")
    page.locator("#files").set_input_files([str(file) for file in files])


def written(folder: Path, name: str, value: object) -> Path:
    file = folder / name
    text = json.dumps(value).encode()
    file.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return file


def request_of(page: Page, service: Service) -> Json:
    """Return what the plan on the page was asked."""
    page.wait_for_url(re.compile(r"/plans/\w+$"))
    job_id = page.url.rpartition("/")[2]
    asked: Json = ended(service, f"/v1/plans/{job_id}")["request"]
    return asked


def test_from_a_trace_to_a_plan(page: Page, service: Service) -> None:
    choose(page, *TRACE, DATA / "kineto_parameters.json")
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator("#title")).to_have_text("kineto_gloo_0")
    read = service.client.get(f"/v1/imports/{page.url.rpartition('/')[2]}").json()
    report = read["report"]
    assert report["collectives"]["all_reduce"]["count"] == 6, "buckets are split: names came along"
    expect(page.locator("main")).to_contain_text("6 all_reduce of 1.597 MB")
    assert report["assumed"]
    for part in ("warnings", "assumed"):
        for sentence in report[part]:
            expect(page.locator(f".told.{part}")).to_contain_text(sentence)
    expect(page.locator(".main-svg").first).to_be_visible()
    expect(page.locator("main")).to_contain_text("measured 20.33 ms")
    expect(page.locator("#plan")).to_be_visible()
    assert everywhere(page) == []
    page.get_by_role("button", name="Plan", exact=True).click()
    asked = request_of(page, service)
    assert asked["cluster"]["workers"] == 2
    assert asked["cluster"]["cost_model"]["name"] == "recorded"
    assert [each["policy"] for each in asked["options"]["baselines"]] == ["ddp", "wfbp", "pace"]


def test_hlo_text_is_read_for_a_device(page: Page) -> None:
    program = DATA / "hlo_data_parallel.txt"
    choose(page, program)
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator(".problem")).to_contain_text("Give a device for a roofline")
    page.get_by_role("link", name="Choose other files").click()
    page.get_by_text("More about the files").click()
    device = page.get_by_label("Device")
    expect(page.locator(f"[id='{device.get_attribute('aria-describedby')}']")).to_contain_text(
        ", ".join(DEVICES)
    )
    device.fill(" h100 ")
    page.locator("#files").set_input_files(str(program))
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator("#title")).to_have_text("hlo_data_parallel")
    expect(page.locator("#read")).to_contain_text("what a roofline of h100 says")


def test_another_cluster_and_a_cost_model(page: Page, service: Service) -> None:
    line = {"name": HOSTILE, "model": {"algorithm": "linear", "constant_us": 20, "workers": 8}}
    line["model"] |= {"us_per_byte": 0.001}  # type: ignore[operator]
    stored = service.client.post("/v1/cost-models", json=line).json()
    graph = service.client.post(
        "/v1/graphs", json={"ops": two_layers()["graph"]["ops"]}, params={"name": HOSTILE}
    ).json()
    page.goto(f"/graphs/{graph['id']}")
    expect(page.locator("#title")).to_have_text(HOSTILE)
    page.get_by_text("More", exact=True).click()
    boxes = page.locator("fieldset [type=checkbox]")
    assert sorted(boxes.evaluate_all("all => all.map((b) => b.labels[0].textContent)")) == sorted(
        LABELS[name] for name in POLICIES
    )
    page.get_by_label("Bandwidth", exact=False).first.fill("-3")
    page.get_by_label("Time limit").fill("0")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.locator('[data-pointer="/cluster/bandwidth_gbps"] .fault')).to_be_visible()
    expect(page.locator('[data-pointer="/options/time_limit_s"] .fault')).to_be_visible()
    expect(page.locator("#problems")).to_contain_text("/cluster/bandwidth_gbps")
    expect(page.get_by_label("Bandwidth", exact=False).first).to_be_focused()
    assert breaches(page) == []
    page.get_by_label("Time limit").fill("5")
    page.get_by_label("What a launch costs").select_option(stored["id"])
    page.get_by_label("PyTorch's barrier").check()
    page.get_by_label(LABELS["mg_wfbp"]).check()
    page.get_by_label(LABELS["pace"]).uncheck()
    page.get_by_label("Workers", exact=True).first.fill("4")
    page.get_by_role("button", name="Plan", exact=True).click()
    asked = request_of(page, service)
    assert (asked["cluster"]["workers"], asked["cluster"]["extrapolate"]) == (4, True)
    assert asked["cluster"]["cost_model"]["id"] == stored["id"]
    assert asked["options"]["barrier"]
    assert asked["options"]["time_limit_s"] == 5
    assert [each["policy"] for each in asked["options"]["baselines"]] == ["ddp", "wfbp", "mg_wfbp"]
    assert page.locator("img[src=x]").count() == 0


def test_a_sweep_of_a_graph(page: Page, service: Service) -> None:
    graph = service.client.post("/v1/graphs", json={"ops": two_layers()["graph"]["ops"]}).json()
    page.goto(f"/graphs/{graph['id']}")
    page.get_by_text("Sweep: many clusters at once").click()
    section = page.locator("#sweep-more")
    section.get_by_label("Workers", exact=True).fill("2, many")
    section.get_by_role("button", name="Sweep").click()
    expect(section.locator('[data-pointer="/workers"] .fault')).to_be_visible()
    section.get_by_label("Workers", exact=True).fill("2, 4")
    section.get_by_label("Bandwidths").fill("10; 25")
    section.get_by_role("button", name="Sweep").click()
    page.wait_for_url(re.compile(r"/sweeps/\w+$"))
    place = f"/v1/sweeps/{page.url.rpartition('/')[2]}"
    assert len(ended(service, place)["cells"]) == 4


def test_a_compiled_graph_keeps_its_costs(page: Page, service: Service, tmp_path: Path) -> None:
    choose(page, written(tmp_path, "small.json.gz", COMPILED))
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator("#title")).to_have_text("small")
    page.get_by_role("button", name="Plan", exact=True).click()
    channel = request_of(page, service)["cluster"]["channels"]["pg"]
    assert (channel["workers"], channel["algorithm"]) == (4, "table")


def test_a_whole_request_is_planned_at_once(page: Page, service: Service, tmp_path: Path) -> None:
    body = two_layers(barrier=True)
    choose(page, written(tmp_path, "request.json", body))
    asked = request_of(page, service)
    assert asked["options"]["barrier"]
    assert asked["cluster"]["workers"] == body["cluster"]["workers"]


def test_what_is_no_trace_is_refused_with_a_reason(page: Page, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of a trace")
    choose(page, tmp_path / "notes.txt")
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator(".problem")).to_contain_text("of none of the known formats")
    assert everywhere(page) == []
    page.get_by_role("link", name="Choose other files").click()
    page.get_by_text("More about the files").click()
    names = (
        page.get_by_label("Format").locator("option").evaluate_all("all => all.map((o) => o.value)")
    )
    assert sorted(names) == sorted(["", *READERS])


def test_costs_that_nobody_measured_are_not_the_files(
    page: Page, service: Service, tmp_path: Path
) -> None:
    node = "node{0} -- Linear -- forward_compute_time=2.000, backward_compute_time=4.000, "
    node += "activation_size=8.0, parameter_size=4000000.000"
    lines = [node.format(1), node.format(2), "\tnode1 -- node2", ""]
    (tmp_path / "graph.txt").write_text("\n".join(lines))
    choose(page, tmp_path / "graph.txt")
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.get_by_role("form")).to_contain_text("The files do not say what launches cost")
    expect(page.get_by_label("Bandwidth", exact=False).first).to_have_value("10")
    page.get_by_label("Bandwidth", exact=False).first.fill("25")
    page.get_by_role("button", name="Plan", exact=True).click()
    cluster = request_of(page, service)["cluster"]
    assert (cluster["algorithm"], cluster["bandwidth_gbps"]) == ("ring", 25)


def test_every_algorithm_is_offered_with_its_own_figures(page: Page, service: Service) -> None:
    graph = service.client.post("/v1/graphs", json={"ops": two_layers()["graph"]["ops"]}).json()
    page.goto(f"/graphs/{graph['id']}")
    cost = page.get_by_label("What a launch costs")
    expect(cost).to_be_visible()
    offered = cost.locator('optgroup[label="Algorithms"] option').evaluate_all(
        "all => all.map((o) => o.value)"
    )
    assert offered == [name for name in ALGORITHMS if name not in MEASURED]
    node = page.get_by_label("Workers of a node")
    expect(node).to_be_hidden()
    cost.select_option("hierarchical")
    node.fill("4")
    page.get_by_label("Bandwidth in a node").fill("100")
    page.get_by_role("button", name="Plan", exact=True).click()
    cluster = request_of(page, service)["cluster"]
    assert cluster["algorithm"] == "hierarchical"
    assert (cluster["node_workers"], cluster["node_bandwidth_gbps"]) == (4, 100)
    bound = page.locator("#summary dt", has_text="Bound by").locator("xpath=following::dd[1]")
    expect(bound).to_have_text("g2 and g1 between their releases and the compute after each")


def test_a_folder_is_dropped_or_chosen(page: Page, service: Service, tmp_path: Path) -> None:
    below = tmp_path / "trace" / "ranks"
    below.mkdir(parents=True)
    for file in reversed(TRACE):
        shutil.copy(file, below)
    shutil.copy(DATA / "kineto_parameters.json", below.parent)
    (below / ".DS_Store").write_bytes(b"none of ours")

    def dropped() -> None:
        page.goto("/")
        zone = page.locator(".drop").bounding_box()
        assert zone is not None
        where = {"x": zone["x"] + 9, "y": zone["y"] + 9}
        data = {"items": [], "files": [str(below.parent)], "dragOperationsMask": 1}
        session = page.context.new_cdp_session(page)
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, "data": data, **where})

    def chosen() -> None:
        page.goto("/")
        page.locator("#folder").set_input_files(str(below.parent))

    for give in (dropped, chosen):
        give()
        page.wait_for_url(re.compile(r"/imports/\w+$"))
        expect(page.locator("#title")).to_have_text("kineto_gloo_0")
        read = ended(service, f"/v1/imports/{page.url.rpartition('/')[2]}")
        assert read["report"]["collectives"]["all_reduce"]["count"] == 6, "names came along"
        assert read["report"]["format"] == "kineto"


def test_json_is_pasted(page: Page, service: Service) -> None:
    page.goto("/")
    page.get_by_text("Paste JSON", exact=True).click()
    assert breaches(page) == []
    page.get_by_label("as JSON").fill(json.dumps(two_layers()))
    page.get_by_role("button", name="Read it").click()
    assert request_of(page, service)["cluster"]["workers"] == two_layers()["cluster"]["workers"]
    page.goto("/")
    expect(page.locator(".drop")).to_be_visible()
    paste = """text => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", text);
      const about = { clipboardData, bubbles: true, cancelable: true };
      return document.body.dispatchEvent(new ClipboardEvent("paste", about));
    }"""
    assert page.evaluate(paste, "some words"), "nothing of this page's"
    assert not page.evaluate(paste, json.dumps(two_layers()["graph"]))
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator("#title")).to_have_text(two_layers()["graph"]["name"])


def test_files_are_dropped(page: Page, tmp_path: Path) -> None:
    page.goto("/")
    expect(page.locator(".drop")).to_be_visible()
    text = json.dumps({"ops": two_layers()["graph"]["ops"], "name": HOSTILE})
    given = page.evaluate_handle(
        """text => { const all = new DataTransfer();
        all.items.add(new File([text], "g.json")); return all; }""",
        text,
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": given})
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    expect(page.locator("#title")).to_have_text(HOSTILE)
    assert page.locator("img[src=x]").count() == 0
    expect(page.locator("main")).to_contain_text("Nothing was dropped, repaired or assumed.")


@pytest.mark.parametrize("name", ["dlc"])
def test_steps_of_parameter_servers_are_predicted(page: Page, service: Service, name: str) -> None:
    choose(page, *sorted(DATA.glob(f"{name}_*.txt")))
    page.wait_for_url(re.compile(r"/imports/\w+$"))
    form = page.get_by_role("form", name="Predict training through parameter servers")
    form.get_by_label("Workers", exact=True).fill("1, 2")
    form.get_by_role("button", name="Predict").click()
    page.wait_for_url(re.compile(r"/predictions/parameter-server/\w+$"))
    place = f"/v1/predictions/parameter-server/{page.url.rpartition('/')[2]}"
    assert service.client.get(place).status_code == 200
