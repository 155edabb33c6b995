"""No problem names a path or a host, whatever fails: every call, with the data taken away."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.routers.cost_models import EXAMPLE
from app.routers.runs import EXAMPLE as RUN
from app.storage.causes import cause_of
from tests.app.service import Json, Service, faults, running, two_layers
from tests.app.test_metrics import scraped, value
from tests.waiting import until

#: A body for each collection that is posted to; others get an empty object.
BODIES: dict[str, Json] = {"/v1/cost-models": EXAMPLE, "/v1/runs": RUN, "/v1/plans": two_layers()}


def calls(service: Service) -> Iterator[tuple[str, str]]:
    """Yield every method and path of the service, with an id in the place of each parameter."""
    described = service.client.get("/openapi.json").json()
    for path, methods in described["paths"].items():
        for method in methods:
            yield method, "/".join("x" if "{" in part else part for part in path.split("/"))


def walked(service: Service) -> list[tuple[str, int, str]]:
    """Make each call, and return what was answered to each."""
    found = []
    for method, path in calls(service):
        body: Any = {"json": BODIES.get(path, {})} if method in {"post", "put", "patch"} else {}
        once = {"connection": "close", "prefer": "wait=0"}  # whatever the call before left
        answer = service.client.request(method, path, headers=once, **body)
        text = answer.text + str(answer.headers)
        found.append((f"{method} {path}", answer.status_code, text))
    return found


def check(service: Service, *secrets: str, least: int = 1) -> None:
    found = walked(service)
    assert sum(status == 503 for _, status, _ in found) >= least, "the database cannot be used"
    assert not [call for call, status, _ in found if status == 500]
    words = (*secrets, socket.gethostname(), "interlace.db", "sqlite", ".py")
    named = [(call, word) for call, _, text in found for word in words if word in text]
    # a documentation page names the file of the service's own description
    assert not [each for each in named if not each[0].startswith("get /docs")]


@pytest.mark.live
def test_a_directory_that_comes_late_and_is_taken_away(tmp_path: Path) -> None:
    """Until it comes the server is not ready; what cannot work is refused (test_start)."""
    folder = tmp_path / "mounted-later"
    url = f"sqlite:///{folder}/interlace.db"
    with running(tmp_path, database_url=url, INTERLACE_LOG_FORMAT="text") as service:
        client = service.client
        assert client.get("/healthz").status_code == 200
        for answer in (client.get("/readyz"), client.get("/v1/plans"), service.post(two_layers())):
            faults(answer)
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
        found = scraped(client)
        assert value(found, "interlace_storage_up") == 0
        assert not any(name == "interlace_jobs" for name, _ in found)
        check(service, str(tmp_path), "mounted-later", least=10)
        assert "mounted-later" in service.log.read_text(), "the log says which"
        folder.mkdir()
        until(lambda: client.get("/readyz").status_code == 200)
        assert service.post(two_layers()).status_code == 201
        folder.rename(tmp_path / "away")
        folder.write_text("a file")
        check(service, str(tmp_path), "mounted-later")
    log = service.log.read_text()
    assert "Traceback" not in log
    assert re.search(r"^\S+Z INFO    uvicorn\.error: Finished server process", log, re.MULTILINE)


class FromAServer(Exception):
    """What psycopg raises."""

    def __init__(self, text: str, sqlstate: str | None) -> None:
        super().__init__(text)
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PermissionError(13, "Permission denied", "/var/lib/secret"), "permission denied"),
        (FromAServer('connection to server at "10.0.0.7" failed', None), "it does not answer"),
        (FromAServer('could not extend file "base/1/2"', "53100"), "FromAServer, 53100"),
        (ValueError("at /var/lib/secret"), "ValueError"),
    ],
)
def test_what_is_told_of_a_cause(error: Exception, told: str, caplog: Any) -> None:
    assert cause_of(error) == told
    assert str(error) in caplog.text
