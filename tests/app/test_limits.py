"""What a request may cost: hostile bodies are refused soon and in little memory, reads go on."""

import json
import select
import socket
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.limits import MAX_OPS
from app.reading import requests as door
from app.reading import traces
from app.reading.requests import read_parsed
from app.schemas.plans import PlanRequest
from solver.errors import Fault, InvalidTrace
from solver.limits import MAX_FAULTS_SOUGHT
from solver.traces import FORMATS, TraceOptions
from tests.app.long import highs
from tests.app.service import Json, Service, faults, two_layers
from tests.trace_files import ALL_WRITERS as WRITERS
from tests.trace_files import Job
from tests.waiting import until

MANY = {f"k{i}": 0 for i in range(300_000)}


def refused(body: Any) -> tuple[Fault, ...]:
    with pytest.raises(InvalidRequest) as caught:
        read_parsed(body, PlanRequest)
    return caught.value.faults


def channels(body: Json) -> None:
    body["cluster"]["channels"] = {name: {} for name in MANY}


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
        (channels, "/cluster/channels", "out_of_range"),
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
        [{"id": "b", "kind": "compute", "duration_us": 1}] * 20_000,  # one id for all
        [
            {"id": f"g{i}", "kind": "all_reduce", "bytes": 1, "channel": "nvlink"}
            for i in range(2_000)
        ],
    ],
)
def test_faults_are_bounded(ops: list[Any]) -> None:
    body = two_layers()
    body["graph"]["ops"] = ops
    found = refused(body)
    assert "too_many_faults" in {fault.code for fault in found}
    assert MAX_FAULTS_SOUGHT <= len(found) < 3.2 * MAX_FAULTS_SOUGHT


def test_edges_are_looked_at_beside_a_repeated_id() -> None:
    body = two_layers()
    body["graph"]["ops"][5]["id"] = "b2"
    body["graph"]["ops"][5]["after"] = ["f1", "f3"]
    assert [(f.pointer, f.code) for f in refused(body)] == [
        ("/graph/ops/5/id", "duplicate_id"),
        ("/graph/ops/5/after/1", "unknown_op"),
    ]


def test_names_are_short_in_messages() -> None:
    body = two_layers()
    body["graph"]["ops"][0] |= {"id": "x" * 1_000_000, "after": ["nobody"] * 1000, "z": 1}
    assert sum(len(fault.detail) for fault in refused(body)) < 100_000


def test_no_op_waits_for_more_than_all_ops() -> None:
    body = two_layers()
    body["graph"]["ops"][2]["after"] = ["b2"] * (MAX_OPS + 1)
    assert [(f.pointer, f.code) for f in refused(body)] == [
        ("/graph/ops/2/after", "out_of_range"),
    ]


def test_most_ops_are_one_less_with_a_barrier(monkeypatch: pytest.MonkeyPatch) -> None:
    body = two_layers(barrier=True, fusion="none", baselines=[])
    monkeypatch.setattr(door, "MAX_OPS", len(body["graph"]["ops"]))
    assert [(f.pointer, f.code) for f in refused(body)] == [("/graph/ops", "out_of_range")]
    del body["graph"]["ops"][5]
    read_parsed(body, PlanRequest)


def test_values_of_a_body_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps(two_layers()).encode()
    monkeypatch.setattr(door, "MAX_MISFIT_VALUES", 10)
    door.read_body(body, PlanRequest)
    with pytest.raises(InvalidRequest) as caught:
        door.read_body(body[:-1] + b', "x": 1}', PlanRequest)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [("", "too_many_faults")]


@pytest.mark.parametrize("form", [each.name for each in FORMATS if each.layer_mark])
def test_a_graph_of_too_many_layers_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    files = WRITERS[form](Job((50,) * 9, (4_000,) * 9))
    assert traces.read_files(files, None, TraceOptions()).report.ops >= 18
    monkeypatch.setattr(traces, "_MOST_LAYERS", 8)
    with pytest.raises(InvalidTrace, match="more than 8 layers") as caught:
        traces.read_files(files, None, TraceOptions())
    assert [fault.code for fault in caught.value.faults] == ["too_large"]


def test_limits_are_those_that_are_enforced(service: Service) -> None:
    limits = service.client.get("/v1/limits").json()
    assert limits["body"]["bytes"] == 3_000_000  # of this server
    assert limits["graph"]["ops"] == MAX_OPS
    body = two_layers(seed=limits["options"]["seed"])
    body["cluster"]["channels"] = {
        f"c{i}": {"workers": limits["cluster"]["workers"]}
        for i in range(limits["cluster"]["channels"])
    }
    body["graph"]["name"] = "x" * limits["graph"]["name_characters"]
    assert service.post(body).status_code == 201
    body["graph"]["name"] += "x"
    body["options"]["seed"] += 1
    body["cluster"]["channels"]["one more"] = {}
    assert {place for place, _ in faults(service.post(body))} == {
        "/graph/name",
        "/options/seed",
        "/cluster/channels",
    }


def test_few_big_bodies_are_held_at_once(service: Service) -> None:
    """Clients that stop in the middle of a big body keep out the next one, not small ones."""
    limits = service.client.get("/v1/limits").json()["body"]
    big = b" " * (limits["big_bytes"] + 200_000) + json.dumps(two_layers()).encode()
    address = (service.client.base_url.host, service.client.base_url.port)
    head = f"POST /v1/plans HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(big)}\r\n"
    head += "Content-Type: application/json\r\nConnection: close\r\n\r\n"
    with ExitStack() as opened:
        slow = []
        for _ in range(limits["at_once"]):
            client = opened.enter_context(socket.create_connection(address))
            client.sendall(head.encode() + big[:-1])
            slow.append(client)
        is_kept_out = False
        while not is_kept_out:  # the server may not have come to all that the others sent
            last = opened.enter_context(socket.create_connection(address))
            last.sendall(head.encode() + big)
            is_kept_out = not select.select([last], [], [], 1)[0]
        assert service.post(two_layers()).status_code == 201
        for client in slow:
            client.sendall(big[-1:])
            assert client.recv(12) == b"HTTP/1.1 201"
        assert last.recv(12) == b"HTTP/1.1 201"


def test_reads_go_on_while_plans_are_solved(service: Service) -> None:
    """Far more requests than there are threads wait their turn; nothing else waits with them."""
    posts = 45
    listed: Json = {"tag": "solved", "limit": 200}

    def waiting() -> list[Json]:
        found: list[Json] = service.client.get("/v1/plans", params=listed).json()["plans"]
        return found

    with ThreadPoolExecutor(posts) as clients:
        place = "/v1/plans?wait=60&tag=solved"
        answers = [clients.submit(service.client.post, place, json=highs()) for _ in range(posts)]
        until(lambda: len(waiting()) == posts)
        for path in ("/healthz", "/readyz", "/version", "/v1/plans", "/docs"):
            assert service.client.get(path).status_code == 200
        assert not any(answer.done() for answer in answers), "a read waited for them"
        for job in waiting():
            service.client.post(f"/v1/plans/{job['id']}/cancel")
        assert {answer.result().json()["state"] for answer in answers} == {"cancelled"}
