"""The clock of the machine jumps under jobs at work, ahead and back: by libfaketime, none waits."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx2
import pytest

from tests.app.long import search
from tests.app.service import Service, running, two_layers
from tests.waiting import until

_LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not _LIBRARIES, reason="libfaketime is not installed"),
]
DAY_S = 86_400


def with_clock(file: Path) -> dict[str, str]:
    """Return what lets a server, and all that it starts, read how far its clock is ahead."""
    return {
        "LD_PRELOAD": str(_LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
        "INTERLACE_WORKERS": "1",
    }


def jump(file: Path, seconds: int) -> None:
    """Set the clock so far ahead [s]; there is no moment at which the file is empty."""
    new = file.with_suffix(".new")
    new.write_text(f"{seconds:+d}s\n")
    new.rename(file)


def heartbeat(service: Service, place: str) -> str:
    """Return the last sign of life of a job that is at work in its first attempt, else nothing."""
    found = service.client.get(place).json()
    assert found["state"] in {"queued", "running"}, found
    assert found["attempts"] <= 1, found
    return (found["progress"] or {}).get("heartbeat_at") or ""


def is_ahead(service: Service, place: str, before: str) -> bool:
    return heartbeat(service, place) > before


def is_behind(service: Service, place: str, before: str) -> bool:
    return "" < heartbeat(service, place) < before


def test_jobs_outlive_a_clock_that_jumps(tmp_path: Path) -> None:
    """Two servers share a file: neither takes the other's job, nor ends its own, in either jump."""
    clock = tmp_path / "clock"
    jump(clock, 0)
    folder = tmp_path / "data"
    folder.mkdir()
    with ExitStack() as servers:
        both = [servers.enter_context(running(folder, **with_clock(clock))) for _ in range(2)]
        places = []
        for number, service in enumerate(both):
            answer = service.client.post(
                "/v1/plans", json=search(3_000 - number), params={"wait": 0}
            )
            places.append(answer.headers["location"])
        until(lambda: all(heartbeat(both[0], place) for place in places))
        for seconds, moved in ((DAY_S, is_ahead), (-DAY_S, is_behind)):
            before = [heartbeat(both[0], place) for place in places]
            jump(clock, seconds)
            until(lambda: all(map(partial(moved, both[0]), places, before)))  # noqa: B023
            assert both[1].post(two_layers(seed=DAY_S + seconds)).status_code == 201
        for service, place in zip(both, places, strict=True):
            assert ended(service.client, place) == "cancelled"
        log = (folder / "server.log").read_text()
        assert "The clock of jobs jumped by" in log
        assert "of another server" not in log
        assert "Traceback" not in log


def ended(client: httpx2.Client, place: str) -> str:
    state: str = client.post(f"{place}/cancel").json()["state"]
    return state
