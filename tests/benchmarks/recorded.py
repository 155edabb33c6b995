"""Recorded steps beside their simulation with the recorded times of their collectives.

``python -m tests.benchmarks.recorded [FOLDER ...]``: every step of the shared traces, of the
project's own, and of each folder of a job that ``tests.recordings.record`` wrote. A figure beyond
3 % is explained by the last of the report's warnings.
"""

import gzip
import statistics
import sys
from pathlib import Path

from solver.traces import TraceOptions, read_trace

SHARED = Path(__file__).parents[3] / "shared" / "data" / "kineto"
HTA = SHARED / "facebookresearch+HolisticTraceAnalysis"
PARAM = SHARED / "facebookresearch+param" / "dlrm_8rank_kineto"
OWN = Path(__file__).parents[1] / "data"


def jobs(folders):
    yield "resnet50, 2 A100, rank 0", [HTA / "nccl_data.json.gz"]
    yield "DLRM, 8 A100, rank 3", [HTA / "trace_diff_control.json.gz"]
    yield "DLRM, 8 V100, ranks 0, 1", sorted(PARAM.glob("worker*.json.gz"))
    yield "DDP, 2 gloo ranks", sorted(OWN.glob("kineto_gloo_*.json.gz"))
    for folder in folders:
        yield f"{folder.name}, gloo", sorted(folder.glob("rank*.json.gz"))


def main():
    errors = []
    print(f"{'':28}{'step':>5}{'measured ms':>13}{'simulated ms':>14}{'error':>9}")
    for name, paths in jobs([Path(folder) for folder in sys.argv[1:]]):
        files = [gzip.decompress(path.read_bytes()) for path in paths]
        count = read_trace(files, TraceOptions(name)).report.steps
        for step in range(count):
            report = read_trace(files, TraceOptions(name, step=step)).report
            error = report.recorded_us / report.measured_us - 1
            errors.append(abs(error))
            times = f"{report.measured_us / 1e3:13.3f}{report.recorded_us / 1e3:14.3f}"
            print(f"{name:28}{step:5}{times}{error:+9.2%}")
    print(f"{len(errors)} steps: median {statistics.median(errors):.2%}, worst {max(errors):.2%}")


if __name__ == "__main__":
    main()
