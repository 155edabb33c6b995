"""The page of jobs that share links: as they are and planned, who slows whom, a link to it."""

from playwright.sync_api import Page, expect

from tests.pages.accessible import everywhere


def test_two_jobs_collide_and_do_not_when_planned(page: Page) -> None:
    page.goto("/mixes")
    page.get_by_role("button", name="Load the example").click()
    expect(page.locator("#answer .figure .value")).to_have_text(["1.528x", "1.057x", "1.057x"])
    expect(page.locator("#answer li").first).to_have_text("two: begin 250.3 ms later.")
    expect(page.locator("#blames tbody tr").first).to_contain_text("280 ms")
    expect(page.locator("#use .plot .main-svg").first).to_be_visible()
    drawing = page.locator("#time .mix-timeline")
    expect(drawing.locator("rect.slowed")).to_have_count(6)
    expect(drawing.locator("rect.sends")).to_have_count(2)
    page.locator("#time summary").click()
    expect(page.locator("#time li", has_text="two: 1 iteration begun")).to_have_count(2)
    assert everywhere(page) == []
    page.get_by_label("First rule", exact=True).select_option("cassini")
    expect(page.locator("#blames tbody tr").first).to_contain_text("30 ms")
    page.reload()
    expect(page.get_by_label("First rule", exact=True)).to_have_value("cassini")
    expect(page.locator("#blames tbody tr").first).to_contain_text("30 ms")


def test_capacities_are_swept(page: Page) -> None:
    """At half of the capacity a job sends 560 ms of 810, at twice 140 of 390: no link is full."""
    page.goto("/mixes")
    page.get_by_role("button", name="Load the example").click()
    sweep = page.locator("#sweep")
    sweep.get_by_label("Values").fill("0.5, 2")
    sweep.get_by_role("button", name="Sweep").click()
    rows = sweep.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0).locator("td")).to_contain_text(["0.5", "1.691x", "1.383x"])
    expect(rows.nth(1).locator("td")).to_contain_text(
        ["2", "1.359x", "1.000x", "1.359x", "1.000x", "1.000x"]
    )
    assert everywhere(page) == []


def test_what_is_chosen_is_read_in_full(page: Page) -> None:
    page.goto("/mixes")
    page.get_by_role("button", name="Load the example").click()
    chosen = page.get_by_label("Link, the fullest first", exact=True)
    expect(chosen.locator("option")).to_have_text(["uplink: all need 106 % of its time"])
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        room = """(select) => {
            const { font, width, paddingLeft } = getComputedStyle(select);
            const pen = document.createElement("canvas").getContext("2d");
            pen.font = font;
            const text = pen.measureText(select.selectedOptions[0].text).width;
            return parseFloat(width) - text - 2 * parseFloat(paddingLeft) - 16;  // the arrow
        }"""
        assert chosen.evaluate(room) > 0
