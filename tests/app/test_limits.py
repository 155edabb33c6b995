"""What a request may cost: hostile bodies are refused soon and in little memory, reads go on."""

import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.door import read_problem
from app.errors import InvalidRequest
from app.plans import solve
from app.shape import ENOUGH
from solver.errors import Fault
from tests.app.service import Json, running, two_layers

MANY = {f"k{i}": 0 for i in range(300_000)}


def refused(body: Any) -> tuple[Fault, ...]:
    with pytest.raises(InvalidRequest) as caught:
        read_problem(body)
    return caught.value.faults


def wrong_after(body: Json) -> None:
    body["graph"]["ops"][0]["after"] = [0] * 300_000


def unknown_keys(*steps: Any) -> Callable[[Json], None]:
    def change(body: Any) -> None:
        for step in steps:
            body = body[step]
        body.update(MANY)

    return change


def wide_baseline(body: Json) -> None:
    body["options"]["baselines"] = ["wfbp", {"policy": "ddp", **MANY}]


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        (wrong_after, "/graph/ops/0/after/0", "wrong_type"),
        (unknown_keys(), "", "extra_field"),
        (unknown_keys("graph"), "/graph", "extra_field"),
        (unknown_keys("cluster"), "/cluster", "extra_field"),
        (unknown_keys("graph", "ops", 1), "/graph/ops/1", "extra_field"),
        (wide_baseline, "/options/baselines/1", "extra_field"),
    ],
)
def test_memory_is_bounded(change: Callable[[Json], None], pointer: str, code: str) -> None:
    body = two_layers()
    change(body)
    tracemalloc.start()
    try:
        found = refused(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(fault.pointer, fault.code) for fault in found] == [(pointer, code)]
    assert peak < 20e6


def edges(count: int) -> list[Json]:
    op = {"kind": "compute", "duration_us": 1, "after": ["nobody"] * 100}
    return [{"id": f"b{i}", **op} for i in range(count)]


@pytest.mark.parametrize(
    "ops",
    [
        [{"id": f"g{i}", "kind": "all_reduce", "bytes": 0} for i in range(50_000)],
        [{"id": f"g{i}", "bytes": 0} for i in range(50_000)],  # of no kind, besides
        [{f"k{i}": 0 for i in range(60)}] * 20_000,  # not wide enough to be narrowed
        [{"id": "b", "kind": "compute", "duration_us": 1, **dict.fromkeys(map(str, range(65)))}]
        * 20_000,
        [7] * 50_000,
        edges(2_000),
        [{**op, "duration_us": -1} for op in edges(2_000)],
    ],
)
def test_faults_are_bounded(ops: list[Any]) -> None:
    body = two_layers()
    body["graph"]["ops"] = ops
    found = [fault for fault in refused(body) if fault.code != "duplicate_id"]
    assert "too_many_faults" in {fault.code for fault in found[: ENOUGH + 100]}
    assert ENOUGH <= len(found) < 2.2 * ENOUGH


def test_names_are_short_in_messages() -> None:
    body = two_layers()
    body["graph"]["ops"][0] |= {"id": "x" * 1_000_000, "after": ["nobody"] * 1000, "z": 1}
    assert sum(len(fault.detail) for fault in refused(body)) < 100_000


def test_no_op_waits_for_more_than_all_ops() -> None:
    body = two_layers()
    body["graph"]["ops"][2]["after"] = ["b2"] * 200_001
    assert [(f.pointer, f.code) for f in refused(body)] == [
        ("/graph/ops/2/after", "out_of_range"),
    ]


def test_most_ops_are_one_less_with_a_barrier() -> None:
    ops = [{"id": f"b{i}", "kind": "compute", "duration_us": 1} for i in range(199_999)]
    body = two_layers(barrier=True, fusion="none", baselines=[])
    body["graph"]["ops"] = [*ops, {"id": "g", "kind": "all_reduce", "bytes": 1}]
    assert [(f.pointer, f.code) for f in refused(body)] == [("/graph/ops", "out_of_range")]
    del body["graph"]["ops"][0]
    assert len(solve(read_problem(body)).fused_graph.ops) == 200_000


def test_reads_go_on_while_plans_are_solved(tmp_path: Path) -> None:
    """Far more requests than there are threads wait their turn; nothing else waits with them."""
    baseline = {"policy": "p3", "slice_bytes": 200}  # 25,000 launches
    slow = two_layers(fusion="none", baselines=[baseline])
    posts = 45
    with running(tmp_path) as service, ThreadPoolExecutor(posts) as clients:
        answers = [clients.submit(service.post, slow) for _ in range(posts)]
        time.sleep(0.5)
        for path in ("/healthz", "/readyz", "/version", "/v1/plans", "/docs"):
            began = time.monotonic()
            assert service.client.get(path).status_code == 200
            assert time.monotonic() - began < 3
        assert not all(answer.done() for answer in answers), "the server was not busy"
        assert {answer.result().status_code for answer in answers} == {201}
