"""Clients that reconnect and send what is dear to parse: how long others wait, what it takes.

Run it with ``python -m tests.benchmarks.chunks [--connections 18] [--seconds 20] [--unlimited]
[attack ...]``. A server that requires keys is attacked without one, by a process of many threads
that each send, read the answer, and connect again; unlimited, it lets an address ask what it will.
Meanwhile a client with a key asks for the status of a job, and submits small plans. Prints times as
it saw them, and the CPU time of the server itself.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2
import numpy as np

from app.operations.settings import Settings
from app.storage.database import Store
from tests.app.keyed import make
from tests.app.service import running, two_layers

_POST = b"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_CHUNKED = _POST + b"Transfer-Encoding: chunked\r\n\r\n"
_GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"


def _whole(content: bytes) -> Callable[[socket.socket], None]:
    def send(client: socket.socket) -> None:
        client.sendall(content)
        _hear(client)

    return send


def _bytewise(head: bytes, content: bytes) -> Callable[[socket.socket], None]:
    def send(client: socket.socket) -> None:
        client.sendall(head)
        for byte in content:
            client.sendall(bytes((byte,)))
        _hear(client)

    return send


def _half_closed(client: socket.socket) -> None:
    client.sendall(_CHUNKED + b"1\r\n \r\n" * 64_000)
    client.shutdown(socket.SHUT_WR)
    _hear(client)


def _hear(client: socket.socket) -> None:
    while client.recv(65_536):
        pass


def _lines(client: socket.socket) -> None:
    client.sendall(_GET)
    for number in range(2_000):
        client.sendall(b"X-%d: y\r\n" % number)
    client.sendall(b"Connection: close\r\n\r\n")
    _hear(client)


#: What one connection does before it is opened anew.
ATTACKS: dict[str, Callable[[socket.socket], None]] = {
    "chunks of a byte": _whole(_CHUNKED + b"1\r\n \r\n" * 64_000),
    "chunks of a byte, HTTP/1.0": _whole(
        _CHUNKED.replace(b"1.1", b"1.0", 1) + b"1\r\n \r\n" * 64_000
    ),
    "chunks of a byte, half-closed": _half_closed,
    "small frames": _bytewise(_CHUNKED, b"1\r\n \r\n" * 1_000),
    "a header at a time": _lines,
    "a byte at a time": _bytewise(_POST + b"Content-Length: 6000\r\n\r\n", b" " * 6_000),
    "pipelined": _whole(
        _GET + b"\r\n" + (_GET + b"\r\n") * 500 + _GET + b"Connection: close\r\n\r\n"
    ),
}


def attack(name: str, port: int, connections: int) -> None:
    """Attack until the process ends."""

    def again() -> None:
        while True:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port)) as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.settimeout(60)
                ATTACKS[name](client)

    threads = [threading.Thread(target=again, daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    os._exit(0)


def computed_s(process: int) -> float:
    """Return the CPU time that a process itself has taken [s]."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(name: str | None, url: str, key: str, process: int, how: argparse.Namespace) -> str:
    """Return a row: what others waited, and what the server took."""
    port = url.rpartition(":")[2]
    program = [sys.executable, "-m", "tests.benchmarks.chunks", "--port", port]
    program += ["--connections", str(how.connections), name or ""]
    attacker = subprocess.Popen(program, stdin=subprocess.PIPE) if name else None
    seconds: dict[str, list[float]] = {"status": [], "submission": []}
    headers = {"authorization": f"Bearer {key}", "cache-control": "no-store"}
    with httpx2.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as client:
        client.post(
            "/v1/plans", json=two_layers(seed=0)
        ).raise_for_status()  # what is first is slow
        time.sleep(2)
        began, before_s, number = time.monotonic(), computed_s(process), 0
        while time.monotonic() - began < how.seconds:
            for kind in ("submission", *["status"] * 8):
                at = time.perf_counter()
                if kind == "submission":
                    number += 1
                    body = two_layers(seed=number)
                    answer = client.post("/v1/plans", params={"wait": 0}, json=body)
                    place = answer.headers["location"]
                else:
                    answer = client.get(place)
                answer.raise_for_status()
                seconds[kind].append(time.perf_counter() - at)
                time.sleep(0.01)
        share = (computed_s(process) - before_s) / (time.monotonic() - began)
    if attacker is not None:
        attacker.communicate()
    cells = [f"{1e3 * np.quantile(seconds[kind], 0.99):.0f}" for kind in seconds]
    cells += [f"{1e3 * max(map(max, seconds.values())):.0f}", f"{100 * share:.0f}"]
    return f"| {name or 'none'} | {' | '.join(cells)} |"


def main() -> None:
    """Measure each attack, and none."""
    parser = argparse.ArgumentParser()
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    parser.add_argument("--connections", type=int, default=18)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--unlimited", action="store_true")
    parser.add_argument("--port", type=int)
    how = parser.parse_args()
    if how.port:
        attack(how.attacks[0], how.port, how.connections)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Settings(data_dir=Path(folder)))
        key, _ = make(store, "them", "read", "submit")
        store.close()
        # attackers come from this machine, a trusted proxy by default: those pay nothing
        settings = {"INTERLACE_REQUIRE_KEYS": "true", "INTERLACE_TRUSTED_PROXIES": "192.0.2.1"}
        if how.unlimited:
            settings |= {"INTERLACE_ADDRESS_REQUESTS_PER_S": "0"}
        with running(Path(folder), **settings) as service:
            url = str(service.client.base_url).rstrip("/")
            print(
                "| attack | status p99 [ms] | submission p99 [ms] | worst [ms] | server CPU [%] |"
            )
            for name in (None, *how.attacks):
                print(measure(name, url, key, service.process, how), flush=True)


if __name__ == "__main__":
    main()
