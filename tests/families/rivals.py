"""The best plan that is known of an instance: by more effort, by CP-SAT, and by plain annealing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from solver.chain import chain_of
from solver.planning.options import Options
from solver.planning.plan import plan
from tests.families import Instance
from tests.families.grid import lines, optima
from tests.plain_search import search

#: Who is asked.
RIVALS = ("effort", "annealing", "cp-sat")
#: How much more effort, and its least time limit [s].
EFFORT, LIMIT_S = 10, 60.0
#: Collectives up to which CP-SAT is asked, parts a bucket until one closes, and a limit each [s].
EXACT, PARTS, EXACT_S = 18, (2, 1), 1.0
#: Plain annealing looks at so many plans, and at so many launches at most over all of them.
MOVES, LAUNCHES = 40_000, 12_000_000


class Known(NamedTuple):
    """The least time [us] that anything reaches, and what does."""

    time: float
    by: str


def best_known(instance: Instance, options: Options, value: float, rivals: Sequence[str]) -> Known:
    """Ask rivals of a plan with some options, of which the time is given [us].

    More effort has ten times the time limit, or a minute.
    """
    count = len(instance.graph.collectives)
    found = [Known(value, "plan")]
    if "effort" in rivals:
        limit = max(LIMIT_S, EFFORT * options.time_limit_s)
        longer = replace(options, effort=EFFORT * options.effort, time_limit_s=limit)
        time = plan(instance.graph, instance.network, longer).iteration_time_us
        found.append(Known(time, "effort"))
    if "annealing" in rivals:
        moves = min(MOVES, LAUNCHES // count)
        found.append(Known(search(instance.graph, instance.network, moves).time, "annealing"))
    if "cp-sat" in rivals and count <= EXACT and _is_plain(instance):
        for parts in PARTS:
            optimum = optima([(instance, min(found).time)], parts, EXACT_S)[0]
            found += [] if optimum.time is None else [Known(optimum.time, "cp-sat")]
            if optimum.closed:
                break
    if instance.known is not None:
        found.append(Known(instance.known, "file"))
    return min(found)


def _is_plain(instance: Instance) -> bool:
    """Tell whether every lane has one line for a cost, as CP-SAT's model has it."""
    return len(lines(instance)) == len(chain_of(instance.graph).lanes)
