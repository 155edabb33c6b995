"""The bodies that tell of jobs. Unknown is null; so is an answer that there is none of yet."""

from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model

from app.schemas.base import AnswerModel
from app.schemas.imports import ImportAnswer
from app.schemas.lists import JobOut
from app.schemas.parameter_servers import ParameterServerAnswer
from app.schemas.plans import PlanAnswer
from app.schemas.shapes import ShapeAnswer
from app.schemas.simulations import SimulationAnswer
from app.schemas.sweeps import SweepAnswer


def _with_job(name: str, answer: type[AnswerModel], doc: str) -> type[BaseModel]:
    """Make the body of a job: the fields of its answer, each null until there is one."""
    fields: dict[str, Any] = {}
    for field, info in answer.model_fields.items():
        known: Any = info.annotation
        for extra in info.metadata:
            known = Annotated[known, extra]
        default = ... if info.exclude_if is None else None  # what may be left out has one
        about = Field(default, description=info.description, exclude_if=info.exclude_if)
        fields[field] = (known | None, about)
    return create_model(name, __base__=JobOut, __doc__=doc, __module__=__name__, **fields)


PlanOut = _with_job("PlanOut", PlanAnswer, "A plan, and the job that makes it.")


SimulationOut = _with_job(
    "SimulationOut", SimulationAnswer, "A simulation, and the job that makes it."
)


SweepOut = _with_job("SweepOut", SweepAnswer, "A sweep, and the job that makes it.")


ParameterServerOut = _with_job(
    "ParameterServerOut",
    ParameterServerAnswer,
    "A prediction of training through parameter servers, and the job that makes it.",
)


RankingOut = _with_job("RankingOut", ShapeAnswer, "A ranking of shapes, and the job that makes it.")


ImportOut = _with_job("ImportOut", ImportAnswer, "The job that reads files as a graph.")
