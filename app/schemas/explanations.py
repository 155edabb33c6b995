"""Why an iteration takes as long as it does, and what an answer rests on."""

from typing import Annotated, Literal

from pydantic import Field

from app.schemas.base import AnswerModel
from solver.evidence.brief import Limit
from solver.explanation.critical import PathStep
from solver.explanation.explain import Breakdown, TensorTimes
from solver.explanation.sensitivity import Sensitivity


class ExplainedAnswer(AnswerModel):
    """What limits an iteration, and what would move it.

    In a graph of more than 200,000 ops and edges, compute ops side by side or in a row count as
    one; all of this is null when more are left even so.
    """

    summary: Annotated[
        str | None,
        Field(description="What limits the iteration, and what would move it by how much."),
    ]
    limited_by: Annotated[
        Limit | None,
        Field(description="The same in a word; null when nothing takes time."),
    ]
    sensitivities: Annotated[
        list[Sensitivity] | None,
        Field(description="The iteration simulated again with one thing cheaper at a time."),
    ]
    critical_path: Annotated[
        list[PathStep] | None,
        Field(description="Ops, launches and waits from 0 to the iteration time."),
    ]
    tensors: Annotated[
        list[TensorTimes] | None,
        Field(description="When each tensor was ready and sent, and what compute did not hide."),
    ]
    breakdown: Annotated[
        Breakdown | None, Field(description="The time of all communication in four phases.")
    ]


#: What is answered of a graph that is too large to be explained.
UNEXPLAINED = ExplainedAnswer.model_construct(**dict.fromkeys(ExplainedAnswer.model_fields))


class CostWarning(AnswerModel):
    """One thing that an answer rests on: not measured, or in doubt."""

    pointer: Annotated[
        str, Field(description="JSON pointer into the request.", examples=["/cluster/cost_model"])
    ]
    code: Literal[
        "outside_measured_range",
        "extrapolated",
        "workers_unknown",
        "units_in_doubt",
        "compute_slowed",
        "card_shared",
        "links_shared",
        "launches_slowed",
        "search_not_compiled",
        "search_cut_short",
        "proof_not_tried",
        "not_searched",
        "copy_speed_assumed",
        "program_by_option",
        "rule_ahead",
        "chunks_assumed",
    ]
    detail: str
