"""``interlace keys`` and ``interlace audit``, and when a server starts that wants keys."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.operations.settings import Settings
from app.storage import keys
from app.storage.database import Store
from tests.app.command import Run
from tests.app.here import here
from tests.app.keyed import Keyed, make
from tests.app.service import two_layers


def made(run: Run, *arguments: str) -> dict[str, Any]:
    done = run("keys", "make", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_key_is_shown_once(tmp_path: Path, run: Run) -> None:
    done = run("keys", "make", "my laptop", "--owner", "alice", "--team", "vision")
    assert (done.returncode, done.stderr) == (0, "")
    text, about = done.stdout.splitlines()
    assert about.startswith("my laptop: owner alice, team vision; submit; for ever.")
    _, key_id, secret = text.split("_")
    assert len(secret) * 4 >= 128
    listed = run("keys", "list")
    assert secret not in listed.stdout
    head, line = listed.stdout.splitlines()
    assert head.split()[:3] == ["id", "state", "owner"]
    assert line.split()[:5] == [key_id, "active", "alice", "vision", "submit"]
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()
    store = Store(Settings(data_dir=tmp_path))
    found = keys.of_text(store, text)
    assert found is not None
    assert found.name == "my laptop"
    store.close()


def test_what_a_key_may_use(run: Run) -> None:
    limits = {"requests-per-s": 5, "queued": 6, "stored-bytes": 7, "solving-s": 8.5}
    flags = [each for name, value in limits.items() for each in (f"--max-{name}", str(value))]
    found = made(run, "batch", "--owner", "bob", "--scope", "read", "--scope", "admin", *flags)
    assert found["scopes"] == ["read", "admin"]
    assert found["limits"] == {name.replace("-", "_"): value for name, value in limits.items()}
    assert found["expires_at"] is None
    assert made(run, "short", "--owner", "bob", "--expires-days", "1")["expires_at"] is not None


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["make", "x"], "--owner"),  # whose?
        (["make", "x", "--owner", "a", "--scope", "write"], "'write' is none of read"),
        (["make", "x", "--owner", ""], "--owner"),  # no word
        (["make", "x", "--owner", "a", "--team", "b\x1b[2J"], "--team"),  # steers a terminal
        (["make", "x", "--owner", 65 * "a"], "--owner"),  # longer than its column
        (["make", "x", "--owner", "a", "--max-queued", "0"], "--max-queued"),
        (["revoke", "0123456789ab"], "No key has the id '0123456789ab'."),
        (["rotate", "0123456789ab"], "No key has the id"),
    ],
)
def test_what_is_wrong_is_said(run: Run, arguments: list[str], part: str) -> None:
    done = run("keys", *arguments)
    assert done.returncode in {1, 2}
    assert done.stdout == ""
    assert part in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_key_is_rotated_and_revoked(run: Run, tmp_path: Path) -> None:
    old = made(run, "ci", "--owner", "carol", "--expires-days", "10", "--max-queued", "3")
    done = run("keys", "rotate", old["id"], "--overlap-hours", "1", "--json")
    assert done.returncode == 0
    new = json.loads(done.stdout)
    assert done.stderr.startswith(f"interlace: key {old['id']} goes on until ")
    assert new["key"] != old["key"]
    for field in ("name", "owner", "team", "scopes", "limits"):
        assert new[field] == old[field]
    assert new["expires_at"] > old["expires_at"]
    store = Store(Settings(data_dir=tmp_path))
    for each in (old, new):
        assert keys.of_text(store, each["key"]) is not None, "both are good for an hour"
    assert keys.get(store, old["id"]).expires_at < old["expires_at"]
    assert run("keys", "revoke", old["id"]).returncode == 0
    assert keys.of_text(store, old["key"]) is None
    assert keys.of_text(store, new["key"]) is not None
    again = run("keys", "rotate", old["id"])
    assert (again.returncode, again.stdout) == (1, "")
    assert f"Key {old['id']} is revoked; make another one." in again.stderr
    at_once = run("keys", "rotate", new["id"], "--overlap-hours", "0")
    assert at_once.returncode == 0
    assert keys.of_text(store, new["key"]) is None
    states = {key["id"]: key["state"] for key in json.loads(run("keys", "list", "--json").stdout)}
    assert states[old["id"]] == "revoked"
    assert states[new["id"]] == "expired"
    listed = json.loads(run("audit", "--json").stdout)
    told = [(each["action"], each["target"]) for each in reversed(listed)]
    assert told[:4] == [
        ("make", old["id"]),
        ("expire", old["id"]),
        ("rotate", new["id"]),
        ("revoke", old["id"]),
    ]
    assert secret_free(run("audit").stdout, old, new)
    store.close()


def secret_free(text: str, *made: dict[str, Any]) -> bool:
    return all(each["key"].rpartition("_")[2] not in text for each in made)


@pytest.mark.live
def test_nobody_serves_for_nobody(run: Run) -> None:
    for arguments, settings in (
        (["--allow-remote"], {}),
        (["--host", "0.0.0.0", "--allow-remote"], {"INTERLACE_REQUIRE_KEYS": "false"}),
        ([], {"INTERLACE_REQUIRE_KEYS": "true"}),
    ):
        done = run("serve", "--port", "0", *arguments, **settings)
        assert (done.returncode, done.stdout) == (1, "")
        assert len(done.stderr.splitlines()) == 1
        assert "interlace keys make" in done.stderr
    key = made(run, "old", "--owner", "dave")
    run("keys", "revoke", key["id"])
    assert run("serve", "--port", "0", "--allow-remote").returncode == 1, "that one is of no use"


def test_keys_may_be_wanted_here_alone(tmp_path: Path) -> None:
    store = Store(Settings(data_dir=tmp_path))
    text, _ = make(store, "erin")
    store.close()
    with here(tmp_path, require_keys=True) as client:
        assert client.get("/v1/plans").status_code == 401
        headers = {"authorization": f"Bearer {text}"}
        assert client.get("/v1/plans", headers=headers).status_code == 200


@pytest.fixture(scope="module")
def server(keyed_server: Keyed) -> Keyed:
    return keyed_server


def test_the_command_sends_a_key(server: Keyed, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(two_layers()))
    url = str(server.service.client.base_url)
    asked = ["plan", str(file), "--server", url]
    refused = run(*asked)
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
    assert "set INTERLACE_API_KEY" in refused.stderr
    done = run(*asked, INTERLACE_API_KEY=server.key("trent"))
    assert done.returncode == 0, done.stderr
    with server.of("trent") as client:
        assert len(client.get("/v1/plans").json()["plans"]) == 1
    assert os.environ.get("INTERLACE_API_KEY") is None


def test_who_did_what(server: Keyed) -> None:
    text = server.key("uma", team="vision")
    key_id = text.split("_")[1]
    with server.client(text) as client:
        named = {"x-request-id": "the-call"}
        plan = client.post("/v1/plans", json=two_layers(), headers=named).json()["id"]
        client.get(f"/v1/plans/{plan}")
        client.delete(f"/v1/plans/{plan}")
        client.delete(f"/v1/plans/{plan}")  # changes nothing
        model = client.post("/v1/cost-models", json={"samples": [[1, 2], [3, 4]], "workers": 2})
    with server.of("uma", "read") as reader:
        assert reader.delete("/v1/plans/0123456789abcdef").status_code == 403
    with server.store.reading() as connection:
        from app.storage import audit  # noqa: PLC0415

        found = audit.listed(connection, limit=100, owner="uma")
    told = [(each.action, each.kind, each.target, each.status) for each in reversed(found)]
    assert told == [
        ("make", "plan", plan, 200),
        ("delete", "plan", plan, 200),
        ("make", "cost model", model.json()["id"], 200),
        ("DELETE", "call", "/v1/plans/0123456789abcdef", 403),
    ]
    first = found[-1]
    assert (first.key, first.request_id, first.address) == (key_id, "the-call", "127.0.0.1")
    lines = [line for line in server.log() if line["logger"] == "interlace.audit"]
    assert [line["message"] for line in lines if line.get("key") == key_id] == [
        f"make plan {plan}",
        f"delete plan {plan}",
        f"make cost model {model.json()['id']}",
    ]
    assert text.rpartition("_")[2] not in server.service.log.read_text()
