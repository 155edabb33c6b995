"""Cross-validate what is predicted of measured steps of many shapes.

    python -m tests.benchmarks.shapes [--quick] [--kept FILE] [--space]

Prints the errors of rows that the fit did not see: six folds of the single-node table, drawn
thrice, and what a split chosen by them costs; seven folds of whole cells (hidden size, tensor
parallelism, micro-batch); twenty draws of 20 and of 10 rows; the table of many nodes, drawn twice.
``--kept`` fits all rows given and predicts those of another file of the same columns. ``--space``
times a ranking instead.
Data: ``../shared/data/shapes`` (its README), from VIA-Research/vTrain, MIT, and
MooreThreads/SimuMax, Apache-2.0.
"""

import argparse
import csv
import json
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from solver.shapes.efficiency import ASSUMED
from solver.shapes.fit.rows import MeasuredShape
from solver.shapes.fit.shape_fit import fit_steps
from solver.shapes.hardware import ACCELERATORS, NetworkLevel, TrainingCluster
from solver.shapes.job_shape import BY_HEADS, JobShape
from solver.shapes.memory import peak_memory
from solver.shapes.published import PUBLISHED
from solver.shapes.ranking.rank import rank_shapes
from solver.shapes.ranking.ranked import ShapeRanking
from solver.shapes.ranking.space import ShapeSpace
from solver.shapes.simumax import kernels_of
from solver.shapes.step import simulate_step
from solver.shapes.transformer import Transformer

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SINGLE = DATA / "shapes" / "vtrain_single_given.csv"
MULTI = DATA / "shapes" / "vtrain_multi_given.csv"
B200 = DATA / "shapes" / "simumax_b200_given.csv"
B200_SYSTEM = DATA / "shapes" / "simumax_b200_system.json"
TABLE = DATA / "vtrain_allreduce_lut/VIA-Research+vTrain/a100_AR_GPU8_1M_1024M_LUT"


def machine(gpus: int = 8) -> TrainingCluster:
    """Return the table's machine: nodes of 8 A100 by its NCCL table; between them as assumed."""
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = tuple((int(row["size(B)"]), float(row["time(ns)"]) / 1e3) for row in rows)
    node = NetworkLevel("node", 8, 2400.0, table=table, table_ranks=8)
    spine = NetworkLevel("spine", gpus, 200.0, 20.0, 5.0)
    return TrainingCluster(ACCELERATORS["a100"], (node, spine) if gpus > 8 else (node,))


def steps_of(path: Path, machines: dict[int, TrainingCluster]) -> list[MeasuredShape]:
    """Read measured steps: 1F1B, attention's scores written, nothing said of recomputation.

    Of many nodes 17 of the 22 steps given do not fit in 80 GiB unless layers are computed anew, so
    that the fit takes all of them to be.
    """
    steps = []
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            width, layers = int(row["hidden size"]), int(row["# layers"])
            heads = int(row["attention heads"])
            model = Transformer(
                f"gpt-{width}x{layers}",
                layers,
                width,
                heads,
                4 * width,
                51200,
                int(row["sequence length"]),
                tied=True,
            )
            data, micro = int(row["data parallelism"]), int(row["micro batch"])
            shape = JobShape(
                tp=int(row["tensor parallelism"]),
                pp=int(row["pipeline parallelism"]),
                dp=data,
                micro_batch=micro,
                micro_batches=int(row["global batch"]) // micro // data,
                flash_attention=False,
                gradient_bytes=2,
            )
            gpus = int(row["# GPUs"])
            cluster = machines.setdefault(max(8, gpus), machine(max(8, gpus)))
            took = float(row["iteration time (ms)"]) * 1e3
            steps.append(MeasuredShape(model, cluster, shape, took))
    return steps


def b200_steps(path: Path, kernels: Path | None = None) -> list[tuple[MeasuredShape, float]]:
    """Read steps of 8 B200 with their memory [GiB]: ZeRO-1, sequence parallelism, one dense layer.

    Of DeepSeek-V3's few layers the first is dense, the model of 405 billion has 16 heads of keys,
    and context parallelism goes by heads, as the table's source launches them (SimuMax,
    simu_tools/megatron_scripts). With a system file its kernels are the GPU's.
    """
    gpu = ACCELERATORS["b200"]
    if kernels is not None:
        gpu = replace(gpu, kernels=kernels_of(json.loads(kernels.read_text("utf-8"))))
    cluster = TrainingCluster(gpu, (NetworkLevel("node", 8, 7200.0),))
    names = {"deepseekv3": "deepseek-v3"}
    steps = []
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            parts = dict(re.findall(r"_(tp|pp|dp|ep|cp|seq|l|mbc|mbs)(\d+)", row["case"]))
            model = PUBLISHED[names.get(row["model"], row["model"])]
            model = replace(
                model,
                layers=int(row["layers"]),
                sequence=int(parts.get("seq", 4096)),
                dense_layers=min(model.dense_layers, 1),
                kv_heads=16 if row["model"] == "llama3-405b" else model.kv_heads,
            )
            degrees = {name: int(parts.get(name, 1)) for name in ("tp", "pp", "dp", "ep", "cp")}
            shape = JobShape(
                **degrees,  # type: ignore[arg-type]
                micro_batch=int(parts.get("mbs", 1)),
                micro_batches=int(row["micro batches"]),
                sequence_parallel=degrees["tp"] > 1,
                context=BY_HEADS,
                sharding="optimizer",
            )
            took = float(row["measured ms"]) * 1e3
            steps.append(
                (MeasuredShape(model, cluster, shape, took), float(row["allocated GiB at peak"]))
            )
    return steps


def predicted(rows, others, begin=None):
    """Return other rows' relative errors, and which their intervals hold."""
    found = fit_steps(rows, begin).predict_all(others)
    errors = np.array([p.time_us / o.time_us - 1 for p, o in zip(found, others, strict=True)])
    inside = [
        p.low_us is not None and p.low_us <= o.time_us <= p.high_us
        for p, o in zip(found, others, strict=True)
    ]
    return errors, np.array(inside)


def show(name: str, errors, inside) -> None:
    """Print a line."""
    errors = np.abs(errors)
    figures = np.array([np.median(errors), np.quantile(errors, 0.9), errors.max()]) * 100
    print(
        f"{name:34s} median {figures[0]:5.2f} %  p90 {figures[1]:5.1f} %  worst {figures[2]:5.1f} %"
        f"  in the 90 % interval {100 * inside.mean():3.0f} %",
        flush=True,
    )


def folds(rows, count, begin=None, beside=(), seed=0, cells=None):
    """Predict each row from those of the other folds, and what stands beside.

    Rows of one of the cells, if given, are left out together.
    """
    cells = np.arange(len(rows)) if cells is None else cells
    fold_of = np.random.default_rng(seed).permutation(cells.max() + 1) % count
    errors, inside = np.zeros(len(rows)), np.zeros(len(rows), bool)
    for fold in range(count):
        out = np.flatnonzero(fold_of[cells] == fold)
        seen = [row for row, cell in zip(rows, cells, strict=True) if fold_of[cell] != fold]
        errors[out], inside[out] = predicted([*seen, *beside], [rows[i] for i in out], begin)
    return errors, inside


def cells_of(rows):
    """Return for each row the number of its cell: hidden size, tensor parallelism, micro-batch."""
    keys = [(row.model.hidden, row.shape.tp, row.shape.micro_batch) for row in rows]
    return np.unique(keys, axis=0, return_inverse=True)[1].ravel()


def show_choice(rows, errors) -> None:
    """Print what the split of 8 GPUs costs that predictions choose, over the best measured.

    Of each group of the same model and batch with at least two rows given.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        batch = row.shape.dp * row.shape.micro_batch * row.shape.micro_batches
        if row.shape.gpus == 8:
            key = row.model.hidden, row.model.layers, batch
            groups.setdefault(key, []).append(i)
    costs = []
    for group in groups.values():
        chosen = min(group, key=lambda i: rows[i].time_us * (1 + errors[i]))
        best = min(rows[i].time_us for i in group)
        if len(group) > 1:
            costs.append(rows[chosen].time_us / best - 1)
    print(
        f"  the split chosen, of {len(costs)} groups: {100 * np.mean(costs):.2f} % over the best "
        f"in the mean, {100 * max(costs):.1f} % at worst",
        flush=True,
    )


def draws(rows, size, count=20):
    """Predict all other rows from so many, drawn; return the medians over the draws."""
    found = []
    for seed in range(count):
        seen = set(np.random.default_rng(seed).choice(len(rows), size, replace=False).tolist())
        one, two = predicted(
            [rows[i] for i in sorted(seen)], [r for i, r in enumerate(rows) if i not in seen]
        )
        one = np.abs(one)
        found.append((np.median(one), np.quantile(one, 0.9), one.max(), two.mean()))
    return np.median(found, axis=0)


def show_space() -> None:
    """Rank the shapes of a model of 70 billion parameters on 1,024 GPUs, and time it."""
    levels = (NetworkLevel("node", 8, 3600.0), NetworkLevel("network", 1024, 400.0))
    space = ShapeSpace(
        2048,
        cp=(1, 2, 4),
        schedules=("gpipe", "1f1b", "interleaved", "zero_bubble"),
        shardings=("none", "optimizer", "gradients", "parameters"),
    )
    cluster = TrainingCluster(ACCELERATORS["h100"], levels)
    better: list[tuple[float, float]] = []  # CPU until then [s], the best step so far [us]

    def told(_phase: str, _done: int, _all: int | None, so_far: ShapeRanking) -> None:
        us = so_far.best[0].step.time_us if so_far.best else None
        if us is not None and (not better or us < better[-1][1]):
            better.append((time.process_time() - began, us))

    began = time.process_time()
    ranking = rank_shapes(PUBLISHED["llama3-70b"], cluster, space, ASSUMED, told=told)
    took = time.process_time() - began
    best = ranking.best[0]
    for after, us in better:
        print(f"after {after:5.2f} s of CPU: {us / 1e3:,.0f} ms a step")
    print(
        f"llama3-70b on 1,024 GPUs: {ranking.shapes:,} shapes, {ranking.too_large:,} too large, "
        f"{ranking.simulated:,} simulated, proven {ranking.is_proven}, {took:.1f} s of CPU; best "
        f"{best.shape}, {best.step.time_us / 1e3:,.0f} ms"
    )


def main() -> None:
    """Print all."""
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true")
    options.add_argument("--kept", type=Path)
    options.add_argument("--space", action="store_true")
    given = options.parse_args()
    if given.space:
        show_space()
        return
    machines: dict[int, TrainingCluster] = {}
    single, multi = steps_of(SINGLE, machines), steps_of(MULTI, machines)
    fit = fit_steps(single)
    print(f"simulation alone, on its rows: median {100 * fit.simulated_error:.2f} %")
    for figure in fit.figures:
        note = "" if figure.is_determined else "  (not determined)"
        print(f"  {figure.name:20s} {figure.value:10.4g} +- {100 * figure.spread:3.0f} %{note}")
    if given.kept:
        kept = steps_of(given.kept, machines)
        show(given.kept.name, *predicted([*single, *multi], kept, fit.known))
        return
    for seed in range(1 if given.quick else 3):
        errors, inside = folds(single, 6, fit.known, seed=seed)
        show(f"single node, 6 folds, draw {seed}", errors, inside)
        show_choice(single, errors)
    show("single node, cells left out", *folds(single, 7, fit.known, cells=cells_of(single)))
    for size in (20, 10):
        if not given.quick:
            one = draws(single, size)
            print(
                f"single node, from {size} rows of it    median {100 * one[0]:5.2f} %  "
                f"p90 {100 * one[1]:5.1f} %  worst {100 * one[2]:5.1f} %  in the 90 % interval "
                f"{100 * one[3]:3.0f} %  (medians of 20 draws)"
            )
    show("many nodes, 11 folds", *folds(multi, 11))
    for seed in range(1 if given.quick else 2):
        found = folds(multi, 11, fit.known, single, seed)
        show(f"many nodes, with one node, draw {seed}", *found)
    for name, system in (("", None), (", kernels", B200_SYSTEM)):
        small = b200_steps(B200, system)
        rows = [row for row, _ in small]
        errors = [
            simulate_step(row.model, row.cluster, row.shape, ASSUMED).time_us / row.time_us - 1
            for row in rows
        ]
        show(f"8 B200{name}, from no row", np.array(errors), np.zeros(len(rows)))
        show(f"8 B200{name}, each from the others", *folds(rows, len(rows)))
    for row, gib in small:
        memory = peak_memory(row.model, row.shape).peak_bytes / 2**30
        print(
            f"  {row.model.name} {row.shape}: {memory:.1f} GiB, measured {gib:.1f} GiB "
            f"({100 * (memory / gib - 1):+.1f} %)"
        )


if __name__ == "__main__":
    main()
