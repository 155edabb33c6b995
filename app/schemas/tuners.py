"""Files for NCCL's tuner plugin: the body of ``POST /v1/exports/nccl-tuner``, and the answer."""

from typing import Annotated

from pydantic import Field

from app.limits import MAX_TEXT_CHARACTERS
from app.schemas.base import AnswerModel, Name, OneOf, RequestModel
from app.schemas.cost_models import KINDS, MAX_TEXTS
from app.schemas.exports import ExportedFile
from app.schemas.networks import Workers
from solver.exports.nccl_tuner import ALGORITHMS, MAX_TUNED_CHANNELS, PROTOCOLS, TunerRow


class AlgorithmRunBody(RequestModel):
    """What a benchmark printed that ran with one algorithm and one protocol."""

    algorithm: Annotated[
        Name,
        Field(description=f"NCCL_ALGO of the run, in whatever case: {', '.join(ALGORITHMS)}."),
    ]
    protocol: Annotated[
        Name, Field(description=f"NCCL_PROTO of the run, likewise: {', '.join(PROTOCOLS)}.")
    ]
    text: Annotated[
        str,
        Field(
            max_length=MAX_TEXT_CHARACTERS,
            description="What it printed, as a cost model takes it; several runs of the same "
            "algorithm and protocol count as one.",
        ),
    ]
    kind: Annotated[
        Annotated[str, OneOf(KINDS)] | None,
        Field(description="Its collective, where it does not say it."),
    ] = None
    channels: Annotated[
        Annotated[int, Field(ge=1, le=MAX_TUNED_CHANNELS)] | None,
        Field(description="Channels that NCCL used; null leaves them to the plugin."),
    ] = None


class TunerRequest(RequestModel):
    """Measured algorithms, to be compared."""

    runs: Annotated[
        list[AlgorithmRunBody],
        Field(
            min_length=1,
            max_length=MAX_TEXTS,
            description="Two or more, of which each collective that is to be tuned has two at the "
            "same sizes; of equals the first one is taken.",
        ),
    ]
    workers: Annotated[
        Workers | None, Field(description="Ranks of all runs; null takes what the texts say.")
    ] = None
    nodes: Annotated[
        Workers | None,
        Field(description="Nodes of the communicators that the rows are for; null for any."),
    ] = None


class TunerAnswer(AnswerModel):
    """The file, and what it was made of."""

    format: str
    files: Annotated[list[ExportedFile], Field(description="One: what the plugin reads.")]
    rows: Annotated[list[TunerRow], Field(description="Its rows; -1 is any.")]
    notes: Annotated[list[str], Field(description="What was compared, left out and assumed.")]
