"""The real server in real headless Chromium."""

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from tests.app.service import Service

#: Debian's browser; its wrapper's services stay quiet without a network.
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
#: A page waits for its server, which shares the machine with others [ms]; the watchdog of all
#: tests has little more patience.
PATIENCE_MS = 600_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser, service: Service) -> Iterator[Page]:
    """Open an empty page that may neither complain nor ask any other host."""
    own = urlsplit(str(service.client.base_url)).netloc
    complaints: list[str] = []
    elsewhere: list[str] = []

    def note(message: ConsoleMessage) -> None:
        # that an answer was a problem, which the page shows, is said by Chromium itself
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    context = chromium.new_context(
        base_url=str(service.client.base_url),
        viewport={"width": 1280, "height": 900},
        accept_downloads=True,
    )
    context.set_default_timeout(PATIENCE_MS)
    found = context.new_page()
    found.on("console", note)
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on(
        "request",
        lambda request: (
            elsewhere.append(request.url)
            if urlsplit(request.url).scheme in {"http", "https", "ws", "wss"}
            and urlsplit(request.url).netloc != own
            else None
        ),
    )
    yield found
    context.close()
    assert not complaints
    assert not elsewhere
