"""Orders of pipelines: complete, exact against longest paths, and the published formulas."""

from array import array
from functools import cache
from itertools import product

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.shapes.job_shape import JobShape
from solver.shapes.pipeline.orders import (
    BACKWARD,
    FORWARD,
    ORDERS,
    WEIGHTS,
    WEIGHTS_APART,
    dualpipe,
    stages_of_way,
)
from solver.shapes.pipeline.replay import FlatOrder
from solver.shapes.ranking import bound
from solver.shapes.stage_times import StageTimes


def replayed(schedule, ranks, chunks, micro_batches, passes, messages) -> float:
    """Run an order by the recurrence."""
    stages = stages_of_way(schedule, ranks, chunks)
    order = FlatOrder(ORDERS[schedule](ranks, chunks, micro_batches), stages)
    durations = array("d", [us for each in passes for us in each])
    return order.run(durations, array("d", messages))


def placed(schedule: str, ranks: int, stage: int) -> int:
    """Rank of a virtual stage, as the papers have it."""
    if schedule in ("zb_v", "dualpipe") and stage >= ranks:
        return 2 * ranks - 1 - stage
    return stage % ranks


def longest_path(  # noqa: C901 - the rules, one after another
    schedule, ranks, chunks, micro_batches, passes, messages
):
    """Run the same as a graph of passes and messages, by networkx."""
    orders = ORDERS[schedule](ranks, chunks, micro_batches)
    stages = ranks if schedule == "dualpipe" else ranks * chunks  # of a micro-batch
    graph: nx.DiGraph = nx.DiGraph()
    sent: dict = {}
    for steps in orders:
        for step in steps:
            graph.add_node(step, time=passes[step.stage][step.kind])
        nx.add_path(graph, steps)
        for kind, stage, j in steps:
            if kind == FORWARD and (stage + 1) % stages:
                other = (FORWARD, stage + 1, j)
            elif kind == FORWARD:
                other = (BACKWARD, stage, j)
            elif kind == BACKWARD and stage % stages:
                other = (BACKWARD, stage - 1, j)
            else:
                other = None
            if kind == BACKWARD and schedule in WEIGHTS_APART:
                graph.add_edge((BACKWARD, stage, j), (WEIGHTS, stage, j))
            if other is None:
                continue
            here, there = (placed(schedule, ranks, k) for k in (stage, other[1]))
            if here == there:
                graph.add_edge((kind, stage, j), other)
                continue
            message = ("message", kind, stage, j)
            graph.add_node(message, time=messages[here * ranks + there])
            graph.add_edge((kind, stage, j), message)
            graph.add_edge(message, other)
            if (here, there) in sent:
                graph.add_edge(sent[here, there], message)
            sent[here, there] = message
    ends: dict = {}
    for node in nx.topological_sort(graph):
        before = max((ends[other] for other in graph.predecessors(node)), default=0.0)
        ends[node] = before + graph.nodes[node]["time"]
    return max(end for node, end in ends.items() if node[0] != "message")


@pytest.mark.parametrize("schedule", sorted(ORDERS))
@pytest.mark.parametrize(("ranks", "chunks", "count"), [(1, 1, 3), (2, 1, 2), (4, 1, 8), (3, 2, 6)])
def test_every_pass_is_run_once_on_its_rank(schedule, ranks, chunks, count) -> None:
    chunks = {"interleaved": chunks, "zb_v": 2, "dualpipe": 2}.get(schedule, 1)
    each = count
    if schedule == "dualpipe":  # an even number of ranks, and of micro-batches enough
        ranks += ranks % 2
        count, each = 2 * (ranks + count), ranks + count
    orders = ORDERS[schedule](ranks, chunks, count)
    kinds = (FORWARD, BACKWARD, WEIGHTS)[: 3 if schedule in WEIGHTS_APART else 2]
    expected = set(product(kinds, range(ranks * chunks), range(each)))
    assert len(orders) == ranks
    assert sorted(step for steps in orders for step in steps) == sorted(expected)
    for rank, steps in enumerate(orders):
        assert all(placed(schedule, ranks, step.stage) == rank for step in steps)


@st.composite
def pipelines(draw):
    schedule = draw(st.sampled_from(sorted(ORDERS)))
    ranks = draw(st.integers(2, 4))
    chunks = {"interleaved": draw(st.integers(1, 3)), "zb_v": 2, "dualpipe": 2}.get(schedule, 1)
    count = draw(st.integers(1, 4)) * (ranks if schedule == "interleaved" else 1)
    if schedule == "dualpipe":
        ranks += ranks % 2
        count = 2 * (ranks + count)
    times = st.integers(0, 9).map(float)
    passes = draw(
        st.lists(st.tuples(times, times, times), min_size=ranks * chunks, max_size=ranks * chunks)
    )
    messages = draw(st.lists(times, min_size=ranks**2, max_size=ranks**2))
    return schedule, ranks, chunks, count, passes, messages


@given(pipelines())
@settings(max_examples=60, deadline=None)
def test_the_recurrence_is_the_longest_path(pipeline) -> None:
    assert replayed(*pipeline) == longest_path(*pipeline)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("ranks", "count"), [(2, 2), (4, 4), (4, 9), (8, 16)])
def test_equal_stages_take_the_published_time(schedule, ranks, count) -> None:
    passes = [(2.0, 3.0, 0.0)] * ranks
    time = replayed(schedule, ranks, 1, count, passes, [0.0] * ranks**2)
    assert time == (count + ranks - 1) * 5


@pytest.mark.parametrize(("ranks", "chunks", "count"), [(2, 2, 4), (4, 2, 8), (4, 3, 12)])
def test_interleaving_divides_the_bubble(ranks, chunks, count) -> None:
    passes = [(2.0, 4.0, 0.0)] * (ranks * chunks)
    time = replayed("interleaved", ranks, chunks, count, passes, [0.0] * ranks**2)
    assert time == count * chunks * 6 + (ranks - 1) * 6


def test_weights_fill_the_bubble() -> None:
    """ZB-H1: with equal passes the bubble is (p - 1)(F + B - W), a third of 1F1B's."""
    ranks, count = 4, 12
    zero = replayed("zero_bubble", ranks, 1, count, [(1.0, 1.0, 1.0)] * ranks, [0.0] * 16)
    plain = replayed("1f1b", ranks, 1, count, [(1.0, 2.0, 0.0)] * ranks, [0.0] * 16)
    assert plain == (count + 3) * 3
    assert zero == count * 3 + 3


def most_held(steps, frees) -> int:
    held = most = 0
    for step in steps:
        held += (step.kind == FORWARD) - (step.kind == frees)
        most = max(most, held)
    return most


def test_a_rank_holds_as_many_micro_batches_as_stages_follow() -> None:
    held = [most_held(steps, BACKWARD) for steps in ORDERS["1f1b"](4, 1, 9)]
    assert held == [4, 3, 2, 1]


def test_zero_bubble_holds_no_more_than_the_first_rank_of_1f1b() -> None:
    held = [most_held(steps, WEIGHTS) for steps in ORDERS["zero_bubble"](4, 1, 9)]
    assert max(held) == held[0] == 4


def least_time(passes, count):
    """Search all orders of two stages exhaustively, without messages."""

    @cache
    def rest(done, free, ends):
        if all(f == count and b == count for f, b in done):
            return max(free)
        best = float("inf")
        for rank, (f, b) in enumerate(done):
            for kind, j in ((FORWARD, f), (BACKWARD, b)):
                if j == count:
                    continue
                known = dict(ends)
                if kind == FORWARD:
                    after = (FORWARD, 0, j) if rank else None
                else:
                    after = (FORWARD, 1, j) if rank else (BACKWARD, 1, j)
                if after is not None and after not in known:
                    continue
                begin = max(free[rank], known[after] if after else 0.0)
                known[kind, rank, j] = end = begin + passes[rank][kind]
                moved = list(done)
                moved[rank] = (f + 1, b) if kind == FORWARD else (f, b + 1)
                now = list(free)
                now[rank] = end
                best = min(best, rest(tuple(moved), tuple(now), tuple(sorted(known.items()))))
        return best

    return rest(((0, 0), (0, 0)), (0.0, 0.0), ())


@pytest.mark.parametrize(
    "passes", [[(2, 3, 0), (4, 1, 0)], [(5, 5, 0), (1, 2, 0)], [(1, 2, 0), (3, 4, 0)]]
)
@pytest.mark.parametrize("count", [2, 3])
def test_no_order_of_two_unequal_stages_is_faster_than_the_exhaustive_best(passes, count) -> None:
    best = least_time(tuple(passes), count)
    times = {
        schedule: replayed(schedule, 2, 1, count, passes, [0.0] * 4)
        for schedule in ("gpipe", "1f1b")
    }
    assert all(time >= best for time in times.values())
    assert times["1f1b"] == best  # with one stage ahead there is nothing better to do


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("more", [0, 1, 5, 16])
def test_stages_forth_and_back_leave_no_bubble_but_the_first_wait(ranks, more) -> None:
    count = ranks + more
    passes = [(1.0, 1.0, 1.0)] * (2 * ranks)
    time = replayed("zb_v", ranks, 2, count, passes, [0.0] * ranks**2)
    over = time - (6 * count + ranks - 1)
    assert 0 <= over <= (ranks / 2 if ranks > 4 else 0)
    orders = ORDERS["zb_v"](ranks, 2, count)
    assert max(most_held(steps, WEIGHTS) for steps in orders) <= 2 * ranks


def least_time_of_v(passes) -> float:
    """Try every order of one micro-batch through two ranks that have stages 0, 3 and 1, 2."""
    steps = [(kind, k) for kind in range(3) for k in range(4)]
    reads = {(0, k): [(0, k - 1)] if k else [] for k in range(4)}
    reads |= {(1, k): [(0, k)] + ([(1, k + 1)] if k < 3 else []) for k in range(4)}
    reads |= {(2, k): [(1, k)] for k in range(4)}

    @cache
    def rest(ends, free):
        known = dict(ends)
        if len(known) == len(steps):
            return max(free)
        best = float("inf")
        for step in steps:
            if step in known or any(other not in known for other in reads[step]):
                continue
            rank = 0 if step[1] in (0, 3) else 1
            begin = max([free[rank], *(known[other] for other in reads[step])])
            end = begin + passes[step[1]][step[0]]
            now = (end, free[1]) if rank == 0 else (free[0], end)
            best = min(best, rest(tuple(sorted([*ends, (step, end)])), now))
        return best

    return float(rest((), (0.0, 0.0)))


@pytest.mark.parametrize(
    "passes",
    [
        [(1.0, 1.0, 1.0)] * 4,
        [(2.0, 3.0, 1.0), (4.0, 1.0, 2.0), (1.0, 5.0, 3.0), (3.0, 2.0, 4.0)],
        [(5.0, 1.0, 7.0), (1.0, 1.0, 1.0), (2.0, 2.0, 9.0), (1.0, 6.0, 2.0)],
    ],
)
def test_no_order_forth_and_back_is_faster_than_the_exhaustive_best(passes) -> None:
    best = least_time_of_v(passes)
    assert replayed("zb_v", 2, 2, 1, passes, [0.0] * 4) >= best
    shape = JobShape(pp=2, vpp=2, schedule="zb_v")
    times = StageTimes(tuple(passes), (0.0, 0.0), (0.0,) * 4, (0.0,) * 2, (0.0,) * 2, 0.0, 0.0, ())
    assert bound.least_time(shape, times) <= best


def published_bubble(ranks, forward, backward, weights) -> float:
    """Table 2 of the report of DeepSeek-V3, F&B as long as both passes one after the other."""
    whole = backward + weights
    return float((ranks / 2 - 1) * (forward + whole + whole - 3 * weights))


def in_pairs(steps):
    """Join what DualPipe runs as one: a forward beside a whole backward pass, and such alone."""
    groups = []
    at = 0
    while at < len(steps):
        group = [steps[at]]
        if is_paired(steps, at):
            group.append(steps[at + 1])
        own = (WEIGHTS, *group[-1][1:])
        is_whole = group[-1].kind == BACKWARD and steps[at + len(group) :][:1] == (own,)
        follows = at + len(group) + 1
        if is_whole and (
            follows >= len(steps) or steps[follows].kind != FORWARD or is_paired(steps, follows)
        ):
            group.append(steps[at + len(group)])  # else its weights fill a wait
        groups.append(group)
        at += len(group)
    return groups


def is_paired(steps, at) -> bool:
    if steps[at].kind != FORWARD or at + 1 == len(steps):
        return False
    return bool(steps[at + 1].kind == BACKWARD and steps[at + 1].stage != steps[at].stage)


def run_in_pairs(ranks, count, times) -> float:
    """Run DualPipe's order with all of a group waiting for, and ending with, all of it."""
    left = [in_pairs(steps) for steps in dualpipe(ranks, 2, count)]
    ends: dict = {}
    free = [0.0] * ranks
    while any(left):
        ready = [
            rank for rank in range(ranks) if left[rank] and needs(left[rank][0], ranks) <= {*ends}
        ]
        assert ready, "groups wait for each other"
        for rank in ready:
            group = left[rank].pop(0)
            begin = max([free[rank], *(ends[step] for step in needs(group, ranks))])
            free[rank] = begin + sum(times[step.kind] for step in group)
            ends |= {tuple(step): free[rank] for step in group}
    return max(free)


def needs(group, ranks) -> set:
    found = set()
    for kind, k, j in group:
        if kind == FORWARD and k % ranks:
            found.add((FORWARD, k - 1, j))
        if kind == BACKWARD:
            found.add((BACKWARD, k + 1, j) if (k + 1) % ranks else (FORWARD, k, j))
    return found - {tuple(step) for step in group}


@pytest.mark.parametrize("ranks", [2, 4, 6, 8, 16])
@pytest.mark.parametrize("times", [(1, 1, 1), (2, 2, 1), (1, 2, 1), (3, 4, 2), (1, 1, 0)])
def test_both_ways_in_pairs_leave_the_published_bubble(ranks, times) -> None:
    published = published_bubble(ranks, *times)
    for count in (2 * ranks, 2 * ranks + 2, 4 * ranks):
        assert run_in_pairs(ranks, count, times) == count * sum(times) + published
        passes = [tuple(map(float, times))] * (2 * ranks)
        alone = replayed("dualpipe", ranks, 2, count, passes, [0.0] * ranks**2)
        assert count * sum(times) <= alone <= count * sum(times) + published


def test_both_ways_hold_one_micro_batch_more_than_ranks() -> None:
    """Table 2 of the report: activations of p + 1 micro-batches."""
    for ranks in (2, 4, 8):
        held = [most_held(steps, WEIGHTS) for steps in dualpipe(ranks, 2, 4 * ranks)]
        assert max(held) <= ranks + 1


def test_no_way_is_below_the_bound_from_both_ends() -> None:
    """A rank begins with what reaches it first: the middle ones wait longest."""
    ranks, count = 4, 8
    passes = tuple((float(2 + k % 4), 3.0, 1.0) for k in range(8))
    shape = JobShape(pp=ranks, vpp=2, schedule="dualpipe", micro_batches=count)
    zeros = (0.0,) * 4
    times = StageTimes(passes, (5.0,) * 4, (0.0,) * 8, zeros, zeros, 0.0, 0.0, ())
    busy = [count // 2 * (sum(passes[r]) + sum(passes[7 - r])) for r in range(4)]
    forth = [0.0, 7.0, 15.0, 24.0]
    back = [sum(passes[7 - r][0] + 5 for r in range(rank + 1, 4)) for rank in range(4)]
    ways = [min(each) for each in zip(forth, back, strict=True)]
    least = bound.least_time(shape, times)
    assert least == pytest.approx(max(w + b for w, b in zip(ways, busy, strict=True)))
    messages = [5.0] * 16
    assert replayed("dualpipe", ranks, 2, count, passes, messages) >= least
