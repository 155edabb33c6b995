"""Requests that take long, and what can be seen of the processes that work on them."""

import json
import math
import os
from contextlib import closing
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import select

from app.limits import MAX_CELLS
from app.storage.tables import JobRow
from tests import waiting
from tests.app.service import Json, Service

until = waiting.until

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").is_file(), reason="the processes of a server cannot be seen"
)


def layers(count: int) -> list[Json]:
    """Return so many layers, each with a gradient of another size."""
    ops: list[Json] = []
    for i in range(count):
        after = [f"b{i - 1}"] if i else []
        ops.append({"id": f"b{i}", "kind": "compute", "duration_us": 50 + i % 7, "after": after})
        size = 100_000 + 977 * i
        ops.append({"id": f"g{i}", "kind": "all_reduce", "bytes": size, "after": [f"b{i}"]})
    return ops


def both_passes(count: int) -> list[Json]:
    """Return so many layers, and the next forward pass, which waits for each gradient."""
    ops, before = layers(count), f"b{count - 1}"
    for i in reversed(range(count)):
        after = [before, f"g{i}"]
        ops.append({"id": f"f{i}", "kind": "compute", "duration_us": 40, "after": after})
        before = f"f{i}"
    return ops


#: Many small launches are quicker than a large one, so that no search can tell early what wins.
CONVEX: Json = {
    "workers": 8,
    "algorithm": "table",
    "table": [[1_000 * i, 10 + i + (i / 100) ** 1.5] for i in range(1, 2_049)],
}


def highs(**fields: object) -> Json:
    """Return a plan of minutes: PACE's fusion solves an LP for each count of buckets."""
    graph = {"name": "HiGHS", "ops": both_passes(250)}
    options = {"fusion": "maxmin", "schedule": "lp", "effort": 100, "time_limit_s": 600}
    return {"graph": graph, "cluster": CONVEX, "options": options, **fields}


#: A search among so many layers may end by itself.
_FEW = 1_000


def search(count: int = 3_000, **fields: object) -> Json:
    """Return a plan that has a plan in hand at once, and is searched for on and on.

    One of many layers is not ended by its limit before a slow machine has ended it: a test that
    begins it cancels it. One of fewer has the usual limit.
    """
    if count > _FEW:
        fields["options"] = {"effort": 100, "time_limit_s": 600} | cast(
            "Json", fields.get("options", {})
        )
    return {"graph": {"name": "search", "ops": layers(count)}, "cluster": CONVEX, **fields}


def sweep(service: Service, **fields: object) -> Json:
    """Return a sweep of minutes."""
    asked = service.client.get("/v1/examples/llama_7b").json()
    axes = {"workers": [*range(2, 66)], "bandwidths_gbps": [*range(1, 65)]}
    assert len(axes["workers"]) * len(axes["bandwidths_gbps"]) == MAX_CELLS
    body = {"graph": asked["graph"], "cluster": asked["cluster"], "policies": ["wfbp", "pace"]}
    return body | axes | fields


def busy(server: Service) -> list[int]:
    """Return the processes of jobs of a server, and those that they started, that compute."""
    before = _times(server)
    waiting.pause(0.2)
    return [
        process
        for process, (spent, is_ready) in _times(server).items()
        if spent > before.get(process, (0, False))[0]
        or (is_ready and before.get(process, (0, False))[1])  # others have the processors
    ]


def gone(processes: list[int]) -> bool:
    """Tell whether none of these processes is left, but for what their parents have not read."""
    return not any(map(_is_there, processes))


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self/stat").is_file()


def _times(server: Service) -> dict[int, tuple[int, bool]]:
    """Return what each process below a server's children has computed [ticks], and if it would.

    Without those that read small bodies, which step aside for nobody.
    """
    parents: dict[int, int] = {}
    spent: dict[int, tuple[int, bool]] = {}
    nice: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended meanwhile
        if fields[0] != "Z":
            parents[int(process.name)] = int(fields[1])
            ticks = int(fields[11]) + int(fields[12])
            spent[int(process.name)] = (ticks, fields[0] == "R")
            nice[int(process.name)] = int(fields[16])
    found = {}
    for pid in parents:
        line = [pid]
        while line[-1] in parents:
            line.append(parents[line[-1]])
        is_below = server.process in line[2:]  # a child of what forks them, or of another
        if is_below and nice[pid] > nice[server.process]:
            found[pid] = spent[pid]
    return found


def drafted_us(service: Service, job_id: str) -> float:
    """Return the time of the plan that a job would leave if it ended now [us]."""
    with closing(service.store()) as store, store.reading() as connection:
        summary = connection.scalar(select(JobRow.summary).where(JobRow.id == job_id))
    time_us: float = json.loads(summary).get("iteration_time_us", math.inf)
    return time_us
