"""The general search over families of graphs: time, gap, and what is above the best known plan.

Run it with ``make general``; PROTOCOL.md says what is measured.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from solver.bounds.status import OPTIMAL
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.planning.progress import PlanProgress
from solver.planning.result import Plan
from solver.units import TOLERANCE
from tests.benchmarks.evaluator import speeds
from tests.families import FAMILIES, Instance, instances, small
from tests.families.files import FILES, requests
from tests.families.rivals import LIMIT_S, RIVALS, Known, best_known
from tests.plain_search import search

SHARED = Path(__file__).parents[3] / "shared/data/general"
#: Random changes that a plan of a small graph must not be worse than.
FEW = 400


@dataclass(frozen=True)
class Row:
    """One instance, its plan, and the best that is known of it; times in us, of CPU in s."""

    family: str
    name: str
    collectives: int
    plan_us: float
    bound_us: float
    optimal: bool
    cpu_s: float
    first_cpu_s: float
    known_us: float
    known_by: str

    @property
    def gap(self) -> float:
        return self.plan_us / self.bound_us - 1

    @property
    def above(self) -> float:
        """How much longer the plan takes than the best known one."""
        return self.plan_us / self.known_us - 1


class First(PlanProgress):
    """Notes the CPU time at which the first plan is known [s]."""

    def __init__(self) -> None:
        self.at: float | None = None

    def incumbent(self, value_us: float, draft: Callable[[], Plan]) -> None:
        if self.at is None:
            self.at = time.process_time()


def solve(
    instance: Instance,
    options: Options,
    known: Known | None,
    rivals: Sequence[str],
    settled: float = 0.0,
) -> Row:
    """Plan an instance; ask the rivals unless something is known, or the bound is near.

    ``settled`` is the gap to the bound up to which they are not asked: none is better by more.
    """
    first = First()
    began = time.process_time()
    found = plan(instance.graph, instance.network, options, first)
    ended = time.process_time()
    value, optimal = found.iteration_time_us, found.status == OPTIMAL
    if known is None and not optimal and value > found.lower_bound_us * (1 + settled):
        known = best_known(instance, options, value, rivals)
    if known is None or known.time >= value:
        known = Known(value, "plan")
    return Row(
        instance.family,
        instance.name,
        len(instance.graph.collectives),
        value,
        found.lower_bound_us,
        optimal,
        ended - began,
        (first.at or ended) - began,
        *known,
    )


#: Columns of the table: what stands above them, and what they say of rows.
COLUMNS: dict[str, Callable[[Sequence[Row]], str]] = {
    "cells": lambda rows: f"{len(rows)}",
    "above best known, mean": lambda rows: _mean(row.above for row in rows),
    "worst": lambda rows: f"{max(row.above for row in rows):.2%}",
    "gap to the bound, mean": lambda rows: _mean(row.gap for row in rows),
    "worst ": lambda rows: f"{max(row.gap for row in rows):.2%}",
    "optimal": lambda rows: f"{sum(row.optimal for row in rows)}",
    "CPU s, median": lambda rows: f"{statistics.median(row.cpu_s for row in rows):.2f}",
    "worst  ": lambda rows: f"{max(row.cpu_s for row in rows):.2f}",
    "first plan, worst": lambda rows: f"{max(row.first_cpu_s for row in rows):.3f}",
}


def _mean(values: Iterable[float]) -> str:
    return f"{statistics.mean(values):.2%}"


def table(rows: Sequence[Row], *, markdown: bool) -> str:
    """Write a line for each family, and one for all."""
    families = list(dict.fromkeys(row.family for row in rows))
    groups = [(name, [row for row in rows if row.family == name]) for name in families]
    groups.append(("all", list(rows)))
    lines = [["family", *map(str.strip, COLUMNS)]]
    lines += [[name, *(column(group) for column in COLUMNS.values())] for name, group in groups]
    if markdown:
        lines.insert(1, ["---", *["---:"] * len(COLUMNS)])
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        for cells in lines
    )


def worst(rows: Sequence[Row], count: int = 10) -> str:
    """List the plans that are furthest above the best known."""
    above = sorted((row for row in rows if row.above > 0), key=lambda row: -row.above)
    return "\n".join(
        f"  {row.name}: {row.plan_us / 1e3:.3f} ms, {row.above:.2%} above the best known, "
        f"{row.known_us / 1e3:.3f} ms by {row.known_by}; bound {row.bound_us / 1e3:.3f} ms"
        for row in above[:count]
    )


def beside_plain_search(count: int) -> str:
    """Count small branched graphs of which 400 random changes find a better plan."""
    behind = []
    for instance in map(small, range(count)):
        options = Options(baselines=(), time_limit_s=LIMIT_S, launch_tolerance=0)
        found = plan(instance.graph, instance.network, options).iteration_time_us
        rival = search(instance.graph, instance.network, FEW).time
        if found > rival * (1 + TOLERANCE):
            behind.append(found / rival - 1)
    line = f"{count} small branched graphs: {FEW} random changes are better on {len(behind)}"
    return f"{line}, at most by {max(behind):.2%}" if behind else line


def read_known(path: Path | None) -> dict[str, Known]:
    """Read the best times of an earlier run's ``--json``."""
    if path is None:
        return {}
    rows = [Row(**row) for row in json.loads(path.read_text())]
    return {row.name: Known(row.known_us, row.known_by) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    names = [*FAMILIES, FILES]
    parser.add_argument("--families", nargs="+", default=names, choices=names, metavar="NAME")
    parser.add_argument("--most", type=int, default=300, help="collectives of a graph, about")
    parser.add_argument("--least", type=int, default=0, help="collectives of a graph, about")
    parser.add_argument("--cells", type=int, default=1, help="take every N-th cell")
    parser.add_argument("--seed", type=int, default=0, help="of the graphs")
    parser.add_argument("--effort", type=int, default=1, help="of the plans")
    parser.add_argument("--limit-s", type=float, default=60.0, help="watchdog of a plan")
    parser.add_argument("--rivals", nargs="*", default=RIVALS, choices=RIVALS, metavar="NAME")
    parser.add_argument("--settled", type=float, default=0.0, help="gap that asks no rivals")
    parser.add_argument("--files", type=Path, default=SHARED, help="folder of requests to plan too")
    parser.add_argument("--json", type=Path, help="write all cells to this file")
    parser.add_argument("--known", type=Path, help="best known times: an earlier --json")
    parser.add_argument("--markdown", action="store_true", help="write the table in Markdown")
    parser.add_argument("--branched", type=int, default=0, help="small graphs, beside 400 changes")
    arguments = parser.parse_args()
    families = [name for name in arguments.families if name != FILES]
    files = requests(arguments.files) if FILES in arguments.families else ()
    known = read_known(arguments.known)
    options = Options(
        baselines=(),
        effort=arguments.effort,
        time_limit_s=arguments.limit_s,
        launch_tolerance=0,
    )
    rows = []
    cells = chain(files, instances(families, arguments.most, arguments.seed))
    for i, instance in enumerate(cells):
        size = len(instance.graph.collectives)
        if i % arguments.cells == 0 and 0.8 * arguments.least <= size <= 1.2 * arguments.most:
            best = known.get(instance.name)
            rows.append(solve(instance, options, best, arguments.rivals, arguments.settled))
            print(f"{rows[-1].name}: {rows[-1].above:.2%}", file=sys.stderr)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    print(table(rows, markdown=arguments.markdown))
    print(f"\nfurthest above the best known:\n{worst(rows)}\n\n{speeds()}")
    if arguments.branched:
        print(f"\n{beside_plain_search(arguments.branched)}")


if __name__ == "__main__":
    main()
