"""What is left when the process of a job ends as it should not, and how fast a job is cancelled.

Run it with ``python -m tests.benchmarks.crashes [--cancels 20] [--sweeps 10] [--seed 1]``, and
``--database postgresql`` for a PostgreSQL of its own in the place of a SQLite file. On a server
with one worker, the process of a job is ended by a signal, ends by itself with an exit code, once
and whenever the job begins anew, and one is asked for more memory than it may have; then comes a
small job, which is timed. Then HiGHS and sweeps are cancelled at moments drawn at random, until
every process of the job is gone. Linux only.
"""

import argparse
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from tests.app import postgres
from tests.app.long import busy, gone, highs, search, sweep
from tests.app.service import ROOT, Json, Service, running, two_layers
from tests.waiting import until

#: So long a job may take to be at work, and to end [s].
_PATIENCE_S = 60.0
#: The processes of a job are looked at so often once it is cancelled [s].
_LOOK_S = 0.001
_EXIT_CODE = 3
#: Read by each Python at its start: SIGUSR1 makes a process end by itself, as a fault in it would.
_EXITS = f"import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os._exit({_EXIT_CODE}))\n"
CAUSES = {
    "SIGSEGV": signal.SIGSEGV,
    "SIGKILL": signal.SIGKILL,
    f"exit code {_EXIT_CODE}": signal.SIGUSR1,
}


def begin(service: Service, path: str, body: Json) -> str:
    """Post without waiting; return the place of the job."""
    answer = service.client.post(path, json=body, params={"wait": 0})
    assert answer.status_code == 202, answer.text
    place: str = answer.headers["location"]
    return place


def at_work(service: Service, least: int = 1) -> list[int]:
    """Return the processes of the job at work, when it has so many that compute."""
    until(lambda: len(busy(service)) >= least)
    while True:
        with suppress(ProcessLookupError, IndexError):
            return _group(os.getpgid(busy(service)[0]))


def _group(number: int) -> list[int]:
    """Return all processes of a group."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[2]) == number and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _parent(process: int) -> int:
    return int(Path("/proc", str(process), "stat").read_text().rpartition(")")[2].split()[1])


def next_job(service: Service) -> float:
    """Return how long a small job takes [s]."""
    began = time.perf_counter()
    assert service.post(two_layers()).status_code == 201
    return time.perf_counter() - began


def died(
    service: Service, how: signal.Signals, times: int, *, above: bool = False
) -> tuple[Json, float]:
    """End the process of a job so many times; return the job and the time of the next [s].

    Or the process ``above`` it, which forks the processes of all jobs.
    """
    body = highs() if times > 1 else search(400, options={"baselines": [], "time_limit_s": 2})
    place = begin(service, "/v1/plans", body)
    for attempt in range(1, times + 1):

        def has_begun(attempt: int = attempt) -> bool:
            job = service.client.get(place).json()
            return (job["state"], job["attempts"]) == ("running", attempt)

        until(has_begun)
        (process,) = at_work(service)
        os.kill(_parent(process) if above else process, how)
        until(partial(gone, [process]))
    if times == 1:
        return service.client.get(place, params={"wait": 60}).json(), next_job(service)
    took = next_job(service)
    return service.client.get(place).json(), took


def too_large(service: Service) -> tuple[Json, float]:
    """Ask for more memory than a job may have."""
    ops = [{"id": f"b{i}", "kind": "compute", "duration_us": 1} for i in range(600_000)]
    ops.append({"id": "g", "kind": "all_reduce", "bytes": 1_000, "after": ["b0"]})
    answer = service.post({"graph": {"ops": ops}, "cluster": two_layers()["cluster"]})
    took = next_job(service)
    return service.client.get(answer.headers["location"]).json(), took


def cancelled(service: Service, place: str, processes: list[int]) -> tuple[float, float]:
    """Cancel a job; return when that was answered, and when its processes were gone [s]."""
    assert processes
    began = time.perf_counter()
    answer = service.client.post(f"{place}/cancel")
    answered = time.perf_counter() - began
    assert answer.json()["state"] == "cancelled"
    while not gone(processes):
        assert time.perf_counter() - began < _PATIENCE_S, "it goes on"
        time.sleep(_LOOK_S)
    return answered, time.perf_counter() - began


def crashes(folder: Path, new_url: Callable[[], str | None]) -> bool:
    """Print what each cause leaves; tell whether each left what it should."""
    (folder / "sitecustomize.py").write_text(_EXITS)
    settings = {"INTERLACE_WORKERS": "1", "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    print(f"{'the process of a job':<28}{'state':<11}{'attempts':>8}  {'next job':>8}  error")
    is_good = True

    def told(what: str, found: tuple[Json, float], hoped: tuple[str, int, str]) -> bool:
        (job, took), error = found, found[0]["error"] or {"code": "", "detail": ""}
        print(f"{what:<28}{job['state']:<11}{job['attempts']:>8}{1e3 * took:>7.0f} ms", end="  ")
        print(error["code"], error["detail"], flush=True)
        return (job["state"], job["attempts"], error["code"]) == hoped and took <= 2

    with running(folder, database_url=new_url(), **settings) as service:
        next_job(service)
        for name, how in CAUSES.items():
            once, always = died(service, how, 1), died(service, how, 3)
            is_good &= told(f"{name}, once", once, ("succeeded", 2, ""))
            is_good &= told(f"{name}, each time", always, ("failed", 3, "worker_died"))
        forker = died(service, signal.SIGKILL, 1, above=True)
        is_good &= told("SIGKILL to what forks it", forker, ("succeeded", 2, ""))
    settings["INTERLACE_JOB_MEMORY_BYTES"] = str(2**28)
    with running(folder, database_url=new_url(), **settings) as service:
        next_job(service)
        is_good &= told("too little memory", too_large(service), ("failed", 1, "out_of_memory"))
    return is_good


def cancels(
    folder: Path, plans: int, sweeps: int, seed: int, new_url: Callable[[], str | None]
) -> bool:
    """Print how long cancelling takes; tell whether it took a second at most."""
    draw = random.Random(seed)
    answered: dict[str, list[float]] = {"HiGHS": [], "a sweep": []}
    freed: dict[str, list[float]] = {"HiGHS": [], "a sweep": []}
    with running(folder, database_url=new_url()) as service:
        for what, count in (("HiGHS", plans), ("a sweep", sweeps)):
            for i in range(count):
                if what == "HiGHS":
                    place = begin(service, "/v1/plans", highs())
                    at_work(service)
                else:
                    place = begin(service, "/v1/sweeps", sweep(service, seed=i))
                    at_work(service, 2)
                time.sleep(draw.uniform(0, 2))
                both = cancelled(service, place, at_work(service))
                answered[what].append(both[0])
                freed[what].append(both[1])
    print("\nCancelling                     answered [ms]         processes gone [ms]")
    print(f"{'':<16}{'times':>5}{'median':>12}{'worst':>10}{'median':>16}{'worst':>10}")
    for what, values in freed.items():
        if values:
            points = [
                1e3 * f(v) for v in (answered[what], values) for f in (statistics.median, max)
            ]
            print(f"{what:<16}{len(values):>5}", end="")
            print("{:>12.0f}{:>10.0f}{:>16.0f}{:>10.0f}".format(*points))
    return max((each for values in freed.values() for each in values), default=0) <= 1


def main() -> None:
    """Run, print, and fail when something is left that should not be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cancels", type=int, default=20, help="of HiGHS")
    parser.add_argument("--sweeps", type=int, default=10, help="that are cancelled")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    asked = parser.parse_args()
    with ExitStack() as made:
        one, other = (made.enter_context(tempfile.TemporaryDirectory()) for _ in range(2))
        new_url: Callable[[], str | None] = lambda: None
        if asked.database == "postgresql":
            new_url = made.enter_context(postgres.running()).make
        good = crashes(Path(one), new_url)
        fast = cancels(Path(other), asked.cancels, asked.sweeps, asked.seed, new_url)
    if not (good and fast):
        sys.exit("Not as it should be.")


if __name__ == "__main__":
    main()
