"""Two and three jobs on one link: plans against every shift on a grid, by an own simulator.

``python -m tests.benchmarks.jobs_sharing [MIXES] [FIRST]`` draws that many seeded mixes;
``--estimate`` tells how far the fast estimate is off, ``--speed`` runs 50 jobs of 20 iterations on
800 hosts.
"""

import random
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from solver.jobs.estimate import estimated_slowdowns
from solver.jobs.joint import plan_mix, rule_mix
from solver.jobs.mix import Mix, MixedJob, fair_terms
from solver.jobs.profile import Phase, profile_of_phases
from solver.jobs.simulate import simulate_mix, slowdowns_of

#: Phases of a job: compute [us], and bytes over the one link.
PlainPhases = list[tuple[int, int]]
#: A byte takes a microsecond at so many Gbit/s.
_UNIT = 0.008
#: Points of the grid of shifts, of two jobs and of three.
_GRID = {2: 24, 3: 8}
#: Iterations of each shift, and of the best few and the plan: jobs whose times do not go together
#: meet again and again, so that a shift that looks well for 30 iterations may not for 300.
_SHORT, _LONG, _FEW = 20, 100, 10


def drawn_mix(seed: int) -> tuple[list[PlainPhases], int]:
    """Draw two or three jobs on a link of 100 bytes/us: half of the mixes have one period."""
    rng = random.Random(seed)
    count = rng.choice((2, 2, 3))
    common = rng.choice((0, 400))
    jobs = []
    for _ in range(count):
        phases = []
        for _ in range(rng.choice((1, 1, 2))):
            sending = rng.randint(2, 16) * 10
            compute = rng.randint(4, 30) * 10
            phases.append((compute, sending * 100))
        if common:  # the last computes so long that an iteration takes the common time
            taken = sum(c + b // 100 for c, b in phases)
            phases[-1] = (phases[-1][0] + max(0, common - taken), phases[-1][1])
        jobs.append(phases)
    return jobs, 100


def mix_of(jobs: Sequence[PlainPhases], capacity: int) -> Mix:
    """Return plain jobs as a mix."""
    links = {"up": capacity * _UNIT}
    return Mix(
        tuple(links.items()),
        tuple(
            MixedJob(
                f"job {j}",
                (profile_of_phases([Phase(float(c), float(b), ("up",)) for c, b in job], links),),
            )
            for j, job in enumerate(jobs)
        ),
    )


def best_on_grid(jobs: Sequence[PlainPhases], capacity: int, steps: int) -> float:
    """Return the least mean slow-down of all shifts on a grid, jobs running freely and fairly."""
    alone = [Fraction(sum(c + Fraction(b, capacity) for c, b in job)) for job in jobs]
    tried = []
    for turn in product(range(steps), repeat=len(jobs) - 1):
        shifts = [Fraction(0)]
        shifts += [Fraction(at, steps) * own for at, own in zip(turn, alone[1:], strict=True)]
        tried.append((mean_slowdown(jobs, capacity, shifts, _SHORT), shifts))
    tried.sort()
    found = []
    for _, shifts in tried[:_FEW]:  # a shift that lasts a thousandth of an iteration off, too
        late = [shift + own / 1000 for shift, own in zip(shifts[1:], alone[1:], strict=True)]
        both = (shifts, [shifts[0], *late])
        found.append(max(mean_slowdown(jobs, capacity, each, _LONG) for each in both))
    return min(found)


def mean_slowdown(
    jobs: Sequence[PlainPhases], capacity: int, shifts: Sequence[Fraction], iterations: int
) -> float:
    """Run jobs on one fair link from change to change, in floats; the last half counts."""
    waits = [float(shift) for shift in shifts]
    places = [0] * len(jobs)
    computes = [float(job[0][0]) for job in jobs]
    sends = [float(job[0][1]) for job in jobs]
    ends: list[list[float]] = [[] for _ in jobs]
    now = 0.0
    while min(map(len, ends)) < 3 * iterations:
        sending = [j for j in range(len(jobs)) if not waits[j] and not computes[j] and sends[j] > 0]
        rate = capacity / len(sending) if sending else 0.0
        steps = [
            waits[j] or computes[j] or (sends[j] / rate if j in sending else 0.0)
            for j in range(len(jobs))
        ]
        step = min(steps)
        now += step
        for j, job in enumerate(jobs):
            if waits[j]:
                waits[j] = _less(waits[j], step)
                continue
            if computes[j]:
                computes[j] = _less(computes[j], step)
            else:
                sends[j] = _less(sends[j], step * rate)
            if not computes[j] and not sends[j]:
                places[j] += 1
                if places[j] == len(job):
                    places[j] = 0
                    ends[j].append(now)
                computes[j], sends[j] = (float(each) for each in job[places[j]])
    slow = []
    for job, times in zip(jobs, ends, strict=True):
        half = len(times) // 2
        mean = (times[-1] - times[half - 1]) / (len(times) - half)
        slow.append(mean / sum(c + b / capacity for c, b in job))
    return sum(slow) / len(slow)


def _less(left: float, step: float) -> float:
    rest = left - step
    return rest if rest > 1e-7 else 0.0


def main(arguments: Sequence[str]) -> None:
    """Print how plans compare with the grid, or what is asked for."""
    if "--estimate" in arguments:
        _estimates()
    elif "--speed" in arguments:
        _speed()
    else:
        numbers = [int(each) for each in arguments]
        count, first = (*numbers, 500, 0)[:2] if len(numbers) != 1 else (numbers[0], 0)
        _plans(count, first)


def _plans(count: int, first: int) -> None:
    over, worse, gains, began = [], 0, [], time.process_time()
    for seed in range(first, first + count):
        jobs, capacity = drawn_mix(seed)
        mix = mix_of(jobs, capacity)
        plan = plan_mix(mix)
        exact = best_on_grid(jobs, capacity, _GRID[len(jobs)])
        joint = rule_mix(mix, "joint", plan.joint.terms, 3 * _LONG).mean
        over.append(joint / exact - 1)
        gains.append(plan.rules[0].mean / plan.joint.mean)
        worse += any(plan.joint.mean > rule.mean + 1e-9 for rule in plan.rules)
        if over[-1] > 0.01:
            print(f"seed {seed}: joint {joint:.4f}, grid {exact:.4f}")
    within = sum(each <= 0.01 for each in over)
    print(f"{within} of {count} within 1 % of the best shift; largest {max(over):+.2%}")
    print(f"{worse} worse than a rule; fair / joint: {sum(gains) / len(gains):.3f} in the mean")
    print(f"{time.process_time() - began:.0f} s of CPU")


def _estimates() -> None:
    off = []
    for seed in range(300):
        rng = random.Random(seed)
        jobs = [job for k in range(3) for job in drawn_mix(1000 + 3 * seed + k)[0]]
        mix = mix_of(jobs[: rng.randint(2, 6)], 100 * rng.choice((1, 2)))
        found = slowdowns_of(mix, simulate_mix(mix, fair_terms(mix), 30))
        off += [abs(e / f - 1) for e, f in zip(estimated_slowdowns(mix), found, strict=True)]
    off.sort()
    print(f"{len(off)} jobs: median {off[len(off) // 2]:.1%}, ", end="")
    print(f"90 % within {off[int(0.9 * len(off))]:.1%}, worst {off[-1]:.1%}")


def _speed() -> None:
    rng = random.Random(1)
    links = {f"host {k}": 100.0 for k in range(800)}
    links |= {f"rack {k}": 200.0 for k in range(25)} | {f"spine {k}": 800.0 for k in range(4)}
    jobs = []
    for j in range(50):
        racks = rng.sample(range(25), 2)
        path = (f"host {rng.randrange(800)}", *(f"rack {k}" for k in racks), f"spine {j % 4}")
        phases = [
            Phase(float(rng.randint(2_000, 9_000)), rng.randint(5, 40) * 1e6, path, 400.0)
            for _ in range(20)
        ]
        jobs.append(MixedJob(f"job {j}", (profile_of_phases(phases, links),)))
    mix = Mix(tuple(links.items()), tuple(jobs))
    began = time.process_time()
    run = simulate_mix(mix, fair_terms(mix), 20)
    taken = time.process_time() - began
    slow = slowdowns_of(mix, run)
    print(f"{taken:.1f} s of CPU, {run.events:,} events, mean slow-down {sum(slow) / 50:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
