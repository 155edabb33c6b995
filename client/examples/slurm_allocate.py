r"""Submit a Slurm job onto the nodes that suit it and those that run: sbatch, after a question.

    python slurm_allocate.py --service http://planner:8000 --figures figures.json \
        --job '{"nodes": 8, "compute_us": 80000, "gradient_bytes": 2000000000}' -- train.sh

``--figures`` has what ``topology.conf`` does not tell: node_gbps, level_gbps, oversubscription.
Idle nodes come from ``sinfo``. Jobs that run come from ``squeue``: those whose comment is JSON of
what they do, which this script writes for the jobs that it submits; ``squeue`` lists nodes by name,
and that is taken for the order of their ranks. All others are left out, and counted.

The nodes go to sbatch as ``--nodelist``, and their order as a hostfile for
``--distribution=arbitrary``. Somebody may take a node in between: the job then waits for it. Where
the service does not answer, or refuses, the reason is printed and sbatch chooses the nodes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from interlace_client import Client, InterlaceError

Json = dict[str, Any]


def lines_of(*command: str) -> list[str]:
    """Return what a command prints, by line."""
    done = subprocess.run(  # noqa: S603 - Slurm's own, with our flags
        command, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return [line for line in done.stdout.splitlines() if line.strip()]


def idle_nodes(partition: str | None) -> list[str]:
    """Return the nodes on which nothing runs, each once."""
    where = ["--partition", partition] if partition else []
    flags = ["--noheader", "--Node", "--states=idle", "--format=%N"]
    return list(dict.fromkeys(line.strip() for line in lines_of("sinfo", *flags, *where)))


def running_jobs() -> tuple[list[Json], int]:
    """Return the jobs that say what they do, and how many do not."""
    jobs, silent = [], 0
    for line in lines_of("squeue", "--noheader", "--states=running", "--format=%i|%N|%k"):
        number, nodes, comment = line.split("|", 2)
        does = job_in(comment)
        if does is None:
            silent += 1
            continue
        names = lines_of("scontrol", "show", "hostnames", nodes)
        jobs.append({**does, "name": number.strip(), "on": names})
    return jobs, silent


def job_in(comment: str) -> Json | None:
    """Return the job that a comment describes; None where it is another comment."""
    try:
        found = json.loads(comment)
    except ValueError:
        return None
    if not isinstance(found, dict) or not {"compute_us", "graph", "model"} & found.keys():
        return None
    return {name: value for name, value in found.items() if name != "nodes"}


def best_nodes(service: str, request: Json) -> list[str] | None:
    """Ask for the best node set, in the order of ranks; None where there is no answer."""
    try:
        with Client(service, timeout=10.0, retries=2) as client:
            answer = client.post("/v1/allocations", request)
    except InterlaceError as error:
        print(f"interlace: sbatch chooses the nodes: {error}", file=sys.stderr)
        return None
    best = answer["best"][0]
    print(f"interlace: {best['why']}", file=sys.stderr)
    return [str(name) for name in best["nodes"]]


def submit(given: argparse.Namespace, nodes: list[str] | None) -> int:
    """Call sbatch, as the user would have, and with the nodes where there are some."""
    flags = ["--comment", json.dumps(given.job, separators=(",", ":"))]
    if given.job.get("nodes"):
        flags += ["--nodes", str(given.job["nodes"])]
    environment = dict(os.environ)
    if given.partition:
        flags += ["--partition", given.partition]
    if nodes:
        each = [name for name in nodes for _ in range(given.tasks_per_node)]
        given.hostfile.write_text("".join(f"{name}\n" for name in each), encoding="ascii")
        environment["SLURM_HOSTFILE"] = str(given.hostfile.absolute())
        flags += ["--nodelist", ",".join(nodes), "--distribution", "arbitrary"]
    command = ["sbatch", *flags, *given.script]
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603 - as asked


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="sbatch onto the nodes that Interlace ranks best.")
    add = parser.add_argument
    add("--service", required=True, help="URL of the service")
    add("--topology", type=Path, default=Path("/etc/slurm/topology.conf"))
    add("--figures", type=Path, help="JSON: node_gbps, level_gbps, oversubscription, gpus, ...")
    add("--job", type=json.loads, required=True, help="JSON, as `job` of POST /v1/allocations")
    add("--partition")
    add("--tasks-per-node", type=int, default=1, help="lines of a node in the hostfile")
    add("--hostfile", type=Path, default=Path("hosts.txt"), help="where the order is written")
    add("script", nargs="+", help="what sbatch gets: its own flags, the script, and arguments")
    return parser.parse_args()


def main() -> None:
    """Look at the cluster, ask, submit."""
    given = arguments()
    figures = json.loads(given.figures.read_text()) if given.figures else {}
    running, silent = running_jobs()
    if silent:
        print(f"interlace: {silent} jobs do not say what they do: left out", file=sys.stderr)
    request = {
        "topology": {"slurm": given.topology.read_text(), **figures},
        "job": given.job,
        "free": idle_nodes(given.partition),
        "running": running,
        "count": 1,
    }
    nodes = best_nodes(given.service, request) if request["free"] else None
    sys.exit(submit(given, nodes))


if __name__ == "__main__":
    main()
