"""Predictions: scaling by workers, and throughput of parameter servers."""

import re

import pytest
from playwright.sync_api import Page, expect

from app.routers.parameter_servers import EXAMPLE
from app.services.examples import TWO_LAYERS
from tests.app.service import Json, Service
from tests.pages.accessible import breaches
from tests.pages.downloads import rows_of, saved
from tests.pages.hostile import HOSTILE

ASKED = "/predictions/scaling?example=two_layers&workers=2,16,4&bandwidths=10,100"


def predicted(service: Service, gbps: float) -> Json:
    body = {
        "graph": TWO_LAYERS["graph"],
        "cluster": TWO_LAYERS["cluster"] | {"bandwidth_gbps": gbps},
        "workers": [2, 4, 16],
    }
    answer = service.client.post("/v1/predictions/scaling", json=body)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


def test_a_link_predicts_and_draws(page: Page, service: Service) -> None:
    page.goto(ASKED)
    plot = page.locator("#curves .js-plotly-plot")
    expect(plot.locator(".legendtext", has_text="bound")).to_be_visible()
    names = plot.locator(".legendtext").all_text_contents()
    assert {"plan", "ddp", "horovod", "mg_wfbp", "ada_fusion", "bound", "ideal"} <= set(names)
    expect(page.locator("#figures tbody tr")).to_have_count(6)
    page.get_by_label("Bandwidth", exact=True).select_option("100")
    page.get_by_label("Draw").select_option("speed")
    page.reload()
    expect(page.get_by_label("Draw")).to_have_value("speed")
    rows = rows_of(saved(page, page.get_by_label("Scaling by workers as CSV")))
    expected = predicted(service, 100)["rows"]
    plan = {int(row["workers"]): float(row["speed"]) for row in rows if row["line"] == "plan"}
    assert plan == pytest.approx({row["workers"]: row["workers"] * row["plan"] for row in expected})
    ideal = [float(row["speed"]) for row in rows if row["line"] == "ideal"]
    assert ideal == [2, 4, 16]


def test_the_form_predicts_and_its_address_does_it_again(page: Page) -> None:
    page.goto("/predictions/scaling")
    page.get_by_label("Graph").select_option("example:two_layers")
    page.get_by_label("Workers", exact=True).fill("2, 8")
    page.get_by_label("Bandwidths [Gbit/s]").fill("1")
    page.get_by_label("Start-up [us]").fill("5")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#figures tbody tr")).to_have_count(2)
    lead = page.locator("#notes .lead")
    expect(lead).to_contain_text("With 8 workers and 1 Gbit/s")
    said = lead.inner_text()
    page.goto(page.url)
    expect(lead).to_have_text(said)
    page.get_by_role("checkbox", name="ddp").uncheck()
    expect(page.locator("#curves .legendtext", has_text=re.compile("^ddp$"))).to_have_count(0)


def test_a_stored_graph_and_a_plan_scale_too(page: Page, service: Service) -> None:
    plan = service.post(TWO_LAYERS).json()
    page.goto(f"/predictions/scaling?plan={plan['id']}&workers=2,4")
    expect(page.locator("#figures tbody tr")).to_have_count(2)
    row = predicted(service, 10)["rows"][0]
    expect(page.locator("#figures tbody tr").first).to_contain_text(f"{100 * row['plan']:.1f} %")


def test_a_cost_model_is_scaled_only_when_asked(page: Page, service: Service) -> None:
    line = {"algorithm": "linear", "workers": 4, "constant_us": 50, "us_per_byte": 0.001}
    made = service.client.post("/v1/cost-models", json={"name": HOSTILE, "model": line}).json()
    page.goto(f"/predictions/scaling?example=two_layers&workers=4,8&cost_model={made['id']}")
    expect(page.locator("#problems .problem")).to_contain_text("/cluster")
    assert page.locator("img[src=x]").count() == 0
    page.get_by_role("checkbox", name="Scale it to other workers").check()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#figures tbody tr")).to_have_count(2)
    expect(page.locator("#notes .note").first).to_be_visible()
    expect(page.locator("#problems .problem")).to_have_count(0)


def test_what_is_no_number_is_said(page: Page) -> None:
    page.goto("/predictions/scaling?example=two_layers&workers=2,many")
    expect(page.locator("#problems")).to_contain_text("Workers: whole numbers above 0")
    assert breaches(page) == []


@pytest.fixture(scope="module")
def servers(service: Service) -> Json:
    body = EXAMPLE | {"name": HOSTILE, "bandwidths_gbps": [1, 10], "workers": [1, 2, 4, 8]}
    answer = service.post(body | {"simulated_steps": 200}, "/v1/predictions/parameter-server")
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


def row_of(found: Json, workers: int, gbps: float) -> Json:
    return next(
        row for row in found["rows"] if (row["workers"], row["bandwidth_gbps"]) == (workers, gbps)
    )


def test_throughput_has_intervals_bounds_and_knees(page: Page, servers: Json) -> None:
    page.goto(f"/predictions/parameter-server/{servers['id']}")
    plot = page.locator("#throughput .js-plotly-plot")
    expect(plot.locator(".legendtext", has_text="bound, 10 Gbit/s")).to_be_visible()
    names = plot.locator(".legendtext").all_text_contents()
    assert names[:2] == ["1 Gbit/s", "10 Gbit/s"]
    assert {"ceiling, 1 Gbit/s", "knee"} <= set(names)
    expect(plot.locator(".errorbar")).to_have_count(8)
    assert page.locator("img[src=x]").count() == 0
    page.get_by_role("checkbox", name="Lin et al.").check()
    page.get_by_role("checkbox", name="bound").uncheck()
    page.reload()
    expect(plot.locator(".legendtext", has_text="Lin et al., 1 Gbit/s")).to_be_visible()
    rows = rows_of(saved(page, page.get_by_label(re.compile("Throughput by workers.* as CSV"))))
    lin = {
        int(row["workers"]): float(row["examples_per_s"])
        for row in rows
        if row["line"] == "Lin et al., 10 Gbit/s"
    }
    assert lin[4] == row_of(servers, 4, 10)["lin_examples_per_s"]
    assert not any(row["line"].startswith("bound") for row in rows)


def test_a_row_says_what_limits_it(page: Page, servers: Json) -> None:
    page.goto(f"/predictions/parameter-server/{servers['id']}")
    expect(page.locator("#faster .js-plotly-plot")).to_be_visible()
    page.locator("#rows tbody tr").nth(2).focus()
    page.keyboard.press("Enter")
    row = servers["rows"][2]
    assert (row["workers"], row["limited_by"]) == (4, "links")
    expect(page.locator("#row-words")).to_contain_text("With 4 workers at 1 Gbit/s the links limit")
    page.reload()
    expect(page.locator("#row-words")).to_contain_text("With 4 workers at 1 Gbit/s")
    expect(page.locator("#rows tr[aria-selected=true]")).to_have_count(1)
    page.locator("#row-controls").get_by_label("Workers", exact=True).select_option("8")
    expect(page.locator("#row-words")).to_contain_text("With 8 workers at 1 Gbit/s")
    use = rows_of(saved(page, page.get_by_label("How much each resource is used as CSV")))
    assert [float(each["share"]) for each in use] == [
        each["share"] for each in row_of(servers, 8, 1)["utilisation"]
    ]
    trace = saved(page, page.get_by_role("button", name="Timeline of this row"))
    assert '"traceEvents"' in trace


def test_a_prediction_is_followed_until_it_is_there(page: Page, service: Service) -> None:
    body = EXAMPLE | {"simulated_steps": 100_000, "seed": 7}
    begun = service.client.post(
        "/v1/predictions/parameter-server", json=body, headers={"prefer": "wait=0"}
    )
    page.goto(f"/predictions/parameter-server/{begun.json()['id']}")
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".outcome")).to_contain_text("cancelled")
    assert breaches(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_they_are_accessible(page: Page, servers: Json, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    for path in (f"/predictions/parameter-server/{servers['id']}", ASKED):
        page.goto(path)
        expect(page.locator("tbody tr").first).to_be_visible()
        assert breaches(page) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
