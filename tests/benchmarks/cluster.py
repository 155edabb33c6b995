"""Sweeps and jobs on a Dask cluster of this machine: how well they scale, and what kills cost.

``python -m tests.benchmarks.cluster [--cells 2048] [--workers 1 2 4]``: a sweep of so many cells
on so many Dask workers of one thread each. Two efficiencies are told. By the clock: the time that
cells took over workers x the time of the sweep; it is of real cores where each worker, the
scheduler and this process have an idle one. By the tasks' own processor times, as if each worker
had a core of its own (simulated cores): the processor time of all cells over workers x that of the
worker with the most, all that its processes used counted, Dask's too. The second leaves out only
what a worker waits for its next cell; Dask sends that ahead.

``python -m tests.benchmarks.cluster --kills 20 --jobs 200 [--database postgresql]`` kills Dask
workers by SIGKILL while clients have jobs done, as ``tests.benchmarks.kills`` does with servers.
Linux only.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext
from pathlib import Path

from app.jobs.engines.cells import Cells
from app.limits import MAX_CELL_TIME_LIMIT_S, MAX_SWEEP_LIMIT_S, MAX_SWEEP_PLANNING_S
from app.operations.cores import cores
from app.schemas.clusters import ClusterBody
from app.schemas.graphs import GraphBody
from app.schemas.problem import CheckedRequest
from app.schemas.sweeps import SweepRequest
from app.services.sweeps.parallel import Each
from app.services.sweeps.run import run as sweep
from solver.models import MODELS
from tests.app import postgres
from tests.app.dask_cluster import DaskCluster, children_of, dask_cluster, ticks
from tests.benchmarks import kills
from tests.benchmarks.cluster_cells import Timed, Timing, slowly
from tests.waiting import until

#: What a process of a cell may take [bytes].
_MEMORY_BYTES = 2**31
#: Between two kills lies at most so much time [s].
_APART_S = 4.0


class TimedCells:
    """Does cells on a cluster, and keeps what each took."""

    def __init__(self, each: Each) -> None:
        self._each, self.found, self.took_s = each, list[Timed](), 0.0

    def __call__(self, work, items, progress=None, *, keep=None, short_s=0.0):
        began = time.perf_counter()
        found = self._each(Timing(work), items, progress, short_s=0.0)
        self.took_s = time.perf_counter() - began
        self.found = [each for each in found if isinstance(each, Timed)]
        assert len(self.found) == len(found), "a cell was lost"
        for place, each in enumerate(self.found if keep else []):
            keep(place, each.value)
        return [each.value for each in self.found]


def request(cells: int) -> SweepRequest:
    """Return a sweep of so many cells, a multiple of 32."""
    return SweepRequest(
        graph=GraphBody(ops=[]),
        cluster=ClusterBody(workers=8, bandwidth_gbps=10),
        workers=[2, 4, 8, 16, 32, 64, 128, 256],
        bandwidths_gbps=[float(each) for each in range(1, cells // 32 + 1)],
        startups_us=[0, 20, 50, 200],
        time_limit_s=min(MAX_CELL_TIME_LIMIT_S, MAX_SWEEP_PLANNING_S / cells),  # cuts no plan
        sweep_limit_s=MAX_SWEEP_LIMIT_S,
    )


def scaling(cells: int, counts: Sequence[int]) -> None:
    """Print how a sweep scales with the workers."""
    graph, asked = MODELS["resnet50"](), request(cells)
    print(f"{graph.name}: {cells:,} cells x {len(asked.policies)} policies, {cores()} cores")
    first: str | None = None
    for count in counts:
        with tempfile.TemporaryDirectory() as name, dask_cluster(Path(name), count) as cluster:
            timed = TimedCells(Cells(cluster.address, _MEMORY_BYTES))
            ready(cluster, count)
            before = spent_s(cluster)
            answer = sweep(CheckedRequest(graph, asked), each=timed)
            used = [b - a for a, b in zip(before, spent_s(cluster), strict=True)]
        text = answer.model_dump_json(exclude={"runtime_s"})
        assert first in {None, text}, "another answer with other workers"
        first = text
        print(told(timed, used), flush=True)


def ready(cluster: DaskCluster, count: int) -> None:
    """Let each worker start its process, which imports the solver, before time is taken."""
    each = Cells(cluster.address, _MEMORY_BYTES)
    until(lambda: len(set(each(slowly, range(4 * count), short_s=0.0))) >= count)


def spent_s(cluster: DaskCluster) -> list[float]:
    """Return the processor time of each worker so far, its processes included [s]."""
    second = os.sysconf("SC_CLK_TCK")
    return [
        sum(map(ticks, [each.pid, *children_of(each.pid)])) / second for each in cluster.workers
    ]


def told(timed: TimedCells, used_s: Sequence[float]) -> str:
    """Say how long the cells took, and how well the workers were used."""
    count = len(used_s)
    cpu_s = sum(each.cpu_s for each in timed.found)
    wall_s = sum(each.wall_s for each in timed.found)
    return (
        f"{count} workers: {timed.took_s:.1f} s; cells by the clock {wall_s:.1f} s, of a processor "
        f"{cpu_s:.1f} s; workers with Dask {', '.join(f'{each:.1f}' for each in used_s)} s\n"
        f"  efficiency by the clock {wall_s / (count * timed.took_s):.2f}, by the tasks' own "
        f"processor times (simulated cores) {cpu_s / (count * max(used_s)):.2f}"
    )


def killing(jobs: int, count: int, seed: int, workers: int, database: str) -> bool:
    """Have jobs done while workers are killed; print what came of it, and tell whether all did."""
    asked, draw = kills.wishes(jobs, seed), random.Random(seed)
    with (
        tempfile.TemporaryDirectory() as name,
        nullcontext() if database == kills.SQLITE else postgres.running() as databases,
        dask_cluster(Path(name, "dask"), workers) as cluster,
    ):
        url = databases.make() if databases else None
        quiet = kills.run(Path(name, "quiet"), asked, 0, "nothing", seed)  # by itself, undisturbed
        hoped = {key: kills.hashed(end) for key, end in quiet.ends.items()}
        folder = Path(name, "server")
        folder.mkdir()
        settings = {"INTERLACE_SCHEDULER": cluster.address, "INTERLACE_WORKERS": "4"}
        server = kills.Server(folder, **settings, **kills.settings_of(url))
        heard = kills.Heard()
        server.start()
        deadline = [time.monotonic() + 1_200]
        alive = lambda: time.monotonic() < deadline[0]
        try:
            until(server.is_ready)
            with ThreadPoolExecutor(kills.CLIENTS) as clients:
                going = [
                    clients.submit(
                        kills.client, server, asked[i :: kills.CLIENTS], heard, alive, seed + i
                    )
                    for i in range(kills.CLIENTS)
                ]
                while heard.kills < count and not all(each.done() for each in going):
                    time.sleep(draw.uniform(0, _APART_S))
                    cluster.kill_worker(draw.randrange(workers))
                    cluster.start_worker()
                    heard.kills += 1
                wait(going)
                for each in going:
                    if error := each.exception():
                        print(f"  a client gave up: {error!r}")
        finally:
            server.stop(signal.SIGTERM)
        found = kills.checked(folder, asked, heard, hoped, url)
    for line, value in found.items():
        print(f"  {line:<40}{value}", flush=True)
    return bool(found["good"])


def main() -> None:
    """Run and print; fail when a job was lost or done twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2_048)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--kills", type=int)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=kills.DATABASES, default=kills.SQLITE)
    given = parser.parse_args()
    if given.kills is None:
        scaling(given.cells, given.workers)
    elif not killing(given.jobs, given.kills, given.seed, max(given.workers), given.database):
        sys.exit("Not as it should be.")


if __name__ == "__main__":
    main()
