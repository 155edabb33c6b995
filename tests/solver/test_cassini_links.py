"""CASSINI's shifts against its affinity graph: each link's best rotations, joined along jobs.

Where the graph of jobs and links has no loop, rotations that were found link by link can all be
kept at once (CASSINI, section 4); so shifts that are sought on all links together are as good.
"""

import random
from itertools import product

import pytest

from solver.jobs.mix import Mix, MixedJob
from solver.jobs.policies import cassini_shifts
from solver.jobs.profile import Phase, profile_of_phases

#: Pieces of a circle; a byte takes a microsecond at so many Gbit/s.
PIECES, UNIT = 72, 0.008
#: Which links each job crosses: a chain, and a star; no loops.
GRAPHS = [
    {"x": ("a",), "y": ("a", "b"), "z": ("b",)},
    {"x": ("a", "b"), "y": ("a",), "z": ("b",)},
]


def over(own: dict[str, tuple[int, int]], shifts: dict[str, int], jobs: list[str]) -> int:
    """Count what jobs want above 10 bytes in each piece: each sends at its rate at the end."""
    total = 0
    for piece in range(PIECES):
        wanted = 0
        for job in jobs:
            compute, rate = own[job]
            wanted += rate if (piece - shifts[job]) % PIECES >= compute else 0
        total += max(0, wanted - 10)
    return total


def joined(own: dict[str, tuple[int, int]], paths: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Rotate the jobs of each link by themselves, and join these along the jobs they share."""
    shifts = {"x": 0}
    links = sorted({link for path in paths.values() for link in path})
    while len(shifts) < len(paths):
        for link in links:
            jobs = [job for job, path in paths.items() if link in path]
            known = [job for job in jobs if job in shifts]
            if not known or len(known) == len(jobs):
                continue
            # of the link alone its first known job is not turned
            first, *others = known[:1] + [job for job in jobs if job != known[0]]
            turns = min(
                product(range(PIECES), repeat=len(others)),
                key=lambda each: over(own, {first: 0, **dict(zip(others, each))}, jobs),  # noqa: B905
            )
            for job, turn in zip(others, turns, strict=True):
                shifts.setdefault(job, (shifts[first] + turn) % PIECES)
    return shifts


@pytest.mark.parametrize("seed", range(6))
def test_shifts_are_as_good_as_those_of_the_affinity_graph(seed: int) -> None:
    rng = random.Random(seed)
    paths = GRAPHS[seed % 2]
    own = {job: (rng.randint(20, 60), rng.choice((6, 8, 10))) for job in paths}
    links = {"a": 10 * UNIT, "b": 10 * UNIT}
    jobs = tuple(
        MixedJob(
            job,
            (
                profile_of_phases(
                    [
                        Phase(
                            float(compute),
                            float((PIECES - compute) * rate),
                            paths[job],
                            rate * UNIT,
                        )
                    ],
                    links,
                ),
            ),
        )
        for job, (compute, rate) in own.items()
    )
    assert all(job.alone_us == pytest.approx(PIECES) for job in jobs)
    terms = cassini_shifts(Mix(tuple(links.items()), jobs))
    found = {job.name: round(each.offset_us) for job, each in zip(jobs, terms, strict=True)}
    by_link = joined(own, paths)

    def excess(shifts: dict[str, int]) -> int:
        return sum(
            over(own, shifts, [job for job, path in paths.items() if link in path])
            for link in links
        )

    assert excess(found) == excess(by_link)  # each link has its least
