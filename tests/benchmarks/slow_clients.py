"""Hundreds of clients that read or send a thousand bytes a second: what others wait meanwhile.

Run it with ``python -m tests.benchmarks.slow_clients [--readers 200] [--writers 200] [--mib 8]``.
Readers ask for a graph of so many MiB, writers have a plan of 100 kB to send; all go on until the
server has let go of the last one, or for two minutes. Meanwhile one client asks for ``/healthz``
and submits small plans. Prints what that client waited, the server's memory, and how each slow
connection ended. Linux only.
"""

import argparse
import json
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import numpy as np

from app.operations.settings import Settings
from app.storage.clock import now
from app.storage.database import Store
from app.storage.tables import GraphRow
from tests.app.service import Service, running, two_layers
from tests.benchmarks.load import memory

#: How much a slow client takes or sends each second [bytes], and how much a writer has to send.
SLOW_BYTES, BODY_BYTES = 1_000, 100_000
#: Who was not let go by then is [s].
MOST_S = 120.0
GRAPH = "0123456789abcdef"
_READ = f"GET /v1/graphs/{GRAPH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
_WRITE = (
    b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n" % BODY_BYTES
)


class Slow:
    """A connection that is in no hurry."""

    def __init__(self, address: tuple[str, int], *, is_reader: bool) -> None:
        self._client, self._is_reader = socket.socket(), is_reader
        self._client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        self._client.connect(address)
        self._client.sendall(_READ if is_reader else _WRITE)
        self._client.setblocking(False)
        self._heard = b""
        self.end: str | None = None

    def go_on(self) -> None:
        """Read or send a second's worth; note how it ended when it has."""
        try:
            part = self._client.recv(SLOW_BYTES)
            self._heard = (self._heard + part)[:SLOW_BYTES]
            if not part:
                self._stop(f"{self._status()}, closed")
        except BlockingIOError:
            pass
        except OSError:
            self._stop(f"{self._status()}, reset")
        if self.end is None and not self._is_reader:
            try:
                self._client.send(b" " * SLOW_BYTES)
            except OSError as error:  # its answer may be there to read
                if not isinstance(error, BlockingIOError | BrokenPipeError | ConnectionResetError):
                    raise

    def _status(self) -> str:
        head, _, content = self._heard.partition(b"\r\n\r\n")
        status = head[9:12].decode() or "no answer"
        code = content.partition(b'"code": "')[2].partition(b'"')[0].decode()
        return f"{status} {code}".strip()

    def _stop(self, how: str) -> None:
        self.end = f"{'reader' if self._is_reader else 'writer'}: {how}"
        self._client.close()


def attack(address: tuple[str, int], readers: int, writers: int) -> Counter[str]:
    """Be slow until the server has let go of everybody; return how often each end was met."""
    clients = [Slow(address, is_reader=i < readers) for i in range(readers + writers)]
    until = time.monotonic() + MOST_S
    while (left := [each for each in clients if each.end is None]) and time.monotonic() < until:
        at = time.monotonic()
        for each in left:
            each.go_on()
        time.sleep(max(0.0, at + 1 - time.monotonic()))
    return Counter(each.end or "is served still" for each in clients)


@contextmanager
def server_with_a_graph(mib: int) -> Iterator[Service]:
    """Run a server that has a graph of so many MiB."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        store = Store(Settings(data_dir=Path(name)))
        own = {"created_at": now(), "name": "", "format": "csv", "ops": 0}
        report = json.dumps({"report": "x" * (mib * 2**20)})
        store.add(GraphRow(id=GRAPH, **own, request="{}", result=report))
        store.close()
        yield stack.enter_context(running(Path(name), INTERLACE_LOG_FORMAT="json")).warmed()


class Others:
    """A client that asks and submits, one call after the other, until it is told to stop."""

    def __init__(self, url: str, process: int) -> None:
        self.seconds: dict[str, list[float]] = {"/healthz": [], "submission": []}
        self.peak_mib = 0.0
        self._url, self._process, self._is_over = url, process, threading.Event()
        self._number = 0

    def run(self) -> None:
        headers = {"cache-control": "no-store"}
        with httpx2.Client(
            base_url=self._url, headers=headers, timeout=None, trust_env=False
        ) as client:
            while not self._is_over.wait(0.05):
                self._number += 1
                body = two_layers(seed=self._number)
                for kind, method, path, sent in (
                    ("/healthz", "GET", "/healthz", None),
                    ("submission", "POST", "/v1/plans?wait=0", body),
                ):
                    at = time.perf_counter()
                    client.request(method, path, json=sent).raise_for_status()
                    self.seconds[kind].append(time.perf_counter() - at)
                self.peak_mib = max(self.peak_mib, memory(self._process)[0])

    def stop(self) -> None:
        self._is_over.set()


def main() -> None:
    """Measure without slow clients, then with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--writers", type=int, default=200)
    parser.add_argument("--mib", type=int, default=8, help="size of an answer")
    asked = parser.parse_args()
    with server_with_a_graph(asked.mib) as service:
        url = service.client.base_url
        for readers, writers in ((0, 0), (asked.readers, asked.writers)):
            others, began = Others(str(url), service.process), time.monotonic()
            thread = threading.Thread(target=others.run)
            thread.start()
            if readers + writers:
                ends = attack((url.host, url.port or 80), readers, writers)
            else:
                time.sleep(10)
            others.stop()
            thread.join()
            print(f"{readers} readers, {writers} writers, {time.monotonic() - began:.0f} s:")
            for kind, values in others.seconds.items():
                at = np.percentile(values, [50, 99, 100])
                points = "  ".join(f"{1e3 * each:.0f}" for each in at)
                print(f"  {kind}: {len(values)} answered; median, p99, worst [ms]: {points}")
            print(f"  the server's memory: {others.peak_mib:.0f} MiB at most", flush=True)
        for end, times in sorted(ends.items()):
            print(f"  {times} x {end}")
        log = service.log.read_text().splitlines()
        dropped = Counter(json.loads(line)["message"] for line in log if "was dropped" in line)
        for why, times in dropped.items():
            print(f"  log, {times} x {why}")
        if "is served still" in ends:
            sys.exit("Not all were let go.")


if __name__ == "__main__":
    main()
