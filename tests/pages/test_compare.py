"""Two answers side by side, and the page of the words."""

import re

from playwright.sync_api import Page, expect

from solver.glossary import LABELS, TERMS
from tests.app.service import Service, two_layers
from tests.pages.accessible import breaches


def test_two_answers_are_compared(page: Page, service: Service) -> None:
    asked = two_layers()
    plan = service.post(asked).json()
    body = {"graph": asked["graph"], "cluster": asked["cluster"], "policy": "single"}
    other = service.post(body, "/v1/simulations").json()
    page.goto(f"/compare?a={plan['id']}&b=/simulations/{other['id']}")
    by = other["iteration_time_us"] - plan["iteration_time_us"]
    assert by > 0
    expect(page.locator("#figures .summary")).to_contain_text(
        f"{100 * by / plan['iteration_time_us']:.1f} %) more than A"
    )
    heads = page.locator("#timeline .track-head")
    expect(heads).to_have_count(2)
    expect(heads.nth(1)).to_contain_text(LABELS["single"])
    expect(page.locator("#buckets tbody tr")).to_have_count(3)  # two alone, and both together
    page.get_by_role("button", name="Swap").click()
    expect(page).to_have_url(re.compile(rf"b={plan['id']}"))
    expect(page.locator("#figures .summary")).to_contain_text("less than A")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert breaches(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_two_sweeps_are_compared(page: Page, service: Service) -> None:
    """With half the compute in B all clusters are faster but for those of A alone."""
    asked = two_layers()
    body = {
        "graph": asked["graph"],
        "cluster": asked["cluster"],
        "workers": [2, 4, 8],
        "bandwidths_gbps": [1, 10],
        "policies": ["ddp", "pace"],
    }
    first = service.post(body, "/v1/sweeps").json()
    changes = [{"match": "*", "duration_factor": 0.5}]
    second = service.post({**body, "workers": [2, 8], "changes": changes}, "/v1/sweeps").json()
    for width, is_dark in ((1280, False), (390, True)):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if is_dark else "light")
        page.goto(f"/compare?a={first['id']}&b=sweeps/{second['id']}")
        expect(page.locator("#figures .summary")).to_contain_text(
            "Of 4 clusters of both B is faster on 4"
        )
        expect(page.locator("#figures .summary")).to_contain_text("2 clusters are in A alone.")
        expect(page.locator("#map .main-svg").first).to_be_visible()
        expect(page.locator("#cells tbody tr")).to_have_count(6)
        expect(page).to_have_url(re.compile(rf"a=sweeps%2F{first['id']}"))
        assert breaches(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"/compare?a={first['id']}&b={first['id']}")
    expect(page.locator("#figures .summary")).to_contain_text("equal within 0.1 %")
    expect(page.locator("#map")).to_contain_text("tie")
    plan = service.post(asked).json()
    page.goto(f"/compare?a={first['id']}&b={plan['id']}")
    expect(page.locator("#problems")).to_contain_text("A sweep is compared with a sweep")


def test_what_names_no_answer_is_said(page: Page) -> None:
    page.goto("/compare?a=nobody&b=%3Cb%3E")
    expect(page.locator("#problems")).to_contain_text("<b>")


def test_the_words_are_explained(page: Page) -> None:
    page.goto("/help#gap")
    expect(page.locator("dt:target + dd")).to_have_text(TERMS["gap"])
    assert breaches(page) == []
