"""Accessibility rules of axe-core, as the package has it inside."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_RULES = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}}


def breaches(page: Page) -> list[str]:
    """Return which rules the page breaks, and where."""
    found = Axe().run(page, options=_RULES).response["violations"]
    return [
        f"{rule['id']}: {node['target']} {node['html'][:200]}"
        for rule in found
        for node in rule["nodes"]
    ]
