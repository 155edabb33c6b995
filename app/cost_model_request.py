"""The request body of ``POST /v1/cost-models``."""

from typing import Annotated

from pydantic import Field

from app.body import PLAIN, Body, OneOf
from app.cluster import CostModelBody, Gbps, Point, Size, Workers
from app.faults import MAX_NAME
from solver.calibration.measurements import MOST_SAMPLES, READERS
from solver.costs import LINEAR, PIECEWISE, TABLE

#: Most samples, posted or in a text.
MAX_SAMPLES = MOST_SAMPLES
#: Longest text of a benchmark that is read [characters].
MAX_TEXT = 2**24
BEST, AUTO = "best", "auto"


class CostModelRequest(Body):
    """A cost model to store: its figures, or measurements to fit it to; one of these."""

    name: Annotated[str, Field(max_length=MAX_NAME, pattern=PLAIN)] = ""
    model: Annotated[
        CostModelBody | None, Field(description="Figures that are known; stored as they are.")
    ] = None
    samples: Annotated[
        Annotated[list[Point], Field(max_length=MAX_SAMPLES)] | None,
        Field(description="Measured all-reduces [bytes, us]; a size may be there many times."),
    ] = None
    text: Annotated[
        Annotated[str, Field(max_length=MAX_TEXT)] | None,
        Field(
            description="What `all_reduce_perf` of nccl-tests or `osu_allreduce` printed, or a "
            "table with a header such as `size(B),time(us)`."
        ),
    ] = None
    format: Annotated[
        str, OneOf((AUTO, *READERS)), Field(description="Of `text`; `auto` looks at it.")
    ] = AUTO
    workers: Annotated[
        Workers | None,
        Field(description="Workers that it was measured with; null takes what the text says."),
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
        OneOf((BEST, LINEAR, PIECEWISE, TABLE)),
        Field(
            description="`linear`; `piecewise`: OSF (18); `table`: monotone; `best`: the one with "
            "the least cross-validated error."
        ),
    ] = BEST
    threshold_bytes: Annotated[
        Size | None,
        Field(
            description="Where the second piece of `piecewise` begins: bandwidth x delay; null "
            "searches it."
        ),
    ] = None
