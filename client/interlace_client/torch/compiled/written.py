"""What became of a plan: the order of a written graph, and of the code that inductor makes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import fx

from interlace_client.torch.compiled.program import COMPUTE, LAUNCH, WAIT, CompiledPlan

_CALL = re.compile(
    r"(?:(\w+) = )?torch\.ops\._c10d_functional\.(\w+)\.\w+\((\w+)", flags=re.MULTILINE
)


@dataclass(frozen=True)
class Written:
    """The program that a graph is after the pass.

    Attributes
    ----------
    plan
        What was to be written.
    steps
        What the graph does, in its order: (what to do, name of a node or of a bucket).
    differing
        In how many places that is another step than the plan's.
    """

    plan: CompiledPlan
    steps: tuple[tuple[str, str], ...]
    differing: int

    def as_json(self) -> list[dict[str, str]]:
        """Write the steps as an answer's ``program``, to be simulated."""
        return [{"do": do, "id": name} for do, name in self.steps]


def read_graph(
    graph: fx.Graph, plan: CompiledPlan, marks: Mapping[str, tuple[str, str]]
) -> Written:
    """Read a graph as a program.

    Parameters
    ----------
    marks
        Of each node that copies, launches or waits, by name: what it does, and for which bucket.
        Copies of several nodes are one step, at the last of them.
    """
    computed = {name for do, name in plan.steps if do == COMPUTE}
    last: dict[tuple[str, str], int] = {}
    for place, node in enumerate(graph.nodes):
        if node.name in computed:
            last[COMPUTE, node.name] = place
        elif node.name in marks:
            last[marks[node.name]] = place
    steps = tuple(sorted(last, key=lambda step: last[step]))
    differing = sum(a != b for a, b in zip(steps, plan.steps))
    return Written(plan, steps, differing + abs(len(steps) - len(plan.steps)))


def calls_in(code: str) -> list[tuple[str, int]]:
    """Read launches and waits from the code of inductor's wrapper, in their order.

    Returns
    -------
    list
        (``launch`` or ``wait``, how many launches were before that launch).
    """
    calls: list[tuple[str, int]] = []
    launched: dict[str, int] = {}
    for made, op, of in _CALL.findall(code):
        if op == "wait_tensor":
            if of in launched:  # else it waits for what was waited for before
                calls.append((WAIT, launched[of]))
        else:
            launched[made or of] = len(launched)
            calls.append((LAUNCH, launched[made or of]))
    return calls


def planned_calls(steps: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
    """Write launches and waits of a program as :func:`calls_in` reads them."""
    calls: list[tuple[str, int]] = []
    launched: dict[str, int] = {}
    for do, name in steps:
        if do == LAUNCH:
            launched[name] = len(launched)
            calls.append((LAUNCH, launched[name]))
        elif do == WAIT:
            calls.append((WAIT, launched[name]))
    return calls
