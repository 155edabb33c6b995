"""Broken files through every reader, as they would be uploaded: no crash, how long and how large.

`python -m tests.benchmarks.fuzz [FOLDER] [FIRST SEED]`. Each seed takes a file (recorded or made by
the project, or a real one of a folder given as argument), cuts it, flips bytes, repeats or drops
pieces, packs it half of the time, and lets the service's reader look at it, with and without a
format. Anything but a graph or faults ends the script. Times are of the reading alone; memory is
the most that Python held beyond the input, in a second pass over every tenth input.
"""

import random
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from app.reading.traces import read_files, recognised
from solver.errors import InterlaceError
from solver.traces import READERS, TraceOptions
from tests import fuzzed_files

COUNT = 10_000
#: What an input may take [s], [bytes].
LONG_S, LARGE_BYTES = 0.1, 200e6


def inputs(
    seed: int, files: Sequence[bytes], pair: Sequence[bytes]
) -> tuple[list[bytes], str | None, TraceOptions]:
    """Return files to read, in which format, and what of them."""
    draw = random.Random(seed)
    chosen = draw.choice(files)
    content = [fuzzed_files.mangled(chosen, draw)]
    if chosen in pair:
        content.append(pair[chosen == pair[0]])
    elif draw.random() < 0.05:
        content.append(fuzzed_files.mangled(draw.choice(files), draw))
    form = draw.choice([None, recognised(chosen), draw.choice(list(READERS))])
    return content, form, TraceOptions(step=draw.choice([None, 0, 3]))


def outcome(content: Sequence[bytes], form: str | None, options: TraceOptions) -> str:
    """Read files, and say how it ended."""
    try:
        return "graph" if read_files(content, form, options).graph else "report"
    except InterlaceError as error:
        return error.faults[0].code


def main() -> None:
    """Run, and print how inputs ended by code, and what they took."""
    first = next((int(word) for word in sys.argv[1:] if word.isdigit()), 0)
    folder = next((Path(word) for word in sys.argv[1:] if not word.isdigit()), None)
    files = [*fuzzed_files.made(), *fuzzed_files.recorded(folder)]
    pair = fuzzed_files.pair()
    for file in fuzzed_files.made():  # what readers import is no input's time
        outcome([file], None, TraceOptions())
    ends: Counter[str] = Counter()
    times: list[tuple[float, int]] = []
    for seed in range(first, first + COUNT):
        asked = inputs(seed, files, pair)
        began = time.process_time()
        ends[outcome(*asked)] += 1
        times.append((time.process_time() - began, seed))
    times.sort()
    (slowest, slow_seed), late = times[-1], sum(took > LONG_S for took, _ in times)
    tracemalloc.start()
    peaks = []
    for seed in range(first, first + COUNT, 10):
        asked = inputs(seed, files, pair)
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        outcome(*asked)
        peaks.append((tracemalloc.get_traced_memory()[1] - before, seed))
    peaks.sort()
    print(f"{COUNT:,} inputs of {len(files)} files, 0 crashes")
    print(
        f"CPU: median {1e3 * times[COUNT // 2][0]:.1f} ms, slowest {slowest:.2f} s (seed "
        f"{slow_seed}), {late:,} above {LONG_S:g} s"
    )
    large = sum(peak > LARGE_BYTES for peak, _ in peaks)
    print(
        f"memory: median {peaks[len(peaks) // 2][0] / 1e6:.1f} MB, largest {peaks[-1][0] / 1e6:.0f}"
        f" MB (seed {peaks[-1][1]}), {large:,} of {len(peaks):,} above {LARGE_BYTES / 1e6:.0f} MB"
    )
    for code, count in ends.most_common():
        print(f"  {count:>6,}  {code}")


if __name__ == "__main__":
    main()
