"""Simulations of repeated blocks: as many copies as it takes until one does as the one before.

Let t_k be when a chosen op of copy k ends. Where the state of the iteration at t_k, copies counted
from k, is that at t_(k+1), copies counted from k + 1, what follows is the same, c = t_(k+1) - t_k
later: the ops are, and first in, first out looks at nothing but releases. So each further copy
adds c, and n copies take what m take, and (n - m) c (MODEL.md section 2.8).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from solver.chain import chain_of
from solver.costs import Cluster, Network, as_network
from solver.graph import COMPUTE, Graph, Op, build
from solver.graph.repeats import Repeat, unfold
from solver.policies.wfbp import wfbp
from solver.simulation.contention import is_contended
from solver.simulation.engine import Policy, Timeline, simulate
from solver.units import slack

#: How many copies are run at first; then twice as many, as long as no two states are the same.
_FIRST = 4


@dataclass(frozen=True, slots=True)
class FoldedRun:
    """An iteration with a repeated block.

    Attributes
    ----------
    iteration_time
        Of all copies [us].
    copies
        How many there are.
    ran
        How many were simulated; the others are known to be like these.
    period
        What each of the others adds [us]; None where all were simulated.
    same_from
        The copy k whose state the next one repeats; None where all were simulated.
    graph, timeline
        What was simulated, and how it ran.
    """

    iteration_time: float
    copies: int
    ran: int
    period: float | None
    same_from: int | None
    graph: Graph
    timeline: Timeline


def simulate_folded(
    name: str,
    items: Sequence[Op | Repeat],
    network: Network | Cluster,
    policy: Policy = wfbp,
) -> FoldedRun:
    """Simulate ops and repeats, and skip copies of one repeat that do as the one before.

    All is simulated where no two copies are alike, where there is not exactly one repeat of more
    than one copy, where things under way slow one another down, and under policies other than
    :func:`solver.policies.wfbp.wfbp`, which may look ahead. Times are alike within what counts as
    the same (:func:`solver.units.slack`).

    Raises
    ------
    InvalidGraph
        As :func:`solver.graph.repeats.unfold` and :func:`solver.graph.build` do.

    Notes
    -----
    O(m (ops + edges) log(collectives)) for m copies that are run, m at most four times as many as
    it takes until two are alike.
    """
    network = as_network(network)
    places = [i for i, item in enumerate(items) if isinstance(item, Repeat) and item.count > 1]
    copies = max((item.count for item in items if isinstance(item, Repeat)), default=1)
    may_skip = len(places) == 1 and policy is wfbp
    ran = _FIRST
    while may_skip and ran < copies:
        (place,) = places
        repeat = items[place]
        assert isinstance(repeat, Repeat), "the one that was found"
        fewer = list(items)
        fewer[place] = Repeat(repeat.ops, ran, repeat.carried)
        graph = build(name, unfold(fewer))
        if is_contended(graph, network):
            break
        timeline = simulate(graph, network, policy)
        begin = len(unfold(items[:place]))
        found = _same_states(graph, timeline, begin, len(repeat.ops), ran)
        if found is not None:
            k, period = found
            time = timeline.iteration_time + (copies - ran) * period
            return FoldedRun(time, copies, ran, period, k, graph, timeline)
        ran *= 2
    graph = build(name, unfold(items))
    timeline = simulate(graph, network, policy)
    return FoldedRun(timeline.iteration_time, copies, copies, None, None, graph, timeline)


def _same_states(
    graph: Graph, timeline: Timeline, begin: int, size: int, copies: int
) -> tuple[int, float] | None:
    """Find a copy whose state the next one repeats, and how much later: (k, period [us]).

    The ops of copy k are those at ``begin + k size`` and after.
    """
    spans = [range(begin + k * size, begin + (k + 1) * size) for k in range(copies)]
    if any(not graph.preds[i] for i in spans[1]):  # it would not wait for the copy before
        return None
    if not _is_order_kept(graph, spans):
        return None
    marks = [timeline.ends[span[-1]] for span in spans]
    for k, (now, then) in enumerate(pairwise(marks)):
        state = _state(graph, timeline, now)
        later = _state(graph, timeline, then)
        if _is_shifted(state, later, spans, slack(timeline.iteration_time)):
            return k, then - now
    return None


#: Of each op: 0 not released, 1 released, 2 under way, 3 ended; and since when it is released, or
#: how long it goes on [us].
_State = list[tuple[int, float]]


def _state(graph: Graph, timeline: Timeline, now: float) -> _State:
    """Say of each op how far it is at a time [us]."""
    starts, ends = timeline.starts, timeline.ends
    near = slack(now)
    state: _State = []
    for i, preds in enumerate(graph.preds):
        if ends[i] <= now + near:
            state.append((3, 0.0))
        elif starts[i] <= now + near:
            state.append((2, ends[i] - now))
        else:
            ready = max((ends[j] for j in preds), default=0.0)
            state.append((1, now - ready) if ready <= now + near else (0, 0.0))
    return state


def _is_shifted(state: _State, later: _State, spans: Sequence[range], near: float) -> bool:
    """Tell whether a state is another one's, a copy later; nothing of the last copy has begun."""
    inside = range(spans[0].start, spans[-1].stop)
    outside = [i for i in range(len(state)) if i not in inside]
    return (
        all(state[i][0] == later[i][0] and state[i][0] in {0, 3} for i in outside)
        and all(later[i][0] == 3 for i in spans[0])  # noqa: PLR2004 - ended
        and all(state[i][0] == 0 for i in spans[-1])
        and all(
            state[i][0] == later[j][0] and abs(state[i][1] - later[j][1]) <= near
            for here, there in pairwise(spans)
            for i, j in zip(here, there, strict=True)
        )
    )


def _is_order_kept(graph: Graph, spans: Sequence[range]) -> bool:
    """Tell whether copies stand in the order of their channels as those before them do.

    That order decides between releases at one time. It is that of the longest paths of compute;
    where these are a shift of the copy before in all ops, they are in every further copy.
    """
    heads = [0.0] * len(graph.ops)
    for i in graph.order:
        heads[i] = max((heads[j] + graph.durations[j] for j in graph.preds[i]), default=0.0)
    before, last = spans[-2], spans[-1]
    shifts = [heads[j] - heads[i] for i, j in zip(before, last, strict=True)]
    near = slack(max(heads))
    if max(shifts) - min(shifts) > near:
        return False
    index = {position: k for k, position in enumerate(chain_of(graph).positions.tolist())}
    orders = [
        sorted((i for i in span if graph.ops[i].kind != COMPUTE), key=index.__getitem__)
        for span in (before, last)
    ]
    return [i - before.start for i in orders[0]] == [i - last.start for i in orders[1]]
