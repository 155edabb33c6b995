"""What all pages have in common."""

import re

import pytest
from playwright.sync_api import Page, expect

from app.http.keys import scope_of
from app.pages.routes import PAGES
from tests.app.service import Service
from tests.pages.accessible import breaches

#: Pages of nothing in particular, which are always there.
ALWAYS = {"/predictions/scaling", "/compare", "/runs", "/help", "/shapes", "/allocations", "/mixes"}
PATHS = [re.sub(r"{\w+}", "0123456789abcdef", path) for path, _, _ in PAGES]


@pytest.mark.parametrize("path", [*PATHS, "/assets/style.css", "/assets/plotly.min.js"])
def test_a_page_needs_no_key(path: str) -> None:
    assert scope_of("GET", path) is None
    assert scope_of("GET", f"/v1{path}") == "read", "what it shows does"


@pytest.mark.parametrize("path", PATHS)
def test_a_page_has_scripts_as_files_alone(service: Service, path: str) -> None:
    answer = service.client.get(path)
    policy = answer.headers["content-security-policy"]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"(?:https?:)?//", answer.text.replace("<!doctype", ""))
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=", answer.text)
    for loaded in re.findall(r'(?:src|href)="(/[^"]+)"', answer.text):
        assert service.client.get(loaded).status_code == 200
    assert service.client.head(path).status_code == 200


@pytest.mark.parametrize("path", PATHS[1:])
def test_what_is_not_there_is_said(page: Page, path: str) -> None:
    page.goto(path)
    if path not in ALWAYS:
        expect(page.locator(".problem").first).to_be_visible()
    assert breaches(page) == []


def test_an_id_that_is_no_text_is_not_there(page: Page) -> None:
    page.goto("/plans/%E0%A4%A")
    expect(page.locator(".problem").first).to_have_text("No plan has this id.")


def test_the_theme_is_kept(page: Page) -> None:
    page.goto("/")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Dark or light").click()
    after = page.evaluate(ground)
    assert before != after
    page.reload()
    assert page.evaluate(ground) == after


def test_the_keyboard_skips_to_the_content(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
