"""The life of a job over HTTP: begun, looked at, followed, cancelled, deleted, listed."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import func, select, update

from app.schemas.lists import JobOut, Progress
from app.schemas.plans import PlanAnswer
from app.storage.tables import JobRow, KeyRow, PayloadRow, TagRow
from tests.app.here import here
from tests.app.long import busy, drafted_us, highs, needs_proc, search
from tests.app.long import sweep as long_sweep
from tests.app.service import Json, Service, faults, two_layers
from tests.waiting import until

PLANS = "/v1/plans"


@pytest.fixture(scope="module", params=["service", "on_postgresql"])
def server(request: pytest.FixtureRequest) -> Service:
    """A server on each kind of database."""
    found: Service = request.getfixturevalue(request.param)
    return found


def named(name: str) -> Json:
    body = two_layers(time_limit_s=600)  # no slow machine makes it late
    body["graph"]["name"] = name
    return body


def begin(service: Service, body: Json, **more: str) -> httpx2.Response:
    """Post without waiting."""
    return service.client.post(PLANS, json=body, params={"wait": 0, **more})


def cancel(service: Service, job_id: str) -> Json:
    answer = service.client.post(f"{PLANS}/{job_id}/cancel")
    assert answer.status_code == 200
    found: Json = answer.json()
    return found


def test_accepted_then_made(server: Service) -> None:
    answer = begin(server, two_layers())
    job = answer.json()
    assert answer.status_code == 202
    assert (answer.headers["location"], answer.headers["retry-after"]) == (
        f"{PLANS}/{job['id']}",
        "1",
    )
    assert set(job) == {*JobOut.model_fields, *PlanAnswer.always()}
    assert job["state"] in {"queued", "running"}
    assert {job[field] for field in PlanAnswer.always()} == {None}
    until(lambda: server.client.get(f"{PLANS}/{job['id']}").json()["finished_at"])
    found = server.client.get(f"{PLANS}/{job['id']}?wait=30").json()
    assert found["state"] == "succeeded"
    assert found["iteration_time_us"] == 8400.0
    assert set(found) == set(job)
    assert found["created_at"] <= found["started_at"] <= found["finished_at"]
    assert found["attempts"] == 1


@pytest.mark.parametrize(
    ("headers", "params", "applied"),
    [
        ({"prefer": "wait=30"}, {}, "wait=30"),
        ({"prefer": "respond-async, wait=100"}, {}, "wait=60"),  # clamped
        ({"prefer": 'foo; wait="7"'}, {}, "wait=7"),
        ({"prefer": "wait=0"}, {"wait": "30"}, None),  # the query wins
        ({"prefer": "wait=soon"}, {}, None),  # not understood: not applied
    ],
)
def test_preferences(
    server: Service, headers: dict[str, str], params: dict[str, str], applied: str | None
) -> None:
    answer = server.client.post(PLANS, json=two_layers(), headers=headers, params=params)
    assert answer.status_code in {201, 202}  # when it takes longer
    assert answer.headers.get("preference-applied") == applied


@pytest.mark.parametrize(
    ("params", "headers", "pointer"),
    [
        ({"wait": "61"}, {}, "/query/wait"),
        ({"wait": "-1"}, {}, "/query/wait"),
        ({"wait": "nan"}, {}, "/query/wait"),
        ({"wait": "soon"}, {}, "/query/wait"),
        ({"tag": ""}, {}, "/query/tag"),
        ({"tag": "x" * 65}, {}, "/query/tag"),
        ({"tag": "a\x01"}, {}, "/query/tag"),
        ({"tag": [str(i) for i in range(17)]}, {}, "/query/tag"),
        ({}, {"idempotency-key": "x" * 256}, "/header/Idempotency-Key"),
        ({}, {"idempotency-key": "a b"}, "/header/Idempotency-Key"),
        ({}, {"idempotency-key": ""}, "/header/Idempotency-Key"),
    ],
)
def test_refused(server: Service, params: Json, headers: dict[str, str], pointer: str) -> None:
    answer = server.client.post(PLANS, json=two_layers(), params=params, headers=headers)
    assert answer.status_code == 422
    assert {found for found, _ in faults(answer)} <= {pointer, *(f"{pointer}/{i}" for i in "0")}


def test_a_key_gives_one_job(server: Service) -> None:
    key, body = str(uuid4()), highs()

    def post(_: int) -> httpx2.Response:
        headers = {"idempotency-key": key}
        return httpx2.post(
            f"{server.client.base_url}{PLANS}?wait=0", json=body, headers=headers, timeout=None
        )

    with ThreadPoolExecutor(50) as clients:
        answers = list(clients.map(post, range(50)))
    assert {answer.status_code for answer in answers} == {202}
    (job_id,) = {answer.json()["id"] for answer in answers}
    other = server.client.post(
        PLANS, json=two_layers(), headers={"idempotency-key": key}, params={"wait": 0}
    )
    assert other.status_code == 422
    assert faults(other) == {("/header/Idempotency-Key", "idempotency_key_reused")}
    elsewhere = server.client.post(
        "/v1/simulations", json=body, headers={"idempotency-key": key}, params={"wait": 0}
    )
    assert elsewhere.status_code == 422
    assert cancel(server, job_id)["state"] == "cancelled"
    assert post(0).json()["id"] == job_id
    server.client.delete(f"{PLANS}/{job_id}")
    again = post(0)  # what the key stood for is gone
    assert again.json()["id"] != job_id
    cancel(server, again.json()["id"])


def test_a_wrong_request_uses_up_no_key(server: Service) -> None:
    headers = {"idempotency-key": str(uuid4())}
    wrong = server.client.post(PLANS, json=two_layers(seed=-1), headers=headers)
    assert wrong.status_code == 422
    assert server.client.post(PLANS, json=two_layers(), headers=headers).status_code == 201


def test_the_same_content_is_answered_from_storage(server: Service) -> None:
    stored = {"cache-control": "max-age=60"}
    body = named("stored")
    first = server.client.post(PLANS, json=body, headers=stored, params={"tag": "one"})
    assert (first.status_code, first.headers.get("cache-status")) == (201, None)
    text = json.dumps(body, indent=3)
    headers = {**stored, "content-type": "application/json"}
    again = server.client.post(PLANS, content=text, headers=headers, params={"tag": "two"})
    assert (again.status_code, again.headers["cache-status"]) == (201, "interlace; hit")
    assert again.headers["location"] == first.headers["location"]
    assert again.json() == first.json() | {"tags": ["one", "two"]}
    anew = server.client.post(PLANS, json=body)  # no-store
    assert anew.json()["id"] != first.json()["id"]
    other = server.client.post(PLANS, json=named("else"), headers=stored)
    assert other.json()["id"] != first.json()["id"]


def test_etag(server: Service) -> None:
    place = server.post(two_layers()).headers["location"]
    found = server.client.get(place)
    etag = found.headers["etag"]
    for same in (etag, f'"x", {etag}', f"W/{etag}", "*"):
        answer = server.client.get(place, headers={"if-none-match": same})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == etag
    assert server.client.get(place, headers={"if-none-match": '"x"'}).status_code == 200


def test_progress_and_cancel(server: Service) -> None:
    job_id = begin(server, search(), tag="cancelled").json()["id"]
    seen: list[Json] = []

    def has_plan() -> bool:
        found = server.client.get(f"{PLANS}/{job_id}")
        seen.append(found.json())
        told = seen[-1]["progress"]
        return told is not None and told["incumbent_us"] is not None

    until(has_plan)
    assert {job["state"] for job in seen} <= {"queued", "running"}
    assert all(job["iteration_time_us"] is None for job in seen)
    told = seen[-1]["progress"]
    assert set(told) == set(Progress.model_fields) - {"incumbent"}  # a plan has no name
    assert told["lower_bound_us"] <= told["incumbent_us"]
    assert told["gap"] == pytest.approx(told["incumbent_us"] / told["lower_bound_us"] - 1)
    changed = server.client.get(f"{PLANS}/{job_id}?wait=10")
    again = server.client.get(
        f"{PLANS}/{job_id}", headers={"if-none-match": changed.headers["etag"]}, params={"wait": 10}
    )
    assert again.status_code == 200, "it beats"
    until(lambda: drafted_us(server, job_id) <= told["incumbent_us"])
    found = cancel(server, job_id)
    assert (found["state"], found["status"]) == ("cancelled", "feasible")
    assert found["iteration_time_us"] <= told["incumbent_us"]
    PlanAnswer.model_validate(found)
    given = {key: found[key] for key in ("buckets", "schedule")}
    asked = {k: v for k, v in search().items() if k != "options"}
    simulated = server.client.post("/v1/simulations?wait=60", json=asked | {"plan": given})
    assert simulated.json()["iteration_time_us"] == found["iteration_time_us"]
    assert cancel(server, job_id) == found  # once more changes nothing
    fresh = {"cache-control": "max-age=60"}
    later = server.client.post(PLANS, json=search(), headers=fresh, params={"wait": 0}).json()
    assert later["id"] != job_id, "the best so far is no answer to the same content"
    cancel(server, later["id"])


@pytest.mark.parametrize("phases", [("policies", "bound", "search"), ("search",)])
def test_cancel_keeps_the_best_and_the_bound_that_were_told_last(
    server: Service, phases: tuple[str, ...]
) -> None:
    body = search(options={"baselines": [], "time_limit_s": 600})
    job_id = begin(server, body).json()["id"]

    def told_in_time() -> Json | None:
        told: Json | None = server.client.get(f"{PLANS}/{job_id}").json()["progress"]
        return told if told and told["incumbent_us"] and told["phase"] in phases else None

    told = until(told_in_time)
    assert told is not None
    found = cancel(server, job_id)
    last = found["progress"]
    assert found["state"] == "cancelled"
    assert found["iteration_time_us"] == last["incumbent_us"] <= told["incumbent_us"]
    assert found["lower_bound_us"] == last["lower_bound_us"] >= told["lower_bound_us"]
    given = {key: found[key] for key in ("buckets", "schedule")}
    simulated = {key: body[key] for key in ("graph", "cluster")} | {"plan": given}
    checked = server.post(simulated, "/v1/simulations").json()
    assert checked["iteration_time_us"] == found["iteration_time_us"]


@needs_proc
def test_cancel_frees_the_processor_while_highs_runs(server: Service) -> None:
    job_id = begin(server, highs()).json()["id"]
    until(lambda: busy(server))
    assert cancel(server, job_id)["state"] == "cancelled"
    until(lambda: not busy(server))


def test_delete(server: Service) -> None:
    done = server.post(two_layers()).headers["location"]
    begun = begin(server, highs()).headers["location"]
    until(lambda: busy(server))
    for place in (done, begun):
        assert server.client.delete(place).status_code == 204
        for answer in (
            server.client.get(place),
            server.client.delete(place),
            server.client.post(f"{place}/cancel"),
            server.client.get(f"{place}/events"),
        ):
            faults(answer)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    until(lambda: not busy(server))


def events(text: str) -> list[dict[str, str]]:
    """Read a stream of events."""
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]


def test_events(server: Service) -> None:
    job_id = begin(server, highs()).json()["id"]
    place = f"{PLANS}/{job_id}/events"
    with ThreadPoolExecutor(1) as clients:
        stream = clients.submit(server.client.get, place)
        for _ in range(4):  # it beats
            etag = server.client.get(f"{PLANS}/{job_id}").headers["etag"]
            later = server.client.get(
                f"{PLANS}/{job_id}", params={"wait": 30}, headers={"if-none-match": etag}
            )
            assert later.status_code == 200
        end = cancel(server, job_id)
        answer = stream.result()
    assert answer.headers["content-type"].startswith("text/event-stream")
    found = events(answer.text)
    assert [event["event"] for event in found][-2:] == ["running", "cancelled"]
    ids = [int(event["id"]) for event in found]
    assert ids == sorted(set(ids))
    assert len(ids) > 3, "it beats"
    assert json.loads(found[-1]["data"]) == {field: end[field] for field in JobOut.model_fields}
    rest = server.client.get(place, headers={"last-event-id": str(ids[-2])})
    assert [event["event"] for event in events(rest.text)] == ["cancelled"]
    over = server.client.get(place, headers={"last-event-id": str(ids[-1])})
    assert (over.status_code, over.content) == (204, b"")


def test_lists(server: Service) -> None:
    tag = str(uuid4())
    made = [server.client.post(PLANS, json=two_layers(), params={"tag": tag}).json() for _ in "ab"]
    long = begin(server, highs(), tag=tag).json()

    def listed(**params: Any) -> list[str]:
        page = server.client.get(PLANS, params={"tag": tag, **params}).json()
        return [job["id"] for job in page["plans"]]

    ids = [long["id"], made[1]["id"], made[0]["id"]]
    assert listed() == ids
    assert listed(state="succeeded") == ids[1:]
    assert listed(state=["running", "queued"]) == ids[:1]
    assert listed(state="failed") == []
    assert listed(tag=[tag, "other"]) == []
    pages, cursor = [], None
    while True:
        params: Json = {"tag": tag, "limit": 1} | ({"cursor": cursor} if cursor else {})
        page = server.client.get(PLANS, params=params).json()
        pages += [job["id"] for job in page["plans"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert pages == ids
    cancel(server, long["id"])
    refused: list[Json] = [
        {"cursor": "x"},
        {"cursor": "-1"},
        {"state": "done"},
        {"limit": 0},
    ]
    for wrong in refused:
        assert server.client.get(PLANS, params=wrong).status_code == 422


def test_jobs_of_all_kinds_are_one_list(server: Service) -> None:
    tag = str(uuid4())

    def made(path: str, name: str, **fields: Any) -> str:
        body = two_layers() if path == "/v1/plans" else {"cluster": two_layers()["cluster"]}
        body |= {"graph": {**two_layers()["graph"], "name": name}, **fields}
        answer = server.client.post(path, json=body, params={"tag": tag})
        job_id: str = answer.json()["id"]
        return job_id

    plan = made(PLANS, "Größe_1 % of it")
    simulation = made("/v1/simulations", "size 100", policy="wfbp")
    sweep = made("/v1/sweeps", "sizes", workers=[2, 4], policies=["wfbp"])

    def listed(**params: Any) -> list[str]:
        page = server.client.get("/v1/jobs", params={"tag": tag, **params}).json()
        return [job["id"] for job in page["jobs"]]

    assert listed() == [sweep, simulation, plan]
    assert listed(kind=["plan", "sweep"]) == [sweep, plan]
    assert listed(kind="import") == listed(state="failed") == []
    assert listed(text="SIZE") == [sweep, simulation]
    assert listed(text="_1 %") == [plan]
    assert listed(text="e%1") == []
    first = server.client.get("/v1/jobs", params={"tag": tag, "limit": 2}).json()
    assert [job["id"] for job in first["jobs"]] == [sweep, simulation]
    assert listed(cursor=first["next_cursor"]) == [plan]
    of_sweep, of_simulation = first["jobs"]
    assert (of_sweep["kind"], of_sweep["cells"], of_sweep["gap"]) == ("sweep", 2, None)
    assert (of_simulation["policy"], of_simulation["cells"]) == ("wfbp", None)
    (of_plan,) = server.client.get("/v1/jobs", params={"tag": tag, "kind": "plan"}).json()["jobs"]
    (alone,) = server.client.get(PLANS, params={"tag": tag}).json()["plans"]
    assert alone == {field: of_plan[field] for field in alone}
    assert (alone["status"], alone["gap"]) == ("optimal", 0)
    for wrong in ({"kind": "run"}, {"text": "\n"}, {"state": "done"}, {"cursor": "x"}):
        assert server.client.get("/v1/jobs", params=wrong).status_code == 422


def test_what_is_no_id_and_no_cursor(server: Service) -> None:
    """Also what a database does not take."""
    for of in ("plans", "sweeps", "imports", "runs", "graphs", "cost-models"):
        for path in (f"/v1/{of}/%00", f"/v1/{of}/a%00b"):
            assert server.client.get(path).status_code == 404, path
    for call in (server.client.delete, lambda place: server.client.post(f"{place}/cancel")):
        assert call(f"{PLANS}/%00").status_code == 404
    assert server.client.get("/v1/runs/%00/steps").status_code == 404
    body = {key: two_layers()[key] for key in ("cluster", "options")}
    named_so = server.client.post(PLANS, json={**body, "graph_id": "\0"})
    assert named_so.status_code == 422
    for of in ("plans", "runs", "jobs"):
        for cursor in (0, 17, "x", "x" * 10_000):
            answer = server.client.get(f"/v1/{of}", params={"cursor": cursor})
            assert answer.status_code == 422, (of, cursor)
            assert answer.json()["errors"][0]["pointer"] == "/query/cursor"


def test_other_kinds_are_jobs_too(server: Service) -> None:
    body = {key: two_layers()[key] for key in ("graph", "cluster")}
    for path, more in (("/v1/simulations", {"policy": "ddp"}), ("/v1/sweeps", {"workers": [2, 4]})):
        answer = server.client.post(path, json=body | more, params={"wait": 0})
        assert answer.status_code == 202
        assert answer.headers["location"] == f"{path}/{answer.json()['id']}"
        found = server.client.get(answer.headers["location"], params={"wait": 30}).json()
        assert (found["state"], set(found)) == ("succeeded", set(answer.json()))


def test_imports(server: Service) -> None:
    times = "forward_compute_time=1.0, backward_compute_time=2.0"
    text = f"node1 -- Layer -- {times}, activation_size=0.0, parameter_size=4000.0\n".encode()
    answer = server.client.post("/v1/graphs", content=text, params={"wait": 0, "tag": "import"})
    job = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (202, f"/v1/imports/{job['id']}")
    assert (job["graph_id"], job["report"]) == (None, None)
    found = server.client.get(answer.headers["location"], params={"wait": 30}).json()
    assert found["state"] == "succeeded"
    graph = server.client.get(f"/v1/graphs/{found['graph_id']}").json()
    assert graph["report"] == found["report"]
    (listed,) = server.client.get("/v1/imports", params={"tag": "import"}).json()["imports"]
    assert listed["graph_id"] == found["graph_id"]
    wrong = server.client.post("/v1/graphs", content=b"no trace at all")
    assert wrong.status_code == 422
    failed = server.client.get(wrong.headers["location"]).json()
    assert (failed["state"], failed["error"]["errors"]) == ("failed", wrong.json()["errors"])


def test_a_fault_that_only_the_job_finds(server: Service) -> None:
    body = two_layers(fusion="none", slot_us=1e-6)
    answer = server.post(body)
    assert answer.status_code == 422
    assert answer.json()["instance"] == answer.headers["location"]
    job = server.client.get(answer.headers["location"]).json()
    assert job["state"] == "failed"
    assert {key: answer.json()[key] for key in job["error"]} == job["error"]


def test_a_big_request_is_read_by_its_job(server: Service) -> None:
    body = two_layers()
    body["graph"]["ops"] += [
        {"id": f"c{i}", "kind": "compute", "duration_us": 0} for i in range(30_000)
    ]
    answer = server.post(body)
    assert answer.status_code == 201
    listed = server.client.get(PLANS, params={"limit": 1}).json()["plans"][0]
    assert (listed["id"], listed["name"]) == (answer.json()["id"], body["graph"]["name"])
    body["graph"]["ops"][0]["after"] = ["nobody"]
    wrong = server.post(body)
    assert wrong.status_code == 422
    assert faults(wrong) == {("/graph/ops/0/after/0", "unknown_op")}


def test_no_result_yet(server: Service) -> None:
    place = begin(server, highs()).headers["location"]
    for what in ("timeline.json", "export?format=csv"):
        answer = server.client.get(f"{place}/{what}")
        faults(answer)
        assert (answer.status_code, answer.json()["code"]) == (409, "no_result")
    server.client.delete(place)


@pytest.mark.live
def test_a_full_queue(one_worker: Service) -> None:
    for name in "abc":
        begin(one_worker, named(name))

    def is_full() -> bool:
        """Tell whether one that takes long is at work, and two wait: then none leaves it."""
        begin(one_worker, highs())
        page = one_worker.client.get(PLANS, params={"state": ["queued", "running"]}).json()
        found = sorted((job["name"], job["state"]) for job in page["plans"])
        return found == [("HiGHS", "queued"), ("HiGHS", "queued"), ("HiGHS", "running")]

    until(is_full)
    refused = begin(one_worker, highs())
    faults(refused)
    assert refused.json()["code"] == "queue_full"
    assert int(refused.headers["retry-after"]) > 0
    small = {key: two_layers()[key] for key in ("graph", "cluster")}
    answer = one_worker.client.post("/v1/sweeps", json=small | {"policies": ["wfbp"]})
    assert answer.status_code == 201, "sweeps wait in a queue of their own"
    for job in one_worker.client.get(PLANS, params={"state": ["queued", "running"]}).json()[
        "plans"
    ]:
        cancel(one_worker, job["id"])


def test_a_queue_full_of_bytes(tmp_path: Path) -> None:
    with here(tmp_path, max_queued_bytes=100) as client:
        assert client.get("/v1/limits").json()["job"]["queued_bytes"] == 100
        assert client.post(PLANS, json=two_layers()).status_code == 202, "it is the first"
        refused = client.post(PLANS, json=two_layers())
    faults(refused)
    assert (refused.status_code, refused.json()["code"]) == (503, "queue_full")
    assert "100 may (max_queued_bytes)" in refused.json()["detail"]
    assert int(refused.headers["retry-after"]) > 0


@pytest.mark.live
def test_time_limits(one_worker: Service) -> None:
    late = one_worker.client.post("/v1/sweeps", json=long_sweep(one_worker, sweep_limit_s=0.001))
    assert (late.status_code, late.json()["code"]) == (503, "time_limit")
    found = one_worker.client.get(late.headers["location"]).json()
    assert (found["state"], found["error"]["code"]) == ("timed_out", "time_limit")


def test_a_search_that_ends_by_its_limit_has_a_plan(server: Service) -> None:
    in_hand = server.post(search(400, options={"time_limit_s": 3, "baselines": []}))
    assert in_hand.status_code == 201
    assert (in_hand.json()["state"], in_hand.json()["status"]) == ("succeeded", "feasible")


@pytest.mark.live
def test_retention(one_worker: Service) -> None:
    old, new = (one_worker.post(named(name)).json()["id"] for name in ("old", "new"))
    with closing(one_worker.store()) as store:
        long_ago = "2026-01-01T00:00:00.000000Z"
        with store.writing() as connection:
            connection.execute(update(JobRow).where(JobRow.id == old).values(finished_at=long_ago))
            connection.execute(update(KeyRow).values(created_at=long_ago))
        until(lambda: one_worker.client.get(f"{PLANS}/{old}").status_code == 404)
        assert one_worker.client.get(f"{PLANS}/{new}").status_code == 200
        with store.reading() as connection:
            for table in (PayloadRow, TagRow, KeyRow):
                query = select(func.count()).where(table.job.not_in(select(JobRow.number)))
                assert connection.scalar(query) == 0


def test_who_waits_holds_no_turn(server: Service) -> None:
    """Big requests are held by as many calls as there are cores, but not while these wait."""
    big = highs()
    big["graph"]["ops"] += [
        {"id": f"c{i}", "kind": "compute", "duration_us": 0} for i in range(30_000)
    ]
    with ThreadPoolExecutor(4) as clients:
        url = f"{server.client.base_url}{PLANS}?wait=60&tag=waits"
        waiting = [clients.submit(httpx2.post, url, json=big, timeout=None) for _ in range(4)]
        listed = f"{PLANS}?tag=waits"
        until(lambda: len(server.client.get(listed).json()["plans"]) == 4)
        for job in server.client.get(listed).json()["plans"]:
            cancel(server, job["id"])
        assert [post.result().json()["state"] for post in waiting] == ["cancelled"] * 4
