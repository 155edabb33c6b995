"""How far plans of small programs with a memory limit are from CP-SAT's: mean and worst.

``python -m tests.benchmarks.programs_small [COUNT] [FIRST SEED] [tiny]``

CP-SAT looks for programs that take no longer than the plan, and proves that there are none faster.
A problem has 12 ops, ``tiny`` ones 5 to 8.
"""

import sys

from solver.bounds.status import OPTIMAL
from solver.programs.plan import ProgramOptions, plan
from solver.programs.problem import ProgramProblem
from tests.programs.exact import optima
from tests.programs.small import small

#: Problems for one process of CP-SAT, which takes a second to start.
_BATCH = 20


def drawn(seed: int, is_tiny: bool) -> ProgramProblem:
    """Draw a problem."""
    return small(seed, 5 + seed % 4, 2 + seed % 2) if is_tiny else small(seed)


def main(count: int, first: int, is_tiny: bool) -> None:
    """Print each seed's plan, optimum and bound [us], then the distances of those proven."""
    far, above, optimal, worst = [], 0, 0, 0.0
    last = first + count
    for begin in range(first, last, _BATCH):
        seeds = range(begin, min(begin + _BATCH, last))
        options = ProgramOptions(launch_tolerance=0.0)
        plans = [plan(drawn(seed, is_tiny), options) for seed in seeds]
        optimal += sum(each.status == OPTIMAL for each in plans)
        worst = max([worst, *(each.gap or 0.0 for each in plans)])
        times = [each.run.iteration_time for each in plans]
        found = optima([each.problem for each in plans], 60.0, times)
        for seed, planned, time, (value, proven) in zip(seeds, plans, times, found, strict=True):
            if not proven or value is None:
                print(f"{seed}: {time:g}, not proven", flush=True)
                continue
            bound = planned.bound.value_us
            far.append(time / value - 1 if value else 0.0)
            above += bound > value * (1 + 1e-9)
            print(f"{seed}: {time:g} {value:g} {bound:g} {far[-1]:.2%}", flush=True)
    print(f"{optimal} of {count} say they are optimal; the largest gap is {worst:.2%}")
    print(f"{len(far)} of {count} proven by CP-SAT; {above} bounds above the optimum")
    if far:
        exact = sum(each < 1e-9 for each in far)
        print(f"mean {sum(far) / len(far):.2%}, worst {max(far):.2%}, {exact} optimal")


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:3]]
    how_many, begin = *numbers, *(20, 0)[len(numbers) :]
    main(how_many, begin, "tiny" in sys.argv)
