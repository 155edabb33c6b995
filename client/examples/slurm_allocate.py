"""Submit a Slurm job to the nodes, and in the order, that give it the shortest step.

    python slurm_allocate.py --service http://planner:8000 --topology topology.json \
        --job job.json --hostfile hosts.txt -- --gpus-per-node=8 train.sh

``topology.json`` is the topology of POST /v1/allocations, such as {"slurm_file":
"/etc/slurm/topology.conf", "node_gbps": 3600, "level_gbps": {"node": 400}, "oversubscription":
{"leaf": 4}}; ``job.json`` its job, such as {"nodes": 8, "compute_us": 80000, "gradient_bytes":
2000000000}. What stands after ``--`` goes to sbatch as it is.

Idle nodes are those of ``sinfo``, jobs that run those of ``squeue`` whose comment begins with
``interlace:`` and goes on with their job as JSON; this program writes such a comment. Jobs without
are not known, which is said: their nodes are not idle, but what they send is not seen.

sbatch is given ``--nodes``, ``--nodelist`` and the comment. The order of ranks is in the host file,
a line a task (``--tasks-per-node``, 1), for srun in the batch script:

    SLURM_HOSTFILE=hosts.txt srun --distribution=arbitrary python train.py

Nothing keeps the job from being submitted: without an answer it goes to sbatch without a node
list, and there is no host file. No node is held: where another job takes one of them first, this
one waits for it in the queue. ``--partition`` after ``--`` must be that of ``--partition`` here.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from interlace_client import Client, InterlaceError, ProblemError

MARK = "interlace:"
WAIT_S = 10.0


def told(*command: str) -> list[str]:
    """Return the lines that a command of Slurm prints."""
    ran = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return [line.strip() for line in ran.stdout.splitlines() if line.strip()]


def expanded(nodes: str) -> list[str]:
    """Return the nodes of a host list, by Slurm itself."""
    return told("scontrol", "show", "hostnames", nodes)


def idle(partition: str | None) -> list[str]:
    """Return idle nodes, each once: sinfo has a line for each partition of a node."""
    where = [f"--partition={partition}"] if partition else []
    return list(dict.fromkeys(told("sinfo", "-h", "-N", "-t", "idle", "-o", "%N", *where)))


def running() -> list[dict[str, Any]]:
    """Return the jobs that run and say what they do; say which do not."""
    found, silent = [], []
    for line in told("squeue", "-h", "-t", "running", "-o", "%i|%N|%k"):
        number, nodes, comment = line.split("|", 2)
        try:
            job = json.loads(comment.removeprefix(MARK)) if comment.startswith(MARK) else None
        except ValueError:
            job = None
        if isinstance(job, dict):
            on = job.pop("on", None) or expanded(nodes)
            job.pop("nodes", None)
            found.append({"name": number, "on": on, **job})
        else:
            silent.append(number)
    if silent:
        print(f"interlace: what these jobs send is not known: {', '.join(silent)}", file=sys.stderr)
    return found


def topology_of(path: Path) -> dict[str, Any]:
    """Return a topology, with the text of the file that ``slurm_file`` names."""
    topology: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "slurm_file" in topology:
        own = Path(topology.pop("slurm_file"))
        topology["slurm"] = own.read_text(encoding="utf-8")
    return topology


def asked(client: Client, request: dict[str, Any]) -> dict[str, Any]:
    """Return the best allocation; what other people's comments have wrong hinders nobody."""
    try:
        answer = client.post("/v1/allocations", request)
    except ProblemError as error:
        wrong = [fault for fault in error.faults if fault.pointer.startswith("/running/")]
        if not wrong:
            raise
        print(f"interlace: asked again without jobs that run: {wrong}", file=sys.stderr)
        answer = client.post("/v1/allocations", {**request, "running": []})
    best: dict[str, Any] = answer["best"][0]
    return best


def chosen(given: argparse.Namespace, job: dict[str, Any]) -> dict[str, Any] | None:
    """Return the best allocation, or None with the reason said."""
    try:
        request = {
            "topology": topology_of(given.topology),
            "job": job,
            "running": running(),
            "free": idle(given.partition),
            "count": 1,
        }
        with Client(given.service, timeout=given.wait, retries=1) as client:
            best = asked(client, request)
    except subprocess.CalledProcessError as error:
        print(f"interlace: {error}: {error.stderr}", file=sys.stderr)
    except (InterlaceError, OSError, ValueError) as error:
        print(f"interlace: no answer, submitted without nodes: {error}", file=sys.stderr)
    else:
        print(f"interlace: {best['why']} ({best['evidence']})", file=sys.stderr)
        return best
    return None


def main() -> int:
    """Ask, and submit."""
    parser = argparse.ArgumentParser(description="sbatch on the nodes that Interlace ranks first.")
    parser.add_argument("--service", required=True, help="URL of the service")
    parser.add_argument("--topology", required=True, type=Path, help="JSON of the topology")
    parser.add_argument("--job", required=True, type=Path, help="JSON of the job")
    parser.add_argument("--hostfile", required=True, type=Path, help="where the order is written")
    parser.add_argument("--tasks-per-node", type=int, default=1, help="lines of each node")
    parser.add_argument("--wait", type=float, default=WAIT_S, help="for an answer, at most [s]")
    parser.add_argument("--partition", help="whose idle nodes")
    parser.add_argument("sbatch", nargs="+", help="after --: what sbatch is given")
    given = parser.parse_args()
    job: dict[str, Any] = json.loads(given.job.read_text(encoding="utf-8"))
    given.hostfile.unlink(missing_ok=True)
    best = chosen(given, job)
    flags = []
    if best is not None:
        nodes = best["nodes"]
        lines = [f"{node}\n" for node in nodes for _ in range(given.tasks_per_node)]
        given.hostfile.write_text("".join(lines), encoding="utf-8")
        comment = MARK + json.dumps({**job, "on": nodes}, separators=(",", ":"))
        flags = [f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}", f"--comment={comment}"]
    command = ["sbatch", *flags, *given.sbatch]
    return subprocess.run(command, check=False).returncode  # noqa: S603 - the user's own


if __name__ == "__main__":
    sys.exit(main())
