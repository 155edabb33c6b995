"""The best plan that is known of an instance: by more effort, by CP-SAT, and by plain annealing."""

from typing import NamedTuple

from solver.chain import chain_of
from solver.planning.plan import Options, plan
from tests.families import Instance
from tests.families.grid import lines, optima
from tests.plain_search import search

#: How much more effort, and its time limit [s].
EFFORT, LIMIT_S = 10, 60.0
#: Collectives up to which CP-SAT is asked, parts a bucket until one closes, and a limit each [s].
EXACT, PARTS, EXACT_S = 18, (2, 1), 1.0
#: Plain annealing looks at so many plans, and at so many launches at most over all of them.
MOVES, LAUNCHES = 40_000, 12_000_000


class Known(NamedTuple):
    """The least time [us] that anything reaches, and what does."""

    time: float
    by: str


def best_known(instance: Instance, effort: int) -> Known:
    """Ask all rivals; a plan of ``effort`` is compared with."""
    count = len(instance.graph.collectives)
    options = Options(baselines=(), effort=EFFORT * effort, time_limit_s=LIMIT_S)
    found = [Known(plan(instance.graph, instance.network, options).iteration_time_us, "effort")]
    moves = min(MOVES, LAUNCHES // count)
    found.append(Known(search(instance.graph, instance.network, moves).time, "annealing"))
    if count <= EXACT and len(lines(instance)) == len(chain_of(instance.graph).lanes):
        for parts in PARTS:
            optimum = optima([(instance, min(found).time)], parts, EXACT_S)[0]
            found += [] if optimum.time is None else [Known(optimum.time, "cp-sat")]
            if optimum.closed:
                break
    if instance.known is not None:
        found.append(Known(instance.known, "file"))
    return min(found)
