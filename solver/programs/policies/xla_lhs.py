"""XLA's latency-hiding scheduler, as publicly described: a list schedule from the end backwards."""

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.execute import execute
from solver.programs.policies.in_order import least_order
from solver.programs.policies.tracked_memory import MemoryBackwards, budget_of
from solver.programs.policies.under_way import keep_under_way
from solver.programs.problem import TO_WAIT, ProgramProblem, launch_time
from solver.programs.program import COMPUTE, LAUNCH, WAIT, HostStep, Program

GIB = 1 << 30


def xla_lhs(
    problem: ProgramProblem,
    *,
    overlap_limit: int = 1,
    more_bytes: int = GIB,
    more_share: float = 0.05,
    shrink: float = 0.9,
    reruns: int = 3,
) -> Program:
    """Return the program of a latency-hiding list schedule, each collective alone.

    A collective is a start, to which its inputs are held, or to its done, and a done. From the end
    of the graph backwards, of what nothing unscheduled needs: above the memory limit what adds
    least; else a start whose latency has passed since its done; else a done, when fewer than
    ``overlap_limit`` of its channel are open; else an op of compute; else the start that stalls
    least. Ties go to the later in the graph. Where the program takes more than the limit, the
    schedule is made again with a smaller one, and the least peak is kept.

    Parameters
    ----------
    overlap_limit
        Collectives of a channel that may be under way at a time.
    more_bytes, more_share
        Memory above the peak of the order of the graph, the larger of the two: the limit, where
        the problem has no lower one.
    shrink, reruns
        Factor of the limit from one try to the next, and how often to try again.

    Notes
    -----
    O(ops * ready ops). Upstream the limit is what the device has.

    References
    ----------
    .. [1] OpenXLA, xla/service/latency_hiding_scheduler.h, ``LatencyHidingScheduler``.
    """
    limit, _ = budget_of(
        problem, least_order(problem), {}, lambda i: (i,), (more_bytes, more_share)
    )
    tries: list[tuple[int, Program]] = []
    for again in range(reruns + 1):
        program = _schedule(problem, overlap_limit, limit * shrink**again)
        program = keep_under_way(problem, program)
        tries.append((execute(problem, program).peak_bytes, program))
        if tries[-1][0] <= limit:
            break
    return min(tries, key=lambda tried: tried[0])[1]


def _schedule(  # noqa: C901 - one loop
    problem: ProgramProblem, overlap_limit: int, limit: float
) -> Program:
    """Schedule once, backwards; dones are numbered after the ops."""
    graph = problem.graph
    n = len(graph.ops)
    is_op = [op.kind == COMPUTE_KIND for op in graph.ops]
    place = {i: at for at, i in enumerate(least_order(problem))}
    latency = [graph.durations[i] if is_op[i] else launch_time(problem, (i,)) for i in range(n)]
    memory = MemoryBackwards(graph)
    is_held_to_done = problem.inputs_held == TO_WAIT
    left = [len(succs) for succs in graph.succs]
    ready = {(i if is_op[i] else n + i): 0.0 for i in range(n) if not left[i]}
    opened = dict.fromkeys((op.channel for op in graph.ops), 0)
    now, order = 0.0, []

    def score(i: int) -> tuple[float, ...]:
        is_above = memory.level > limit
        if i >= n:
            grown = memory.inputs(i - n) if is_above and is_held_to_done else 0
            return grown, 1, 0.0, -place[i - n]
        grown = memory.growth(i) if is_above else 0
        if is_op[i]:
            return grown, 2, 0.0, -place[i]
        return (grown, 0, 0.0, -place[i]) if ready[i] <= now else (grown, 3, ready[i], -place[i])

    while ready:
        free = (i for i in ready if i < n or opened[graph.ops[i - n].channel] < overlap_limit)
        i = min(free, key=score)
        at = ready.pop(i)
        order.append(i)
        if i >= n:
            opened[graph.ops[i - n].channel] += 1
            if is_held_to_done:
                memory.hold(i - n)
            ready[i - n] = now + latency[i - n]
            continue
        if is_op[i]:
            now += latency[i]
        else:
            now = max(now, at)
            opened[graph.ops[i].channel] -= 1
        memory.schedule(i)
        for j in graph.preds[i]:
            left[j] -= 1
            if not left[j]:
                ready[j if is_op[j] else n + j] = now
    places = {i: b for b, i in enumerate(graph.collectives)}
    steps = []
    for i in reversed(order):
        if i >= n:
            steps.append(HostStep(WAIT, places[i - n]))
        else:
            steps.append(HostStep(COMPUTE, i) if is_op[i] else HostStep(LAUNCH, places[i]))
    return Program(tuple((i,) for i in graph.collectives), tuple(steps))
