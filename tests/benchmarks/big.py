"""Graphs as large as the limits allow, posted to the real server: seconds and memory.

Run it with ``python -m tests.benchmarks.big``; name shapes to run only these. Memory is the peak
of the server process alone, a fresh one for each shape; the process of the job has its own.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2

from app.limits import MAX_EDGES, MAX_OPS
from tests.app.service import PATIENT, Json, running

CLUSTER = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}


def compute(name: str, *after: str) -> Json:
    return {"id": name, "kind": "compute", "duration_us": 1.5, "after": list(after)}


def send(name: str, *after: str) -> Json:
    return {"id": name, "kind": "all_reduce", "bytes": 1_000_000, "after": list(after)}


def chain() -> list[Json]:
    """A backward pass that sends eight gradients, then a forward pass that waits for them."""
    count, gradients = MAX_OPS - 8, 8
    half, every = count // 2, count // 2 // gradients
    ops = [compute("op0"), *(compute(f"op{i}", f"op{i - 1}") for i in range(1, count))]
    for k in range(gradients):
        ops.append(send(f"g{k}", f"op{k * every}"))
        ops[count - 1 - k * every]["after"].append(f"g{k}")
    assert count - 1 - (gradients - 1) * every >= half
    return ops


def cycle() -> list[Json]:
    count = MAX_OPS - 1
    return [*(compute(f"op{i}", f"op{(i + 1) % count}") for i in range(count)), send("g", "op0")]


def fan_in() -> list[Json]:
    names = [f"op{i}" for i in range(MAX_OPS - 2)]
    return [*map(compute, names), send("g", "op0"), compute("last", *names, "g")]


def bipartite() -> list[Json]:
    """Two layers, each op of one after each op of the other, as many as edges allow."""
    side = int((MAX_EDGES - 2) ** 0.5)
    names = [f"a{i}" for i in range(side)]
    ops = [*map(compute, names), *(compute(f"b{i}", *names) for i in range(side))]
    return [*ops, send("g", "a0"), compute("last", "g")]


def faulty() -> list[Json]:
    """Faults in every op."""
    return [{"id": "x", "kind": "all_reduce", "bytes": 0, "after": ["y"]}] * MAX_OPS


def faulty_at_the_end() -> list[Json]:
    """One fault, where a search for it ends."""
    return [*chain()[:-1], {**chain()[-1], "bytes": 0}]


def twins() -> list[Json]:
    """One id for all."""
    return [compute("op")] * (MAX_OPS - 1) + [send("g", "op")]


SHAPES: dict[str, Callable[[], list[Json]]] = {
    "chain": chain,
    "cycle": cycle,
    "fan-in": fan_in,
    "bipartite": bipartite,
    "faulty": faulty,
    "faulty at the end": faulty_at_the_end,
    "twins": twins,
}


def written(body: bytes) -> Iterator[bytes]:
    """Send in pieces, as a client does that reads a file."""
    for start in range(0, len(body), 2**20):
        yield body[start : start + 2**20]


def peak_mb(process: int) -> float:
    """Peak of the resident memory of a process [MB]."""
    status = Path(f"/proc/{process}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def bench(name: str) -> None:
    body = json.dumps({"graph": {"ops": SHAPES[name]()}, "cluster": CLUSTER}).encode()
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as service:
        before = peak_mb(service.process)
        headers = {"content-type": "application/json", **PATIENT}
        with httpx2.Client(
            base_url=service.client.base_url, timeout=600, trust_env=False
        ) as client:
            began = time.perf_counter()
            answer = client.post("/v1/plans", content=written(body), headers=headers)
            seconds = time.perf_counter() - began
        code = answer.json().get("code", answer.json().get("status"))
        print(
            f"{name:<20}{len(body) / 1e6:>8.0f} MB sent {len(answer.content) / 1e6:>8.0f} MB back"
            f"{seconds:>8.1f} s {before:>8.0f} MB {peak_mb(service.process):>8.0f} MB peak"
            f"   {answer.status_code} {code}",
            flush=True,
        )


if __name__ == "__main__":
    for shape in sys.argv[1:] or SHAPES:
        bench(shape)
