"""A run's page: predicted and measured, plans in use, trials."""

from playwright.sync_api import Page, expect

from app.routers.runs import EXAMPLE, PLAN, TRIAL_EXAMPLE
from tests.app.service import Service
from tests.pages.accessible import breaches
from tests.pages.downloads import rows_of, saved


def test_a_run_from_the_list(page: Page, service: Service) -> None:
    run = service.client.post("/v1/runs", json=EXAMPLE).json()
    place = f"/v1/runs/{run['id']}"

    def tell(what: str, body: object) -> None:
        answer = service.client.post(f"{place}/{what}", json=body)
        assert answer.is_success, answer.text

    tell("steps", {"steps": [{"step": n, "measured_us": 8_750, "plan": 0} for n in range(3)]})
    tell("plans", {"from_step": 3, "why": "drift", "plan": PLAN, "predicted_us": 10_000})
    tell("steps", {"steps": [{"step": n, "measured_us": 12_500, "plan": 1} for n in (3, 4)]})
    tell("trials", TRIAL_EXAMPLE)
    page.goto("/runs")
    page.get_by_role("link", name=EXAMPLE["name"]).first.click()
    figures = page.locator("#answer .figure .value")
    expect(figures).to_have_text(["12.5 ms", "10 ms", "20.0 %"])
    expect(page.locator("#answer .summary")).to_contain_text("25.0 % more than the plan in use")
    expect(page.locator("#plans tbody tr")).to_have_count(2)
    expect(page.locator("#trials tbody tr")).to_contain_text("1.035x (1.020x to 1.040x)")
    expect(page.locator("#steps .plot .main-svg").first).to_be_visible()
    for said in ("another plan", "after a trial"):
        expect(page.locator("#steps .legendtext", has_text=said)).to_have_count(2)
    words = page.locator("#steps .annotation-text")
    assert sorted(set(words.all_text_contents())) == [
        "plan 1: drift",
        f"trial: {TRIAL_EXAMPLE['arms'][TRIAL_EXAMPLE['kept']]['name']} kept",
    ]
    drift = rows_of(saved(page, page.get_by_label("Drift: measured over predicted as CSV")))
    assert [float(row["off"]) for row in drift] == [0.0] * 3 + [0.25] * 2
    assert [row["lasting"] for row in drift] == [row["off"] for row in drift], "of its own plan"
    with page.expect_download() as measured:
        page.get_by_label("Steps, predicted and measured as CSV").click()
    assert len(measured.value.path().read_text().splitlines()) == 6
    assert breaches(page) == []
