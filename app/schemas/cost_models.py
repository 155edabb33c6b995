"""Cost models: the request body of ``POST /v1/cost-models``, and the answer. Unknown is null."""

from typing import Annotated, get_args

from pydantic import Field

from app.limits import MAX_NAME_CHARACTERS, MAX_TEXT_CHARACTERS
from app.schemas.base import PLAIN, AnswerModel, OneOf, RequestModel
from app.schemas.lists import StoredCostModel
from app.schemas.networks import CostModelBody, Gbps, OtherKind, Point, Size, Workers
from solver.calibration.fits import FITS, Errors
from solver.calibration.measurements import READERS
from solver.graph import ALL_REDUCE
from solver.limits import MAX_SAMPLES

BEST, AUTO = "best", "auto"


#: The collectives that a cost model may describe.
KINDS = (ALL_REDUCE, *get_args(OtherKind))

#: Most texts of a request.
MAX_TEXTS = 32


class CostModelRequest(RequestModel):
    """A cost model to store: its figures, or measurements to fit it to; one of these."""

    name: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, pattern=PLAIN)] = ""
    model: Annotated[
        CostModelBody | None, Field(description="Figures that are known; stored as they are.")
    ] = None
    samples: Annotated[
        Annotated[list[Point], Field(max_length=MAX_SAMPLES)] | None,
        Field(description="Measured all-reduces [bytes, us]; a size may be there many times."),
    ] = None
    text: Annotated[
        Annotated[str, Field(max_length=MAX_TEXT_CHARACTERS)] | None,
        Field(
            description="What nccl-tests (`all_reduce_perf`, `all_gather_perf`, ...), OSU, Intel "
            "MPI Benchmarks, oneCCL or mscclpp-test printed; what NCCL Inspector, PyTorch's flight "
            "recorder (a pickle as a base64 data URL) or DeepSpeed's `log_summary` wrote; or a "
            "table with a header such as `size(B),time(us)`."
        ),
    ] = None
    texts: Annotated[
        Annotated[list[str], Field(min_length=1, max_length=MAX_TEXTS)] | None,
        Field(
            description="Several such, of one cluster. A file may hold several runs, and each may "
            "be of another collective: the model has a table for each kind."
        ),
    ] = None
    kind: Annotated[
        Annotated[str, OneOf(KINDS)] | None,
        Field(description="Collective of `samples`, and of texts that do not say theirs."),
    ] = None
    kinds: Annotated[
        Annotated[
            list[Annotated[str, OneOf(KINDS)] | None], Field(min_length=1, max_length=MAX_TEXTS)
        ]
        | None,
        Field(
            description="The same of each of `texts`, in their order; null where `kind` holds, or "
            "the text says it."
        ),
    ] = None
    mixed: Annotated[
        bool, Field(description="Take runs that differ in ranks, devices or machines for one.")
    ] = False
    format: Annotated[
        str, OneOf((AUTO, *READERS)), Field(description="Format of the text; `auto` looks at it.")
    ] = AUTO
    workers: Annotated[
        Workers | None,
        Field(
            description="Workers that it was measured with; null takes what the text says. It "
            "chooses among groups of several sizes, and is needed where a text has the bytes of "
            "one rank and does not say how many took part."
        ),
    ] = None
    bandwidth_gbps: Annotated[
        Gbps | None,
        Field(
            description="Bandwidth between two workers at the measurement [Gbit/s]; needed only to "
            "scale the cost to another one."
        ),
    ] = None
    fit: Annotated[
        str,
        OneOf((BEST, *FITS)),
        Field(
            description="`best`: the one with the least cross-validated error; `linear`: a line; "
            "`piecewise`: OSF (18); `table`: monotone."
        ),
    ] = BEST
    threshold_bytes: Annotated[
        Size | None,
        Field(
            description="Where the second piece of `piecewise` begins: bandwidth x delay; null "
            "searches it."
        ),
    ] = None


class FitOut(AnswerModel):
    """One fit, and how far it is from the samples.

    Notes
    -----
    The solver's has what was fitted, and not the kind of collective that it is of.
    """

    kind: Annotated[str, Field(description="The collective.")]
    algorithm: Annotated[str, Field(description="`linear`, `piecewise` or `table`.")]
    errors: Annotated[Errors, Field(description="On the samples that it was fitted to.")]
    validated: Annotated[
        Errors | None,
        Field(description="On sizes that it was not fitted to; null with too few sizes."),
    ]


class CostModelAnswer(AnswerModel):
    """A cost model, and how well it fits what was measured."""

    name: str
    model: Annotated[
        CostModelBody, Field(description="What `cluster.cost_model` takes, as it is or by id.")
    ]
    fits: Annotated[
        list[FitOut], Field(description="All fits; the first is the model. Empty when none was.")
    ]
    samples: Annotated[int, Field(description="Samples that were fitted.")]
    notes: Annotated[
        list[str], Field(description="What was dropped, assumed or could not be told.")
    ]
    version: str


class CostModelOut(CostModelAnswer, StoredCostModel):
    """A stored cost model."""
