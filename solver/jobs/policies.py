"""What is known of jobs beside one another: fair sharing, CASSINI's shifts, Crux's priorities.

Each takes a mix and returns terms. None of them is code of its authors; both are built from what is
public about their papers. Of Crux, definition 2 with equation (2) was compared with summaries of
sections 3 and 4; of CASSINI nothing but its abstract was found to compare with.

References
----------
.. [1] S. Rajasekaran, M. Ghobadi, A. Akella, CASSINI: Network-Aware Job Scheduling in Machine
       Learning Clusters, NSDI 2024, sections 3 and 4.
.. [2] J. Cao et al., Crux: GPU-Efficient Communication Scheduling for Deep Learning Training,
       SIGCOMM 2024, section 4.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import lcm

import numpy as np

from solver.jobs.mix import JobTerms, Mix, fair_terms
from solver.jobs.profile import JobProfile
from solver.units import FloatArray, bytes_per_us

#: Pieces of the longest iteration, in which demands are added up.
_PIECES = 72
#: Pieces of the unified circle at most; periods whose common multiple is longer are cut there.
_MOST_PIECES = 72 * 60
#: Rotations of all jobs that are all tried; of more, one job after another.
_MOST_ROTATIONS = 10_000

Rule = Callable[[Mix], tuple[JobTerms, ...]]


def crux_priorities(mix: Mix) -> tuple[JobTerms, ...]:
    r"""Serve jobs of the highest intensity first.

    A job's intensity is its work over the time for which its bytes occupy the link that they occupy
    longest ([2]_, definition 2: :math:`I_j = W_j / t_j`, :math:`t_j = \max_e M_{j,e} / B_e`). Work
    is GPUs x compute time here, floating-point operations there. Equal intensities have one class.

    Notes
    -----
    Of [2]_ this leaves out the factor :math:`k_j` of equation (3) in section 4.2, which corrects
    intensities for the length of iterations and for what compute hides; the paths of section 4.1,
    as a mix has one path for each job; and section 4.3, which joins classes down to those that
    switches have.
    """
    capacity = {name: bytes_per_us(gbps) for name, gbps in mix.links}
    found = []
    for job in mix.jobs:
        profile = job.profiles[0]
        busy = max((sent / capacity[link] for link, sent in profile.bytes_on().items()), default=0)
        found.append(job.gpus * profile.busy_us / busy if busy else 0.0)
    ranks = sorted(set(found))
    return tuple(JobTerms(priority=ranks.index(each)) for each in found)


def cassini_shifts(mix: Mix) -> tuple[JobTerms, ...]:
    """Rotate jobs on a circle so that their demands exceed capacities least.

    The circle's perimeter is the least common multiple of the iterations, in pieces of 1/72 of the
    longest. Of each piece and link, what jobs want above the capacity is excess; the rotations with
    the least sum of it, relative to capacities, are the shifts. Two jobs, and few more, are rotated
    exhaustively, others one after another until none is better elsewhere.

    Notes
    -----
    [1]_ rotates the jobs of each link by themselves, and joins the shifts by an affinity graph of
    jobs and links, which must have no loop. There all links have their least excess at once, so
    that rotations of all links together, sought exhaustively, have the same excess; with loops they
    still have shifts. Its score of a link, 1 less the mean excess, ranks placements, which a mix
    does not choose. 72 pieces are angles of 5 degrees.
    """
    piece = max(job.alone_us for job in mix.jobs) / _PIECES
    own = [max(1, round(job.alone_us / piece)) for job in mix.jobs]
    whole = min(lcm(*own), _MOST_PIECES)
    demands = [
        _tiled(_demand(mix, job.profiles[0], pieces), whole)
        for job, pieces in zip(mix.jobs, own, strict=True)
    ]
    free = own[1:]
    if np.prod([float(each) for each in free]) * whole <= _MOST_ROTATIONS * _PIECES:
        turns = min(
            ((0, *each) for each in product(*map(range, free))),
            key=lambda each: (_excess(demands, each), each),
        )
    else:
        turns = _one_by_one(demands, own)
    shifts = [turn * job.alone_us / n for turn, job, n in zip(turns, mix.jobs, own, strict=True)]
    return tuple(JobTerms(shift) for shift in shifts)


def _demand(mix: Mix, profile: JobProfile, pieces: int) -> FloatArray:
    """Return what a job wants of each link in each piece of its iteration, relative to it."""
    found = np.zeros((len(mix.links), pieces))
    number = {name: k for k, (name, _) in enumerate(mix.links)}
    width = profile.alone_us / pieces
    edges = np.arange(pieces) * width
    for transfer in profile.transfers:
        begin, end = transfer.start + transfer.startup, transfer.end
        inside = np.clip(np.minimum(edges + width, end) - np.maximum(edges, begin), 0, None)
        for link, flows in transfer.flows_on.items():
            own = bytes_per_us(mix.links[number[link]][1])
            rate = flows * transfer.rate * transfer.rest / max(end - begin, 1e-12) / own
            found[number[link]] += inside / width * rate
    return found


def _tiled(demand: FloatArray, whole: int) -> FloatArray:
    return np.tile(demand, -(-whole // demand.shape[1]))[:, :whole]


def _excess(demands: Sequence[FloatArray], turns: Sequence[int]) -> float:
    wanted = sum(np.roll(each, turn, axis=1) for each, turn in zip(demands, turns, strict=True))
    return round(float(np.clip(wanted - 1.0, 0, None).sum()), 9)


def _one_by_one(demands: Sequence[FloatArray], own: Sequence[int]) -> tuple[int, ...]:
    turns = [0] * len(own)
    placed = demands[0].copy()
    for j in range(1, len(own)):
        turns[j] = _best_turn(placed, demands[j], own[j])
        placed += np.roll(demands[j], turns[j], axis=1)
    for _ in range(3):
        before = list(turns)
        for j in range(1, len(own)):
            placed -= np.roll(demands[j], turns[j], axis=1)
            turns[j] = _best_turn(placed, demands[j], own[j])
            placed += np.roll(demands[j], turns[j], axis=1)
        if turns == before:
            break
    return tuple(turns)


def _best_turn(placed: FloatArray, demand: FloatArray, most: int) -> int:
    return min(range(most), key=lambda turn: (_excess((placed, demand), (0, turn)), turn))


#: The rules that plans are compared with, and never worse than.
RULES: dict[str, Rule] = {
    "fair": fair_terms,
    "cassini": cassini_shifts,
    "crux": crux_priorities,
}
