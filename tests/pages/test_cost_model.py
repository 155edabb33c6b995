"""A cost model: what was measured, its fits, their errors, and the form that fits one."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.app.service import Json, Service
from tests.pages.accessible import breaches
from tests.pages.downloads import rows_of, saved
from tests.pages.hostile import HOSTILE

#: Near T = 50 + 0.001 n, twice at each size.
SAMPLES = [
    [4**k, (50 + 0.001 * 4**k) * factor] for k in range(4, 13) for factor in (0.9 + 0.03 * k, 1.1)
]


def made(service: Service, **body: object) -> Json:
    answer = service.client.post("/v1/cost-models", json=body)
    assert answer.status_code == 201, answer.text
    found: Json = answer.json()
    return found


@pytest.fixture(scope="module")
def model(service: Service) -> Json:
    return made(service, name=HOSTILE, samples=SAMPLES, workers=8)


def test_points_fits_and_what_was_not_measured(page: Page, service: Service, model: Json) -> None:
    page.goto(f"/cost-models/{model['id']}")
    curves = page.locator("#curves .js-plotly-plot")
    expect(curves.locator(".legendtext")).to_have_count(4)
    used = model["fits"][0]["algorithm"]
    names = curves.locator(".legendtext").all_text_contents()
    assert names[0] == f"{used} (used)"
    assert names[-1] == "measured"
    assert set(names[1:-1]) == {"linear", "piecewise", "table"} - {used}
    expect(curves.locator(".scatterlayer .point")).to_have_count(9)
    expect(curves.locator(".shapelayer path")).to_have_count(2)
    expect(page.locator("#summary")).to_contain_text(f"the fit {used}")
    assert page.locator("h1").inner_text() == f"Cost model {HOSTILE}"
    assert page.locator("img[src=x]").count() == 0

    drawn = service.client.get(f"/v1/cost-models/{model['id']}/curves").json()["kinds"][0]
    rows = rows_of(saved(page, page.get_by_label(re.compile("Time of a launch.* as CSV"))))
    measured = [row for row in rows if row["what"] == "measured"]
    assert [float(row["time_us"]) for row in measured] == [
        size["mean_us"] for size in drawn["measured"]
    ]
    errors = rows_of(saved(page, page.get_by_label(re.compile("Error by size.* as CSV"))))
    assert [float(row["relative_error"]) for row in errors if row["fit"] == used] == (
        drawn["curves"][0]["residuals"]
    )


def test_errors_are_listed_by_size(page: Page, model: Json) -> None:
    page.goto(f"/cost-models/{model['id']}")
    expect(page.locator("#fits tbody tr")).to_have_count(3)
    expect(page.locator("#fits tbody tr").first).to_contain_text("yes")
    decades = sum(len(fit["errors"]["decades"]) for fit in model["fits"])
    expect(page.locator("#decades tbody tr")).to_have_count(decades)


def test_collective_and_fits_stand_in_the_address(page: Page, service: Service) -> None:
    tables = {"all_gather": [[1_000, 10.0], [8_000, 80.0]]}
    body = {"algorithm": "table", "table": [[500, 9.0], [4_000, 90.0]], "tables": tables}
    page.goto(f"/cost-models/{made(service, model=body)['id']}")
    page.get_by_label("Collective").select_option("all_gather")
    page.reload()
    expect(page.get_by_label("Collective")).to_have_value("all_gather")
    expect(page.locator("#curves .shapelayer path")).to_have_count(2)
    rows = rows_of(saved(page, page.get_by_label(re.compile("Time of a launch.* as CSV"))))
    assert {row["kind"] for row in rows} == {"all_gather"}
    assert ("8000", "80") in {(row["bytes"], row["time_us"]) for row in rows}
    expect(page.locator("#errors")).to_be_hidden()


def test_a_fit_that_is_hidden_stays_so(page: Page, model: Json) -> None:
    page.goto(f"/cost-models/{model['id']}")
    page.get_by_role("checkbox", name="table").uncheck()
    expect(page.locator("#curves .legendtext")).to_have_count(3)
    page.reload()
    expect(page.locator("#curves .legendtext")).to_have_count(3)
    expect(page.get_by_role("checkbox", name="table")).not_to_be_checked()


def test_files_become_a_cost_model(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "measured.csv"
    file.write_text("size(B),time(us)\n" + "\n".join(f"{n},{t}" for n, t in SAMPLES))
    page.goto("/cost-models/new")
    page.get_by_label("Files").set_input_files(file)
    page.get_by_label("Name").fill("uploaded")
    page.get_by_label("Workers", exact=True).fill("16")
    page.get_by_label("Fit", exact=True).select_option("linear")
    page.get_by_role("button", name="Fit").click()
    page.wait_for_url(re.compile(r"/cost-models/[0-9a-f]+$"))
    expect(page.locator("h1")).to_have_text("Cost model uploaded")
    expect(page.locator("#summary")).to_contain_text("the fit linear")
    expect(page.locator("#curves .scatterlayer .point")).to_have_count(9)


def test_a_file_that_is_no_benchmark_is_refused(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "nothing.txt"
    file.write_text("nothing of the kind\n")
    page.goto("/cost-models/new")
    page.get_by_label("Files").set_input_files(file)
    page.get_by_role("button", name="Fit").click()
    expect(page.locator("#problems .problem")).to_contain_text("/texts/0")
    assert breaches(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_it_is_accessible(page: Page, model: Json, theme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    page.goto(f"/cost-models/{model['id']}")
    expect(page.locator("#decades tbody tr").first).to_be_visible()
    assert breaches(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_no_such_cost_model(page: Page) -> None:
    page.goto("/cost-models/0123456789abcdef")
    expect(page.locator("#problems")).to_contain_text("No cost model has this id.")
