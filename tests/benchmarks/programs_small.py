"""How far plans of small programs with a memory limit are from CP-SAT's: mean and worst.

``python -m tests.benchmarks.programs_small [--count N] [--seed FIRST] [--tiny] [--effort UNITS]``

CP-SAT, on one core, looks for programs that take no longer than the plan, and proves that there are
none faster. A problem has 12 ops and 5 collectives, a tiny one 5 to 8 ops. It takes some 2 s a
problem, and with ``--effort 0``, which asks CP-SAT nothing, a tenth of that.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass

from solver.bounds.status import OPTIMAL
from solver.programs.plan import ProgramOptions, plan
from solver.programs.problem import ProgramProblem
from solver.programs.result import ProgramPlan
from tests.programs.exact import each_optimum
from tests.programs.small import small


@dataclass(frozen=True)
class Compared:
    """A seed's plan beside CP-SAT's optimum [us], None where that was not proven; CPU in s."""

    seed: int
    planned: ProgramPlan
    cpu_s: float
    optimum: float | None

    @property
    def distance(self) -> float | None:
        """How much longer the plan takes than the optimum."""
        return self.planned.iteration_time_us / self.optimum - 1 if self.optimum else None

    @property
    def is_bound_above(self) -> bool:
        """Whether the bound is wrong."""
        bound = self.planned.bound.value_us
        return self.optimum is not None and bound > self.optimum * (1 + 1e-9)


def drawn(seed: int, is_tiny: bool) -> ProgramProblem:
    """Draw a problem."""
    return small(seed, 5 + seed % 4, 2 + seed % 2) if is_tiny else small(seed)


def compared(seeds: range, is_tiny: bool, effort: float) -> Iterator[Compared]:
    """Plan each seed's problem, and ask CP-SAT for it, unless with no effort."""
    plans: list[tuple[ProgramPlan, float]] = []

    def planned() -> Iterator[tuple[ProgramProblem, float]]:
        for seed in seeds:
            began = time.process_time()
            found = plan(drawn(seed, is_tiny), ProgramOptions(launch_tolerance=0.0))
            plans.append((found, time.process_time() - began))
            yield found.problem, found.iteration_time_us

    answers = each_optimum(planned(), effort) if effort else ((None, False) for _ in planned())
    for seed, (value, proven) in zip(seeds, answers, strict=True):
        yield Compared(seed, *plans[-1], value if proven else None)


def main() -> None:
    """Print each seed's plan, bound and optimum [us] where these differ, then the distances."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="problems")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--tiny", action="store_true", help="5 to 8 ops")
    parser.add_argument("--effort", type=float, default=60.0, help="CP-SAT's, for a problem")
    asked = parser.parse_args()
    rows = []
    for row in compared(range(asked.seed, asked.seed + asked.count), asked.tiny, asked.effort):
        rows.append(row)
        planned = row.planned
        time_us, bound = planned.iteration_time_us, planned.bound.value_us
        if planned.status != OPTIMAL or row.optimum not in {None, time_us}:
            known = "proves nothing" if row.optimum is None else f"{row.optimum:g}"
            print(f"seed {row.seed}: plan {time_us:g}, bound {bound:g}, CP-SAT {known}", flush=True)
    says = sum(row.planned.status == OPTIMAL for row in rows)
    gap = max(row.planned.gap or 0.0 for row in rows)
    cpu = sum(row.cpu_s for row in rows) / len(rows)
    print(f"{says} of {len(rows)} say they are optimal; the largest gap is {gap:.2%}")
    print(f"a plan takes {cpu:.2f} s of CPU time in the mean")
    far = [row.distance for row in rows if row.distance is not None]
    above = sum(row.is_bound_above for row in rows)
    print(f"{len(far)} of {len(rows)} proven by CP-SAT; {above} bounds above the optimum")
    if far:
        exact = sum(each < 1e-9 for each in far)
        print(f"mean {sum(far) / len(far):.2%}, worst {max(far):.2%}, {exact} optimal")


if __name__ == "__main__":
    main()
