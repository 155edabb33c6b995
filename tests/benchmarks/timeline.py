"""How fast a timeline of 100,000 slices opens and zooms, in headless Chromium.

Run it with ``python -m tests.benchmarks.timeline``. The page is that of a small plan; its trace is
another, made here, so that the page alone is measured: fetched, read, drawn. PROTOCOL.md says more.
"""

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Page, sync_playwright

from tests.app.service import Service, running, two_layers
from tests.pages.conftest import CHROMIUM, CHROMIUM_ARGUMENTS

#: When the tracks were painted [ms since the navigation].
_OPENED = """
new Promise((resolve) => {
  const look = () => {
    if (document.querySelector("#timeline .plot[data-view]"))
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    else requestAnimationFrame(look);
  };
  look();
})
"""

#: Zoom in, pan, and zoom out again, a key a frame; the time of each frame [ms].
_ZOOMED = """
(keys) => new Promise((resolve) => {
  const plot = document.querySelector("#timeline .plot");
  const times = [];
  const tick = (now) => {
    times.push(now);
    if (times.length > keys.length) return resolve(times);
    const key = keys[times.length - 1];
    plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})
"""
_KEYS = [*"w" * 18, *"d" * 30, *"a" * 30, *"s" * 18]


def trace_of(slices: int) -> dict[str, Any]:
    """Return a trace of two runs with so many slices in all, half of them launches."""
    events: list[dict[str, Any]] = []
    each = slices // 4
    for pid, name in ((1, "plan"), (2, "fifo")):
        events.append({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}})
        for tid, row in enumerate(("gpu", "network")):
            events.append(
                {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": row}}
            )
        for i in range(each):
            phase = "forward" if i > each // 2 else "backward"
            compute = {"name": f"{phase}:{i}", "cat": "compute", "tid": 0, "args": {}}
            sent = {
                "name": f"grad:{i}",
                "cat": "all_reduce",
                "tid": 1,
                "args": {"tensors": [f"grad:{i}"], "bytes": 1_000, "offset_bytes": 0},
            }
            for late, span in ((0.0, compute), (4.0 * pid, sent)):
                events.append({"ph": "X", "pid": pid, "ts": 10.0 * i + late, "dur": 9.0, **span})
    return {"traceEvents": events, "otherData": {"graph": f"{slices:,} slices"}}


@contextmanager
def relay(service: Service, trace: bytes) -> Iterator[str]:
    """Serve what the service does, but for timelines, which are all this trace; its address."""

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "timeline.json" in self.path:
                self.answer(200, "application/json", trace)
                return
            found = service.client.get(self.path)
            self.answer(found.status_code, found.headers["content-type"], found.content)

        def answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@contextmanager
def opened(service: Service, slices: int) -> Iterator[tuple[Page, str]]:
    """Open an empty page, to which the trace of any plan is one of so many slices."""
    answer = service.post(two_layers())
    text = json.dumps(trace_of(slices), separators=(",", ":")).encode()
    with relay(service, text) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(CHROMIUM_ARGUMENTS)
        )
        page = browser.new_page(base_url=address, viewport={"width": 1280, "height": 900})
        page.set_default_timeout(120_000)
        yield page, f"/plans/{answer.json()['id']}"
        browser.close()


def main() -> None:
    """Print when the tracks are there, and the frames while they are zoomed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder)) as service,
        opened(service, given.slices) as (page, place),
    ):
        paints, rates, longest = [], [], []
        for _ in range(given.repeats):
            page.goto("about:blank")
            page.goto(place, wait_until="commit")
            paints.append(page.evaluate(_OPENED))
            page.wait_for_selector("#helps .plot .main-svg")
            times = page.evaluate(_ZOOMED, _KEYS)
            rates.append(1_000 * (len(times) - 1) / (times[-1] - times[0]))
            longest.append(max(b - a for a, b in pairwise(times)))
        _report("opened [ms]", paints)
        _report("frames per second while zooming", rates)
        _report("longest frame [ms]", longest)


def _report(name: str, values: list[float]) -> None:
    middle = statistics.median(values)
    print(f"{name}: median {middle:.0f}, all {', '.join(f'{value:.0f}' for value in values)}")


if __name__ == "__main__":
    main()
