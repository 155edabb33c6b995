"""Many clients at once while all cores solve: how long a submission and a look at a job take.

Run it with ``python -m tests.benchmarks.load [--minutes 10] [--connections 64] [--think-s 1]``, or
with ``--minutes 20 --no-saturated --flat 5`` to see whether the server's memory stays flat. The
server has two workers, which plans of five seconds keep busy all the time, and a sweep that uses
every core besides. Each connection submits a small plan that is solved anew, looks at it until it
has ended, and now and then asks for something else; between two requests it thinks. Then a minute
without thinking. Prints latencies as the clients saw them, throughput, memory over time, and how
much that grew over the last two thirds; fails when the server's grew by more than is asked for.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import numpy as np

from tests.app.long import search, sweep
from tests.app.service import Json, Service, running, two_layers

#: What a connection asks besides: of each hundred requests, so many.
OTHERS = {"/healthz": 5, "/v1/plans?limit=20": 5, "/v1/plans?state=running&state=queued": 2}
#: Memory is looked at so often [s].
SAMPLE_S = 30.0
#: A long plan takes so long [s]; so long lasts the part without thinking.
LONG_S, SATURATED_S = 5.0, 60.0
_MIB = 2**20
#: When, and the memory of the server and of all below it [s, MiB, MiB].
Samples = list[tuple[float, float, float]]


@dataclass
class Seen:
    """What the clients saw: seconds of each kind of request, and what went wrong."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ended: int = 0


class Connection:
    """HTTP over one connection, cheap enough not to be what is measured."""

    def __init__(self, host: str, port: int, seen: Seen) -> None:
        self._host, self._port, self._seen = host, port, seen

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(self._host, self._port)

    async def ask(self, kind: str, head: bytes, body: bytes = b"") -> tuple[int, bytes]:
        """Send a request and return status and body; note how long that took."""
        text = b"%b HTTP/1.1\r\nHost: localhost\r\n%bContent-Length: %d\r\n\r\n%b"
        line, _, headers = head.partition(b"\n")
        began = time.perf_counter()
        self._writer.write(text % (line, headers, len(body), body))
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        content = await self._reader.readexactly(length)
        self._seen.seconds[kind].append(time.perf_counter() - began)
        return int(answer[9:12]), content

    def close(self) -> None:
        self._writer.close()


_POST = b"POST /v1/plans?wait=0\nContent-Type: application/json\r\nCache-Control: no-store\r\n"


async def client(number: int, url: str, until: float, think_s: float, seen: Seen) -> None:
    """Submit and look, until the time is over; ``until`` is of ``time.monotonic``."""
    draw, place = random.Random(number), urlsplit(url)
    connection = Connection(place.hostname or "", place.port or 80, seen)
    await connection.open()

    async def think() -> None:
        await asyncio.sleep(think_s * draw.uniform(0.5, 1.5))

    async def ask(kind: str, head: bytes, content: bytes = b"", *, hoped: int = 200) -> bytes:
        status, answer = await connection.ask(kind, head, content)
        if status != hoped:
            seen.errors[f"{status} {kind}"] += 1
        await think()
        return answer

    await asyncio.sleep(think_s * draw.random())
    body = json.dumps(two_layers(seed=number)).encode()
    while time.monotonic() < until:
        begun = json.loads(await ask("submit", _POST, body, hoped=202))
        look, state = f"GET /v1/plans/{begun.get('id')}\n".encode(), "queued"
        while time.monotonic() < until and state in {"queued", "running"}:
            for path, share in OTHERS.items():
                if draw.random() < share / 100:
                    await ask(path, b"GET %b\n" % path.encode())
            state = json.loads(await ask("status", look)).get("state")
        seen.ended += state == "succeeded"
    connection.close()


async def busy(url: str, path: str, bodies: Iterator[Json]) -> None:
    """Have a job of this kind at work at any time."""
    async with httpx2.AsyncClient(base_url=url, timeout=90, trust_env=False) as at:
        for body in bodies:
            answer = await at.post(path, json=body, headers={"cache-control": "no-store"})
            place = answer.headers["location"]
            while answer.json()["state"] in {"queued", "running"}:
                answer = await at.get(place, params={"wait": 30})


def long_plans(seed: int) -> Iterator[Json]:
    options = {"baselines": [], "time_limit_s": LONG_S}
    while True:
        yield search(400, options={**options, "seed": seed})
        seed += 2


def sweeps(service: Service) -> Iterator[Json]:
    seed = 0
    while True:
        yield sweep(service, seed=seed)
        seed += 1


def memory(server: int) -> tuple[float, float]:
    """Return the resident memory of the server, and of all processes below it [MiB]."""
    sizes, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(fields[1])
            sizes[int(entry.name)] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / _MIB
    below = 0.0
    for process, size in sizes.items():
        above = parents[process]
        while above in parents and above != server:
            above = parents[above]
        below += size * (above == server)
    return sizes[server], below


async def watch(server: int, samples: Samples) -> None:
    """Look at the memory now and then."""
    began = time.monotonic()
    while True:
        samples.append((time.monotonic() - began, *memory(server)))
        await asyncio.sleep(SAMPLE_S)


def told(seen: Seen, seconds: float) -> None:
    """Print latencies and counts."""
    print(f"  {'request':<40}{'count':>9}{'/s':>8}{'p50':>9}{'p95':>9}{'p99':>9}{'max':>9}  ms")
    for kind, values in sorted(seen.seconds.items(), key=lambda item: -len(item[1])):
        points = "".join(f"{1e3 * each:>9.1f}" for each in np.percentile(values, [50, 95, 99, 100]))
        print(f"  {kind:<40}{len(values):>9,}{len(values) / seconds:>8.1f}{points}")
    print(f"  {seen.ended:,} small plans ended; errors: {dict(seen.errors) or 'none'}")


def _cpu(process: int) -> float:
    """Return how long a process has computed, without its children [s]."""
    fields = Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def part(service: Service, connections: int, think_s: float, seconds: float) -> None:
    """Run all clients for so long, and print."""
    seen, url = Seen(), str(service.client.base_url)
    both = (os.getpid(), service.process)
    before = [_cpu(each) for each in both]
    began = time.monotonic()
    each = [client(i, url, began + seconds, think_s, seen) for i in range(connections)]
    await asyncio.gather(*each)
    took = time.monotonic() - began
    ours, its = [(_cpu(each) - spent) / took for each, spent in zip(both, before, strict=True)]
    print(f"{connections} connections, {think_s:g} s between requests, {took:.0f} s:")
    told(seen, took)
    print(f"  of one core: the clients {ours:.0%}, the server {its:.0%}", flush=True)


async def measure(service: Service, asked: argparse.Namespace) -> Samples:
    """Print what the clients saw; return the memory over time."""
    url = str(service.client.base_url)
    samples: Samples = []
    beside = [
        asyncio.create_task(busy(url, "/v1/plans", long_plans(0))),
        asyncio.create_task(busy(url, "/v1/plans", long_plans(1))),
        asyncio.create_task(busy(url, "/v1/sweeps", sweeps(service))),
        asyncio.create_task(watch(service.process, samples)),
    ]
    await asyncio.sleep(5)
    await part(service, asked.connections, asked.think_s, 60 * asked.minutes)
    if asked.saturated:
        await part(service, asked.connections, 0, SATURATED_S)
    for task in beside:
        if task.done():
            task.result()
        task.cancel()
    return samples


def growth(samples: Samples) -> float | None:
    """Print the memory over time; return how much the server's grew over the last two thirds [%].

    That is what a line through the samples rises there, over the mean; None of too few samples.
    """
    print("Resident memory [MiB]:  s, server, all below it")
    for at, server, below in samples:
        print(f"  {at:>6.0f}{server:>9.1f}{below:>9.1f}")
    late = np.array(samples[len(samples) // 3 :])
    if len(late) <= 2:
        return None
    grown = {}
    for name, column in (("server", 1), ("below it", 2)):
        slope = 60 * np.polyfit(late[:, 0], late[:, column], 1)[0]
        minutes = (late[-1, 0] - late[0, 0]) / 60
        grown[name] = 100 * slope * minutes / late[:, column].mean()
        print(f"  {name}: {slope:+.2f} MiB a minute, {grown[name]:+.1f} % in {minutes:.0f} minutes")
    return float(grown["server"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--think-s", type=float, default=1.0)
    parser.add_argument("--saturated", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--flat", type=float, help="most growth of the server's memory [%%]")
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), INTERLACE_WORKERS="2", INTERLACE_LOG_FORMAT="json") as service,
    ):
        grown = growth(asyncio.run(measure(service, asked)))
        for job in service.client.get("/v1/sweeps?state=running").json()["sweeps"]:
            service.client.delete(f"/v1/sweeps/{job['id']}")
    if sys.stdout.isatty():
        print(f"load average {os.getloadavg()[0]:.1f}")
    if asked.flat is not None and (grown is None or grown > asked.flat):
        sys.exit(f"The server's memory is not known to have grown by {asked.flat:g} % at most.")


if __name__ == "__main__":
    main()
