"""Classes and periods of jobs on shared links, by hand: 100 ms of compute, then 50 ms on a link."""

from typing import Any

import pytest

import interlace
from app.schemas.allocations import AllocationRow

#: Two racks of two nodes with a GPU each; 200 Gbit/s come into a leaf, and 50 go up.
TOPOLOGY: dict[str, Any] = {
    "fat_tree": {"racks": 2, "nodes": 2, "node_uplink_gbps": 100, "oversubscription": 4},
    "gpus": 1,
}
#: A ring of two sends the gradient's bytes: 312.5 MB at 50 Gbit/s are 50 ms.
HALVES: dict[str, Any] = {
    "graph": {
        "ops": [
            {"id": "compute", "kind": "compute", "duration_us": 100_000},
            {"id": "sum", "kind": "all_reduce", "bytes": 312_500_000, "after": ["compute"]},
        ]
    },
    "policy": "wfbp",
}


def row(new: dict[str, Any], other: dict[str, Any], **fields: Any) -> AllocationRow:
    """Rank a set across racks beside a job across the same."""
    answer = interlace.allocate(
        {
            "topology": TOPOLOGY,
            "job": {"nodes": 2, **HALVES, **new},
            "running": [{"name": "other", "on": ["node2", "node4"], **HALVES, **other}],
            "candidates": [["node1", "node3"]],
            **fields,
        }
    )
    return answer.best[0]


@pytest.mark.parametrize(
    ("new", "other", "times", "p95"),
    [
        # both send at once, half each, for ever
        ({}, {}, (200, 200), (200, 200)),
        # the lower class sends after the higher one, and then computes while that sends
        ({"priority": 1}, {}, (150, 150), (150, 150)),
        ({"priority": 3}, {"priority": 3}, (200, 200), (200, 200)),
        # one that begins 50 ms later sends when the other has sent
        ({"offset_us": 50_000}, {}, (150, 150), (150, 150)),
        # one that is held at every other iteration of the other meets it once, and never again
        ({"period_us": 300_000}, {}, (300, 150), (300, 150)),
    ],
)
def test_terms_of_jobs_by_hand(
    new: dict[str, Any],
    other: dict[str, Any],
    times: tuple[float, float],
    p95: tuple[float, float],
) -> None:
    found = row(new, other)
    assert found.evidence == "simulated"
    assert [job.alone_us for job in found.jobs] == pytest.approx([150_000, 150_000])
    assert [job.time_us / 1e3 for job in found.jobs] == pytest.approx(times)
    assert [job.p95_us / 1e3 for job in found.jobs if job.p95_us] == pytest.approx(p95)
    assert found.objective == pytest.approx(sum(times) / 300)


@pytest.mark.parametrize(
    ("new", "other", "slow"),
    [
        # a third of the time the other sends as well, and has half
        ({}, {}, (1 + 50 / 3 / 150,) * 2),
        # the lower waits a third of the time, and so takes half as long again to send
        ({"priority": 1}, {}, (1, 1 + 25 / 150)),
        # a sixth of the time the other sends as well
        ({"period_us": 300_000}, {}, (2, 1 + 50 / 6 / 150)),
        # one that is held a little meets the other in 50 of 160 ms
        ({}, {"period_us": 160_000}, (1 + 50 * (50 / 160) / 150, 1 + 50 / 3 / 150)),
    ],
)
def test_estimates_know_classes_and_periods(
    new: dict[str, Any], other: dict[str, Any], slow: tuple[float, float]
) -> None:
    found = row(new, other, simulated=0)
    assert found.evidence == "estimated"
    assert [job.slowdown for job in found.jobs] == pytest.approx(slow)
    assert [job.p95_us for job in found.jobs] == [None, None]


def test_laws_of_jobs_beside_one_another() -> None:
    """Twice all times and bytes take twice as long; the order of jobs that run is no matter."""
    jobs: dict[str, dict[str, Any]] = {
        "a": {"on": ["node2", "node7"], "compute_us": 90_000, "gradient_bytes": 400_000_000},
        "c": {"on": ["node6", "node8"], "compute_us": 70_000, "gradient_bytes": 900_000_000},
    }
    topology = {**TOPOLOGY, "fat_tree": {**TOPOLOGY["fat_tree"], "nodes": 4}}

    def times(names: str, factor: int, **fields: Any) -> dict[str, float]:
        running = [{"name": n, "policy": "wfbp", **jobs[n]} for n in names]
        figures = {"compute_us": 60_000, "gradient_bytes": 300_000_000}
        new: dict[str, Any] = {"nodes": 2, "policy": "wfbp", **figures}
        for job in (new, *running):
            job["compute_us"] *= factor
            job["gradient_bytes"] *= factor
        asked = {"topology": topology, "job": new, "running": running}
        asked["candidates"] = [["node1", "node5"]]
        (found,) = interlace.allocate(asked | fields).best
        return {job.name: job.time_us for job in found.jobs}

    for fields in ({}, {"simulated": 0}):
        once = times("ac", 1, **fields)
        assert times("ca", 1, **fields) == pytest.approx(once)
        assert times("ac", 2, **fields) == pytest.approx({n: 2 * us for n, us in once.items()})


def test_a_job_that_is_held_alone_takes_its_period() -> None:
    held = {"nodes": 2, **HALVES, "period_us": 180_000}
    answer = interlace.allocate({"topology": TOPOLOGY, "job": held, "count": 1})
    (job,) = answer.best[0].jobs
    assert job.time_us == job.p95_us == pytest.approx(180_000)
    assert job.alone_us < job.time_us
