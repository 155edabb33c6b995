"""Inductor's simple overlap: launches raised, waits sunk, compute left in its order."""

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.policies.in_order import least_order
from solver.programs.policies.under_way import keep_under_way
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, Program, with_waits


def simple_overlap(problem: ProgramProblem, *, ahead: int | None = None) -> Program:
    """Return the program in which each collective is launched early and waited for late.

    The compute keeps the order of the graph. Each collective, alone, is launched right after the
    last that it needs (``raise_comms``) and waited for right before the first that needs it
    (``sink_waits``). A launch waits for no other bucket earlier than the order of the graph does.

    Parameters
    ----------
    ahead
        A launch is raised by so many ops of compute at most; None: by any number.

    Notes
    -----
    O(ops + edges). What upstream calls ``reorder_compute_for_overlap`` is not part of it.

    References
    ----------
    .. [1] PyTorch 2.13, torch/_inductor/config.py, ``reorder_for_compute_comm_overlap_passes``;
           its passes ``raise_comms`` and ``sink_waits`` in torch/_inductor/comms.py.
    """
    graph = problem.graph
    order = least_order(problem)
    computed = 0
    earliest: dict[int, int] = {}
    slots: dict[int, int] = {}
    for i in order:
        if graph.ops[i].kind == COMPUTE_KIND:
            computed += 1
            earliest[i] = computed
            continue
        least = max((earliest[j] for j in graph.preds[i] if j not in slots), default=0)
        behind = [earliest[j] for j in graph.preds[i] if j in slots]
        own = computed if behind else least
        slots[i] = own if ahead is None else max(own, computed - ahead)
        earliest[i] = slots[i]
    raised: dict[int, list[int]] = {}
    for i in order:
        if i in slots:
            raised.setdefault(slots[i], []).append(i)
    places = {i: b for b, i in enumerate(graph.collectives)}
    asked = [(LAUNCH, places[i]) for i in raised.get(0, ())]
    for i in order:
        if i not in slots:
            asked.append((COMPUTE, i))
            asked += [(LAUNCH, places[k]) for k in raised.get(earliest[i], ())]
    program = with_waits(problem, [(i,) for i in graph.collectives], asked)
    return keep_under_way(problem, program)
