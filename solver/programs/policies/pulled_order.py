"""An order of the host, with what each thing needs pulled before it."""

from collections.abc import Iterable, Sequence

from solver.graph import COMPUTE as COMPUTE_KIND
from solver.programs.problem import ProgramProblem
from solver.programs.program import COMPUTE, LAUNCH, WAIT


def pulled_order(
    problem: ProgramProblem,
    buckets: Sequence[tuple[int, ...]],
    wanted: Iterable[tuple[str, int]],
) -> list[tuple[str, int]]:
    """Return an order in which everything comes after what it needs.

    Parameters
    ----------
    buckets
        All collectives; no bucket comes after itself.
    wanted
        (``compute``, position), (``launch``, bucket) and (``wait``, bucket); of what is repeated
        the first counts. Before each, what it needs and was not there yet is put, the first in the
        graph first.

    Notes
    -----
    O(items + edges log edges).
    """
    graph = problem.graph
    bucket_of = {i: b for b, members in enumerate(buckets) for i in members}
    done: set[tuple[str, int]] = set()
    order: list[tuple[str, int]] = []

    def needed(item: tuple[str, int]) -> list[tuple[str, int]]:
        do, what = item
        members = (what,) if do == COMPUTE else buckets[what]
        return [
            (COMPUTE, j) if graph.ops[j].kind == COMPUTE_KIND else (LAUNCH, bucket_of[j])
            for j in sorted({j for i in members for j in graph.preds[i]}, reverse=True)
        ]

    for asked in wanted:
        stack = [asked]
        while stack:
            item = stack[-1]
            missing = []
            if item not in done and item[0] != WAIT:
                missing = [each for each in needed(item) if each not in done]
            if missing:
                stack += missing
                continue
            stack.pop()
            if item not in done:
                done.add(item)
                order.append(item)
    return order
