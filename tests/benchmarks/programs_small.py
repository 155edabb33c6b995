"""How far plans of small programs with a memory limit are from CP-SAT's: mean and worst.

``python -m tests.benchmarks.programs_small [COUNT] [FIRST SEED]``

CP-SAT looks for programs that take no longer than the plan, and proves that there are none faster.
"""

import sys

from solver.programs.plan import plan
from tests.programs.exact import optima
from tests.programs.small import small


def main(count: int, first: int) -> None:
    """Print each seed's plan, optimum and bound [us], then the distances of those proven."""
    far, above = [], 0
    for seed in range(first, first + count):
        problem = small(seed)
        planned = plan(problem)
        time = planned.run.iteration_time
        ((value, proven),) = optima([problem], 60.0, [time])
        if not proven or value is None:
            print(f"{seed}: {time:g}, not proven", flush=True)
            continue
        far.append(time / value - 1 if value else 0.0)
        above += planned.bound.value_us > value * (1 + 1e-9)
        print(f"{seed}: {time:g} {value:g} {planned.bound.value_us:g} {far[-1]:.2%}", flush=True)
    print(f"{len(far)} of {count} proven; {above} bounds above the optimum")
    if far:
        exact = sum(each < 1e-9 for each in far)
        print(f"mean {sum(far) / len(far):.2%}, worst {max(far):.2%}, {exact} optimal")


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:3]]
    main(*given, *(20, 0)[len(given) :])
