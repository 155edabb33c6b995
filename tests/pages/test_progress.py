"""A job that runs: followed, cancelled, and shown as it ended."""

import re

from playwright.sync_api import Page, expect

from tests.app.long import search, sweep
from tests.app.service import Json, Service
from tests.pages.accessible import breaches

NO_WAIT = {"prefer": "wait=0"}


def begun(service: Service, body: Json) -> str:
    answer = service.client.post("/v1/plans", json=body, headers=NO_WAIT)
    job_id: str = answer.json()["id"]
    return job_id


def test_a_plan_is_followed_and_cancelled(page: Page, service: Service) -> None:
    job_id = begun(service, search())
    page.goto(f"/plans/{job_id}")
    expect(page.locator(".job")).to_contain_text("Best plan")
    expect(page.locator(".job")).to_contain_text("Lower bound")
    expect(page.locator(".job .js-plotly-plot .scatterlayer .trace")).to_have_count(2)
    assert breaches(page) == []
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".outcome")).to_contain_text("cancelled")
    expect(page.locator(".job")).to_have_count(0)
    assert service.client.get(f"/v1/plans/{job_id}").json()["state"] == "cancelled"
    assert page.url.endswith(f"/plans/{job_id}"), "no other page was needed"


def test_a_job_that_ends_becomes_its_page(page: Page, service: Service) -> None:
    job_id = begun(service, search(400))
    page.goto(f"/plans/{job_id}")
    expect(page.locator(".summary")).to_contain_text(re.compile(r"\d"))
    expect(page.locator(".job")).to_have_count(0)


def test_a_failed_job_says_why(page: Page, service: Service) -> None:
    wrong = {"what_if": [{"match": "<b>none", "remove": True}]}
    job_id = begun(service, search(40, **wrong))
    page.goto(f"/plans/{job_id}")
    expect(page.locator(".outcome .badge")).to_have_text("failed")
    expect(page.locator(".outcome")).to_contain_text("<b>none")
    assert breaches(page) == []


def test_a_cancelled_sweep_shows_the_cells_that_are_done(page: Page, service: Service) -> None:
    body = sweep(service)
    job_id = service.client.post("/v1/sweeps", json=body, headers=NO_WAIT).json()["id"]
    page.goto(f"/sweeps/{job_id}")
    expect(page.locator(".job")).to_contain_text(re.compile(r"Done\s*[1-9]"))
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".outcome")).to_contain_text("cancelled")
    expect(page.locator("#summary")).to_contain_text(re.compile(r"Cells\s*\d+ of \d+"))
    assert breaches(page) == []


def test_a_sweep_whose_time_is_over_says_so(page: Page, service: Service) -> None:
    asked = service.client.post("/v1/sweeps", json=sweep(service, sweep_limit_s=0.001))
    assert asked.json()["code"] == "time_limit"
    page.goto(asked.headers["location"].removeprefix("/v1"))
    expect(page.locator(".outcome .badge")).to_have_text("stopped by its time limit")
    assert breaches(page) == []


def test_no_such_plan(page: Page) -> None:
    page.goto("/plans/0123456789abcdef")
    expect(page.locator("#problems")).to_contain_text("No plan has this id.")
