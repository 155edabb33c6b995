"""How far plans of small programs with a memory limit are from CP-SAT's: mean and worst.

``python -m tests.benchmarks.programs_small [COUNT] [FIRST SEED]``

CP-SAT looks for programs that take no longer than the plan, and proves that there are none faster.
"""

import sys

from solver.programs.plan import plan
from tests.programs.exact import optima
from tests.programs.small import small

#: Problems for one process of CP-SAT, which takes a second to start.
_BATCH = 20


def main(count: int, first: int) -> None:
    """Print each seed's plan, optimum and bound [us], then the distances of those proven."""
    far, above = [], 0
    last = first + count
    for begin in range(first, last, _BATCH):
        seeds = range(begin, min(begin + _BATCH, last))
        plans = [plan(small(seed)) for seed in seeds]
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
    print(f"{len(far)} of {count} proven; {above} bounds above the optimum")
    if far:
        exact = sum(each < 1e-9 for each in far)
        print(f"mean {sum(far) / len(far):.2%}, worst {max(far):.2%}, {exact} optimal")


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:3]]
    main(*given, *(20, 0)[len(given) :])
