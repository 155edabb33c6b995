"""Schemathesis against the real server, which wants keys: does it answer as its document says?

Run it with ``python -m tests.benchmarks.contract [--cases 10000 | --minutes 10] [--seed 1]``.
Schemathesis gets a venv of its own in a temporary directory, for it is no dependency. All phases
(examples, coverage, fuzzing, stateful) and all checks but for what :data:`CONFIG` says; what its
cases leave empty is filled in by ``contract_hooks.py``. With ``--minutes`` the phases share so much
time and end in order. Prints its report, and how often each operation answered how.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections import Counter, defaultdict
from pathlib import Path

from tests.app.keyed import keyed

VERSION = "4.32.5"
#: The longest time a call may take: the longest wait, and some more [s].
TIMEOUT_S = 75
#: Cases that the other phases make at least, most of them coverage's; the rest is fuzzing.
COVERAGE = 6_000
CONFIG = """
headers = {{ X-Interlace-Request = "1", Authorization = "Bearer {key}" }}

[[operations]]  # ids that exist, and what goes with what, cannot be said in a schema
include-method = "POST"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422", "503"]

[[operations]]  # nor which workers and bandwidths a sweep has
include-path-regex = "svg$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "409", "422"]
"""
_METHODS = {"GET", "POST", "DELETE"}


def install(folder: Path) -> Path:
    """Make a venv with schemathesis; return its command."""
    venv.create(folder, with_pip=True)
    python, wanted = str(folder / "bin" / "python"), f"schemathesis=={VERSION}"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True, env=_alone())
    return folder / "bin" / "schemathesis"


def _alone() -> dict[str, str]:
    """Return an environment in which Python finds nothing of this project."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def run(
    command: Path, folder: Path, url: str, key: str, effort: dict[str, object]
) -> tuple[int, int]:
    """Run all phases; return the exit status and the number of cases.

    ``effort`` are options of schemathesis that say how much is tried, and with which seed.
    """
    (folder / "schemathesis.toml").write_text(CONFIG.format(key=key))
    options = {
        "--checks": "all",
        "--max-failures": 1_000,
        "--request-timeout": TIMEOUT_S,
        "--max-response-time": TIMEOUT_S,  # its own limit is less than a call may ask to wait
        "--generation-database": "none",
        **effort,
    }
    words = [str(word) for option in options.items() for word in option]
    hooks = Path(__file__).with_name("contract_hooks.py")
    process = subprocess.Popen(
        [command, "run", f"{url}/openapi.json", "--continue-on-failure", "--no-color", *words],
        stdout=subprocess.PIPE,
        cwd=folder,
        env={**_alone(), "SCHEMATHESIS_HOOKS": str(hooks)},
        text=True,
    )
    assert process.stdout is not None
    cases = 0
    for line in process.stdout:
        print(line, end="", flush=True)
        if found := re.search(r"(\d+) generated", line):
            cases = int(found[1])
    return process.wait(), cases


def answers(log: Path) -> dict[str, Counter[int]]:
    """Count the statuses of each operation in the log of a server."""
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for line in log.read_text().splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("method") in _METHODS and entry["status"] != 405:
            found[f"{entry['method']} {entry['route']}"][entry["status"]] += 1
    return found


def main() -> None:
    """Run, print, and fail when there is a failure or there were too few cases."""
    parser = argparse.ArgumentParser(description=__doc__, add_help=True)
    much = parser.add_mutually_exclusive_group()
    much.add_argument("--cases", type=int, default=10_000, help="at least so many")
    much.add_argument("--minutes", type=float, help="for so long, however many these are")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = install(folder / "venv")
        (folder / "data").mkdir()
        with keyed(folder / "data") as server:
            service = server.service
            url = str(service.client.base_url).rstrip("/")
            paths = service.client.get("/openapi.json").json()["paths"].values()
            operations = sum(len(path) for path in paths)
            examples = max(50, -(-(asked.cases - COVERAGE) // operations))
            effort = {"--max-examples": examples, "--seed": asked.seed}
            if asked.minutes is not None:
                effort = {"--max-time": max(1, round(asked.minutes * 60)), "--seed": asked.seed}
            status, cases = run(command, folder, url, server.key("them"), effort)
            found = answers(service.log)
    print("\nAnswers by status, as the server logged them:")
    for operation, statuses in sorted(found.items()):
        counts = "  ".join(f"{each}: {count:,}" for each, count in sorted(statuses.items()))
        print(f"  {operation:<50} {counts}")
    failed = sum(n for counts in found.values() for each, n in counts.items() if each >= 500)
    print(f"{cases:,} cases, {failed:,} answers of 500 or more")
    if status or (asked.minutes is None and cases < asked.cases):
        sys.exit(status or f"fewer than {asked.cases:,} cases")


if __name__ == "__main__":
    main()
