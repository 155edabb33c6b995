"""Why an iteration takes as long as it does, as plans and simulations tell it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from app.body import Answered
from solver.costs import Network
from solver.explanation.advice import Advice, advise
from solver.explanation.critical import Step
from solver.explanation.explain import Breakdown, Explanation, TensorTimes
from solver.explanation.sensitivity import Sensitivity
from solver.graph import Graph
from solver.simulation.engine import Timeline
from solver.simulation.what_if import Rerun


class Explained(Answered):
    """What limits an iteration, and what would move it.

    In a graph of more than 200,000 ops and edges, compute ops side by side or in a row count as
    one; all of this is null when more are left even so.
    """

    summary: Annotated[
        str | None,
        Field(description="What limits the iteration, and what would move it by how much."),
    ]
    limited_by: Annotated[
        Literal["compute", "bandwidth", "startup", "tensor", "op", "policy"] | None,
        Field(description="The same in a word; null when nothing takes time."),
    ]
    sensitivities: Annotated[
        list[Sensitivity] | None,
        Field(description="The iteration simulated again with one thing cheaper at a time."),
    ]
    critical_path: Annotated[
        list[Step] | None,
        Field(description="Ops, launches and waits from 0 to the iteration time."),
    ]
    tensors: Annotated[
        list[TensorTimes] | None,
        Field(description="When each tensor was ready and sent, and what compute did not hide."),
    ]
    breakdown: Annotated[
        Breakdown | None, Field(description="The time of all communication in four phases.")
    ]


def explained(
    graph: Graph, network: Network, rerun: Rerun, timeline: Timeline, explanation: Explanation
) -> dict[str, Any]:
    """Return the fields of :class:`Explained` for a simulated iteration."""
    advice: Advice = advise(graph, network, rerun, timeline, explanation)
    return {
        "summary": advice.summary,
        "limited_by": advice.limited_by,
        "sensitivities": advice.sensitivities,
        "critical_path": explanation.critical_path,
        "tensors": explanation.tensors,
        "breakdown": explanation.breakdown,
    }


#: What is told of a graph that is too large to be explained.
UNEXPLAINED: dict[str, Any] = dict.fromkeys(Explained.model_fields)
