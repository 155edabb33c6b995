"""The compiled graphs of ``shared/data/compiled``, where they are."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

from solver.costs import Cluster, network_of
from solver.graph import Buffer, Op, build
from solver.programs.problem import ProgramLimits, ProgramProblem

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "compiled"

#: What PyTorch's best of five settings takes [ms], and its peak in host order [GiB], in which a
#: launch frees its inputs (the folder's README).
PYTORCH = {
    "llama3_8b_fw_64_1d": (612.0, 32.68),
    "llama3_8b_fw_64_2d": (137.8, 5.11),
    "llama3_8b_bw_64_1d": (1490.3, 36.20),
    "llama3_8b_bw_64_2d": (139.2, 4.43),
    "dsv3_fw_64": (179.2, 40.48),
}


#: Of two more graphs what PyTorch's best takes [ms]; their peaks were not recorded.
BEST = {name: time for name, (time, _) in PYTORCH.items()} | {
    "llama3_8b_bw_256_2d": 264.6,
    "dsv3_bw_64": 179.7,
}

#: PyTorch 2.13's own programs where launch inputs are held to the wait: time [ms] and peak [GiB].
TO_WAIT = {"llama3_8b_bw_64_2d": (142.2, 5.26), "llama3_8b_bw_256_2d": (271.7, 5.98)}


def names() -> list[str]:
    """Name the graphs that are there."""
    return sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))


def load(name: str, memory_bytes: int | None = None) -> ProgramProblem:
    """Read one of the graphs, the stream ``gpu`` free, with copies at 3.35 TB/s."""
    raw = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    ops = [Op(**{**op, "after": tuple(op["after"])}) for op in raw["ops"]]
    ops = [op if op.kind == "compute" else op._replace(cut=False) for op in ops]
    buffers = [Buffer(**{**b, "read_by": tuple(b["read_by"])}) for b in raw["buffers"]]
    channels = []
    for channel, given in sorted(raw["channels"].items()):
        tables = {kind: tuple(map(tuple, points)) for kind, points in given["tables"].items()}
        whole = tables.pop("all_reduce", ())
        cluster = Cluster(
            given["workers"], algorithm="table", table=whole, tables=tuple(sorted(tables.items()))
        )
        channels.append((channel, cluster))
    cluster = replace(channels[0][1], channels=tuple(channels))
    graph = build(raw["name"], ops, buffers, ["gpu"])
    return ProgramProblem(graph, network_of(cluster), 26_800.0, ProgramLimits(memory_bytes))
