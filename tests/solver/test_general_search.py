"""Joint plans beside a plain search, and beside CP-SAT on small graphs of all families."""

from itertools import product

import pytest

from solver.planning.options import Options
from solver.planning.plan import plan
from solver.units import TOLERANCE
from tests.families import FAMILIES, RATES, STARTUPS, Instance, drawn, network, small
from tests.families.grid import optima
from tests.plain_search import search
from tests.sampling import cases

#: Ends with its moves, never with the clock.
UNTIMED = Options(baselines=(), time_limit_s=1000.0, launch_tolerance=0)
#: The drawn graphs are looked at in so many tests.
TURNS = 10
#: CP-SAT's limit for each model, about [s].
LIMIT_S = 0.3


@pytest.mark.parametrize("turn", range(TURNS))
def test_joint_is_never_worse_than_a_plain_search(turn):
    """On branched graphs, 400 random changes of plans that begin with all tensors alone."""
    worse = []
    for seed in range(turn, cases(5000, one_in=50), TURNS):
        drawn_ = small(seed)
        found = plan(drawn_.graph, drawn_.network, UNTIMED)
        rival = search(drawn_.graph, drawn_.network, 400)
        if found.iteration_time_us > rival.time * (1 + TOLERANCE):
            worse.append((drawn_.name, found.iteration_time_us / rival.time - 1))
    assert not worse


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.long
def test_joint_is_near_the_optimum_of_small_graphs(family):
    """Within 0.3 % of CP-SAT's plans, of two parts a bucket and of uncut ones, where it closes."""
    graph = drawn(family, 9)
    networks = [network(startup, rate) for startup, rate in product(STARTUPS, RATES)]
    instances = [Instance(family, family, graph, each) for each in networks]
    times = [plan(graph, each, UNTIMED).iteration_time_us for each in networks]
    problems = list(zip(instances, times, strict=True))
    uncut, halves = (optima(problems, parts, LIMIT_S) for parts in (1, 2))
    assert sum(answer.closed for answer in uncut) >= len(problems) / 2
    for time, answer in zip(times + times, uncut + halves, strict=True):
        assert answer.time is None or time <= 1.003 * answer.time
