"""The home page: an example at one click, the list of jobs, and how it follows them."""

import re

from playwright.sync_api import Page, expect

from tests.app.long import highs, search
from tests.app.service import Json, Service, two_layers
from tests.pages.accessible import breaches, everywhere
from tests.pages.hostile import HOSTILE


def begun(service: Service, body: Json, tag: str) -> str:
    answer = service.client.post(
        "/v1/plans", json=body, params={"tag": tag, "wait": 0}, headers={"cache-control": ""}
    )
    job_id: str = answer.json()["id"]
    return job_id


def row(page: Page, job_id: str) -> str:
    return f'tr[data-id="{job_id}"]'


def named(name: str) -> Json:
    body = two_layers()
    body["graph"] = {**body["graph"], "name": name}
    return body


def test_an_example_is_a_plan_at_one_click(page: Page, service: Service) -> None:
    page.goto("/")
    names = [each["name"] for each in service.client.get("/v1/examples").json()["examples"]]
    expect(page.locator("[data-example]")).to_have_count(len(names))
    assert everywhere(page) == []
    page.locator('[data-example="two_layers"]').click()
    page.wait_for_url(re.compile(r"/plans/\w+$"))
    job_id = page.url.rpartition("/")[2]
    page.goto("/")
    line = page.locator(row(page, job_id))
    expect(line).to_contain_text("two layers")
    expect(line).to_contain_text("8.4 ms")
    expect(line).to_contain_text("0.00 %")
    expect(line).to_contain_text("done")
    expect(line).to_contain_text("proven optimal")


def test_jobs_are_filtered_and_paged_in_the_address(page: Page, service: Service) -> None:
    tag = "filters"
    ids = [begun(service, named(f"model {i}"), tag) for i in range(22)]
    hostile = begun(service, named(HOSTILE), tag)
    page.goto(f"/?tag={tag}")
    expect(page.locator(".jobs tbody tr")).to_have_count(20)
    expect(page.locator(row(page, hostile))).to_contain_text(HOSTILE)
    assert page.locator("img[src=x]").count() == 0
    page.get_by_role("button", name="Older", exact=True).click()
    expect(page.locator(row(page, ids[0]))).to_be_visible()
    expect(page.locator(".jobs tbody tr")).to_have_count(3)
    assert "cursor=" in page.url
    page.get_by_role("button", name="Newer").click()
    expect(page.locator(row(page, hostile))).to_be_visible()
    page.get_by_label("Name", exact=True).and_(page.locator("[type=search]")).fill("MODEL 7")
    expect(page.locator(".jobs tbody tr")).to_have_count(1)
    expect(page.locator(row(page, ids[7]))).to_be_visible()
    page.reload()
    expect(page.locator(row(page, ids[7]))).to_be_visible()
    expect(page.locator(".jobs tbody tr")).to_have_count(1)
    page.get_by_label("Kind", exact=True).select_option("sweep")
    expect(page.locator(".empty")).to_contain_text("No job is like that.")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator(".jobs tbody tr")).to_have_count(20)
    assert "kind=" not in page.url
    assert everywhere(page) == []


def test_a_job_is_seen_to_run_and_is_cancelled_and_deleted(page: Page, service: Service) -> None:
    page.goto("/?tag=live")
    expect(page.locator(".empty")).to_be_visible()
    job_id = begun(service, search(), "live")
    line = page.locator(row(page, job_id))
    expect(line).to_contain_text("so far")
    expect(line).to_contain_text("running")
    assert breaches(page) == []
    line.get_by_role("button", name="Cancel").click()
    expect(line).to_contain_text("cancelled")
    expect(line.get_by_role("button", name="Cancel")).to_have_count(0)
    assert service.client.get(f"/v1/plans/{job_id}").json()["state"] == "cancelled"
    page.once("dialog", lambda dialog: dialog.accept())
    line.get_by_role("button", name="Delete").click()
    expect(line).to_have_count(0)
    assert service.client.get(f"/v1/plans/{job_id}").status_code == 404


def test_the_end_of_a_job_is_seen(page: Page, service: Service) -> None:
    job_id = begun(service, highs(), "end")
    page.goto("/?tag=end")
    line = page.locator(row(page, job_id))
    expect(line).to_contain_text("running")
    line.get_by_role("link").focus()
    service.client.post(f"/v1/plans/{job_id}/cancel")
    expect(line).to_contain_text("cancelled")
    expect(line.get_by_role("link")).to_be_focused()
    expect(page.locator("#said")).to_contain_text("cancelled")


def test_a_cost_model_is_fitted_to_a_benchmark(page: Page, service: Service) -> None:
    page.goto("/")
    page.get_by_text("Fit one to a benchmark").click()
    page.get_by_role("button", name="Fit", exact=True).click()
    expect(page.locator("#cost-models .fault")).to_contain_text("Choose what the benchmark printed")
    lines = ["size(B),time(us)", *(f"{2**i},{20 + 2**i / 1000}" for i in range(10, 20))]
    file = {"name": "our rack.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()}
    page.get_by_label("Output of nccl-tests").set_input_files(file)  # type: ignore[arg-type]
    page.get_by_role("button", name="Fit", exact=True).click()
    page.wait_for_url(re.compile(r"/cost-models/\w+$"))
    model_id = page.url.rpartition("/")[2]
    place = f"/v1/cost-models/{model_id}"
    assert service.client.get(place).json()["name"] == "our rack"
    page.goto("/")
    link = page.locator("#cost-models").get_by_role("link", name="our rack")
    expect(link).to_be_visible()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete cost model our rack").click()
    expect(link).to_have_count(0)
    assert service.client.get(place).status_code == 404
