"""Plan the communication of a training job once, before it starts, for all of its ranks.

Run by torchrun (or by whatever sets RANK and WORLD_SIZE), on every rank:

    torchrun --nproc-per-node 8 torchrun_launcher.py --service http://planner:8000 \
        --request request.json --plan /shared/plan.json --job "$SLURM_JOB_ID"

Rank 0 asks the service and writes the plan to a path that all ranks share; the others wait for the
file. It has no plan in it when the service is down or too slow, or the request cannot be read:
training then starts with the buckets of the framework.

``--job`` tells this run's file from the one that an earlier run left at the same path: a word that
is the same on all ranks and new for each run, such as ``"$SLURM_JOB_ID"`` in a batch script, or
``"$(uuidgen)"`` where one command starts all ranks. Ranks that are started again under the same
word take the same plan again. Jobs that run at the same time need a path each.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from interlace_client import PLANS, Client, InterlaceError, Plan

#: How much longer than rank 0 may ask the others wait, as ranks do not start all at once [s].
LATER_S = 30


@dataclass(frozen=True)
class Word:
    """What rank 0 told the others: a plan, or that there is none."""

    plan: Plan | None


def ask(service: str, request: Path, timeout_s: float) -> Plan | None:
    """Return the plan, the best so far when time is up, or None with the reason on stderr."""
    try:
        body = json.loads(request.read_text(encoding="utf-8"))
        with Client(service, timeout=min(timeout_s, 10), retries=2) as client:
            return client.run(
                PLANS,
                body,
                tags=["torchrun"],
                timeout_s=timeout_s,
                cancel_on_timeout=True,
            )
    except InterlaceError as error:
        best: Plan | None = getattr(error, "result", None)
        say(f"{error} {'The best so far is used.' if best else 'There is no plan.'}")
        return best
    except (OSError, ValueError) as error:  # of the request, or of the URL
        say(f"{request} is not sent ({error}). There is no plan.")
        return None


def hand_over(path: Path, job: str, plan: Plan | None) -> None:
    """Write the plan for the other ranks, whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(json.dumps({"job": job, "plan": plan and plan.raw}), encoding="utf-8")
    part.replace(path)


def word_of(path: Path, job: str) -> Word | None:
    """Return what rank 0 wrote for this job; None when there is nothing, or that of another."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Word(Plan.of(found["plan"] or {})) if found["job"] == job else None
    except (OSError, ValueError, KeyError, TypeError):  # nothing yet, or not from here
        return None


def lead(service: str, request: Path, path: Path, job: str, timeout_s: float) -> Plan | None:
    """Ask for all ranks; what an earlier start of this job was told stands."""
    told = word_of(path, job)
    if told:
        say(f"{path} is of this job already")
        return told.plan
    try:
        path.unlink(missing_ok=True)  # of another job
        plan = ask(service, request, timeout_s)
        hand_over(path, job, plan)
    except OSError as error:
        say(f"{error}: no plan, as the other ranks cannot have it")
        return None
    return plan


def follow(path: Path, job: str, timeout_s: float) -> Plan | None:
    """Wait for the plan that rank 0 writes; None when there is none, or none in time."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        told = word_of(path, job)
        if told:
            return told.plan
        time.sleep(0.1)
    say(f"no word from rank 0 within {timeout_s:g} s")
    return None


def train(plan: Plan | None) -> None:
    """Stand for the training: a real job gives its buckets to the framework here."""
    if plan is None:
        print("training with the framework's own buckets")
        return
    names = [" ".join(bucket.tensors) for bucket in plan.buckets]
    print(
        f"training with {len(names)} buckets, {plan.iteration_time_us:.1f} us: {'; '.join(names)}"
    )


def say(text: str) -> None:
    """Write a line about this rank."""
    print(f"[rank {os.environ.get('RANK', '0')}] {text}", file=sys.stderr, flush=True)


def main() -> None:
    """Plan, hand the plan around, train."""
    parser = argparse.ArgumentParser(description="Start a training job with a plan.")
    parser.add_argument("--service", required=True, help="URL of the service")
    parser.add_argument("--request", required=True, type=Path, help="body of POST /v1/plans")
    parser.add_argument("--plan", required=True, type=Path, help="file that all ranks share")
    parser.add_argument(
        "--job", required=True, metavar="WORD", help="the same on all ranks, new for each run"
    )
    parser.add_argument("--timeout-s", type=float, default=60, help="when training starts anyhow")
    given = parser.parse_args()
    if not given.job.strip():
        parser.error("--job is empty: a word that is new for each run")
    if int(os.environ.get("RANK", "0")) == 0:
        plan = lead(given.service, given.request, given.plan, given.job, given.timeout_s)
    else:
        plan = follow(given.plan, given.job, given.timeout_s + LATER_S)
    train(plan)


if __name__ == "__main__":
    main()
