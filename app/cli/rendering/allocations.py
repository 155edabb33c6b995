"""Ranked allocations for a reader: the best with its mapping, the others, today's rules."""

from collections.abc import Iterator
from itertools import groupby

from app.cli.rendering.page import page
from app.cli.rendering.tables import Table, table
from app.schemas.allocations import AllocationAnswer, AllocationRow
from solver.wording import ms


def render(answer: AllocationAnswer) -> str:
    """Write ranked allocations as a page of text."""
    best = answer.best[0]
    has_others = len(best.jobs) > 1
    heads = ["#", "alone ms", "step ms", "objective", "evidence", "nodes in the order of ranks"]
    rows = (list(_cells(i, row)) for i, row in enumerate(answer.best, 1))
    return page(
        [
            (
                f"{answer.sets:,} node sets ranked, {answer.moves:,} mappings tried; no mapping "
                "onto the free nodes has a shorter step alone than "
                f"{ms(answer.lower_bound_us)}"
            )
        ],
        [table(heads, rows)],
        [best.why, *_undecided(answer)],
        [table(["job", "alone ms", "beside ms", "p95 ms", "slow-down"], _jobs(best))]
        if has_others
        else [],
        _cluster(answer),
        ["Rules of today, alone:", table(["rule", "step ms", "nodes"], _rules(answer))],
        answer.notes,
    )


def _undecided(answer: AllocationAnswer) -> Iterator[str]:
    if answer.undecided and answer.trust_below:
        yield (
            f"{answer.undecided:,} sets by estimate may be better: of ten estimated slow-downs one "
            f"is off by more than {answer.trust_below:.0%}. More --simulated would tell."
        )


def _cells(place: int, row: AllocationRow) -> Iterator[str]:
    yield str(place) if row.candidate is None else f"{place} (set {row.candidate})"
    yield f"{row.alone_us / 1e3:,.3f}"
    yield f"{row.time_us / 1e3:,.3f}"
    yield f"{row.objective:.4f}"
    yield row.evidence
    yield folded(row.nodes)


def _jobs(row: AllocationRow) -> Iterator[tuple[str, ...]]:
    for job in row.jobs:
        yield (
            job.name or "(new)",
            f"{job.alone_us / 1e3:,.3f}",
            f"{job.time_us / 1e3:,.3f}",
            "" if job.p95_us is None else f"{job.p95_us / 1e3:,.3f}",
            f"{job.slowdown:.3f}",
        )


def _cluster(answer: AllocationAnswer) -> list[str | Table]:
    """Write each switch, the use of its link up before and with the best, and its nodes."""
    cluster, best = answer.cluster, answer.best[0]
    if cluster is None:
        return []
    changed = {each.link: each for each in best.links or ()}
    up = {link.below: link for link in cluster.links}
    nodes = {node.name: node for node in cluster.nodes}
    depth: dict[str, int] = {}
    rows = []
    for switch in cluster.switches:
        depth[switch.name] = 0 if switch.above is None else depth[switch.above] + 1
        cells = ["", "", ""]
        if link := up.get(switch.name):
            now = changed.get(link.name)
            cells = [
                f"{link.capacity_gbps:,.6g}",
                f"{now.before if now else link.use:.0%}",
                f"{now.use if now else link.use:.0%}",
            ]
        own = [nodes[name] for name in switch.nodes]
        for kind, count in (
            ("new", sum(node.name in best.nodes for node in own)),
            ("busy", sum(bool(node.jobs) for node in own)),
            ("free", sum(node.is_free and node.name not in best.nodes for node in own)),
        ):
            cells.append(f"{count:,} {kind}" if count else "")
        rows.append(["  " * depth[switch.name] + switch.name, *cells])
    heads = ["switch", "Gbit/s up", "used before", "then", "nodes", "", ""]
    return ["The cluster, and the use of links up, with the first set:", table(heads, rows)]


def _rules(answer: AllocationAnswer) -> Iterator[tuple[str, ...]]:
    for rule in answer.rules:
        time = "not joined" if rule.alone_us is None else f"{rule.alone_us / 1e3:,.3f}"
        yield rule.name, time, folded(rule.nodes)


def folded(names: list[str]) -> str:
    """Write names in their order with runs of numbers in brackets, as Slurm's host lists are.

    Examples
    --------
    >>> folded(["gpu08", "gpu09", "gpu10", "gpu3", "login"])
    'gpu[08-10],gpu3,login'
    """
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ",".join(
        run[0] if len(run) == 1 else f"{_cut(run[0])[0]}[{_cut(run[0])[1]}-{_cut(run[-1])[1]}]"
        for run in runs
    )


def _follows(one: str, two: str) -> bool:
    (head, a), (other, b) = _cut(one), _cut(two)
    return head == other and bool(a) and len(a) == len(b) and int(b) == int(a) + 1


def _cut(name: str) -> tuple[str, str]:
    """Return a name's beginning and the digits at its end."""
    tail = next(groupby(reversed(name), str.isdigit))
    digits = "".join(tail[1])[::-1] if tail[0] else ""
    return name[: len(name) - len(digits)], digits
