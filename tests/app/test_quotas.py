"""What a key may use: 429 names the quota, its limit and now, and says when to come again."""

import pytest

from app.errors import QuotaUsedUp, StorageUnavailable
from app.operations.callers import Caller, Quotas
from app.storage import quotas
from app.storage.database import Store
from tests.app.keyed import Keyed
from tests.app.long import search
from tests.app.service import two_layers
from tests.waiting import until


@pytest.fixture(scope="module")
def server(keyed_server: Keyed) -> Keyed:
    return keyed_server


def test_requests_a_second(server: Keyed) -> None:
    with server.of("mallory", requests_per_s=2) as client, server.of("mallory") as other:
        answers = [client.get("/v1/examples") for _ in range(20)]
        codes = [answer.status_code for answer in answers]
        assert codes[:2] == [200] * 2
        assert codes.count(429) >= 5
        refused = answers[codes.index(429)]
        assert refused.json()["code"] == "rate_limited"
        assert "requests a second: at most 2 " in refused.json()["detail"]
        assert refused.headers["retry-after"] == "1"
        assert other.get("/v1/examples").status_code == 200, "another key has its own"
        until(lambda: client.get("/v1/examples").status_code == 200)


def test_jobs_queued(server: Keyed) -> None:
    with server.of("niaj") as client, server.of("olivia") as other:
        places = []
        for seed in range(3):  # one at work, two wait
            answer = client.post("/v1/plans", json=search(3_000 - seed), params={"wait": 0})
            assert answer.status_code == 202, answer.text
            places.append(answer.headers["location"])
            until(lambda: client.get(places[0]).json()["state"] == "running")
        refused = client.post("/v1/plans", json=search(2_000), params={"wait": 0})
        assert refused.status_code == 429
        assert "jobs queued: at most 2, now 2" in refused.json()["detail"]
        assert int(refused.headers["retry-after"]) >= 1
        begun = other.post("/v1/plans", json=two_layers(), params={"wait": 0})
        assert begun.status_code == 202, "another owner's jobs may wait"
        for place in places:
            assert client.delete(place).status_code == 204
        assert client.post("/v1/plans", json=two_layers()).status_code == 201


def test_bytes_stored(server: Keyed) -> None:
    with server.of("peggy", stored_bytes=3_000) as client:
        codes = [
            client.post("/v1/plans", json=two_layers(seed=seed)).status_code for seed in range(10)
        ]
        assert codes[0] == 201
        assert codes[-1] == 429
        for path in ("/v1/cost-models", "/v1/runs", "/v1/graphs", "/v1/sweeps"):
            refused = client.post(path, json={"name": 3_000 * "x"})
            assert refused.status_code == 429
            assert refused.json()["code"] == "quota_used_up"
            assert "bytes stored: at most 3,000, now " in refused.json()["detail"]
            assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/v1/plans").json()["plans"], "it may look"
        for plan in client.get("/v1/plans").json()["plans"]:
            assert client.delete(f"/v1/plans/{plan['id']}").status_code == 204
        assert client.post("/v1/plans", json=two_layers()).status_code == 201, "and make room"
        large = client.post("/v1/plans", json={"name": 4_000 * "x"})
        assert large.status_code == 429, "what comes counts before it is stored"


def test_seconds_of_solving_a_day(server: Keyed) -> None:
    with server.of("quentin", solving_s=0.001) as client:
        first = client.post("/v1/plans", json=two_layers())
        assert first.status_code == 201
        until(lambda: solved(server.store, "quentin") > 0)
        refused = client.post("/v1/plans", json=two_layers(seed=2))
        assert refused.status_code == 429
        assert refused.json()["code"] == "quota_used_up"
        assert "seconds of solving a day: at most 0.001, now " in refused.json()["detail"]
        assert 0 < int(refused.headers["retry-after"]) <= 86_401
        assert client.get(first.headers["location"]).status_code == 200


def test_calls_count_as_jobs_do(server: Keyed) -> None:
    graph = two_layers()["graph"]
    asked = {"graph": graph, "cluster": two_layers()["cluster"], "workers": [4, 8]}
    with server.of("quincy", solving_s=0.001) as client:
        first = client.post("/v1/predictions/scaling", json=asked)
        assert first.status_code == 200, first.text
        until(lambda: client.post("/v1/predictions/scaling", json=asked).status_code == 429)
        refused = client.post("/v1/plans", json=two_layers())
        assert refused.json()["code"] == "quota_used_up"
        assert client.get("/v1/plans").status_code == 200, "it may look"


def test_the_time_of_calls_is_written_down_by_the_second(
    server: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = quotas.StoredUsage(server.store)
    assert [usage.called("rachel", 0.6) for _ in range(2)] == [False, True]
    ruth = Caller("rachel", None, frozenset(), quotas=Quotas(solving_s=1.1))
    with pytest.raises(QuotaUsedUp, match=r"at most 1\.1, now 1\.2"):
        usage.check_solving(ruth)
    usage.write_down("rachel")
    assert solved(server.store, "rachel") == 1.2
    usage.called("rachel", 0.25)

    def unavailable(*_: object) -> None:
        raise StorageUnavailable("for now")

    with monkeypatch.context() as patched:
        patched.setattr(quotas, "add_solving", unavailable)
        with pytest.raises(StorageUnavailable):
            usage.write_down("rachel")
    usage.close()
    assert solved(server.store, "rachel") == 1.45, "what could not be written down still counts"


def test_a_job_that_is_deleted_counts(server: Keyed) -> None:
    with server.of("rupert") as client:
        place = client.post("/v1/plans", json=search(), params={"wait": 0}).headers["location"]
        until(lambda: client.get(place).json()["state"] == "running")
        assert client.delete(place).status_code == 204
        until(lambda: solved(server.store, "rupert") > 0)


def solved(store: Store, owner: str) -> float:
    with store.reading() as connection:
        return quotas.solved_s(connection, owner)


def test_time_is_added_up_by_day(server: Keyed) -> None:
    for _ in range(3):
        quotas.add_solving(server.store, "sybil", 1.5)
    assert solved(server.store, "sybil") == 4.5
    sybil = Caller("sybil", None, frozenset(), quotas=Quotas(solving_s=4.4))
    with pytest.raises(QuotaUsedUp, match=r"at most 4\.4, now 4\.5"):
        quotas.StoredUsage(server.store).check(sybil)
    quotas.StoredUsage(server.store).check(Caller("sybil", None, frozenset(), quotas=Quotas()))
    quotas.StoredUsage(server.store).check(None)
