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


def everywhere(page: Page) -> list[str]:
    """Return what :func:`breaches` finds at both widths in both themes, and where it scrolls."""
    size = page.viewport_size
    assert size is not None
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": size["height"]})
            here = f"{width} {theme}: "
            found += [here + each for each in breaches(page)]
            if page.evaluate("document.documentElement.scrollWidth") > width:
                found.append(f"{here}the page scrolls sideways")
    page.set_viewport_size(size)
    return found
