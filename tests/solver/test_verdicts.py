"""Verdicts against truth that is known to the test: costs are hidden, plans are made with fits.

A plan is made and judged with what was measured, then it and what you run are simulated with what
is true. Two things may hardly ever happen: "worth it", and then it is slower; "nothing to gain"
where the best plan for the true costs saves more than 3 %.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import pytest

from solver.bounds.bound import lower_bound
from solver.chain import chain_of
from solver.costs import Network
from solver.evidence.doubts import DOUBTS, doubted_graph, doubted_network, saved, under_doubts
from solver.evidence.gain import NOTHING, Gain, gain_over
from solver.evidence.what_you_run import what_you_run
from solver.graph import Graph
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.simulation.engine import Policy, costs_of, iteration_time
from solver.simulation.replay import replay
from tests.hidden_costs import HiddenCase, hidden_case

#: How many steps are drawn, and those that are tried in every run.
STEPS, SAMPLE = 500, (2, 5, 8, 10, 11, 36, 44, 51, 66, 81, 87, 88, 89, 100, 101)
#: In which share of all verdicts one may be wrong, and of those that say the same.
WRONG, WRONG_SAID = 0.02, 0.04
#: What "nothing to gain" may hide.
HIDDEN_GAIN = 0.03
#: A gain that is to be found, and how often it is at least.
LARGE, FOUND = 0.1, 0.6
ALONE = Options(baselines=())


@dataclass(frozen=True)
class Judged:
    """A verdict with what is true.

    Attributes
    ----------
    gain
        As it was judged.
    true
        What the plan saves with the true costs.
    hidden
        What the best known plan for the true costs saves; that of the plan where nobody looked.
    """

    gain: Gain
    true: float
    hidden: float


def judged(seed: int) -> list[Judged]:
    """Judge a drawn step over each of what you run, and look what is true."""
    case = hidden_case(seed)
    graph, network = case.believed, case.believed_network
    found = plan(graph, network, ALONE)
    ours = replay(found.launches)
    today = what_you_run(graph, network)
    runs = [each.policy(graph, network) for each in today]
    recorded_us = iteration_time(case.true, case.true_network, runs[0])
    simulated_us = iteration_time(graph, network, runs[0])
    rows = []
    for each, theirs in zip(today, runs, strict=True):
        time = iteration_time(graph, network, theirs)
        both = partial(_both, theirs, ours)
        gain = gain_over(
            each.name,
            time,
            found.iteration_time_us,
            found.lower_bound_us,
            under_doubts(graph, network, both),
            trust_below=case.trust_below(recorded_us, simulated_us, time),
            headroom_high=headroom_high(case, theirs, saved(time, found.lower_bound_us)),
        )
        theirs_us, ours_us = both(case.true, case.true_network)
        least_us = ours_us
        if gain.verdict == "nothing":
            best = plan(case.true, case.true_network, ALONE)
            least_us = min(least_us, best.iteration_time_us)
        rows.append(Judged(gain, saved(theirs_us, ours_us), saved(theirs_us, least_us)))
    return rows


def _both(theirs: Policy, ours: Policy, graph: Graph, network: Network) -> tuple[float, float]:
    return iteration_time(graph, network, theirs), iteration_time(graph, network, ours)


def headroom_high(case: HiddenCase, theirs: Policy, stated: float) -> float:
    """Return the most that any schedule saves, over the believed costs and the doubted ones."""
    most = stated
    for doubt in DOUBTS:
        if most > NOTHING:
            break
        graph = doubted_graph(case.believed, doubt)
        network = doubted_network(case.believed_network, doubt)
        chain = chain_of(graph)
        bound = lower_bound(graph, chain, costs_of(chain, network)).value
        most = max(most, saved(iteration_time(graph, network, theirs), bound))
    return most


def check(seeds: Iterable[int]) -> list[Judged]:
    """Judge drawn steps; of those judged few may be wrong, over all that is run today."""
    rows = [row for seed in seeds for row in judged(seed)]
    slower = [row for row in rows if row.gain.verdict == "worth_it" and row.true < 0]
    missed = [row for row in rows if row.gain.verdict == "nothing" and row.hidden > HIDDEN_GAIN]
    assert len(slower) <= WRONG * len(rows), slower
    assert len(missed) <= WRONG * len(rows), missed
    return rows


def test_verdicts_hold_where_costs_are_hidden():
    said = Counter(row.gain.verdict for row in check(SAMPLE))
    assert said["worth_it"] > 0
    assert said["nothing"] > 0


@pytest.mark.long
def test_verdicts_hold_in_500_steps():
    """And what is large is found: too close to say is no way out."""
    rows = check(range(STEPS))
    for name in ("ddp", "ddp_tuned"):
        large = [row.gain.verdict for row in rows if row.gain.over == name and row.true > LARGE]
        assert large.count("worth_it") >= FOUND * len(large)
    for verdict in ("worth_it", "nothing"):
        said = [row for row in rows if row.gain.verdict == verdict]
        wrong = [
            row
            for row in said
            if (row.true < 0 if verdict == "worth_it" else row.hidden > HIDDEN_GAIN)
        ]
        assert len(wrong) <= WRONG_SAID * len(said), wrong
