"""PHub's tenants: jobs that share a box (Fig. 18)."""

from solver.placements.chunks import CHUNK_BYTES, Key
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.jobs import share
from solver.placements.published import PHUB
from tests.benchmarks.papers.phub_setup import (
    CORE_GBYTES_PER_S,
    CORES,
    INTERFACES,
    SLOW_GBPS,
    TABLE_3,
    WORKERS,
    layers,
)
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table

COUNTS = (1, 2, 4, 8)
#: Transfers of a simulation of jobs; chunks are as large as that asks for.
MOST = 8_000


def kept(name: str, count: int, workers: int = 1) -> float:
    """Return the throughput of the slowest of so many equal jobs over that of one alone.

    All cards carry 10 Gbit/s; alone the job has the same chunks.
    """
    server = SharedServer(
        SLOW_GBPS, SLOW_GBPS, INTERFACES, CORES, CORE_GBYTES_PER_S, CHUNK_BYTES, PHUB
    )
    whole = (Key("model", sum(key.bytes for key in layers()[name])),)
    jobs = [TrainingJob(f"{name} {i}", whole, TABLE_3[name].us, workers) for i in range(count)]
    sharing = share(jobs, server, MOST)
    assert sharing is not None
    return 1 / max(job.slowdown for job in sharing.jobs)


def tenants() -> Table:
    """Fig. 18: eight jobs on a PBox."""
    curves, lost = [], {}
    for name in ("AlexNet", "ResNet 50"):
        found = [kept(name, count) for count in COUNTS]
        lost[name] = max(0.0, 1 - found[-1])
        curves.append(Curve(name, tuple(map(float, COUNTS)), tuple(found)))
    rows = [
        Row(
            "AlexNet: lost by a job beside seven others",
            "5 %",
            f"{lost['AlexNet']:.1%}",
            0.04 <= lost["AlexNet"] <= 0.06,
            "Nothing is shared that is full: eight workers ask for 8 of 10 cards. The paper names "
            "optimizers that run often and caches that jobs take from each other; the latter are "
            "not modelled, the former take no time here.",
        ),
        Row(
            "ResNet 50: lost by a job beside seven others",
            "smaller",
            f"{lost['ResNet 50']:.1%}",
            lost["ResNet 50"] < 0.01,
        ),
    ]
    return Table(
        "PHub, Fig. 18: jobs that share a PBox",
        rows,
        [
            f"10 Gbit/s at all cards, a worker a job, for the testbed has {WORKERS} in "
            f"all. Chunks are so large that {MOST:,} transfers suffice, with "
            "which the job alone is simulated, too."
        ],
        place="Section 4.8 (Fig. 18)",
        decides="How many workers a job has, which is not published.",
        plots=[Plot("Fig. 18: throughput of a job", "jobs", "of that alone", tuple(curves))],
    )
