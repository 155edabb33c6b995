"""Time of reading a Kineto trace of 100 MB, beside a plain ``json.load``.

``python -m tests.benchmarks.kineto [FILE] [MB]``: the events of FILE (a trace with steps; the
project's own recording when none is given) are repeated, each time later and with correlation ids
of their own, until the file has MB megabytes. Each way runs in a process of its own; the most
memory is that process's.
"""

import gzip
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

from solver.traces import TraceOptions, kineto

OWN = Path(__file__).parents[1] / "data" / "kineto_gloo_0.json.gz"


def repeated(content, size):
    """Return a trace of about so many bytes, and how often the events are in it."""
    trace = json.loads(content)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") != "Trace"]
    first = min(e["ts"] for e in events)
    length = max(e["ts"] + e["dur"] for e in events) - first + 100
    span = 1 + max(e.get("args", {}).get("correlation", 0) for e in events)
    count = max(1, round(size / len(json.dumps(events))))
    result = []
    for k in range(count):
        for event in events:
            args = dict(event.get("args", {}))
            for key, step in (("correlation", span), ("Sequence number", 10**6)):
                if key in args:
                    args[key] += k * step
            result.append(event | {"ts": event["ts"] - first + k * length, "args": args})
    return json.dumps(trace | {"traceEvents": result}).encode(), count


def ours(content):
    return kineto.read([content], TraceOptions("big")).report


def plain(content):
    json.loads(content)


def measured(way, content, answers):
    began = time.perf_counter()
    report = way(content)
    took = time.perf_counter() - began
    answers.put((took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, report))


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else OWN
    size = float(sys.argv[2]) if len(sys.argv) > 2 else 100.0
    content, count = repeated(gzip.decompress(path.read_bytes()), size * 1e6)
    print(f"{path.name} x {count}: {len(content) / 1e6:.1f} MB")
    print(f"{'':16}{'s':>8}{'MB/s':>8}{'MB held':>9}")
    file = Path(tempfile.gettempdir()) / "big.trace.json"
    file.write_bytes(content)
    for name, way in (("interlace", ours), ("json.loads", plain)):
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        process = context.Process(target=from_file, args=(way, file, answers))
        process.start()
        took, held, report = answers.get()
        process.join()
        print(f"{name:16}{took:8.2f}{len(content) / 1e6 / took:8.1f}{held:9.0f}")
        if report:
            print(f"  {report.steps} steps, {report.ops} ops in step {report.step}")
    file.unlink()


def from_file(way, file, answers):
    measured(way, file.read_bytes(), answers)


if __name__ == "__main__":
    main()
