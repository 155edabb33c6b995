"""What a page saves."""

import csv
from pathlib import Path

from playwright.sync_api import Locator, Page


def saved(page: Page, button: Locator) -> str:
    """Press a button, and return the text of the file that is saved."""
    with page.expect_download() as download:
        button.click()
    return Path(download.value.path()).read_text()


def rows_of(text: str) -> list[dict[str, str]]:
    """Read a CSV with a header."""
    return list(csv.DictReader(text.splitlines()))
