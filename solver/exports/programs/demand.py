"""A program's order with other buckets: what is needed is asked for when it is needed."""

from collections.abc import Iterable

from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, Program, with_waits

#: (``compute``, position of an op) or (``launch``, place of a bucket).
Item = tuple[str, int]


def in_order_of_demand(
    problem: ProgramProblem, buckets: tuple[tuple[int, ...], ...], wanted: Iterable[Item]
) -> Program:
    """Ask for items in an order, each after what it needs.

    An item that comes before what it needs has that asked for right before it, with what that
    needs, in the order of the graph; items that nobody wants come last.

    Parameters
    ----------
    buckets
        Positions of the collectives of each, each collective in one of them.
    wanted
        Items in the order in which they are wanted; those asked for already are passed over.

    Raises
    ------
    InvalidPlan
        When a bucket needs itself through others (``deadlock``).

    Notes
    -----
    O(items + edges).
    """
    graph = problem.graph
    home = {i: b for b, members in enumerate(buckets) for i in members}
    asked: dict[Item, None] = {}
    entered: dict[Item, None] = {}

    def item(position: int) -> Item:
        return (LAUNCH, home[position]) if position in home else (COMPUTE, position)

    def needs(what: Item) -> list[Item]:
        members = (what[1],) if what[0] == COMPUTE else buckets[what[1]]
        before = sorted({j for i in members for j in graph.preds[i]})
        return [each for each in map(item, before) if each not in asked]

    for first in (*wanted, *map(item, graph.order)):
        waiting = [first]
        while waiting:
            missing = [] if waiting[-1] in asked else needs(waiting[-1])
            if missing:
                entered[waiting[-1]] = None
                if any(each in entered for each in missing):
                    raise InvalidPlan([_circle(problem, buckets, missing, entered)])
                waiting.extend(reversed(missing))
            else:
                asked[waiting.pop()] = None
    return with_waits(problem, buckets, asked)


def _circle(
    problem: ProgramProblem,
    buckets: tuple[tuple[int, ...], ...],
    missing: list[Item],
    entered: dict[Item, None],
) -> Fault:
    do, what = next(each for each in missing if each in entered)
    ids = [problem.graph.ops[i].id for i in ((what,) if do == COMPUTE else buckets[what])]
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    detail = f"{ids[0]!r}{more} would have to come before itself with these buckets."
    return Fault("/buckets", FaultCode.DEADLOCK, detail)
