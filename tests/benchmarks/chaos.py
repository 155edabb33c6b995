"""Two servers, two Dask workers and a PostgreSQL, of which something goes down all the time.

``python -m tests.benchmarks.chaos [--minutes 60] [--seed 1] [--clients 6] [--sqlite] [--logs
DIR]``; with SQLite the servers share a file, their own processes do the jobs, and no database goes
down. Clients have jobs done by whichever server answers, each under an idempotency key, some twice,
and cancel or delete some. Meanwhile, every few seconds, drawn at random: a server is killed and
started again, or stands still for longer than its leases last; a worker, a process of a job or the
scheduler is killed; the database is restarted, or crashes. Then everything may come to rest. No job
may be lost, stuck or done twice; what was asked twice has one answer; what has ended stays as it
was; no process is left; and a client hears nothing but success, and 429 or 503 with Retry-After.
Linux only.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import func, select

from app.jobs.rows import DRAFT, ENDED, FILE
from app.operations.settings import Settings
from app.storage.database import Store
from app.storage.tables import JobRow, KeyRow, PayloadRow
from tests.app import postgres
from tests.app.dask_cluster import DaskCluster, dask_cluster
from tests.app.service import Json
from tests.benchmarks.kills import Server, Wish, hashed, wishes

WORKERS = 2
#: So many requests differ; clients ask for them again and again.
_REQUESTS = 60
#: Between two faults lies so much time [s]; a server stands still for so long.
_APART_S, _STILL_S = (1.0, 8.0), 8.0
#: All jobs must have ended so long after the last fault, all processes gone after the servers [s].
_REST_S, _LINGER_S = 300.0, 3.0
#: A client tries again after so long [s].
_AGAIN_S = 0.1
#: What a client does with a job that it does not wait for: of each hundred.
_CANCELLED, _DELETED, _TWICE = 10, 5, 15


@dataclass
class Heard:
    """What the clients heard, and what was done to the rest."""

    places: dict[str, set[str]] = field(default_factory=dict)
    ends: dict[str, Json] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    bad: list[str] = field(default_factory=list)


class Calls:
    """Asks one server, and the other when that does not answer."""

    def __init__(self, servers: Sequence[Server], heard: Heard, draw: random.Random) -> None:
        self._clients = [server.client() for server in servers]
        self._heard, self._draw = heard, draw

    def ask(self, method: str, path: str, until: float, **what: Any) -> httpx2.Response:
        """Return the first answer that is neither 503 nor 429 without a job."""
        while time.monotonic() < until:
            try:
                answer = self._draw.choice(self._clients).request(method, path, **what)
            except httpx2.TransportError as error:
                self._heard.answers[type(error).__name__] += 1
                time.sleep(_AGAIN_S)
                continue
            status = answer.status_code
            self._heard.answers[str(status)] += 1
            if status in {429, 503} and "location" not in answer.headers:
                if "retry-after" not in answer.headers:
                    self._heard.bad.append(f"{method} {path}: {status} without Retry-After")
                time.sleep(_AGAIN_S)
                continue
            if status >= 500 and "location" not in answer.headers:
                self._heard.bad.append(f"{method} {path}: {status} {answer.text[:300]}")
            return answer
        raise TimeoutError(f"{method} {path} was not answered")

    def close(self) -> None:
        for client in self._clients:
            client.close()


def client(
    servers: Sequence[Server], asked: Sequence[Wish], heard: Heard, until: float, seed: int
) -> None:
    """Have jobs done, one after the other, until the time is over; wait for the last one's end."""
    draw, late = random.Random(seed), until + _REST_S
    with closing(Calls(servers, heard, draw)) as calls:
        number = 0
        while time.monotonic() < until:
            wish, key = draw.choice(asked), f"{seed}-{number}"
            number += 1
            place = _posted(calls, wish, key, draw, heard, late)
            chance = draw.randrange(100)
            if chance < _TWICE:
                _posted(calls, wish, key, draw, heard, late)
            elif chance < _TWICE + _CANCELLED:
                calls.ask("POST", f"{place}/cancel", late, headers=_HEADERS)
            elif chance < _TWICE + _CANCELLED + _DELETED:
                answer = calls.ask("DELETE", place, late, headers=_HEADERS)
                if answer.status_code not in {204, 404}:  # 404: the answer before was lost
                    heard.bad.append(f"DELETE {place}: {answer.status_code}")
                heard.deleted.add(key)
                continue
            found: Json = {"finished_at": None}
            while found["finished_at"] is None:
                found = calls.ask("GET", place, late, params={"wait": 2}).json()
            heard.ends[key] = {**found, "asked": wish.key, "place": place}


_HEADERS = {"content-type": "application/json"}


def _posted(
    calls: Calls, wish: Wish, key: str, draw: random.Random, heard: Heard, until: float
) -> str:
    is_file = isinstance(wish.body, bytes)
    content = wish.body if isinstance(wish.body, bytes) else json.dumps(wish.body).encode()
    headers = {
        "content-type": "application/octet-stream" if is_file else "application/json",
        "idempotency-key": key,
        "cache-control": "no-store",
    }
    params = {"wait": draw.choice([0.0, 0.0, 1.0, 20.0]), "tag": key}
    answer = calls.ask("POST", wish.path, until, content=content, headers=headers, params=params)
    place = answer.headers.get("location")
    if place is None:
        heard.bad.append(f"POST {wish.path}: {answer.status_code} {answer.text[:300]}")
        raise ValueError(answer.text)
    if not place.startswith(wish.prefix):  # of an import that had ended: its graph
        listed = calls.ask("GET", wish.prefix, until, params={"tag": key}).json()
        place = f"{wish.prefix}/{listed['imports'][0]['id']}"
    heard.places.setdefault(key, set()).add(place)
    return place


class Shared(Server):
    """One of several servers of a database and a cluster."""

    @property
    def pid(self) -> int:
        return self._process.pid

    def signal(self, how: signal.Signals) -> None:
        self._process.send_signal(how)


class Faults:
    """Breaks something again and again."""

    def __init__(
        self,
        servers: Sequence[Shared],
        shared: tuple[DaskCluster, postgres.Cluster] | None,
        seed: int,
    ) -> None:
        self._servers, self._draw = servers, random.Random(seed)
        self._choices: dict[str, tuple[int, Callable[[], None]]] = {
            "server killed": (4, self._kill_server),
            "server stood still": (1, self._stop_server),
            "process of a job killed": (4, self._kill_job),
        }
        if shared is not None:
            self._cluster, self._database = shared
            self._choices |= {
                "worker killed": (4, self._kill_worker),
                "scheduler killed": (1, self._kill_scheduler),
                "database restarted": (2, lambda: self._restart("fast")),
                "database crashed": (1, lambda: self._restart("immediate")),
            }

    def run(self, heard: Heard, until: float) -> None:
        names, weights = list(self._choices), [weight for weight, _ in self._choices.values()]
        while True:
            time.sleep(self._draw.uniform(*_APART_S))
            if time.monotonic() >= until:
                return
            (name,) = self._draw.choices(names, weights)
            self._choices[name][1]()
            heard.faults[name] += 1

    def _kill_server(self) -> None:
        server = self._draw.choice(self._servers)
        server.stop(signal.SIGKILL)
        server.start()

    def _stop_server(self) -> None:
        server = self._draw.choice(self._servers)
        server.signal(signal.SIGSTOP)
        time.sleep(_STILL_S)
        server.signal(signal.SIGCONT)

    def _kill_worker(self) -> None:
        self._cluster.kill_worker(self._draw.randrange(WORKERS))
        self._cluster.start_worker()

    def _kill_job(self) -> None:
        """Kill a process of a job, or one that waits for a job: each leads a group."""
        found = [pid for pid, leads in self._servers[0].processes().items() if leads]
        mine = [each.pid for each in self._servers]
        if "worker killed" in self._choices:
            dask = [*self._cluster.workers, self._cluster.scheduler]
            mine += [each.pid for each in dask if each]
        if left := sorted(set(found) - {*mine}):
            with suppress(ProcessLookupError):
                os.kill(self._draw.choice(left), signal.SIGKILL)

    def _kill_scheduler(self) -> None:
        """Kill it, and start it again with workers: those that it had end without it."""
        self._cluster.kill_scheduler()
        self._cluster.start_scheduler()
        for _ in range(WORKERS):
            self._cluster.kill_worker()
            self._cluster.start_worker()

    def _restart(self, how: str) -> None:
        self._database.stop(how)
        time.sleep(self._draw.uniform(0, 2))
        self._database.start()


def run(folder: Path, minutes: float, clients: int, seed: int, *, is_sqlite: bool) -> bool:
    """Have it happen; print what came of it, and tell whether that is as it should be."""
    asked, heard = wishes(_REQUESTS, seed), Heard()
    data = folder / "data"
    data.mkdir()
    with ExitStack() as stack:
        shared, settings = None, {"INTERLACE_DATABASE_URL": f"sqlite:///{data / 'it.db'}"}
        if not is_sqlite:
            database = stack.enter_context(postgres.running())
            cluster = stack.enter_context(dask_cluster(data, WORKERS))
            shared, settings = (cluster, database), {"INTERLACE_SCHEDULER": cluster.address}
            settings["INTERLACE_DATABASE_URL"] = database.make()
        url = settings["INTERLACE_DATABASE_URL"]
        servers = [Shared(data, **settings) for _ in range(2)]
        for server in servers:
            server.start()
        try:
            while not all(server.is_ready() for server in servers):
                time.sleep(0.1)
            until = time.monotonic() + 60 * minutes
            breaking = threading.Thread(
                target=Faults(servers, shared, seed).run, args=(heard, until)
            )
            breaking.start()
            with ThreadPoolExecutor(clients) as pool:
                going = [
                    pool.submit(client, servers, asked, heard, until, seed * 1_000 + i)
                    for i in range(clients)
                ]
            breaking.join()
            heard.bad += [f"a client gave up: {e!r}" for e in (g.exception() for g in going) if e]
            problems = [*heard.bad, *_unlike(heard), *_left_in(url, heard)]
            problems += _changed(servers, heard)
        finally:
            for server in servers:
                server.stop(signal.SIGTERM)
    problems += _left(servers[0])
    print(f"{minutes:g} minutes, {len(heard.places):,} jobs of {clients} clients")
    print(f"  faults   {sum(heard.faults.values())}: {dict(heard.faults)}")
    print(f"  answers  {dict(heard.answers)}")
    print(f"  ends     {dict(Counter(end['state'] for end in heard.ends.values()))}")
    print(f"  problems {len(problems)}")
    for each in problems[:20]:
        print(f"    {each}")
    if problems:
        logs = [line for name in ("server", "worker") for line in _log(data / f"{name}.log")]
        for line in [each for each in logs if "failed inside" in each][:5]:
            print(f"  log      {line}")
    return not problems


def _log(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines() if path.exists() else []


def _unlike(heard: Heard) -> list[str]:
    """Name keys with several jobs, ends that should not be, and answers that differ."""
    found = [f"{key} has {len(all_)} jobs" for key, all_ in heard.places.items() if len(all_) > 1]
    answers: dict[str, set[str]] = {}
    for end in heard.ends.values():
        if end["state"] == "succeeded":
            told = {name: each for name, each in end.items() if name not in {"place", "tags"}}
            answers.setdefault(end["asked"], set()).add(hashed(told))
        elif end["state"] == "failed" and end["error"]["code"] == "worker_died":
            continue  # three processes of it were killed
        elif end["state"] != "cancelled":
            found.append(f"{end['place']} ended {end['state']}: {end['error']}")
    return found + [
        f"{key} was answered in two ways" for key, all_ in answers.items() if len(all_) > 1
    ]


def _left_in(url: str, heard: Heard) -> list[str]:
    """Name what the database has too much or too little of, once all has ended."""
    with closing(Store(Settings(database_url=url), is_migrated=True)) as store:
        deadline = time.monotonic() + _REST_S
        while True:
            with store.reading() as connection:
                rows = connection.execute(select(JobRow.id, JobRow.state)).all()
                parts = PayloadRow.part == DRAFT, PayloadRow.part.startswith(FILE)
                large = connection.scalar(select(func.count()).where(parts[0] | parts[1]))
                keys = connection.scalar(select(func.count()).select_from(KeyRow))
            going = [job_id for job_id, state in rows if state not in ENDED]
            if not going or time.monotonic() > deadline:
                break
            time.sleep(0.5)
    kept = {
        place.rpartition("/")[2]
        for key, all_ in heard.places.items()
        if key not in heard.deleted
        for place in all_
    }
    ids = {job_id for job_id, _ in rows}
    found = [f"{job_id} is stuck" for job_id in going]
    found += [f"{job_id} is lost" for job_id in sorted(kept - ids)]
    found += [f"{job_id} is nobody's" for job_id in sorted(ids - kept)]
    if large:
        found.append(f"{large} drafts and uploads are left")
    if keys != len(kept):
        found.append(f"{keys} keys for {len(kept)} jobs")
    return found


def _changed(servers: Sequence[Server], heard: Heard) -> list[str]:
    """Name jobs that are not as they were when they ended."""
    found = []
    with closing(Calls(servers, heard, random.Random(0))) as calls:
        for key, end in heard.ends.items():
            now = calls.ask("GET", end["place"], time.monotonic() + 60).json()
            told = {name: each for name, each in end.items() if name not in {"asked", "place"}}
            if now != told:
                found.append(f"{key} changed after its end")
    return found


def _left(server: Server) -> list[str]:
    deadline = time.monotonic() + _LINGER_S
    while (found := sorted(server.processes())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [f"process {each} is left" for each in found]


def main() -> None:
    """Run and print; fail when something was not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--logs", type=Path, help="a new folder that keeps logs and database")
    given = parser.parse_args()
    if not given.sqlite and (why := postgres.missing()):
        sys.exit(why)
    with tempfile.TemporaryDirectory() as name:
        folder = given.logs or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if not run(folder, given.minutes, given.clients, given.seed, is_sqlite=given.sqlite):
            sys.exit("Not as it should be.")


if __name__ == "__main__":
    main()
