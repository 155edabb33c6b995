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
from shutil import which
from threading import Event, Thread
from typing import Any

from app.cli.failures import CommandFailure
from app.cli.interrupts import interruptible

_EXAMPLE = "t5_small"

#: A line says what is being done at least so often [s].
_PERIOD_S = 2.0

#: A call waits so long for its plan before it asks again [s].
_WAIT_S = 20

#: The server answers within so long after that, on a busy machine too [s].
_ANSWER_S = 100

_NEXT = """Where to look next
  {0} serve
    then open http://127.0.0.1:8000/ to drop a trace and press Plan,
    and http://127.0.0.1:8000/docs for every call; of these
    GET /v1/examples has more requests ready to POST, and
    GET /v1/plans/ID/timeline.json opens in https://ui.perfetto.dev
  {0} plan FILE
    plans your own graph; {0} plan --help"""


def demo() -> None:
    """Start a server, have it plan T5-small, print the answer.

    Nothing is left behind.

    \b
    Example:
      interlace demo
    """
    with interruptible(), tempfile.TemporaryDirectory(prefix="interlace-demo-") as folder:
        with _server(Path(folder)) as url:
            print(f"Started a server on {url}, data in {folder}", flush=True)
            request = _call(f"{url}/v1/examples/{_EXAMPLE}")
            name = request["graph"]["name"]
            print(f"POST {url}/v1/plans: {name}, {len(request['graph']['ops'])} ops", flush=True)
            with _saying("planning"):
                made = _planned(url, request)
                from app.cli.rendering.plans import render
                from app.schemas.plans import PlanAnswer

                plan = PlanAnswer.model_validate(made)
                events = _call(f"{url}/v1/plans/{made['id']}/timeline.json")["traceEvents"]
            print(f"\n{render(plan, name)}")
            print(f"\nPlanned in {plan.runtime_s:.3f} s; {len(events)} timeline events.")
        print(f"Stopped the server.\n\n{_NEXT.format(_command())}")


def _command() -> str:
    """Return what to type for this command: its path where the shell does not find it."""
    if which("interlace"):
        return "interlace"
    own = Path(sys.argv[0]).resolve()
    return str(own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own)


def _planned(url: str, request: dict[str, Any]) -> dict[str, Any]:
    """Post a request, and again with the same key until its job has ended, however long it takes.

    The job's own limits end it.
    """
    while True:
        made: dict[str, Any] = _call(f"{url}/v1/plans?wait={_WAIT_S}", request)
        if made["state"] == "succeeded":
            return made
        if made["state"] not in {"queued", "running"}:
            detail = (made.get("error") or {}).get("detail", "no reason is told")
            raise CommandFailure(f"The demo's plan is {made['state'].replace('_', ' ')}: {detail}")


@contextmanager
def _saying(what: str) -> Iterator[None]:
    """Print every few seconds what is being done, and for how long."""
    is_over = Event()

    def say() -> None:
        seconds = _PERIOD_S
        while not is_over.wait(_PERIOD_S):
            print(f"  {what}, {seconds:.0f} s", flush=True)
            seconds += _PERIOD_S

    thread = Thread(target=say, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


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
        with _saying("starting a server"):
            line = child.stdout.readline()  # one line, or the end when the child fails
        if not line:
            lines = log.read_text(errors="replace").strip().splitlines() or ["no message"]
            raise CommandFailure(f"The demo's server did not start: {lines[-1]}")
        yield line.split()[-1]
    finally:
        child.terminate()
        with _saying("stopping the server"):
            child.wait()
        if child.stdout:
            child.stdout.close()
        signal.signal(signal.SIGTERM, before)


def _call(url: str, body: Any = None) -> Any:
    """GET a URL, or POST a JSON body to it; no proxy stands before loopback."""
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": "demo"}
    request = Request(url, data, headers)  # noqa: S310 - our own URL
    limit_s = _WAIT_S + _ANSWER_S
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=limit_s) as answer:
            return json.load(answer)
    except HTTPError as error:
        with error:
            detail = json.load(error)["detail"]
        raise CommandFailure(
            f"The demo's server answered {error.code} for {url}: {detail}"
        ) from None
    except TimeoutError:
        raise CommandFailure(
            f"The demo waited {limit_s} s for the answer to {request.get_method()} {url}. "
            "Run it again when the machine has less to do."
        ) from None
    except URLError as error:
        raise CommandFailure(f"The demo's server did not answer {url}: {error.reason}.") from error


def _on_terminate(*_: object) -> None:
    """Leave through the finally blocks when the demo itself is told to stop."""
    raise SystemExit(128 + signal.SIGTERM)
