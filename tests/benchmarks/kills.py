"""Jobs of all kinds while the server, or the processes of its jobs, are killed at random moments.

Run it with ``python -m tests.benchmarks.kills [--jobs 200] [--kills 20] [--seed 1]``, and
``--database postgresql`` for a PostgreSQL of its own in the place of a SQLite file. Clients post
jobs with idempotency keys, again and again until they hear of each, and wait for its end; the
server is killed by SIGKILL and started again on the same port and data. Then the same with the
processes of jobs in its place. Both are compared with a run that nobody disturbs: no job may be
lost, none done twice, each result must be the same, and no process may be left. Linux only.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from sqlalchemy import text

from app.operations.settings import Settings
from app.services.examples import example
from app.storage.database import Store
from tests.app import postgres
from tests.app.long import search
from tests.app.service import Json, environment, note_start, two_layers

SQLITE = "sqlite"
DATABASES = (SQLITE, "postgresql")

CLIENTS = 8
#: Jobs must have ended so long after the last kill [s].
_PATIENCE_S = 600.0
#: A client tries again, or looks again, after so long [s].
_AGAIN_S = 0.1
#: Between two kills lies at most so much time [s]: a job that is taken up needs five to be missed.
_APART_S = {"server": 7.0, "jobs": 1.0}
#: A POST waits so long for the end of its job; a kill in between leaves it unanswered.
_WAITS_S = (0.0, 1.0, 30.0)
#: The last processes of a server may take so long to go after it [s].
_LINGER_S = 3.0
#: All of a killed server must have gone after so long [s]: what forks processes for jobs first ends
#: what it imports.
_GONE_S = 60.0
#: What differs between two runs that give the same answer.
_VOLATILE = {"runtime_s", "id", "created_at", "started_at", "finished_at", "attempts", "progress"}


@dataclass(frozen=True)
class Wish:
    """A job to be posted, and the key that it is known by; a file when it is no JSON."""

    key: str
    path: str
    body: Json | bytes

    @property
    def prefix(self) -> str:
        return "/v1/imports" if self.path == "/v1/graphs" else self.path


@dataclass
class Heard:
    """What the clients and the one who kills noted."""

    jobs: dict[str, set[str]] = field(default_factory=dict)
    ends: dict[str, Json] = field(default_factory=dict)
    repeats: int = 0
    kills: int = 0
    gone_s: list[float] = field(default_factory=list)


def wishes(count: int, seed: int) -> list[Wish]:
    """Draw jobs: small and larger plans, simulations, sweeps, imports."""
    draw = random.Random(seed)
    resnet = example("resnet50").model_dump(mode="json")
    asked = {key: resnet[key] for key in ("graph", "cluster")}
    found = []
    for i in range(count):
        path = "/v1/plans"
        body: Json | bytes = two_layers(seed=i)
        match draw.choice("qqqqqqqqpplsssswii"):
            case "p":
                body = search(draw.randrange(20, 60), options=_whole(i))
            case "l":
                body = search(draw.randrange(100, 150), options=_whole(i))
            case "s":
                graph = {**asked["graph"], "name": f"resnet50 {i}"}
                policy = draw.choice(["ddp", "pace"])
                path, body = "/v1/simulations", {**asked, "graph": graph, "policy": policy}
            case "w":
                axes = {"workers": [2, 8 + i], "bandwidths_gbps": [5, 25]}
                policies = {"policies": ["wfbp", "pace"]}
                path, body = "/v1/sweeps", {**asked, **axes, **policies}
            case "i":
                path, body = "/v1/graphs", _trace(draw.randrange(50, 1_000), i)
        found.append(Wish(f"job-{i}", path, body))
    return found


def _whole(seed: int) -> Json:
    """Return options of a plan that no time limit cuts: its answer is the same each time."""
    return {"baselines": [], "time_limit_s": 600, "seed": seed}


def _trace(layers: int, mark: int) -> bytes:
    """Return a profile of so many layers in PipeDream's text."""
    sizes = f"activation_size=64.0, parameter_size={4096 + mark}.000"
    times = "forward_compute_time=1.000, backward_compute_time=2.000"
    nodes = [f"node{i} -- Linear -- {times}, {sizes}" for i in range(1, layers + 1)]
    edges = [f"\tnode{i} -- node{i + 1}" for i in range(1, layers)]
    return "\n".join([*nodes, *edges, ""]).encode()


class Server:
    """``interlace serve`` on one port and one directory, started as often as it takes.

    ``settings`` are variables of its environment.
    """

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder, self.settings, self.starts = folder, settings, 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]

    def start(self) -> None:
        self.starts += 1
        note_start()
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "app", "serve", "--port", str(self.port)],
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=environment(
                    self.folder,
                    **self.settings,
                    INTERLACE_LOG_FORMAT="json",
                    STARTED=str(self.starts),
                ),
            )

    def client(self) -> httpx2.Client:
        url = f"http://127.0.0.1:{self.port}"
        return httpx2.Client(base_url=url, timeout=60, trust_env=False)

    def is_ready(self) -> bool:
        with suppress(httpx2.TransportError), self.client() as client:
            return client.get("/readyz").status_code == 200
        return False

    def stop(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait(30)

    def processes(self, start: int | None = None) -> dict[int, bool]:
        """Return all that has its environment, of one start or all, and whether it leads a group.

        What leads one is the process of a job, or one that waits for a job.
        """
        marks = {f"INTERLACE_DATA_DIR={self.folder}".encode()}
        marks |= {f"STARTED={start}".encode()} if start else set()
        found = {}
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if marks <= set((entry / "environ").read_bytes().split(b"\0")):
                    group = int((entry / "stat").read_text().rpartition(")")[2].split()[2])
                    found[int(entry.name)] = group == int(entry.name)
        return found


def posted(
    client: httpx2.Client, wish: Wish, wait_s: float, heard: Heard, until: Callable[[], bool]
) -> str:
    """Post until there is an answer; return the place of the job."""
    content = wish.body if isinstance(wish.body, bytes) else json.dumps(wish.body).encode()
    is_file = isinstance(wish.body, bytes)
    headers = {
        "content-type": "application/octet-stream" if is_file else "application/json",
        "idempotency-key": wish.key,
        "cache-control": "no-store",
    }
    params: dict[str, Any] = {"wait": wait_s, "tag": wish.key}
    while until():
        try:
            answer = client.post(wish.path, content=content, headers=headers, params=params)
        except httpx2.TransportError:
            heard.repeats += 1
            time.sleep(_AGAIN_S)
            continue
        if answer.status_code == 503 and "location" not in answer.headers:  # no database yet
            time.sleep(_AGAIN_S)
            continue
        assert "location" in answer.headers, answer.text
        place: str = answer.headers["location"]
        if not place.startswith(wish.prefix):  # of an import that had ended: its graph
            page = _asked(client, wish.prefix, until, tag=wish.key)
            (listed,) = page["imports"]
            place = f"{wish.prefix}/{listed['id']}"
        heard.jobs.setdefault(wish.key, set()).add(place)
        return place
    raise TimeoutError(wish.key)


def _asked(client: httpx2.Client, path: str, until: Callable[[], bool], **params: Any) -> Json:
    """Get something, again and again until there is an answer."""
    while until():
        with suppress(httpx2.TransportError):
            answer = client.get(path, params=params)
            if answer.status_code != 503:
                assert answer.status_code == 200, f"{path}: {answer.text}"
                found: Json = answer.json()
                return found
        time.sleep(_AGAIN_S)
    raise TimeoutError(path)


def client(
    server: Server, mine: Sequence[Wish], heard: Heard, until: Callable[[], bool], seed: int
) -> None:
    """Have jobs done, one after the other; some are posted twice."""
    draw = random.Random(seed)
    with server.client() as at:
        for wish in mine:
            place = posted(at, wish, draw.choice(_WAITS_S), heard, until)
            if draw.random() < 0.2:
                posted(at, wish, 0, heard, until)
            while "finished_at" not in heard.ends.get(wish.key, {}):
                found = _asked(at, place, until, wait=1)
                if found["finished_at"] is not None:
                    heard.ends[wish.key] = found


def hashed(answer: Json) -> str:
    """Hash all of an answer but what tells of one run."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kept(each) for key, each in value.items() if key not in _VOLATILE}
        return [kept(each) for each in value] if isinstance(value, list) else value

    return hashlib.sha256(json.dumps(kept(answer), sort_keys=True).encode()).hexdigest()


def kill_server(server: Server, heard: Heard) -> None:
    """Kill the server, start it again at once, and see when all its processes have gone."""
    began, before = time.monotonic(), server.starts
    server.stop(signal.SIGKILL)
    server.start()
    while left := server.processes(before):
        if time.monotonic() - began > _GONE_S:
            raise TimeoutError(f"left: {[_told(process) for process in left]}")
        time.sleep(0.05)
    heard.gone_s.append(time.monotonic() - began)
    while not server.is_ready():
        time.sleep(0.05)


def _told(process: int) -> str:
    """Return what a process is."""
    with suppress(OSError):
        words = Path("/proc", str(process), "cmdline").read_bytes().replace(b"\0", b" ")
        return f"{process} {words.decode()}"
    return str(process)


def kill_job(server: Server, draw: random.Random) -> None:
    """Kill a process of a job, or one that waits for a job."""
    if leaders := sorted(pid for pid, leads in server.processes().items() if leads):
        with suppress(ProcessLookupError):
            os.kill(draw.choice(leaders), signal.SIGKILL)


def settings_of(url: str | None) -> dict[str, str]:
    """Return the setting of a server with this database; None for one of its own."""
    return {} if url is None else {"INTERLACE_DATABASE_URL": url}


def run(
    folder: Path, asked: Sequence[Wish], kills: int, what: str, seed: int, url: str | None = None
) -> Heard:
    """Have all jobs done while so many of ``what`` are killed; stop the server in the end."""
    folder.mkdir()
    server, heard, draw = Server(folder, **settings_of(url)), Heard(), random.Random(seed)
    server.start()
    deadline = [time.monotonic() + 600]
    until = lambda: time.monotonic() < deadline[0]
    try:
        while not server.is_ready():
            time.sleep(0.05)
        with ThreadPoolExecutor(CLIENTS) as clients:
            shares = [asked[i::CLIENTS] for i in range(CLIENTS)]
            going = [
                clients.submit(client, server, share, heard, until, seed + i)
                for i, share in enumerate(shares)
            ]
            while heard.kills < kills and not all(each.done() for each in going):
                time.sleep(draw.uniform(0, _APART_S[what]))
                if what == "server":
                    kill_server(server, heard)
                else:
                    kill_job(server, draw)
                heard.kills += 1
            deadline[0] = time.monotonic() + _PATIENCE_S
            wait(going)
            for each in going:
                if error := each.exception():
                    print(f"  a client gave up: {error!r}")
    finally:
        server.stop(signal.SIGTERM)
    return heard


def _left(server: Server) -> list[int]:
    """Return the processes that a server leaves behind."""
    deadline = time.monotonic() + _LINGER_S
    while (found := sorted(server.processes())) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def checked(
    folder: Path,
    asked: Sequence[Wish],
    heard: Heard,
    hoped: dict[str, str],
    url: str | None = None,
) -> Json:
    """Count what was lost, done twice, or came out differently."""
    store = Store(Settings(data_dir=folder, database_url=url), is_migrated=True)
    with closing(store), store.reading() as connection:

        def count(query: str) -> int:
            return int(connection.scalar(text(f"SELECT count(*) FROM {query}")) or 0)

        check = "SELECT 'ok'" if url else "PRAGMA integrity_check"  # PostgreSQL has its own sums
        integrity = connection.scalar(text(check))
        succeeded = count("jobs WHERE state = 'succeeded'")
        rows = {
            "jobs": count("jobs"),
            "keys": count("idempotency_keys"),
            "results": count("payloads WHERE part = 'result'"),
            "not ended": count("jobs WHERE finished_at IS NULL"),
            "drafts and files": count("payloads WHERE part NOT IN ('request', 'result')"),
        }
    lost = [wish.key for wish in asked if wish.key not in heard.ends]
    twice = [key for key, places in heard.jobs.items() if len(places) > 1]
    ends = Counter(
        end["error"]["code"] if end["error"] else end["state"] for end in heard.ends.values()
    )
    others = [
        key
        for key, end in heard.ends.items()
        if end["state"] == "succeeded" and hoped and hashed(end) != hoped.get(key)
    ]
    left = _left(Server(folder))
    is_good = (
        not (lost or twice or others or left)
        and integrity == "ok"
        and set(ends) <= {"succeeded", "worker_died"}
        and all(end["attempts"] == 3 for end in heard.ends.values() if end["state"] != "succeeded")
        and rows
        == {
            "jobs": len(asked),
            "keys": len(asked),
            "results": succeeded,
            "not ended": 0,
            "drafts and files": 0,
        }
    )
    return {
        "kills": heard.kills,
        "ends": dict(ends),
        "attempts, most": max((end["attempts"] for end in heard.ends.values()), default=0),
        "POSTs repeated for want of an answer": heard.repeats,
        "lost": lost,
        "more than one job for a key": twice,
        "other result than undisturbed": others,
        "processes left": left,
        "rows": rows,
        "integrity_check": integrity,
        "good": is_good,
    }


def main() -> None:
    """Run, print, and fail when a job was lost, done twice, or came out differently."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=DATABASES, default=SQLITE)
    given = parser.parse_args()
    asked = wishes(given.jobs, given.seed)
    counts = Counter(wish.prefix.rpartition("/")[2] for wish in asked)
    print(f"{given.jobs} jobs: {dict(counts)}, {CLIENTS} clients")
    good = True
    hoped: dict[str, str] = {}
    with ExitStack() as made:
        name = made.enter_context(tempfile.TemporaryDirectory())
        cluster = None
        if given.database != SQLITE:
            cluster = made.enter_context(postgres.running())
        for what, kills in (("nothing", 0), ("server", given.kills), ("jobs", 5 * given.kills)):
            began = time.monotonic()
            url = cluster.make() if cluster else None
            heard = run(Path(name, what), asked, kills, what, given.seed, url)
            found = checked(Path(name, what), asked, heard, hoped, url)
            hoped = hoped or {key: hashed(end) for key, end in heard.ends.items()}
            good &= found["good"]
            print(f"\nKilled: {what} ({time.monotonic() - began:.0f} s)")
            for line, value in found.items():
                print(f"  {line:<40}{value}", flush=True)
            if heard.gone_s:
                print(f"  {'processes gone, at the latest [s]':<40}{max(heard.gone_s):.2f}")
    if not good:
        sys.exit("Not as it should be.")


if __name__ == "__main__":
    main()
