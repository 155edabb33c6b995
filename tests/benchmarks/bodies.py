"""The worst bodies within the limits, from four clients: how long /healthz and a status take.

Run it with ``python -m tests.benchmarks.bodies [--seconds 120]``. Each client sends one body after
the other, the same ones in another order: as long as they may be, of values that take the most to
parse, and wrong, so that all of it is looked at. Meanwhile /healthz and the status of a job are
asked 20 times a second each, over connections of their own. Prints the times of both, the server's
largest resident set, and what the bodies were answered with.
"""

import argparse
import json
import os
import random
import re
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import numpy as np

from app.limits import BIG_BODY_BYTES, MAX_PLAIN_BYTES, MAX_RUN_BYTES, SMALL_BODY_BYTES
from app.operations.settings import Settings
from tests.app.service import PATIENT, Service, running, two_layers

CLIENTS, EVERY_S = 4, 0.05
MOST: int = Settings.model_fields["max_body_bytes"].default
_JSON, _FORM = "application/json", "multipart/form-data; boundary=x"
#: Many bodies of the longest sort would take all the time of the others.
_LONG = 60_000_000


def filled(start: bytes, item: bytes, end: bytes, size: int) -> bytes:
    """Repeat an item until the body has a size."""
    count = (size - len(start) - len(end)) // len(item)
    return start + item * count + end


def form(field: bytes, content: bytes) -> bytes:
    """Return a form with one field."""
    head = b'--x\r\nContent-Disposition: form-data; name="' + field + b'"'
    return head + b"\r\n\r\n" + content + b"\r\n--x--\r\n"


#: Path, content type, and what makes the body.
BODIES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "samples": (
        "/v1/cost-models",
        _JSON,
        lambda: filled(b'{"samples": [[1,1]', b",[1,1]", b"]}", MAX_PLAIN_BYTES),
    ),
    "rows of an estimate": (
        "/v1/estimates",
        _JSON,
        lambda: filled(b'{"rows": [{}', b",{}", b"]}", MAX_PLAIN_BYTES),
    ),
    "an id and junk": (
        "/v1/predictions/scaling",
        _JSON,
        lambda: filled(b'{"graph_id": "x", "y": [0', b",[]", b"]}", _LONG),
    ),
    "parameters of a form": (
        "/v1/graphs",
        _FORM,
        lambda: form(b"parameters", filled(b"[0", b",[]", b"]", _LONG)),
    ),
    "lines of a form": (
        "/v1/graphs",
        _FORM,
        lambda: form(b'f"; filename="a', b"\r\n-" * (_LONG // 3)),
    ),
    "a plan of junk": ("/v1/plans", _JSON, lambda: filled(b"[0", b",{}", b"]", _LONG)),
    "a plan as long as may be": (
        "/v1/plans",
        _JSON,
        lambda: json.dumps(two_layers()).encode() + b" " * (MOST - 4_096),
    ),
    "a plan below the file": (
        "/v1/plans",
        _JSON,
        lambda: filled(b'{"graph": {"ops": [0', b",{}", b"]}}", BIG_BODY_BYTES),
    ),
    "a plan that the server reads": (
        "/v1/plans",
        _JSON,
        lambda: filled(b'{"graph": {"ops": [0', b",{}", b"]}}", SMALL_BODY_BYTES),
    ),
    "a run": (
        "/v1/runs",
        _JSON,
        lambda: filled(b'{"graph": {"ops": [0', b",{}", b"]}}", MAX_RUN_BYTES),
    ),
}


class Probe(threading.Thread):
    """Asks for one path again and again, and notes how long each answer took [s]."""

    def __init__(self, service: Service, path: str, over: threading.Event) -> None:
        super().__init__()
        self._url, self._path, self._over = service.client.base_url, path, over
        self.seconds: list[float] = []

    def run(self) -> None:
        with httpx2.Client(base_url=self._url, timeout=120, trust_env=False) as client:
            while not self._over.wait(EVERY_S):
                began = time.perf_counter()
                assert client.get(self._path).status_code == 200
                self.seconds.append(time.perf_counter() - began)

    def quantile_ms(self, share: float) -> float:
        return float(1e3 * np.quantile(self.seconds, share))


def attack(url: str, number: int, until: float, seen: Counter[str]) -> None:
    """Send bodies until the time is over; ``until`` is of ``time.monotonic``."""
    with httpx2.Client(base_url=url, headers=PATIENT, timeout=300, trust_env=False) as client:
        for name in orders(number):
            if time.monotonic() >= until:
                return
            path, kind, make = BODIES[name]
            try:
                answer = client.post(path, content=make(), headers={"content-type": kind})
                seen[f"{name}: {answer.status_code}"] += 1
            except httpx2.TransportError as error:
                seen[f"{name}: {type(error).__name__}"] += 1


def orders(number: int) -> Iterator[str]:
    """Yield the names of bodies for ever, in an order of one's own."""
    draw = random.Random(number)
    while True:
        yield from draw.sample(sorted(BODIES), len(BODIES))


def peak_mib(process: int) -> float:
    """Return the largest resident set that a process has had."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found, "Linux tells it"
    return int(found[1]) / 1024


def main() -> None:
    """Measure, and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=120)
    seconds = options.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:
        job = service.post(two_layers()).json()["id"]
        over, seen = threading.Event(), Counter[str]()
        probes = [Probe(service, path, over) for path in ("/healthz", f"/v1/plans/{job}")]
        before = peak_mib(service.process)
        clients = []
        until = time.monotonic() + seconds
        for number in range(CLIENTS):  # processes: what they write must not wait for each other
            pid = os.fork()
            if not pid:
                own: Counter[str] = Counter()
                with suppress(Exception):
                    attack(str(service.client.base_url), number, until, own)
                Path(folder, f"seen{number}").write_text(json.dumps(own))
                os._exit(0)
            clients.append(pid)
        for probe in probes:
            probe.start()
        for pid in clients:
            os.waitpid(pid, 0)
        over.set()
        for number, probe in enumerate(probes):
            probe.join()
            quantiles = [probe.quantile_ms(share) for share in (0.5, 0.95, 0.99, 1)]
            name = ("healthz", "status")[number]
            print(f"{name}: {len(probe.seconds)} answers, p50 p95 p99 worst [ms]", end=" ")
            print(*(f"{each:.0f}" for each in quantiles))
        for number in range(CLIENTS):
            seen.update(json.loads(Path(folder, f"seen{number}").read_text()))
        print(f"server: {peak_mib(service.process):.0f} MiB at most, {before:.0f} before")
        print(f"load average {os.getloadavg()[0]:.1f}")
        for line, count in sorted(seen.items()):
            print(f"{count:5} {line}")


if __name__ == "__main__":
    main()
