"""Large files of every format through the service's reader: time and memory of a process each.

A job is written with so many steps, or layers, that its file has the size given in MB (100 without
an argument). A child reads it; what it held at most beyond what it held before is divided by the
size of the files.
"""

import resource
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.trace_files import ALL_WRITERS, Job

#: Layers of a step, and the most of a graph that send something: a graph has 3,000 collectives.
LAYERS, SENDING = 30, 1_000
#: Formats of one step or graph, which grow by their layers.
BY_LAYERS = {
    *("chakra", "pipedream", "dnn_partitioning", "astra_text", "tensorflow"),
    *("flexflow", "schedule_simulator"),
}
LONG_S, TIMES = 5.0, 6.0


def of_units(form: str, units: int) -> Job:
    """Return a job of so many steps, or layers where the format has one step."""
    if form not in BY_LAYERS:
        return Job((50,) * LAYERS, (4_000,) * LAYERS, 4, units)
    sizes = tuple(4_000 if i < SENDING else 0 for i in range(units))
    return Job((50,) * units, sizes, 4, 1)


def write(form: str, size: float, folder: Path) -> list[Path]:
    """Write files of about so many bytes."""
    units = 40 if form in BY_LAYERS else 10
    made = sum(map(len, ALL_WRITERS[form](of_units(form, units))))
    units = max(1, round(units * size / made))
    files = []
    for i, content in enumerate(ALL_WRITERS[form](of_units(form, units))):
        path = folder / f"{form}.{i}"
        path.write_bytes(content)
        files.append(path)
    return files


def read(form: str, paths: list[Path]) -> tuple[float, float, str]:
    """Return CPU time [s], the most memory [bytes], and how it ended; in a process of its own."""
    from app.reading.traces import read_files  # noqa: PLC0415 - before the memory is measured
    from solver.errors import InterlaceError  # noqa: PLC0415
    from solver.traces import TraceOptions  # noqa: PLC0415

    small = [ALL_WRITERS[form](Job((50, 30), (4_000, 800)))]
    read_files(small[0], None, TraceOptions("x"))
    contents = [path.read_bytes() for path in paths]
    size = sum(map(len, contents))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - size
    began = time.process_time()
    try:
        report = read_files(contents, None, TraceOptions("x")).report
        ended = f"{report.steps:,} steps, {report.ops:,} ops"
    except InterlaceError as error:
        ended = str(error)[:90]
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    return took, peak, ended


def apart(work: Callable[..., object], *args: object) -> object:
    """Run in a process of its own, whose memory goes with it."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def main() -> None:
    """Print a row for each format."""
    size = 1e6 * float(sys.argv[1] if len(sys.argv) > 1 else 100)
    forms = sys.argv[2:] or list(ALL_WRITERS)
    for form in forms:
        with TemporaryDirectory() as folder:
            paths = apart(write, form, size, Path(folder))
            assert isinstance(paths, list)
            bytes_ = sum(path.stat().st_size for path in paths)
            found = apart(read, form, paths)
        assert isinstance(found, tuple)
        took, peak, ended = found
        is_over = "over" if took > LONG_S or peak > TIMES * bytes_ else ""
        took_said = f"{took:>6.2f} s CPU {peak / bytes_:>5.1f} x its size"
        print(f"{form:<17} {bytes_ / 1e6:>6.0f} MB {took_said}  {ended} {is_over}", flush=True)


if __name__ == "__main__":
    main()
