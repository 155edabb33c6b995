"""Answers a second to clients that never think, for what a service is asked most.

Run it with ``python -m tests.benchmarks.throughput [--seconds 10] [--connections 64] [health status
cached submission]``; it needs ``wrk`` (Debian's package). One server, as ``interlace serve`` runs
it, and the clients beside it: with two cores they share these with the children that solve. Prints
for each kind of request answers a second, the median and the 99th percentile of what a client
waited, answers that were none (or no success), and processor time of the server for each [ms].
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.app.service import Service, running, two_layers

#: A small plan that nobody asked for before, at each request; its answer is not waited for.
_SUBMISSION = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local n = 0
request = function()
  n = n + 1
  local body = string.gsub([==[BODY]==], "NAME", "plan " .. n)
  return wrk.format(nil, "/v1/plans?wait=0", nil, body)
end
"""
_CACHED = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = [==[BODY]==]
"""
#: What wrk tells at the end, in a form to read.
_DONE = """
done = function(summary, latency, requests)
  local e = summary.errors
  local bad = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("SEEN %d %d %f %f %d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), bad))
end
"""


def main() -> None:
    """Print a line for each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ("health", "status", "cached", "submission")
    parser.add_argument("kinds", nargs="*", metavar="kind", help=", ".join(kinds))
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--connections", type=int, default=64)
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing; on Debian: apt-get install wrk")
    print("kind        answers/s   p50 ms   p99 ms    bad   server ms of CPU each")
    for kind in asked.kinds or kinds:
        with (
            tempfile.TemporaryDirectory() as folder,
            running(Path(folder), INTERLACE_MAX_QUEUED="100000") as service,
        ):
            _measure(kind, service, Path(folder), asked.seconds, asked.connections)


def _measure(kind: str, service: Service, folder: Path, seconds: int, connections: int) -> None:
    body = two_layers()
    made = service.post(body).json()
    path, script = "/healthz", ""
    if kind == "status":
        path = f"/v1/plans/{made['id']}"
    elif kind == "cached":
        path, script = "/v1/plans", _CACHED.replace("BODY", json.dumps(body))
    elif kind == "submission":
        body["graph"]["name"] = "NAME"
        script = _SUBMISSION.replace("BODY", json.dumps(body))
    (folder / "wrk.lua").write_text(script + _DONE)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(folder / "wrk.lua")]
    before = _cpu_s(service.process)
    told = subprocess.run(
        [*command, f"{service.client.base_url}".rstrip("/") + path],
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds + 60,
    ).stdout
    cpu_s = _cpu_s(service.process) - before
    found = re.search(r"SEEN (\d+) (\d+) (\S+) (\S+) (\d+)", told)
    assert found, told
    count, span_us, p50, p99, bad = (float(each) for each in found.groups())
    print(
        f"{kind:11s} {count / span_us * 1e6:9,.0f} {p50 / 1e3:8.1f} {p99 / 1e3:8.1f} {bad:6.0f} "
        f"{1e3 * cpu_s / max(1, count):10.2f}",
        flush=True,
    )


def _cpu_s(process: int) -> float:
    """Return the processor time of a process so far [s], its children left out."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
