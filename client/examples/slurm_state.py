"""Write what ``job_submit.lua`` sends with each job: topology, idle nodes, jobs that run.

    python slurm_state.py --topology topology.json --state /run/interlace/state.json --every 10

A plugin of slurmctld must not ask Slurm: it holds the locks that squeue and sinfo wait for. So this
program asks them, beside it, and replaces the file at once, so that nobody reads half of it. What
``topology.json`` is, and which jobs are seen, stands in ``slurm_allocate.py``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from slurm_allocate import idle, running, topology_of


def written(path: Path, topology: Path, partition: str | None) -> None:
    """Write the state, whole or not at all."""
    state = {
        "count": 1,
        "topology": topology_of(topology),
        "running": running(),
        "free": idle(partition),
    }
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(state), encoding="utf-8")
    fresh.replace(path)


def main() -> int:
    """Write it once, or again and again."""
    parser = argparse.ArgumentParser(description="What job_submit.lua sends with each job.")
    parser.add_argument("--topology", required=True, type=Path, help="JSON of the topology")
    parser.add_argument("--state", required=True, type=Path, help="file that the plugin reads")
    parser.add_argument("--partition", help="whose idle nodes")
    parser.add_argument("--every", type=float, help="how often [s]; once without it")
    given = parser.parse_args()
    while True:
        try:
            written(given.state, given.topology, given.partition)
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            given.state.unlink(missing_ok=True)  # an old one would name nodes that are taken
            print(f"interlace: no state: {error}", file=sys.stderr)
            if given.every is None:
                return 1
        if given.every is None:
            return 0
        time.sleep(given.every)


if __name__ == "__main__":
    sys.exit(main())
