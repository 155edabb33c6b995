"""Plan the communication of a training job once, before it starts, for all of its ranks.

Run by torchrun (or by whatever sets RANK and WORLD_SIZE), on every rank:

    torchrun --nproc-per-node 8 torchrun_launcher.py --service http://planner:8000 \
        --request request.json --plan /shared/plan.json

Rank 0 asks the service and writes the plan to a path that all ranks share; the others wait for the
file. It always appears, empty of a plan when the service is down or too slow: training then starts
with the buckets of the framework.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from interlace_client import PLANS, Client, InterlaceError, Plan


def ask(service: str, request: dict[str, Any], timeout_s: float) -> Plan | None:
    """Return the plan, the best so far when time is up, or None with the reason on stderr."""
    try:
        with Client(service, timeout=min(timeout_s, 10), retries=2) as client:
            return client.run(
                PLANS,
                request,
                tags=["torchrun"],
                timeout_s=timeout_s,
                cancel_on_timeout=True,
            )
    except InterlaceError as error:
        best: Plan | None = getattr(error, "result", None)
        say(f"{error} {'The best so far is used.' if best else 'There is no plan.'}")
        return best


def hand_over(path: Path, job: str, plan: Plan | None) -> None:
    """Write the plan for the other ranks, whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(json.dumps({"job": job, "plan": plan and plan.raw}), encoding="utf-8")
    part.replace(path)


def receive(path: Path, job: str, timeout_s: float) -> Plan | None:
    """Wait for the plan that rank 0 writes; None when there is none, or none in time."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {}
        if found.get("job") == job:  # not what an earlier run left there
            return Plan.of(found["plan"]) if found["plan"] else None
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
    parser.add_argument("--timeout-s", type=float, default=60, help="when training starts anyhow")
    given = parser.parse_args()
    job = os.environ.get("TORCHELASTIC_RUN_ID", "") + os.environ.get("MASTER_PORT", "")
    if int(os.environ.get("RANK", "0")) == 0:
        plan = ask(given.service, json.loads(given.request.read_text("utf-8")), given.timeout_s)
        hand_over(given.plan, job, plan)
    else:
        plan = receive(given.plan, job, given.timeout_s + 30)
    train(plan)


if __name__ == "__main__":
    main()
