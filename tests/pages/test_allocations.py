"""The page of node sets: the best, another one's effect on the jobs that run, a link to it."""

from playwright.sync_api import Page, expect

from tests.pages.accessible import everywhere


def test_what_a_node_set_makes_of_the_job_that_runs(page: Page) -> None:
    page.goto("/allocations")
    page.get_by_role("button", name="Load the example").click()
    expect(page.locator("#answer .figure .value").first).to_have_text("gpu1, gpu2, gpu3, gpu6")
    expect(page.locator("#chosen")).to_contain_text("leaf1>spine with vision")
    expect(page.locator("#chosen .plot .main-svg").first).to_be_visible()
    drawing = page.locator("#cluster .cluster-map")
    expect(drawing.locator(".node.new")).to_have_count(4)
    expect(drawing).to_contain_text("leaf1, to spine: 32 % → 77 % of 400 Gbit/s")
    expect(drawing.locator("title", has_text="gpu4: vision (a) at 1.032x")).to_have_count(1)
    page.locator("#cluster summary").click()
    expect(page.locator("#cluster tbody tr").first).to_contain_text("76.9 %")
    assert everywhere(page) == []
    page.locator("#ranked tbody tr").nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#chosen h2")).to_have_text("Number 2: what it makes of each job")
    expect(drawing).to_contain_text("leaf1, to spine: 32 % → 87 % of 400 Gbit/s")
    page.reload()
    expect(page.locator("#chosen h2")).to_have_text("Number 2: what it makes of each job")


def test_a_figure_of_the_request_is_swept(page: Page) -> None:
    page.goto("/allocations")
    page.get_by_role("button", name="Load the example").click()
    sweep = page.locator("#sweep")
    sweep.get_by_label("Over", exact=True).select_option("nodes")
    expect(sweep.get_by_label("Values")).to_have_value("2, 4, 8")
    sweep.get_by_label("Values").fill("2, 4, 7")
    sweep.get_by_role("button", name="Sweep").click()
    expect(sweep.locator(".plot .main-svg").first).to_be_visible()
    rows = sweep.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("gpu1, gpu2, gpu3, gpu6")
    expect(rows.nth(2)).to_contain_text("The job needs 7 nodes; the cluster has 6 free.")
    assert everywhere(page) == []
    page.reload()
    expect(sweep.locator("tbody tr")).to_have_count(3)
