"""Time of reading a DLC trace of 100 MB, beside a plain pass of csv.

``python -m tests.benchmarks.dlc [FILE] [MB]``: the training rows of FILE (a trace of a worker; the
project's own sample when none is given) are repeated, each time later and with operation numbers
of their own, until the file has MB megabytes. Each way runs in a process of its own; the most
memory is that process's.
"""

import csv
import io
import multiprocessing
import sys
import tempfile
from pathlib import Path

from solver.traces import TraceOptions, dlc
from tests.benchmarks.kineto import from_file

OWN = Path(__file__).parents[1] / "data" / "dlc_w0.txt"
_MICRO = 10**6


def repeated(text, size):
    """Return a trace of about so many bytes, and how often the iterations are in it."""
    head, rows, first = [], [], None
    for line in text.splitlines():
        fields = [field for field in line.split("\t") if field]
        if len(fields) == 12 and "-" in fields[6]:
            key, number, peer = fields[6].rsplit("-", 2)
            first = 4 if first is None and int(number) % 4 == 0 else first or 2
            if not key.endswith("-") and int(number) >= first:
                time = int(fields[9]) * _MICRO + int(fields[10])
                rows.append((fields, key, int(number), peer, time))
                continue
        head.append(line)
    times, numbers = [row[4] for row in rows], [row[2] for row in rows]
    length = max(times) - min(times) + 1000
    span = 4 * ((max(numbers) - first) // 4 + 1)
    lines, written, count = head, 0, 0
    while written < size:
        for fields, key, number, peer, time in rows:
            again = [*fields]
            again[6] = f"{key}-{number + count * span}-{peer}"
            again[9:11] = map(str, divmod(time + count * length, _MICRO))
            lines.append("\t".join(again))
            written += len(lines[-1])
        count += 1
    return "\n".join(lines).encode(), count


def ours(content):
    return dlc.read([content], TraceOptions("big")).report


def plain(content):
    for _ in csv.reader(io.StringIO(content.decode()), delimiter="\t"):
        pass


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else OWN
    size = float(sys.argv[2]) if len(sys.argv) > 2 else 100.0
    content, count = repeated(path.read_text(), size * 1e6)
    print(f"{path.name}: {count:,} times, {len(content) / 1e6:.1f} MB")
    file = Path(tempfile.gettempdir()) / "big.dlc.txt"
    file.write_bytes(content)
    print(f"{'':16}{'s':>8}{'MB/s':>8}{'MB held':>9}")
    for name, way in (("interlace", ours), ("csv", plain)):
        context = multiprocessing.get_context("spawn")
        answers = context.Queue()
        process = context.Process(target=from_file, args=(way, file, answers))
        process.start()
        took, held, report = answers.get()
        process.join()
        print(f"{name:16}{took:8.2f}{len(content) / 1e6 / took:8.1f}{held:9.0f}")
        if report:
            print(f"  {len(report.dlc.iterations):,} iterations, {report.ops} ops in one")
    file.unlink()


if __name__ == "__main__":
    main()
