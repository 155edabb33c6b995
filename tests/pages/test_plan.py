"""The page of a plan, and that of a simulation, used as a person would."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from app.names import VERDICTS
from solver.glossary import LABELS, TERMS
from tests.app.service import Json, Service, two_layers
from tests.app.test_program_explanations import roomy
from tests.pages.accessible import breaches
from tests.pages.hostile import HOSTILE
from tests.pages.large import sliced


def planned(service: Service, body: Json, path: str = "/v1/plans") -> Json:
    answer = service.post(body, path)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


def opened(page: Page, place: str) -> Locator:
    """Open a page, and return its timeline when all is drawn."""
    page.goto(place)
    expect(page.locator("#what-if form")).to_be_visible()
    expect(page.locator("#helps .plot .main-svg").first).to_be_visible()
    timeline = page.locator("#timeline .plot")
    expect(timeline.locator("canvas")).to_be_visible()
    return timeline


def heads(page: Page) -> Locator:
    """Return what stands above each run's tracks."""
    return page.locator("#timeline .track-head")


def unfolded(page: Page, name: str) -> Locator:
    """Open a section that is folded, and return it."""
    section = page.locator(f"details#{name}")
    if section.get_attribute("open") is None:
        section.locator("summary").first.click()
    return section


@pytest.fixture(scope="module")
def fsdp(service: Service) -> Json:
    """Return a plan of a stream and two channels, in which each layer is gathered and reduced."""
    body = service.client.get("/v1/examples/fsdp_llama_7b").json()
    return planned(service, body)


def test_a_plan_says_what_limits_it(page: Page, fsdp: Json) -> None:
    timeline = opened(page, f"/plans/{fsdp['id']}")
    expect(page.locator(".summary")).to_have_text(fsdp["summary"])
    expect(page).to_have_title(re.compile("LLaMA-7B"))
    times = page.locator("#times .plot")
    for name in ("plan", "lower bound", "compute alone"):
        expect(times.locator(".ytick text", has_text=re.compile(f"^{name}$"))).to_have_count(1)
    rows = timeline.locator(".track-name").all_text_contents()
    assert rows == ["gpu", "nvlink", "network"] * 2, "the plan, and the rival below it"
    legend = page.locator("#timeline .legend").text_content() or ""
    for name in ("forward", "backward", "optimizer", "all-gather", "lower bound"):
        assert name in legend
    for name in ("compute idle", "exposed", "critical path"):
        expect(page.get_by_label(name, exact=True)).to_be_checked()
    for theme, width in (("light", 1280), ("dark", 1280), ("light", 400)):
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        page.set_viewport_size({"width": width, "height": 900})
        assert breaches(page) == [], (theme, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_screen_answers(page: Page, service: Service) -> None:
    plan = planned(service, service.client.get("/v1/examples/t5_small").json())
    opened(page, f"/plans/{plan['id']}")
    gain = plan["brief"]
    figures = page.locator("#answer .figure .value").all_inner_texts()
    assert [float(text.split()[0]) for text in figures] == [
        pytest.approx(gain[name] / 1e3, rel=1e-3)
        for name in ("today_us", "plan_us", "lower_bound_us")
    ]
    expect(page.locator("#answer .figure.plan .badge")).to_have_text(VERDICTS[gain["verdict"]])
    expect(page.locator("#answer .todo")).to_have_text(f"{gain['tuned']} {gain['next']}")
    bars = page.locator("#times .plot .ytick text")
    expect(bars.filter(has_text=f"what you run: {gain['over']}").first).to_be_visible()
    whole = page.locator("#timeline .plot").bounding_box()
    assert whole is not None
    assert whole["y"] + whole["height"] < 900, "the picture is on the first screen"
    said = page.locator("#answer .told", has_text=TERMS["lower bound"])
    expect(said).to_be_hidden()
    page.get_by_role("link", name="nothing is faster than").focus()
    expect(said).to_be_visible()
    page.keyboard.press("Escape")
    expect(said).to_be_hidden()
    page.get_by_role("link", name="nothing is faster than").click()
    expect(page.locator("dt:target")).to_have_text("lower bound")
    assert breaches(page) == []
    page.goto(f"/plans/{plan['id']}#tensors")
    expect(page.get_by_label("Search in Tensors")).to_be_visible()


def test_a_timeline_is_moved_by_letters(page: Page, fsdp: Json) -> None:
    timeline = opened(page, f"/plans/{fsdp['id']}")

    def view() -> list[float]:
        page.evaluate("() => new Promise(requestAnimationFrame)")
        return [float(at) for at in (timeline.get_attribute("data-view") or "").split("~")]

    whole = view()
    timeline.focus()
    page.keyboard.press("w")
    closer = view()
    assert closer[0] > whole[0]
    assert closer[1] < whole[1]
    page.keyboard.press("d")
    assert view()[0] > closer[0]
    page.keyboard.press("a")
    assert view() == pytest.approx(closer)
    page.keyboard.press("s")
    assert view() == pytest.approx(whole)


def test_bars_are_told_to_keys_and_to_the_pointer(page: Page, fsdp: Json) -> None:
    timeline = opened(page, f"/plans/{fsdp['id']}")
    tensor = min(fsdp["tensors"], key=lambda each: each["start_us"])
    timeline.focus()
    for key in ("ArrowRight", "ArrowDown", "Home"):  # the stream, the channel below, its first bar
        page.keyboard.press(key)
    tip = timeline.locator(".tip")
    said = page.locator("#said")
    for host in (tip, said):
        expect(host).to_contain_text(tensor["id"])
        for word in ("kind", "bytes", "start", "end", "release", "waited", "exposed"):
            expect(host).to_contain_text(word)
    page.keyboard.press("ArrowRight")
    expect(said).not_to_contain_text(tensor["id"])
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"[?&]t="))
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile(r"[?&]t="))
    page.mouse.move(5, 5)
    box = timeline.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 62)  # the stream's track
    expect(tip).to_contain_text("backward")
    expect(timeline.locator(".hair")).to_contain_text("ms")


def test_the_chart_and_the_tables_select_each_other(page: Page, fsdp: Json) -> None:
    timeline = opened(page, f"/plans/{fsdp['id']}")
    for name in ("buckets", "tensors"):
        unfolded(page, name)
    timeline.focus()
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    chosen = page.locator("#buckets tr[aria-selected=true]")
    expect(chosen).to_have_count(1)
    bucket = next(
        each for each in fsdp["buckets"] if each["id"] == chosen.locator("td").first.text_content()
    )
    expect(page).to_have_url(re.compile(r"[?&]sel="))
    for _ in range(5):  # around the first bucket
        page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"[?&]t="))
    there = re.escape(page.url.partition("t=")[2].partition("&")[0])
    last = fsdp["tensors"][-1]["id"]
    page.get_by_label("Search in Tensors").fill(last)
    page.locator("#tensors tbody tr", has_text=last).first.click()
    expect(page.locator("#buckets tr[aria-selected=true] td").first).not_to_have_text(bucket["id"])
    expect(page).not_to_have_url(re.compile(there))  # the chart goes there
    page.reload()
    opened(page, page.url)
    expect(page.locator("#tensors tr[aria-selected=true] td").first).to_have_text(last)
    unfolded(page, "buckets")
    page.locator("#buckets thead th", has_text="bytes").get_by_role("button").click()
    sizes = page.locator("#buckets tbody tr td:nth-child(6)").all_inner_texts()
    most = max(each["bytes"] for each in fsdp["buckets"])
    assert sizes[0] == f"{most / 1e9:.4g} GB" or f"{most / 1e6:.4g}" in sizes[0]


def test_an_op_is_found(page: Page, fsdp: Json) -> None:
    opened(page, f"/plans/{fsdp['id']}")
    words = page.get_by_label("Find an op")
    words.fill("layers.3.ffn")
    words.press("Enter")
    expect(page.locator(".timeline-tools [role=status]")).to_have_text(re.compile("^1 of 6 bars"))
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator(".timeline-tools [role=status]")).to_have_text(re.compile("^2 of 6 bars"))
    expect(page).to_have_url(re.compile(r"op=layers\.3\.ffn.*t=|t=.*op=layers\.3\.ffn"))
    words.fill("nothing")
    words.press("Enter")
    expect(page.locator(".timeline-tools")).to_contain_text("No op has that in its name.")


def test_another_rival_is_drawn(page: Page, fsdp: Json) -> None:
    opened(page, f"/plans/{fsdp['id']}")
    page.get_by_label("Beside it").select_option("tictac")
    expect(heads(page).nth(1)).to_contain_text(LABELS["tictac"])
    expect(page).to_have_url(re.compile("beside=tictac"))
    page.get_by_label("Beside it").select_option("none")
    expect(heads(page)).to_have_count(1)
    page.get_by_label("Beside it").select_option("pace")  # not defined under FSDP
    expect(page.locator("#problems")).to_contain_text("pace is not defined")


def test_what_if_is_worked_out_beside_it(page: Page, fsdp: Json) -> None:
    opened(page, f"/plans/{fsdp['id']}")
    page.get_by_label("Bandwidth [Gbit/s]").fill("400")
    page.get_by_label("Ops named (pattern)").fill("grad:layers.1*")
    page.get_by_label("Bandwidth [Gbit/s]").press("Enter")
    results = page.locator("#whatif-results")
    expect(results).to_contain_text("This plan, changed")
    expect(heads(page).nth(1)).to_contain_text("this plan, changed")
    page.get_by_role("button", name="Plan anew").click()
    expect(results).to_contain_text("Planned anew")
    bars = page.locator("#times .plot .ytick text")
    expect(bars.filter(has_text="planned anew")).to_have_count(1)
    expect(bars.filter(has_text="this plan, changed")).to_have_count(1)
    assert breaches(page) == []
    told = results.inner_text()
    place = results.get_by_role("link", name="Its simulation").get_attribute("href")
    assert place is not None
    page.reload()  # the address says all
    opened(page, page.url)
    expect(results).to_contain_text("Planned anew")
    assert results.inner_text().splitlines()[:2] == told.splitlines()[:2]
    page.get_by_role("button", name="Clear").click()
    expect(results).to_be_empty()
    expect(page).not_to_have_url(re.compile("whatif"))
    opened(page, place)
    expect(page.locator("h1")).to_contain_text("Simulation of")


def test_a_what_if_is_undone_step_by_step(page: Page, service: Service) -> None:
    opened(page, f"/plans/{planned(service, two_layers())['id']}")
    results, bandwidth = page.locator("#whatif-results"), page.get_by_label("Bandwidth [Gbit/s]")
    undo = page.get_by_role("button", name="Undo")
    expect(undo).to_be_disabled()
    said = [""]
    for gbps, button in (("40", "Apply to this plan"), ("40", "Plan anew"), ("80", "Plan anew")):
        bandwidth.fill(gbps)
        page.get_by_role("button", name=button).click()
        expect(results).not_to_have_text(said[-1])
        expect(page.locator("#what-if form[aria-busy]")).to_have_count(0)
        said.append(results.inner_text())
    page.get_by_role("button", name="Clear").click()
    expect(results).to_be_empty()
    said.append("")
    assert len(set(said)) == 4
    for before, gbps in zip(reversed(said[:-1]), ("80", "40", "40", ""), strict=True):
        undo.click()
        expect(results).to_have_text(before, use_inner_text=True)
        expect(bandwidth).to_have_value(gbps)
        expect(page).to_have_url(re.compile(f"gbps={gbps}&" if gbps else r"/plans/\w+$"))
    expect(undo).to_be_disabled()
    expect(heads(page).nth(1)).to_contain_text(LABELS["ddp"])


def test_what_cannot_be_is_said(page: Page, fsdp: Json) -> None:
    opened(page, f"/plans/{fsdp['id']}")
    page.get_by_label("Ops named (pattern)").fill("<b>none")
    page.get_by_role("button", name="Apply to this plan").click()
    expect(page.locator("#problems")).to_contain_text("<b>none")
    assert breaches(page) == []


def test_names_of_users_are_text(page: Page, service: Service) -> None:
    ops: list[Json] = [
        {"id": f"{HOSTILE}b", "kind": "compute", "duration_us": 100, "stream": HOSTILE},
        {
            "id": HOSTILE,
            "kind": "all_reduce",
            "bytes": 4_000_000,
            "after": [f"{HOSTILE}b"],
            "channel": HOSTILE,
        },
        {
            "id": "<b>f</b>",
            "kind": "compute",
            "duration_us": 50,
            "stream": HOSTILE,
            "after": [HOSTILE],
        },
    ]
    channel = {"workers": 4, "bandwidth_gbps": 10, "startup_us": 5}
    body = {"graph": {"name": HOSTILE, "ops": ops}, "cluster": {"channels": {HOSTILE: channel}}}
    timeline = opened(page, f"/plans/{planned(service, body)['id']}")
    expect(page.locator("h1")).to_have_text(f"Plan of {HOSTILE}")
    expect(page.locator("#tensors tbody td").first).to_have_text(HOSTILE)
    assert timeline.locator(".track-name").all_text_contents() == [HOSTILE] * 4
    timeline.focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(timeline.locator(".tip")).to_contain_text(HOSTILE)
    assert page.locator("main img").count() == 0


def test_a_program_has_its_memory_below(page: Page, service: Service) -> None:
    plan = planned(service, roomy(memory_limit_bytes=200))
    timeline = opened(page, f"/plans/{plan['id']}")
    expect(timeline.locator(".track-name", has_text="memory")).to_have_count(2)
    expect(page.locator("#summary")).to_contain_text("200 B")
    page.get_by_label("Workers", exact=True).fill("4")
    page.get_by_role("button", name="Plan anew").click()
    expect(page.locator("#whatif-results")).to_contain_text("Planned anew: 40 us")
    page.set_viewport_size({"width": 400, "height": 900})
    assert breaches(page) == []


def test_a_program_has_its_front_and_its_reasons(page: Page, service: Service) -> None:
    plan = planned(service, roomy(memory_limits_bytes=[10, 199, 200]))
    opened(page, f"/plans/{plan['id']}")
    row = unfolded(page, "reasons").get_by_role("row").filter(has_text=plan["buckets"][0]["id"])
    expect(row).to_contain_text(plan["launch_reasons"][0]["text"])
    without = next(point for point in plan["front"] if point["why_not"])
    expect(page.locator("#front")).to_contain_text(without["why_not"])
    with page.expect_download() as saved:
        page.get_by_label("Time against memory as CSV").click()
    _, *lines = saved.value.path().read_text().splitlines()
    times = [line.split(",")[1] for line in lines]
    front = sorted(plan["front"], key=lambda point: point["memory_limit_bytes"])
    assert times == ["", *(f"{point['iteration_time_us']:g}" for point in front[1:])]


def test_a_simulation_beside_another_policy(page: Page, service: Service) -> None:
    asked = two_layers()
    body = {"graph": asked["graph"], "cluster": asked["cluster"], "policy": "ddp"}
    found = planned(service, body, "/v1/simulations")
    opened(page, f"/simulations/{found['id']}")
    expect(page.locator(".summary")).to_have_text(found["summary"])
    expect(heads(page)).to_have_count(1)
    page.get_by_label("Beside it").select_option("p3")
    expect(heads(page).nth(1)).to_contain_text("P3")
    page.get_by_label("Workers", exact=True).fill("16")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("#whatif-results")).to_contain_text("Changed")
    assert breaches(page) == []


def test_it_is_taken_along(page: Page, service: Service) -> None:
    body = two_layers()
    opened(page, f"/plans/{planned(service, body)['id']}")

    def saved(name: str) -> Any:
        with page.expect_download() as waited:
            page.get_by_role("button", name=name, exact=True).click()
        return waited.value.path().read_text()

    assert json.loads(saved("Request")) == body
    assert len(json.loads(saved("Timeline for Perfetto"))["traceEvents"]) > 4
    unfolded(page, "buckets")
    assert saved("Buckets as CSV").startswith("bucket,tensors,")
    assert saved("Timeline of one iteration as CSV").startswith("run,row,op,")
    assert saved("Timeline of one iteration as SVG").startswith("<svg")
    page.get_by_label("Files for another tool").select_option("csv")
    page.get_by_role("button", name="Export", exact=True).click()
    assert saved("Save parts.csv")


def test_ten_thousand_launches(page: Page, service: Service) -> None:
    plan = planned(service, sliced(10_000))
    assert len(plan["schedule"]["parts"]) == 10_000
    timeline = opened(page, f"/plans/{plan['id']}")

    box = timeline.bounding_box()
    assert box is not None
    for _ in range(7):
        page.get_by_role("button", name="Zoom in").click()
    expect(page).to_have_url(re.compile(r"[?&]t="))
    before = page.url
    page.mouse.move(box["x"] + 600, box["y"] + 62)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 62, steps=10)
    page.mouse.up()
    expect(page).not_to_have_url(before)
    words = page.get_by_label("Find an op")
    words.fill("grad:499")
    words.press("Enter")
    expect(page.locator(".timeline-tools [role=status]")).to_have_text(re.compile("^1 of 20 bars"))
    expect(timeline.locator(".tip")).to_be_hidden()
    timeline.focus()
    page.keyboard.press("ArrowRight")
    expect(timeline.locator(".tip")).to_contain_text("grad:")


def test_an_address_that_names_nothing_known_still_shows_a_timeline(page: Page, fsdp: Json) -> None:
    timeline = opened(page, f"/plans/{fsdp['id']}?beside=nobody&t=.~.")
    expect(page.locator("#problems")).to_contain_text("beside")
    expect(page.locator("#beside")).to_have_value("none")
    timeline.focus()
    page.keyboard.press("+")
    expect(page).to_have_url(re.compile(r"[?&]t=\d"))


def test_a_robust_plan_says_what_it_takes_where_costs_are_off(page: Page, service: Service) -> None:
    body = service.client.get("/v1/examples/two_layers").json()
    plan = planned(service, body | {"options": {"robust": "p95"}})
    page.goto(f"/plans/{plan['id']}")
    tables = page.locator("#doubts table")
    expect(tables).to_have_count(2)
    off, draws = tables.all()
    expect(off.locator("tbody tr")).to_have_count(len(plan["off_calibration"]))
    expect(off).to_contain_text(plan["off_calibration"][0]["name"])
    expect(draws.locator("tbody tr")).to_have_count(2 + len(plan["robust"]["rivals"]))
    assert breaches(page) == []
