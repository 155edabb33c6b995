"""Two servers under load while the PostgreSQL that they share is restarted again and again.

Run it with ``python -m tests.benchmarks.restarts [--minutes 5] [--every 30] [--seed 1]``. Clients
post jobs with idempotency keys through both servers, look at them, and wait for each to end. Every
other restart is a crash (``pg_ctl stop -m immediate``), and the database is away for up to three
seconds. Each answer must be a good one or 503 ``storage_unavailable`` with Retry-After; no job may
be lost or done twice.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import func, select

from app.jobs.rows import REQUEST, RESULT
from app.storage.tables import JobRow, KeyRow, PayloadRow
from tests.app import postgres
from tests.app.postgres import Cluster
from tests.app.service import Json, Service, running
from tests.benchmarks.kills import Wish, wishes

CLIENTS = 8
#: The database is away for so long at most [s].
_AWAY_S = 3.0
#: A client asks again after so long [s]: sooner than it is told to.
_AGAIN_S = 0.2
#: What was asked for ends so long after it at most [s].
_PATIENCE_S = 600.0


@dataclass
class Heard:
    """What the clients heard."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    places: dict[str, set[str]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    restarts: int = 0


class Client:
    """One of those who post; ``until`` is when it posts nothing more."""

    def __init__(self, servers: Sequence[Service], heard: Heard, seed: int) -> None:
        self._draw = random.Random(seed)
        self._urls = [str(server.client.base_url) for server in servers]
        self._heard = heard

    def work(self, mine: Iterator[Wish], enough: threading.Event) -> None:
        """Have jobs done, one after the other."""
        with httpx2.Client(timeout=60, trust_env=False) as http:
            for wish in mine:
                if enough.is_set():
                    return
                self._do(http, wish)

    def _do(self, http: httpx2.Client, wish: Wish) -> None:
        wait_s = self._draw.choice([0, 1, 10])
        headers = {"idempotency-key": wish.key, "cache-control": "no-store"}
        for _ in range(1 + (self._draw.random() < 0.2)):  # some twice
            how: dict[str, Any] = {"params": {"wait": wait_s}, "headers": headers}
            answer = self._asked(http, "POST", wish.path, json=wish.body, **how)
            place = answer.headers["location"]
            self._heard.places.setdefault(wish.key, set()).add(place)
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            found = self._asked(http, "GET", place, params={"wait": 2}).json()
            if found["finished_at"] is not None:
                self._heard.ends[wish.key] = found["state"]
                return

    def _asked(self, http: httpx2.Client, method: str, path: str, **how: Any) -> httpx2.Response:
        """Ask again and again until there is an answer; note those that there must not be."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            answer = http.request(method, self._draw.choice(self._urls) + path, **how)
            self._heard.statuses[answer.status_code] += 1
            if answer.status_code in {200, 201, 202}:
                return answer
            problem = answer.json()
            is_away = answer.status_code == 503 and problem["code"] == "storage_unavailable"
            if not (is_away and "retry-after" in answer.headers):
                self._heard.wrong.append(f"{method} {path}: {answer.status_code} {problem}")
            time.sleep(_AGAIN_S)
        raise TimeoutError(f"{method} {path}")


def restarted(
    folder: Path, cluster: Cluster, *, seconds: float, every_s: float, seed: int
) -> tuple[Json, bool]:
    """Restart a database under load for so long; return what came of it, and whether it is good."""
    url, heard, draw = cluster.make(), Heard(), random.Random(seed)
    asked = [wish for wish in wishes(20_000, seed) if isinstance(wish.body, dict)]
    enough = threading.Event()
    with ExitStack() as all_running, ThreadPoolExecutor(CLIENTS) as clients:
        servers = []
        for name in "ab":
            (folder / name).mkdir()
            servers.append(all_running.enter_context(running(folder / name, database_url=url)))
        going = [
            clients.submit(Client(servers, heard, seed + i).work, iter(asked[i::CLIENTS]), enough)
            for i in range(CLIENTS)
        ]
        began = time.monotonic()
        try:
            while time.monotonic() - began + every_s < seconds:
                time.sleep(every_s)
                cluster.stop("immediate" if heard.restarts % 2 else "fast")
                time.sleep(draw.uniform(0, _AWAY_S))
                cluster.start()
                heard.restarts += 1
        finally:
            enough.set()
        for each in going:
            each.result()
        found = _checked(servers[0], heard)
        logs = [server.log.read_text() for server in servers]
    found["failures inside"] = sum(log.count("Traceback") for log in logs)
    is_good = not (
        found["wrong answers"]
        or found["lost"]
        or found["more than one job for a key"]
        or found["failures inside"]
        or set(found["ends"]) - {"succeeded"}
    )
    posted = len(heard.places)
    rows = {"jobs": posted, "keys": posted, "results": posted, "other parts": 0}
    return found, is_good and found["rows"] == rows and found["restarts"] > 0


def _checked(server: Service, heard: Heard) -> Json:
    """Count what was lost or done twice."""
    with closing(server.store()) as store, store.reading() as connection:

        def count(table: Any, *which: Any) -> int:
            query = select(func.count()).select_from(table).where(*which)
            return connection.scalar(query) or 0

        rows = {
            "jobs": count(JobRow),
            "keys": count(KeyRow),
            "results": count(PayloadRow, PayloadRow.part == RESULT),
            "other parts": count(PayloadRow, PayloadRow.part.not_in([REQUEST, RESULT])),
        }
    return {
        "restarts": heard.restarts,
        "answers by status": dict(sorted(heard.statuses.items())),
        "wrong answers": heard.wrong[:10],
        "ends": dict(Counter(heard.ends.values())),
        "lost": sorted(heard.places.keys() - heard.ends.keys()),
        "more than one job for a key": [k for k, p in heard.places.items() if len(p) > 1],
        "rows": rows,
    }


def main() -> None:
    """Run, print, and fail when an answer was wrong, or a job lost or done twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--every", type=float, default=30, help="[s]")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, postgres.running() as cluster:
        found, is_good = restarted(
            Path(name),
            cluster,
            seconds=60 * given.minutes,
            every_s=given.every,
            seed=given.seed,
        )
    for line, value in found.items():
        print(f"{line:<30}{value}", flush=True)
    if not is_good:
        sys.exit("Not as it should be.")


if __name__ == "__main__":
    main()
