"""A real server, a real request, a readable answer, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from app.cli.failures import Failure
from app.cli.interrupts import interruptible

_EXAMPLE = "t5_small"

_TIMEOUT_S = 30

_NEXT = """Where to look next
  interlace serve                 then open http://127.0.0.1:8000/docs and press Execute
  GET /v1/plans/ID/timeline.json  open it in https://ui.perfetto.dev: compute, plan, FIFO
  GET /v1/examples                more requests ready to POST
  interlace plan FILE             plan your own graph; interlace plan --help"""


def demo() -> None:
    """Start a server, have it plan T5-small, print the answer.

    Nothing is left behind.

    \b
    Example:
      interlace demo
    """
    from app.cli.rendering.plans import render
    from app.schemas.plans import PlanAnswer

    with interruptible(), tempfile.TemporaryDirectory(prefix="interlace-demo-") as folder:
        with _server(Path(folder)) as url:
            print(f"Started a server on {url}, data in {folder}", flush=True)
            request = _call(f"{url}/v1/examples/{_EXAMPLE}")
            name = request["graph"]["name"]
            print(f"POST {url}/v1/plans: {name}, {len(request['graph']['ops'])} ops\n", flush=True)
            made = _call(f"{url}/v1/plans?wait={_TIMEOUT_S}", request)
            plan = PlanAnswer.model_validate(made)
            events = _call(f"{url}/v1/plans/{made['id']}/timeline.json")["traceEvents"]
            print(render(plan, name))
            print(f"\nPlanned in {plan.runtime_s:.3f} s; {len(events)} timeline events.")
        print(f"Stopped the server.\n\n{_NEXT}")


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """Run ``interlace serve`` on a free loopback port in a child process; yield its URL."""
    root = str(Path(__file__).resolve().parents[3])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("INTERLACE_")}
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment |= {"INTERLACE_DATA_DIR": str(folder), "PYTHONPATH": os.pathsep.join(paths)}
    log = folder / "server.log"
    before = signal.signal(signal.SIGTERM, _on_terminate)
    with log.open("wb") as errors:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "app", "serve", "--port", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            text=True,
        )
    try:
        assert child.stdout is not None
        line = child.stdout.readline()  # one line, or the end when the child fails
        if not line:
            lines = log.read_text(errors="replace").strip().splitlines() or ["no message"]
            raise Failure(f"The demo's server did not start: {lines[-1]}")
        yield line.split()[-1]
    finally:
        child.terminate()
        try:
            child.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        if child.stdout:
            child.stdout.close()
        signal.signal(signal.SIGTERM, before)


def _call(url: str, body: Any = None) -> Any:
    """GET a URL, or POST a JSON body to it; no proxy stands before loopback."""
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, {"Content-Type": "application/json"})  # noqa: S310 - our own URL
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=_TIMEOUT_S) as answer:
            return json.load(answer)
    except HTTPError as error:
        with error:
            detail = json.load(error)["detail"]
        raise Failure(f"The demo's server answered {error.code} for {url}: {detail}") from None
    except URLError as error:
        raise Failure(f"The demo's server did not answer {url}: {error}.") from error


def _on_terminate(*_: object) -> None:
    """Leave through the finally blocks when the demo itself is told to stop."""
    raise SystemExit(128 + signal.SIGTERM)
