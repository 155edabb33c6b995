"""The response bodies of cost models. Unknown is null."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from app.body import Answered
from app.cluster import CostModelBody
from solver.calibration.fits import Errors


class Fitted(Answered):
    """One fit, and how far it is from the samples."""

    algorithm: Annotated[str, Field(description="`linear`, `piecewise` or `table`.")]
    errors: Annotated[Errors, Field(description="On the samples that it was fitted to.")]
    validated: Annotated[
        Errors | None,
        Field(description="On sizes that it was not fitted to; null with too few sizes."),
    ]


class CostModelAnswer(Answered):
    """A cost model, and how well it fits what was measured."""

    name: str
    model: Annotated[
        CostModelBody, Field(description="What `cluster.cost_model` takes, as it is or by id.")
    ]
    fits: Annotated[
        list[Fitted], Field(description="All fits; the first is the model. Empty when none was.")
    ]
    samples: Annotated[int, Field(description="Samples that were fitted.")]
    notes: Annotated[
        list[str], Field(description="What was dropped, assumed or could not be told.")
    ]
    version: str


class Made(Answered):
    """When a cost model was made."""

    id: str
    state: Literal["succeeded"]
    created_at: datetime
    finished_at: datetime


class CostModelOut(CostModelAnswer, Made):
    """A stored cost model."""


class CostModelSummary(Made):
    """A stored cost model in a list."""

    name: str
    algorithm: str


class CostModelList(Answered):
    """Stored cost models, the newest first."""

    cost_models: list[CostModelSummary]
