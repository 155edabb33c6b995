"""Every verb of every route: who is let in, to what, and that nothing of another owner is there."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from sqlalchemy import select

from app.http.keys import OPEN
from app.operations.settings import Settings
from app.routers.runs import EXAMPLE as RUN
from app.service import create_app
from app.storage import audit, keys
from app.storage.tables import JobRow
from app.write_openapi import document
from tests.app.keyed import Keyed, make
from tests.app.long import search
from tests.app.service import Json, posted, two_layers
from tests.app.test_graphs import PROFILE
from tests.waiting import until

DOCUMENT: Json = json.loads(document())
OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
VERBS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PURGE")
#: What needs no key, and changes nothing.
WELL = {"/healthz", "/readyz", "/version"}
#: Names in paths that are of nobody's.
NOBODYS = {"name", "index"}
#: What queries need to come as far as the id.
QUERIES = {"/export": {"format": "csv"}}
NOWHERE = "0123456789abcdef"


@pytest.fixture(scope="module")
def server(keyed_server: Keyed) -> Keyed:
    return keyed_server


@pytest.fixture(scope="module")
def alice(server: Keyed) -> Iterator[httpx2.Client]:
    with server.of("alice", team="vision") as client:
        yield client


@pytest.fixture(scope="module")
def owned(server: Keyed, alice: httpx2.Client) -> dict[str, str]:
    """Return the id of something that alice made, by the path of its collection."""
    found = {}
    for method, path, operation in OPERATIONS:
        if method != "POST" or "{" in path or "201" not in operation["responses"]:
            continue
        if path == "/v1/graphs":
            answer = posted(alice, path, content=PROFILE, params={"name": "alice's own"})
        else:
            content = operation["requestBody"]["content"]["application/json"]
            answer = posted(alice, path, json=content["example"])
        assert answer.status_code == 201, answer.text
        found[path] = answer.json()["id"]
    imports = alice.get("/v1/imports").json()["imports"]
    return {**found, "/v1/imports": imports[0]["id"]}


def test_each_operation_declares_its_scope() -> None:
    assert WELL <= OPEN
    for method, path, operation in OPERATIONS:
        wanted = [] if path in WELL else ["read" if method == "GET" else "submit"]
        declared = [scope for each in operation["security"] for scope in each["ApiKey"]]
        assert declared == wanted, f"{method} {path} declares no scope"
        if wanted:
            assert {"401", "403", "429"} <= operation["responses"].keys(), (method, path)


@pytest.mark.parametrize("key", [None, "none", "ilk_0123456789ab_" + 64 * "0", "x" * 10_000])
def test_nothing_is_open_without_a_key(server: Keyed, key: str | None) -> None:
    app = create_app(Settings(data_dir=Path("/nowhere")))
    hidden = {
        str(getattr(route, "path", "/v1")) for route in app.routes if hasattr(route, "methods")
    }
    paths = {path for _, path, _ in OPERATIONS} | hidden | {"/metrics", "/no/such/page", "/v1"}
    closed = {path for path in paths if path not in OPEN}
    assert len(closed) > 40, "the routes were found"
    with server.client(key) as client:
        for path in sorted(closed):
            for verb in VERBS:
                answer = client.request(verb, path.replace("{", "").replace("}", ""))
                assert answer.status_code == 401, (verb, path)
                assert answer.headers["www-authenticate"].startswith("Bearer ")
                if verb != "HEAD":
                    assert answer.json()["code"] == "unauthenticated"
        for path in OPEN:
            assert client.get(path).status_code in {200, 307, 503}  # 503: not ready yet


def test_the_secret_of_a_key_counts(server: Keyed) -> None:
    text = server.key("alice")
    with server.client(text) as client:
        assert client.get("/v1/plans").status_code == 200
        for other in (text[:-1], text[:-1] + ("0" if text[-1] != "0" else "1"), text.upper()):
            headers = {"authorization": f"Bearer {other}"}
            assert client.get("/v1/plans", headers=headers).status_code == 401
        assert client.get("/v1/plans", headers={"authorization": text}).status_code == 401
        basic = {"authorization": f"Basic {text}"}
        assert client.get("/v1/plans", headers=basic).status_code == 401


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_a_key_for_reading_reads_alone(
    server: Keyed, method: str, path: str, operation: Json
) -> None:
    with server.of("alice", "read") as client:
        answer = client.request(method, path)
    if not operation["security"] or method == "GET":
        assert answer.status_code not in {401, 403}, (method, path)
    else:
        assert answer.status_code == 403
        assert answer.json()["code"] == "forbidden"
        assert 'scope="submit"' in answer.headers["www-authenticate"]


def call(client: httpx2.Client, method: str, path: str, operation: Json, found: str) -> Any:
    """Ask for something by its id, and for all else as the example does."""
    assert "{" in path
    head, _, tail = path.partition("{")
    name, _, rest = tail.partition("}")
    place = f"{head}{found}{rest}".replace("{index}", "0")
    assert "{" not in place, f"{path}: whose is {name!r}?"
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    query = next((params for end, params in QUERIES.items() if path.endswith(end)), None)
    return client.request(method, place, json=body.get("example"), params=query)


OF_ONE = [each for each in OPERATIONS if "{" in each[1] and "{name}" not in each[1]]


@pytest.mark.parametrize(("method", "path", "operation"), OF_ONE)
def test_what_is_anothers_is_not_there(
    server: Keyed, owned: dict[str, str], method: str, path: str, operation: Json
) -> None:
    found = owned[path.partition("/{")[0]]
    with server.of("bob", team="speech") as bob:
        answer = call(bob, method, path, operation, found)
        nowhere = call(bob, method, path, operation, NOWHERE)
    assert answer.status_code == nowhere.status_code == 404, (method, path, answer.text)
    told, never = answer.json(), nowhere.json()
    for each, name in ((told, found), (never, NOWHERE)):
        each["instance"] = each["instance"].replace(name, "ID")
    assert told == never, "it tells that there is something"
    with server.of("carol", "read", team="vision") as mate, server.of("root", "admin") as admin:
        for client in (mate, admin):
            if method == "GET" and not path.endswith("/events"):
                own = call(client, method, path, operation, found)
                # a sweep without limits of memory has no plot of them, and says so
                assert own.status_code in {200, 409, 422} or "has no" in own.json()["detail"]


#: What computes an answer and keeps nothing.
KEEPS_NOTHING = {
    "/v1/estimates",
    "/v1/exports/nccl-tuner",
    "/v1/predictions/scaling",
    "/v1/predictions/placements",
    "/v1/shapes",
    "/v1/shapes/timeline",
    "/v1/mixes",
    "/v1/allocations",
}
#: How the changes are called that a route makes; of all others as they are begun: made.
CHANGES = {
    "cancel": "cancel",
    "steps": "report",
    "trials": "report trial",
    "plans": "take over",
    "end": "end",
}


@pytest.mark.parametrize(
    ("method", "path", "operation"), [each for each in OPERATIONS if each[0] != "GET"]
)
def test_each_change_is_kept(server: Keyed, method: str, path: str, operation: Json) -> None:
    """A new route that changes something must say so, or that it keeps nothing."""
    owner = f"{method} {path}"[:64]
    home = path.partition("/{")[0]
    begun = "/v1/graphs" if home == "/v1/imports" else home
    example = DOCUMENT["paths"][begun]["post"]["requestBody"]["content"]
    with server.of(owner) as client:
        if begun == "/v1/graphs":
            made = client.post(begun, content=PROFILE)
        elif path.endswith("/cancel"):  # what has ended is not changed
            body = example["application/json"]["example"]
            made = client.post(begun, json=body, params={"wait": 0})
        else:
            made = client.post(begun, json=example["application/json"]["example"])
        assert made.status_code in {200, 201, 202}, made.text
        wanted = [] if path in KEEPS_NOTHING else ["begin" if home == "/v1/runs" else "make"]
        if "{" in path:
            found = made.json()["id"]
            if home == "/v1/imports":
                found = client.get(home).json()["imports"][0]["id"]
            answer = call(client, method, path, operation, found)
            assert answer.status_code < 300, answer.text
            last = path.rpartition("/")[2]
            has_ended = last == "cancel" and not was_cancelled(server, found)
            wanted += [] if has_ended else [CHANGES.get(last, "delete")]
        assert actions(server, owner) == wanted


def was_cancelled(server: Keyed, job_id: str) -> bool:
    """Tell whether a job was at work or waited when it was to end; it may have been done first."""
    query = select(JobRow.state, JobRow.cancel_at).where(JobRow.id == job_id)
    with server.store.reading() as connection:
        state, asked_at = connection.execute(query).one()
    return asked_at is not None or state == "cancelled"


def actions(server: Keyed, owner: str) -> list[str]:
    with server.store.reading() as connection:
        found = audit.listed(connection, limit=100, owner=owner)
    return [each.action for each in reversed(found)]


def test_lists_hold_ones_own_alone(server: Keyed, owned: dict[str, str]) -> None:
    lists = [path for method, path, _ in OPERATIONS if method == "GET" and path in owned]
    assert len(lists) >= 7
    with (
        server.of("dave") as stranger,
        server.of("carol", team="vision") as mate,
        server.of("root", "admin") as admin,
    ):
        for path in lists:
            for client, sees in ((stranger, False), (mate, True), (admin, True)):
                [rows] = [v for k, v in client.get(path).json().items() if k != "next_cursor"]
                assert (owned[path] in {row["id"] for row in rows}) is sees, path
                assert sees or not rows


def test_a_team_shares_what_it_makes(server: Keyed) -> None:
    with server.of("alice", team="vision") as one, server.of("carol", team="vision") as mate:
        made = one.post("/v1/plans", json=two_layers(), headers={"idempotency-key": "shared"})
        with server.of("alice", team="speech") as elsewhere:  # the owner is the owner everywhere
            assert elsewhere.get(made.headers["location"]).status_code == 200
        assert mate.delete(made.headers["location"]).status_code == 204
        assert one.get(made.headers["location"]).status_code == 404


def test_the_same_content_of_two_owners(server: Keyed) -> None:
    """Neither graph, nor cached answer, nor idempotency key tells that another has the same."""
    body, key = two_layers(seed=77), {"idempotency-key": "one", "cache-control": "max-age=0"}
    with server.of("erin") as erin, server.of("frank") as frank:
        graphs, plans, runs = [], [], []
        for client in (erin, frank, erin):
            made = client.post(
                "/v1/graphs", content=PROFILE, headers={"cache-control": "max-age=0"}
            )
            graphs.append((made.json()["id"], made.headers.get("cache-status")))
            plan = client.post("/v1/plans", json=body, headers=key)
            plans.append(plan.json()["id"])
            runs.append(client.post("/v1/runs", json=RUN, headers=key).json()["id"])
            other = client.post("/v1/plans", json=two_layers(), headers=key)
            assert other.status_code == 422
        assert graphs[0][0] == graphs[2][0] != graphs[1][0]
        assert graphs[0][1] is graphs[1][1] is None
        assert graphs[2][1] == "interlace; hit"
        assert plans[0] == plans[2] != plans[1]
        assert runs[0] == runs[2] != runs[1]
        hit = {"cache-control": "max-age=0"}
        again = erin.post("/v1/plans", json=body, headers=hit)
        assert (again.json()["id"], again.headers["cache-status"]) == (plans[0], "interlace; hit")
        named = {"graph_id": graphs[0][0], "cluster": two_layers()["cluster"]}
        assert erin.post("/v1/plans", json=named).status_code == 201
        refused = frank.post("/v1/plans", json=named)
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["code"] == "unknown_graph"
        frank.delete(f"/v1/plans/{plans[1]}")
        assert erin.get(f"/v1/plans/{plans[0]}").status_code == 200


def test_a_revoked_key_lets_nobody_in(server: Keyed) -> None:
    text = server.key("grace")
    with server.client(text) as client:
        assert client.get("/v1/plans").status_code == 200
        keys.revoke(server.store, text.split("_")[1])
        until(lambda: client.get("/v1/plans").status_code == 401)


def test_a_stream_ends_with_its_key(server: Keyed) -> None:
    text = server.key("heidi")
    with server.client(text) as client, server.of("heidi") as other:
        place = other.post("/v1/plans", json=search(), params={"wait": 0}).headers["location"]
        begun, ended = threading.Event(), threading.Event()

        def follow() -> None:
            with client.stream("GET", f"{place}/events") as events:
                for _ in events.iter_bytes():
                    begun.set()
            ended.set()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        begun.wait()
        keys.revoke(server.store, text.split("_")[1])
        ended.wait()  # it would go on as long as the job
        assert other.get(place).json()["finished_at"] is None
        other.delete(place)
        thread.join()


def test_a_key_ends_when_it_should(server: Keyed) -> None:
    text, _ = make(server.store, "ivan", expires_at="2020-01-01T00:00:00.000000Z")
    with server.client(text) as client:
        assert client.get("/v1/plans").status_code == 401


def test_no_secret_is_logged_or_stored(server: Keyed) -> None:
    text = server.key("judy")
    with server.client(text) as client:
        client.post("/v1/plans", json=two_layers())
    secret = text.rpartition("_")[2]
    assert secret not in server.service.log.read_text()
    for file in server.service.log.parent.iterdir():
        assert secret.encode() not in file.read_bytes(), file.name
