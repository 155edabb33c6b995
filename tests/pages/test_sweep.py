"""A sweep: its map, its lines, its cells, and what a cell opens."""

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from app.services.examples import TWO_LAYERS
from tests.app.service import Json, Service
from tests.pages.accessible import breaches
from tests.pages.downloads import rows_of, saved
from tests.pages.ended import ended
from tests.pages.hostile import HOSTILE

HOROVOD = "horovod:cycle_time_us=5000"
BODY: Json = {
    "graph": TWO_LAYERS["graph"] | {"name": HOSTILE},
    "cluster": TWO_LAYERS["cluster"],
    "workers": [1, 2, 8],
    "bandwidths_gbps": [1, 10, 1000],
    "startups_us": [10, 50],
    "policies": ["wfbp", {"policy": "horovod", "cycle_time_us": 5000}, "plan"],
    "time_limit_s": 1,
}


@pytest.fixture(scope="module")
def sweep(service: Service) -> Json:
    answer = service.post(BODY, "/v1/sweeps")
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


@pytest.fixture
def show(page: Page, sweep: Json) -> Callable[[str], None]:
    def go(query: str = "") -> None:
        page.goto(f"/sweeps/{sweep['id']}{query}")
        expect(page.locator("#charts .js-plotly-plot")).to_have_count(3)

    return go


def cell_of(sweep: Json, workers: int, bandwidth: float, startup: float) -> Json:
    return next(
        cell
        for cell in sweep["cells"]
        if (cell["workers"], cell["bandwidth_gbps"], cell["startup_us"])
        == (workers, bandwidth, startup)
    )


def test_the_first_screen_says_what_is_saved_and_where(
    page: Page, sweep: Json, show: Callable[[str], None]
) -> None:
    show("")
    gains = [cell["gains"][0]["gain"] for cell in sweep["cells"]]
    some = sum(gain >= 0.001 for gain in gains)
    assert 0 < some < len(gains)
    texts = page.locator("#lead .figure .value").all_inner_texts()
    assert texts[:2] == [f"{100 * max(gains):.1f} %", f"{some} of {len(gains)} clusters"]
    most = sweep["cells"][gains.index(max(gains))]
    expect(page.locator("#lead .figure.plan")).to_contain_text(f"{most['workers']} workers")
    gaps = [
        min(time for time in cell["iteration_time_us"].values() if time is not None)
        / cell["lower_bound_us"]
        - 1
        for cell in sweep["cells"]
    ]
    assert float(texts[2].split()[0]) == pytest.approx(100 * max(gaps), abs=0.005)
    for sentence in sweep["summary"]:
        expect(page.locator("#summary")).to_contain_text(sentence)


def test_the_map_names_the_best_policy_of_each_cell(
    page: Page, sweep: Json, show: Callable[[str], None]
) -> None:
    show("?startup_us=10&show=best")
    words = page.locator("#map .textpoint text").all_text_contents()
    assert len(words) == 9
    fastest = [
        cell_of(sweep, workers, gbps, 10)["fastest"]
        for gbps in (1, 10, 1000)
        for workers in (1, 2, 8)
    ]
    best = ["tie" if len(some) > 1 else some[0] for some in fastest]
    assert best[0] == "tie", "one worker sends nothing"
    expect(page.locator("#map .legendtext", has_text="tie")).to_be_visible()
    assert sorted(re.split(r"\d", word, maxsplit=1)[0] for word in words) == sorted(best)
    assert page.locator("h1").inner_text() == f"Sweep of {HOSTILE}"
    assert page.locator("img[src=x]").count() == 0
    rows = rows_of(saved(page, page.get_by_label(re.compile("Sweep of .* as CSV"))))
    assert len(rows) == 9
    first = cell_of(sweep, 1, 1, 10)
    assert rows[0]["policy"] == " = ".join(first["fastest"])
    assert float(rows[0]["iteration_time_us"]) == first["iteration_time_us"][first["best"]]


def test_it_opens_on_what_is_gained_over_what_you_run(
    page: Page, sweep: Json, show: Callable[[str], None]
) -> None:
    show("?startup_us=10")
    expect(page.get_by_label("Show")).to_have_value("saved")
    cells = [cell_of(sweep, workers, gbps, 10) for gbps in (1, 10, 1000) for workers in (1, 2, 8)]
    gains = [cell["gains"][0]["gain"] for cell in cells]
    words = ["tie" if abs(gain) < 0.001 else f"{100 * gain:.1f} %" for gain in gains]
    assert "tie" in words, "one worker sends nothing"
    assert len(set(words)) > 3
    assert page.locator("#map .textpoint text").all_text_contents() == words
    marked = [
        knee
        for knee in sweep["knees"]
        if knee["policy"] == "plan" and knee["startup_us"] == 10 and knee["value"] is not None
    ]
    assert marked
    expect(page.locator("#map .shapelayer path")).to_have_count(len(marked))
    expect(page.locator("#map .gtitle")).to_contain_text("knee of plan: bandwidth (line)")
    expect(page.get_by_label("Draw")).to_have_value("saved")
    page.get_by_label("At bandwidth [Gbit/s]").select_option("10")
    rows = rows_of(saved(page, page.get_by_label("By workers as CSV")))
    cell = cell_of(sweep, 8, 10, 10)
    drawn = {row["policy"]: row["saved_percent"] for row in rows if row["workers"] == "8"}
    today = cell["gains"][0]["today_us"]
    for name, us in {**cell["iteration_time_us"], "bound": cell["lower_bound_us"]}.items():
        assert float(drawn[name]) == pytest.approx(100 * (1 - us / today), abs=1e-9)


def test_what_is_shown_stands_in_the_address(
    page: Page, sweep: Json, show: Callable[[str], None]
) -> None:
    show("")
    page.get_by_label("Show").select_option("gain")
    page.get_by_label("Of", exact=True).select_option("plan")
    page.get_by_label("Over").select_option(HOROVOD)
    page.get_by_label("start-up [us]", exact=True).select_option("10")
    page.get_by_label("Draw").select_option("time")
    page.get_by_role("checkbox", name="wfbp").uncheck()
    page.reload()
    expect(page.locator("#charts .js-plotly-plot")).to_have_count(3)
    expect(page.get_by_label("Show")).to_have_value("gain")
    expect(page.get_by_label("Over")).to_have_value(HOROVOD)
    expect(page.get_by_role("checkbox", name="wfbp")).not_to_be_checked()
    times = cell_of(sweep, 8, 10, 10)["iteration_time_us"]
    text = f"{times[HOROVOD] / times['plan']:.3f}x"
    expect(page.locator("#map .textpoint text").filter(has_text=text).first).to_be_visible()
    rows = rows_of(saved(page, page.get_by_label("By workers as CSV")))
    assert {row["policy"] for row in rows} == {HOROVOD, "plan", "bound"}
    known = {(int(row["workers"]), row["policy"]): float(row["iteration_time_us"]) for row in rows}
    assert known[8, "plan"] == times["plan"]
    assert known[8, "bound"] == cell_of(sweep, 8, 10, 10)["lower_bound_us"]


def test_lines_have_their_bound_and_their_knees(
    page: Page, sweep: Json, show: Callable[[str], None]
) -> None:
    show("")
    names = page.locator("#charts > div").nth(1).locator(".legendtext").all_text_contents()
    assert names[:4] == ["wfbp", HOROVOD, "plan", "bound"]
    known = [knee for knee in sweep["knees"] if knee["value"] is not None]
    assert known, "with one worker nothing is gained by bandwidth"
    page.get_by_label("At workers").select_option("1")
    expect(
        page.locator("#charts > div").nth(1).locator(".legendtext", has_text="knee")
    ).to_be_visible()
    page.locator("#knees summary").click()
    expect(page.locator("#knees li")).to_have_count(len(sweep["knees"]))


def test_a_click_on_a_cell_opens_its_simulation(
    page: Page, service: Service, sweep: Json, show: Callable[[str], None]
) -> None:
    show(f"?show=time&of={quote(HOROVOD)}")
    cells = page.locator("#map .nsewdrag")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box is not None
    cells.click(position={"x": box["width"] * 5 / 6, "y": box["height"] / 2})
    page.wait_for_url(re.compile(r"/simulations/\w+$"))
    made = page.url.rsplit("/", 1)[1]
    found = ended(service, f"/v1/simulations/{made}")
    time = cell_of(sweep, 8, 10, 50)["iteration_time_us"][HOROVOD]
    assert found["iteration_time_us"] == pytest.approx(time)
    assert found["policy"]["parameters"]["cycle_time_us"] == 5000


def test_enter_on_a_row_opens_its_plan(
    page: Page, service: Service, sweep: Json, show: Callable[[str], None]
) -> None:
    show("?show=time&of=plan")
    row = page.locator("#cells tbody tr").last
    row.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/plans/\w+$"))
    made = page.url.rsplit("/", 1)[1]
    found = ended(service, f"/v1/plans/{made}")
    cell = sweep["cells"][-1]
    assert found["iteration_time_us"] == pytest.approx(cell["iteration_time_us"]["plan"])
    assert [each["policy"] for each in found["baselines"]] == ["wfbp", "horovod"]


def test_the_table_of_the_service_is_saved(
    page: Page, sweep: Json, show: Callable[[str], None]
) -> None:
    show("")
    rows = rows_of(saved(page, page.get_by_role("button", name="CSV of all cells")))
    assert len(rows) == len(sweep["cells"]) * 3
    drawn = saved(page, page.get_by_label("By workers as SVG"))
    assert drawn.startswith("<svg")
    assert "wfbp" in drawn


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_is_accessible(page: Page, show: Callable[[str], None], theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    show("")
    assert breaches(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_a_sweep_of_measured_costs_has_no_bandwidth(page: Page, service: Service) -> None:
    line = {"algorithm": "linear", "workers": 4, "constant_us": 50, "us_per_byte": 0.001}
    cluster = {"workers": 4, "cost_model": line}
    body = {"graph": BODY["graph"], "cluster": cluster, "startups_us": [0, 100]}
    made = service.post(body | {"policies": ["wfbp", "ddp"]}, "/v1/sweeps").json()
    page.goto(f"/sweeps/{made['id']}")
    expect(page.locator("#charts .js-plotly-plot")).to_have_count(1)
    expect(page.locator("#map .textpoint text")).to_have_count(2)
    page.locator("#cells tbody tr").first.click()
    page.wait_for_url(re.compile(r"/simulations/\w+$"))


def test_no_such_sweep(page: Page) -> None:
    page.goto("/sweeps/0123456789abcdef")
    expect(page.locator("#problems")).to_contain_text("No sweep has this id.")
