"""The page of shapes: an example, the best, another one chosen, and a link to it."""

import re

from playwright.sync_api import Page, expect

from app.routers.shapes import EXAMPLE
from docs.generate.screenshots import linked
from tests.app.service import Service
from tests.app.test_shapes import MANY_SHAPES
from tests.pages.accessible import breaches, everywhere


def test_the_best_shape_and_another_one(page: Page, service: Service) -> None:
    page.goto("/shapes")
    expect(page.get_by_label("Model")).to_have_value("llama3-8b")
    page.get_by_label("GPUs", exact=True).fill("8")
    page.get_by_role("button", name="Rank the shapes").click()
    figures = page.locator("#answer .figure .value")
    expect(figures.first).to_be_visible()
    body = {**EXAMPLE, "gpus": 8, "launch": "megatron"}
    told = service.client.post("/v1/shapes", json=body).json()
    expect(figures.first).to_have_text(told["best"][0]["name"])
    expect(page.locator("#answer .summary")).to_contain_text(f"{told['shapes']} shapes looked at")
    expect(page.locator("#front .plot .main-svg").first).to_be_visible()
    inside = page.locator("#chosen .inside")
    expect(inside).to_contain_text(told["best"][0]["plan"]["headline"]["sentence"])
    expect(inside).to_contain_text("No schedule below")
    head = page.locator("#timeline .track-head")
    expect(head).to_contain_text(told["best"][0]["name"])
    assert everywhere(page) == []
    second = told["best"][1]["name"]
    row = page.locator("#ranked tbody tr").nth(1)
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen h2")).to_have_text(second)
    expect(inside).to_have_count(0)
    expect(page.locator("#chosen pre")).to_contain_text("--global-batch-size 64")
    expect(head).to_contain_text(second)
    link = page.url
    assert "shape=" in link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#chosen h2")).to_have_text(second)


def test_a_ranking_says_how_far_it_is_and_keeps_what_it_has(page: Page, service: Service) -> None:
    page.goto(linked("/shapes", MANY_SHAPES))
    job = page.locator(".job")
    expect(job).to_contain_text(re.compile(r"Best shape\s*\w+.*dp\d+"))
    expect(job).to_contain_text(re.compile(r"Done\s*[\d,]+ shapes"))
    expect(job.locator("progress")).to_be_visible()
    assert breaches(page) == []
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".outcome")).to_contain_text("This was cancelled. It shows the best")
    best = page.locator("#answer .figure .value").first
    expect(best).to_be_visible()
    [made] = service.client.get("/v1/shapes/rankings", params={"limit": 1}).json()["rankings"]
    expect(best).to_have_text(made["shape"])
    expect(page.locator("#doubts")).to_contain_text("Stopped ")
    page.goto(f"/shapes/rankings/{made['id']}")  # it is kept, and shown as it ended
    expect(page.locator(".outcome")).to_contain_text("cancelled")
    expect(best).to_have_text(made["shape"])
    page.goto("/")
    row = page.locator(f"[data-id='{made['id']}']")
    expect(row).to_contain_text("llama3-70b on 1,024 GPUs")
    expect(row).to_contain_text(made["shape"])


def test_measured_steps_that_speak_for_another_shape_than_the_simulation(
    page: Page, service: Service
) -> None:
    steps = {1: 9e6, 2: 8e6, 4: 5e6, 8: 4.9e6}
    rows = [
        {
            "shape": {"tp": tp, "dp": 16 // tp, "micro_batches": 4 * tp, "sharding": "parameters"},
            "time_us": us,
        }
        for tp, us in steps.items()
    ]
    body = {**EXAMPLE, "pp": [1], "rows": rows, "planned": 0, "count": 6}
    told = service.client.post("/v1/shapes", json=body).json()
    named = [*told["best"], *told["front"]]
    likeliest = min(named, key=lambda row: row["predicted_us"])
    best = told["best"][0]
    assert likeliest["predicted_us"] < told["lower_bound_us"] < best["predicted_us"]
    page.goto(linked("/shapes", body))
    answer = page.locator("#answer")
    expect(answer).to_contain_text(f"By the measured steps {likeliest['name']} may be faster")
    expect(answer).to_contain_text("no simulated step is shorter than")
    expect(answer).to_contain_text("as simulated")
    expect(answer).not_to_contain_text("no shape is faster")
    row = page.locator("#ranked tbody tr").filter(has_text=likeliest["name"]).first
    below = 100 * (likeliest["predicted_us"] / best["predicted_us"] - 1)
    expect(row.get_by_text(f"{below:.1f} %", exact=True)).to_be_visible()
    expect(page.locator("#ranked")).not_to_contain_text("+-")
    assert _drawn(page, 0) == [
        [each["time_us"] / 1e3, each["memory_bytes"] / 2**30]
        for each in sorted(told["front"], key=lambda each: each["time_us"])
    ]
    expect(page.locator("#front .plot .g-ytitle")).to_have_text("memory [GiB]")
    expect(page.locator("#front .plot .g-xtitle")).to_have_text("simulated step [ms]")
    memory = f"{best['memory_bytes'] / 2**30:.2f} GiB"
    expect(answer).to_contain_text(memory)
    expect(page.locator("#ranked tbody tr").first).to_contain_text(memory)
    expect(page.locator("#chosen")).to_contain_text(memory)
    assert everywhere(page) == []


def _drawn(page: Page, trace: int) -> list[list[float]]:
    """Return the points of a line of the chart of time and memory."""
    points = page.locator("#front .js-plotly-plot").evaluate(
        "(plot, i) => Array.from(plot.data[i].x, (x, at) => [x, plot.data[i].y[at]])", trace
    )
    return [[float(x), float(y)] for x, y in points]


def test_figures_that_were_stated_are_not_said_to_be_measured(page: Page) -> None:
    page.goto(linked("/shapes", {**EXAMPLE, "efficiencies": {"matmul": 0.6}, "planned": 0}))
    page.get_by_text("Figures taken of the machine", exact=True).click()
    figures = page.locator("#doubts tbody tr")
    expect(figures.filter(has_text="matmul")).to_contain_text("the request")
    expect(figures.filter(has_text="memory")).to_contain_text("assumed")
    expect(page.locator("#doubts table")).not_to_contain_text("measured steps")
    expect(page.locator("#answer")).to_contain_text("by simulation alone")


def test_where_no_shape_fits_it_says_why(page: Page) -> None:
    page.goto(linked("/shapes", {**EXAMPLE, "model": "llama3-405b"}))
    expect(page.locator("#work .note").first).to_contain_text("No shape of the space fits")
    expect(page.locator("#content")).to_be_hidden()


def test_a_pipeline_is_drawn_by_rank_and_one_of_too_many_passes_says_so(page: Page) -> None:
    base = {**EXAMPLE, "tp": [1], "pp": [4], "schedules": ["1f1b"], "count": 1}
    page.goto(linked("/shapes", base))
    tracks = page.locator("#timeline .track-name")
    expect(tracks.first).to_contain_text("0/compute")
    expect(tracks.filter(has_text="0-1")).to_have_count(1)
    page.goto("about:blank")
    page.goto(linked("/shapes", {**base, "global_batch": 65536, "micro_batch": [1]}))
    expect(page.locator("#timeline .note")).to_contain_text("passes are drawn")


def test_faults_stand_where_they_are(page: Page) -> None:
    page.goto("/shapes")
    expect(page.get_by_label("Model")).to_have_value("llama3-8b")
    page.get_by_label("Global batch").fill("0")
    page.get_by_role("button", name="Rank the shapes").click()
    expect(page.locator("[data-pointer='/global_batch'] .fault")).to_be_visible()
    expect(page.locator("#content")).to_be_hidden()
    page.get_by_text("The request as JSON").click()
    page.get_by_label(re.compile("Body of POST")).fill("{")
    page.get_by_role("button", name="Rank the shapes").click()
    expect(page.locator("#form .fault")).to_contain_text("This is no JSON")
