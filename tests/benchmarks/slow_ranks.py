"""Planted slow ranks, and runs without one: how often rank, kind and op are named, and how near.

`python -m tests.benchmarks.slow_ranks [CASES] [FIRST]`. A case (:mod:`tests.slow_ranks`) has 4 to
16 ranks on clocks of their own, one of them slower at compute, late by its input, or on a slow
link. Lateness, and what is lost of a step, are to be within 5 %. As many runs have nothing planted.
"""

import sys
from collections import Counter

from solver.arrivals.arrival import Arrival
from solver.arrivals.report import ArrivalReport, arrival_report
from tests.slow_ranks import KINDS, Case, made

WITHIN = 0.05
UNPLANTED = 10_000


def main(count: int = 100, first: int = 0) -> Counter[str]:
    """Print how many of each kind are right; return the counts."""
    found: Counter[str] = Counter()
    errors: list[float] = []
    for seed in range(first, first + count):
        kind = KINDS[seed % len(KINDS)]
        case = made(seed, kind)
        report = report_of(case)
        right = is_named(case, report)
        assert case.truth is not None
        found[f"{kind} cases"] += 1
        found[f"{kind} named"] += right
        if right:
            late = case.truth[4]
            errors.append(abs(report.causes[0].late_us - late) / late)
            found[f"{kind} lateness"] += errors[-1] <= WITHIN
            lost = case.step[0] - case.step[1]
            found[f"{kind} step"] += abs(report.lost_us - lost) <= WITHIN * max(lost, late)
        found["accused"] += bool(report_of(made(UNPLANTED + seed)).causes)
    print(f"{'':16}{'cases':>7}{'named':>7}{'lateness':>10}{'step':>6}")
    for kind in (*KINDS, ""):
        cases, named, late_right, step = (
            sum(found[f"{each} {what}"] for each in ([kind] if kind else KINDS))
            for what in ("cases", "named", "lateness", "step")
        )
        print(f"{kind or 'all':16}{cases:7}{named:7}{late_right:10}{step:6}")
    if errors:
        errors.sort()
        middle, most = errors[len(errors) // 2], errors[-1]
        print(f"lateness off by {100 * middle:.2f} % in the median, {100 * most:.1f} % at most")
    print(f"somebody named where nothing is planted: {found['accused']} of {count}")
    return found


def report_of(case: Case) -> ArrivalReport:
    """Return what the solver says of what was recorded."""
    report = arrival_report([Arrival(*row) for row in case.rows])
    assert report is not None, "launches of several ranks"
    return report


def is_named(case: Case, report: ArrivalReport) -> bool:
    """Tell whether the first cause has the kind, rank and op that were planted.

    Of a slow link any op of its groups is right.
    """
    assert case.truth is not None
    kind, rank, op, groups, _ = case.truth
    if not report.causes or (report.causes[0].kind, report.causes[0].rank) != (kind, rank):
        return False
    cause = report.causes[0]
    if kind == "slow_link":
        return cause.group in groups and op in {each.op for each in cause.ops}
    return cause.op == op and cause.group is None


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
