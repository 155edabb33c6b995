"""How fast the page of a plan of 10,000 launches is, in headless Chromium.

Run it with ``python -m tests.benchmarks.pages``, on a machine with nothing else to do. PROTOCOL.md
says what is measured.
"""

import argparse
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.app.service import Json, Service, running
from tests.pages.conftest import CHROMIUM, CHROMIUM_ARGUMENTS
from tests.pages.large import sliced

#: When the timeline was first painted [ms since the navigation]: the frame after its bars came.
_FIRST_PAINT = """
new Promise((resolve) => {
  const look = () => {
    if (document.querySelector("#timeline .plot[data-view]")) {
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    } else requestAnimationFrame(look);
  };
  look();
})
"""


#: Frames from now on, until they are asked for: the time of each [ms].
_COUNT_FRAMES = """
() => {
  window.frames_ = [];
  const tick = (now) => { window.frames_.push(now); window.going_ = requestAnimationFrame(tick); };
  window.going_ = requestAnimationFrame(tick);
}
"""
_FRAMES = "() => { cancelAnimationFrame(window.going_); return window.frames_; }"


def plan_of(service: Service, launches: int) -> Json:
    """Make a plan of so many launches of a generated graph."""
    answer = service.post(sliced(launches))
    assert answer.status_code == HTTPStatus.CREATED, answer.text
    plan: Json = answer.json()
    assert len(plan["schedule"]["parts"]) == launches
    return plan


@contextmanager
def opened(service: Service) -> Iterator[Page]:
    """Open an empty page."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGUMENTS)
        )
        page = browser.new_page(
            base_url=str(service.client.base_url), viewport={"width": 1280, "height": 900}
        )
        page.set_default_timeout(120_000)
        yield page
        browser.close()


def first_paint_ms(page: Page, plan_id: str) -> float:
    """Time from the navigation to the paint of the timeline's bars [ms]."""
    page.goto("about:blank")
    page.goto(f"/plans/{plan_id}", wait_until="commit")
    found: float = page.evaluate(_FIRST_PAINT)
    return found


def pan(page: Page, steps: int = 120) -> list[float]:
    """Drag the timeline to and fro; return the time of each frame [ms]."""
    box = page.locator("#timeline .plot").bounding_box()
    assert box is not None
    y, x = box["y"] + box["height"] / 2, box["x"] + box["width"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate(_COUNT_FRAMES)
    for step in range(steps):
        side = 1 if step // 30 % 2 else -1
        page.mouse.move(x + side * (step % 30) * 8, y)
    times: list[float] = page.evaluate(_FRAMES)
    page.mouse.up()
    return [b - a for a, b in pairwise(times)]


def _zoomed(page: Page, times: int) -> None:
    for _ in range(times):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_timeout(500)  # it is measured at rest


def main() -> None:
    """Print first paint and frames."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--launches", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:
        plan = plan_of(service, given.launches)
        with opened(service) as page:
            paints = [first_paint_ms(page, plan["id"]) for _ in range(given.repeats)]
            _report("first paint [ms]", paints)
            page.wait_for_selector("#helps .plot .main-svg")
            for zoom in (0, 3, 6):
                _zoomed(page, 3 if zoom else 0)
                intervals = pan(page)
                rate = 1_000 * len(intervals) / sum(intervals)
                worst = max(intervals)
                print(f"pan, zoomed in {zoom} times: {rate:.1f} frames/s, longest {worst:.0f} ms")


def _report(name: str, values: list[Any]) -> None:
    middle = statistics.median(values)
    print(f"{name}: median {middle:.0f}, all {', '.join(f'{value:.0f}' for value in values)}")


if __name__ == "__main__":
    main()
