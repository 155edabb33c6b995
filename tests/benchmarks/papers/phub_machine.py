"""PHub's machine and its tenants: chunks, ceilings (Figs. 16, 17, Table 4) and jobs (Fig. 18)."""

from solver.placements.chunks import Key
from solver.placements.headroom import most_workers
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.jobs import share
from tests.benchmarks.papers.phub_setup import (
    FAST_GBPS,
    INTERFACES,
    SLOW_GBPS,
    TABLE_3,
    WORKERS,
    Trained,
)
from tests.benchmarks.papers.tables import Curve, Plot, Row, Table

#: Chunks of jobs that share a server [bytes].
TENANT_CHUNK = 4_850_000


def machine() -> Table:
    """Tables 4 and Figs. 16, 17: what the machine bounds."""
    of = TABLE_3["ResNet 50"]
    one_way = WORKERS * of.bytes / of.us / 1e3
    most = most_workers("ncc", of.bytes, of.us, 2 * FAST_GBPS, interfaces=INTERFACES)
    no_bound = (
        "Here a transfer has no start-up and the machine no memory or PCIe: smaller chunks are "
        "always better, and only interfaces bound. The paper gives neither a time for a message "
        "nor "
        "for a queue pair that misses its cache."
    )
    rows = [
        Row("best size of a chunk [KB]", "32", "the smallest", False, no_bound, "Section 4.6"),
        Row("queue pairs a worker and interface", "1", "", None, no_bound, "Section 4.6 (Fig. 16)"),
        Row("ceiling of PBox [GB/s]", "90", "140", False, no_bound, "Section 4.7 (Fig. 17)"),
        Row("memory bandwidth, no sums [GB/s]", "77.5", "", None, no_bound, "Table 4"),
        Row(
            "ResNet 50, 8 workers: aggregated network bandwidth [GB/s]",
            "4",
            f"{one_way:.1f}",
            abs(one_way / 4 - 1) < 0.25,
            at="Section 4.7",
        ),
        Row(
            "workers that PBox can serve, ResNet 50",
            "up to 120",
            f"{most} by its interfaces; {90 / 6 * WORKERS:.0f} by 90 of its 6 GB/s",
            int(90 / 6 * WORKERS) == 120,
            at="Section 4.7",
        ),
    ]
    return Table(
        "PHub, Figs. 16, 17 and Table 4: the machine",
        rows,
        place="Section 4.7",
        decides="Start-ups and ceilings of the machine: none here.",
    )


def tenants() -> Table:
    """Fig. 18: eight jobs on a PBox."""
    server = SharedServer(SLOW_GBPS, FAST_GBPS, INTERFACES, chunk_bytes=TENANT_CHUNK)
    curves, counts = [], (1, 2, 4, 8)
    lost: dict[tuple[str, int], float] = {}
    for name, workers in (("AlexNet", WORKERS), ("AlexNet", 1), ("ResNet 50", WORKERS)):
        found = [_lost(TABLE_3[name], workers, count, server) for count in counts]
        lost[name, workers] = found[-1]
        kept = tuple(1 - share for share in found)
        curves.append(Curve(f"{name}, jobs of {workers}", tuple(map(float, counts)), kept))
    carried = INTERFACES * FAST_GBPS / (counts[-1] * WORKERS * SLOW_GBPS)
    rows = [
        Row(
            "AlexNet: lost by a job beside seven others",
            "5 %",
            f"{lost['AlexNet', 1]:.1%} with a worker each, {lost['AlexNet', WORKERS]:.1%} with 8",
            None,
            "How many workers a job has is not published; the testbed has 8 in all. With one each, "
            "nothing is shared that is full, and what is lost is of caches and optimizers, as the "
            "paper says. With 8 of its own each, ten interfaces of 56 Gbit/s carry "
            f"{carried:.1%} of what is sent: with small chunks the loss comes near "
            f"{1 - carried:.1%}.",
        ),
        Row(
            "ResNet 50: lost by a job beside seven others",
            "smaller",
            f"{lost['ResNet 50', WORKERS]:.1%}",
            lost["ResNet 50", WORKERS] < 0.01,
        ),
    ]
    return Table(
        "PHub, Fig. 18: jobs that share a PBox",
        rows,
        [
            f"10 Gbit/s at each worker; chunks of {TENANT_CHUNK / 1e6:.2f} MB, with which the job "
            "alone is simulated, too."
        ],
        place="Section 4.8 (Fig. 18)",
        decides="How many workers a job has.",
        plots=[Plot("Fig. 18: throughput of a job", "jobs", "of that alone", tuple(curves))],
    )


def _lost(model: Trained, workers: int, count: int, server: SharedServer) -> float:
    jobs = [
        TrainingJob(f"{i}", (Key("model", model.bytes),), model.us, workers) for i in range(count)
    ]
    found = share(jobs, server)
    assert found is not None
    return max(0.0, 1 - 1 / found.jobs[0].slowdown)
