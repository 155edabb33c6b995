"""Answers as one file, opened from the disk by a browser that has no network."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app.routers.allocations import EXAMPLE as ALLOCATION
from app.routers.mixes import EXAMPLE as MIX
from app.routers.runs import EXAMPLE as RUN
from app.routers.shapes import EXAMPLE as SHAPE
from docs.generate.screenshots import linked
from solver.glossary import TERMS
from tests.app.command import Run, runner
from tests.app.service import Json, Service, two_layers
from tests.pages.accessible import breaches, everywhere
from tests.pages.conftest import PATIENCE_MS
from tests.pages.downloads import saved
from tests.waiting import until

HOSTILE = '</script><!--<script><img src=x onerror=alert(1)> "&amp;\u2028'

Opened = Callable[[Path], Page]


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Opened]:
    """Open files in a browser that is offline; they may neither complain nor ask for anything."""
    complaints: list[str] = []
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(PATIENCE_MS)

    def go(file: Path) -> Page:
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asks.append(asked.url))
        asks: list[str] = []
        page.goto(file.as_uri())
        expect(page.locator(".plot .main-svg, .plot canvas, .cluster-map").first).to_be_visible()
        if page.locator("#helps").count():
            expect(page.locator("#helps .plot .main-svg").first).to_be_visible()
            expect(page.locator("#timeline .plot canvas")).to_be_visible()
        assert [url for url in asks if not url.startswith(("data:", "blob:"))] == [file.as_uri()]
        return page

    yield go
    context.close()
    assert not complaints


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    return runner(tmp_path, monkeypatch, capfd)


def shown(page: Page) -> dict[str, str]:
    """Return what a page says of a plan, by section."""
    for name in ("buckets", "tensors"):
        page.locator(f"details#{name} summary").first.click()
    sections = ("answer", "times", "helps", "doubts", "summary", "buckets", "tensors")
    said = {name: page.locator(f"#{name}").inner_text() for name in sections}
    said["title"] = page.locator("h1").inner_text()
    said["tracks"] = " ".join(page.locator(".track-head, .track-name").all_inner_texts())
    return said


def test_a_saved_page_says_what_the_page_says(
    page: Page, service: Service, opened: Opened, tmp_path: Path
) -> None:
    plan = service.post(service.client.get("/v1/examples/t5_small").json()).json()
    page.goto(f"/plans/{plan['id']}")
    expect(page.locator("#what-if form")).to_be_visible()
    file = tmp_path / "plan.html"
    button = page.get_by_role("button", name="Save as one file")
    file.write_text(saved(page, button), encoding="utf-8")
    alone = opened(file)
    assert shown(alone) == shown(page)
    expect(alone.locator("#what-if")).to_be_hidden()
    assert everywhere(alone) == []
    answer = json.loads(saved(alone, alone.get_by_role("button", name="Answer")))
    assert answer == {name: plan[name] for name in answer}
    assert len(answer) > 30


def test_a_saved_page_is_used_as_the_page_is(opened: Opened, tmp_path: Path, run: Run) -> None:
    request, file = tmp_path / "request.json", tmp_path / "plan.html"
    request.write_text(json.dumps(two_layers()))
    done = run("plan", str(request), "--html", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    page = opened(file)
    page.get_by_label("Beside it").select_option("none")
    expect(page.locator("#timeline .track-head")).to_have_count(1)
    page.locator("#timeline .plot").focus()
    page.keyboard.press("w")
    expect(page).to_have_url(re.compile(r"[?&]t="))
    page.reload()
    expect(page.locator("#timeline .track-head")).to_have_count(1)
    page.get_by_text("nothing is faster than").focus()
    expect(page.locator("#answer .told", has_text=TERMS["lower bound"])).to_be_visible()
    trace = json.loads(saved(page, page.get_by_role("button", name="Timeline for Perfetto")))
    assert {event["ph"] for event in trace["traceEvents"]} >= {"X", "M"}
    assert saved(page, page.get_by_label("Iteration times as SVG")).startswith("<svg")


def kinds(service: Service) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return pages with an answer: their addresses, and sections that a file has as well."""
    asked = two_layers()
    plan = service.post(asked).json()["id"]
    source = {"graph": asked["graph"], "cluster": asked["cluster"]}
    other = service.post({**source, "policy": "single"}, "/v1/simulations").json()["id"]
    axes = {"workers": [2, 4], "bandwidths_gbps": [5, 10]}
    sweep = service.post({**source, **axes}, "/v1/sweeps").json()["id"]
    run = service.client.post("/v1/runs", json=RUN).json()["id"]
    steps = {"steps": [{"step": n, "measured_us": 8_750, "plan": 0} for n in range(3)]}
    assert service.client.post(f"/v1/runs/{run}/steps", json=steps).is_success
    return {
        "simulation": (f"/simulations/{other}?beside=ddp", ("answer", "summary", "times")),
        "compare": (f"/compare?a=plans/{plan}&b=simulations/{other}", ("figures", "buckets")),
        "sweep": (f"/sweeps/{sweep}?show=gap", ("lead", "cells")),
        "allocations": (linked("/allocations", ALLOCATION), ("answer", "ranked", "chosen")),
        "mixes": (linked("/mixes", MIX), ("answer", "jobs", "blames", "all")),
        "run": (f"/runs/{run}", ("steps", "plans", "trials")),
    }


def said(page: Page, where: str) -> list[str]:
    """Return what stands there, but for the button that a file has not."""
    texts = page.locator(where).all_inner_texts()
    return [text.removesuffix("Save as one file").rstrip() for text in texts]


def say_the_same(one: Page, other: Page, where: str) -> None:
    """Wait until both pages say the same there: charts come late."""
    until(lambda: said(one, where) == said(other, where))


def test_every_answer_is_saved_as_one_file(
    page: Page, service: Service, opened: Opened, tmp_path: Path
) -> None:
    for name, (address, sections) in kinds(service).items():
        page.goto(address)
        page.locator(".plot .main-svg, .plot canvas").first.wait_for()
        button = page.get_by_role("button", name="Save as one file")
        file = tmp_path / f"{name}.html"
        file.write_text(saved(page, button), encoding="utf-8")
        alone = opened(file)
        for where in ("h1", ".track-head", *(f"#{section}" for section in sections)):
            say_the_same(alone, page, where)
        assert breaches(alone) == []
        assert alone.get_by_role("button", name="Save as one file").count() == 0
        assert alone.locator("a[href^='/']:visible").count() == 0


def test_commands_write_what_the_page_saves(opened: Opened, tmp_path: Path, run: Run) -> None:
    """Without a service, and without a breach."""
    asked = two_layers()
    files = {
        name: tmp_path / f"{name}.json" for name in ("plan", "mix", "topology", "job", "shape")
    }
    parts = (asked, MIX, ALLOCATION["topology"], ALLOCATION["job"], {**SHAPE, "gpus": 8})
    for file, body in zip(files.values(), parts, strict=True):
        file.write_text(json.dumps(body))
    axes = ("--workers", "2,4", "--bandwidths-gbps", "5,10")
    for command, where in (
        (("simulate", str(files["plan"]), "--policy", "ddp"), "#answer"),
        (("sweep", str(files["plan"]), *axes), "#cells"),
        (("mix", str(files["mix"])), "#jobs"),
        (("allocate", str(files["topology"]), str(files["job"])), "#ranked"),
        (("shape", str(files["shape"])), "#ranked"),
    ):
        file = tmp_path / f"{command[0]}.html"
        done = run(*command, "--html", str(file))
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        page = opened(file)
        page.locator(".plot .main-svg, .plot canvas").first.wait_for()
        expect(page.locator(where)).to_be_visible()
        expect(page.locator("#problems")).to_be_empty()
        assert everywhere(page) == []


def test_names_in_a_saved_page_are_text(opened: Opened, tmp_path: Path, run: Run) -> None:
    channel = {"workers": 4, "bandwidth_gbps": 10, "startup_us": 5}
    ops: list[Json] = [
        {"id": f"{HOSTILE}b", "kind": "compute", "duration_us": 100, "stream": HOSTILE},
        {
            "id": HOSTILE,
            "kind": "all_reduce",
            "bytes": 4_000_000,
            "after": [f"{HOSTILE}b"],
            "channel": HOSTILE,
        },
    ]
    body = {"graph": {"name": HOSTILE, "ops": ops}, "cluster": {"channels": {HOSTILE: channel}}}
    request, file = tmp_path / "request.json", tmp_path / "plan.html"
    request.write_text(json.dumps(body))
    assert run("plan", str(request), "--html", str(file)).returncode == 0
    page = opened(file)
    assert page.locator("h1").text_content() == f"Plan of {HOSTILE}"
    page.locator("details#tensors summary").first.click()
    assert page.locator("#tensors tbody td").first.text_content() == HOSTILE
    assert page.locator("#timeline .track-name").all_text_contents() == [HOSTILE] * 4
    assert page.locator("img[src=x]").count() == 0
    answer = json.loads(saved(page, page.get_by_role("button", name="Answer")))
    assert answer["tensors"][0]["id"] == HOSTILE
