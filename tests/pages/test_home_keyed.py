"""The home page where keys are required: it asks for one, and then shows what its owner has."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.app.keyed import Keyed, keyed
from tests.app.service import Service, two_layers
from tests.pages.accessible import breaches


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    with keyed(tmp_path_factory.mktemp("keyed")) as found:
        yield found


@pytest.fixture(scope="module")
def service(guarded: Keyed) -> Service:
    return guarded.service


def test_the_list_is_shown_to_who_has_a_key(page: Page, guarded: Keyed) -> None:
    text = guarded.key("alice")
    with guarded.client(text) as client:
        job_id = client.post("/v1/plans", json=two_layers()).json()["id"]
    page.goto("/")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert breaches(page) == []
    dialog.get_by_label("Key").fill(text)
    dialog.get_by_role("button", name="Use it").click()
    expect(page.locator(f'tr[data-id="{job_id}"]')).to_contain_text("two layers")
    expect(page.locator("[data-example]").first).to_be_visible()
    page.locator('[data-example="two_layers"]').click()
    page.wait_for_url("**/plans/*")
    page.goto("/")
    expect(page.locator(".jobs tbody tr")).to_have_count(2)


def test_who_has_asked_nothing_is_told_so(page: Page, guarded: Keyed) -> None:
    page.goto("/")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Key").fill(guarded.key("carol"))
    dialog.get_by_role("button", name="Use it").click()
    expect(page.locator(".empty")).to_contain_text("Nothing was asked yet.")
    assert breaches(page) == []


def test_who_gives_no_key_is_not_asked_again(page: Page, guarded: Keyed) -> None:
    with page.expect_response("**/v1/jobs*"):
        page.goto("/")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#problems")).to_contain_text("API key")
    with page.expect_response("**/v1/jobs*"):
        pass  # the list asks on
    expect(dialog).to_have_count(0)
    page.locator("#key").click()
    dialog.get_by_label("Key").fill("ключ")
    dialog.get_by_role("button", name="Use it").click()
    expect(dialog).to_be_visible()
    dialog.get_by_label("Key").fill(guarded.key("bob"))
    dialog.get_by_role("button", name="Use it").click()
    expect(page.locator("#problems")).to_be_empty()
    expect(page.locator("[data-example]").first).to_be_visible()
