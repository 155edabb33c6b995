"""Several servers share a PostgreSQL database: their clocks, their start, its restarts."""

from pathlib import Path

from tests.app.long import needs_proc, search, until
from tests.app.postgres import Cluster
from tests.app.service import ROOT, Json, Service, running

PLANS = "/v1/plans"
#: Read by each Python at its start: the clock of the machine is wrong.
_WRONG_CLOCK = """
import app.storage.clock as clock
from datetime import datetime, timedelta

class Wrong(datetime):
    @classmethod
    def now(cls, zone=None):
        return datetime.now(zone) + timedelta(seconds={seconds})

clock.datetime = Wrong
"""


def with_clock(folder: Path, seconds: float) -> dict[str, str]:
    """Return what starts a server whose clock is ahead so much [s]."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_WRONG_CLOCK.format(seconds=seconds))
    return {"PYTHONPATH": f"{folder}:{ROOT}", "INTERLACE_WORKERS": "1"}


def begin(service: Service, body: Json) -> str:
    """Post without waiting; return the place of the job."""
    answer = service.client.post(PLANS, json=body, params={"wait": 0})
    assert answer.status_code == 202
    place: str = answer.headers["location"]
    return place


@needs_proc
def test_clocks_that_differ(tmp_path: Path, cluster: Cluster) -> None:
    """Neither server takes the other's job for one that nobody works on."""
    url = cluster.make()
    right, wrong = tmp_path / "right", tmp_path / "wrong"
    with (
        running(right, database_url=url, **with_clock(right, 0)) as one,
        running(wrong, database_url=url, **with_clock(wrong, -8)) as other,
    ):
        places = [begin(service, search()) for service in (one, other)]
        until(lambda: {state(one, place) for place in places} == {"running"})
        heard: set[str] = set()
        while len(heard) < 6:  # one each second, while each server looks every two
            for place in places:
                etag = one.client.get(place).headers["etag"]
                headers = {"if-none-match": etag}
                found = one.client.get(place, params={"wait": 30}, headers=headers).json()
                assert (found["state"], found["attempts"]) == ("running", 1)
                assert found["created_at"] <= found["started_at"]
                assert found["started_at"] <= found["progress"]["heartbeat_at"]
            heard.add(found["progress"]["heartbeat_at"])
        for place in places:
            found = one.client.post(f"{place}/cancel").json()
            assert found["started_at"] <= found["finished_at"]
        for service in (one, other):
            assert "of another server" not in service.log.read_text()


def state(service: Service, place: str) -> str:
    found: str = service.client.get(place).json()["state"]
    return found
