"""What a launch costs: a network by an algorithm and its figures, or a cost model of any kind."""

from collections.abc import Mapping, Sized
from typing import Annotated, Any, Literal

from pydantic import Field, Strict

from app.limits import MAX_NAME_CHARACTERS
from app.schemas.base import PLAIN, Name, OneOf, RequestModel, is_unknown
from solver.costs import (
    ALGORITHMS,
    LINEAR,
    MEASURED,
    PIECEWISE,
    PLACEMENTS,
    RING,
    TABLE,
    CostError,
    PiecewiseCost,
)
from solver.limits import (
    MAX_BANDWIDTH_GBPS,
    MAX_BYTES,
    MAX_DURATION_US,
    MAX_STARTUP_US,
    MAX_TABLE_SIZES,
    MAX_WORKERS,
    MIN_BANDWIDTH_GBPS,
    MIN_LINE_RATE_SHARE,
)

Microseconds = Annotated[float, Field(ge=0, le=MAX_STARTUP_US)]


Gbps = Annotated[float, Field(ge=MIN_BANDWIDTH_GBPS, le=MAX_BANDWIDTH_GBPS)]


Workers = Annotated[int, Field(ge=1, le=MAX_WORKERS)]


Size = Annotated[int, Field(ge=1, le=MAX_BYTES)]


RelativeError = Annotated[float, Field(ge=0)]


Point = Annotated[
    tuple[
        Annotated[int, Strict(), Field(ge=1, le=MAX_BYTES)],
        Annotated[float, Strict(), Field(gt=0, le=MAX_DURATION_US)],
    ],
    Strict(strict=False),  # JSON has no tuples
]


Table = Annotated[list[Point], Field(max_length=MAX_TABLE_SIZES)]


#: The kinds of collective whose measured points stand in ``tables``; the others' in ``table``.
OtherKind = Literal["all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"]

Kind = Literal["all_reduce", OtherKind]


#: What only a cost model can be: it takes figures that nobody knows by heart.
_FITTED = (LINEAR, PIECEWISE)


#: Fields that count with some algorithms only, and with which.
_HOPS = tuple(name for name in ALGORITHMS if name not in MEASURED)


COUNTING: dict[str, tuple[str, ...]] = {
    "negotiation_us_per_worker": _HOPS,
    "line_rate_share": _HOPS,
    "hop_us": _HOPS,
    "reduction_gbps": tuple(
        name for name in _HOPS if name not in {"parameter_server", "in_network"}
    ),
    "node_workers": ("hierarchical",),
    "node_bandwidth_gbps": ("hierarchical",),
    "node_hop_us": ("hierarchical",),
    "shared_nic": ("hierarchical",),
    "placement": ("parameter_server",),
    "table": ("table",),
    "tables": ("table",),
    "constant_us": (LINEAR,),
    "us_per_byte": (LINEAR,),
    "piecewise": (PIECEWISE,),
    "measured_bytes": (*_FITTED, TABLE),
    "measured_of_kinds": (TABLE,),
}


def is_nothing(value: float) -> bool:
    """Tell whether a time is 0, as where nobody says it."""
    return value == 0


def is_empty(value: Sized) -> bool:
    """Tell whether there is nothing in it, as where nobody says it."""
    return not value


def is_whole(value: float) -> bool:
    """Tell whether a share is 1, as where nobody says it."""
    return value == 1


class NetworkBody(RequestModel):
    """What a launch costs."""

    bandwidth_gbps: Annotated[
        Gbps | None,
        Field(
            description="Bandwidth between two workers [Gbit/s], with `hierarchical` of a node's "
            "network card; measured costs do not use it."
        ),
    ] = None
    startup_us: Annotated[Microseconds, Field(description="Fixed cost of one launch [us].")] = 0
    negotiation_us_per_worker: Annotated[
        Microseconds,
        Field(
            exclude_if=is_nothing,
            description="What each launch takes more for each worker [us], as workers agree on "
            "what "
            "is ready: an assumption unless measured at several counts; not with measurements.",
        ),
    ] = 0
    line_rate_share: Annotated[
        float,
        Field(
            ge=MIN_LINE_RATE_SHARE,
            le=1,
            exclude_if=is_whole,
            description="Share of `bandwidth_gbps` that the transport reaches: an assumption "
            "unless "
            "measured; not with measurements.",
        ),
    ] = 1
    hop_us: Annotated[
        Microseconds,
        Field(description="Fixed cost of each step of the algorithm [us]; not with measurements."),
    ] = 0
    reduction_gbps: Annotated[
        Gbps | None,
        Field(description="Speed of adding two buffers [Gbit/s]; null when free."),
    ] = None
    algorithm: Annotated[
        str,
        OneOf(tuple(name for name in ALGORITHMS if name not in _FITTED)),
        Field(
            description="How the cost is computed: of an all-reduce; the other kinds of collective "
            "need a `ring` or a `table`."
        ),
    ] = RING
    node_workers: Annotated[
        Workers | None,
        Field(description="`hierarchical`: workers of a node; they divide the workers."),
    ] = None
    node_bandwidth_gbps: Annotated[
        Gbps | None,
        Field(description="`hierarchical`: bandwidth between two workers of a node [Gbit/s]."),
    ] = None
    node_hop_us: Annotated[
        Microseconds, Field(description="`hierarchical`: the same as `hop_us`, in the node [us].")
    ] = 0
    shared_nic: Annotated[
        bool, Field(description="`hierarchical`: the workers of a node share its network card.")
    ] = True
    placement: Annotated[
        str,
        OneOf(PLACEMENTS),
        Field(
            description="`parameter_server`: one server (`cc` on a worker, `ncc` on a machine of "
            "its own) or as many as workers (`cs` on these, `ncs` not)."
        ),
    ] = "cs"
    table: Annotated[
        Table,
        Field(description="Measured points [bytes, us] of the all-reduce for `table`."),
    ] = Field(default=[])
    tables: Annotated[
        dict[OtherKind, Table],
        Field(description="The same for the other kinds of collective, by kind."),
    ] = Field(default={})

    def cluster_fields(self) -> dict[str, Any]:
        """Return what the solver's cluster and this have in common."""
        same = self.model_dump(include=set(NetworkBody.model_fields) - {"table", "tables"})
        tables = tuple((kind, tuple(points)) for kind, points in sorted(self.tables.items()))
        return {**same, "table": tuple(self.table), "tables": tables}

    def idle(self) -> list[str]:
        """Name the fields that were given and do not count with the algorithm."""
        return [
            field
            for field, algorithms in COUNTING.items()
            if field in type(self).model_fields
            and self.algorithm not in algorithms
            and getattr(self, field) != type(self).model_fields[field].default
        ]


class CurveBody(RequestModel):
    """OSF (18): a1 log2 D + b1 below a threshold, a2 D + b2 from there on."""

    threshold_bytes: Annotated[Size, Field(description="Where the second piece begins.")]
    log_us: Annotated[Microseconds, Field(description="a1 [us for each doubling].")]
    log_constant_us: Annotated[
        float, Field(ge=-MAX_STARTUP_US, le=MAX_STARTUP_US, description="b1 [us].")
    ]
    us_per_byte: Annotated[float, Field(ge=0, le=MAX_STARTUP_US, description="a2 [us a byte].")]
    constant_us: Annotated[Microseconds, Field(description="b2 [us].")]
    least_us: Annotated[
        float,
        Field(gt=0, le=MAX_STARTUP_US, description="Nothing costs less: the smallest sample [us]."),
    ]


class CostModelBody(NetworkBody):
    """A network of any kind, as it is stored; what was measured says where."""

    name: Annotated[str, Field(max_length=MAX_NAME_CHARACTERS, pattern=PLAIN)] = ""
    id: Annotated[
        Name | None,
        Field(description="Of a stored model, which stands alone for it; beside figures a label."),
    ] = None
    algorithm: Annotated[
        str, OneOf(tuple(ALGORITHMS)), Field(description="How the cost is computed.")
    ] = RING
    workers: Annotated[
        Workers | None,
        Field(description="Workers that it was measured with; null when nobody knows."),
    ] = None
    constant_us: Annotated[
        Microseconds, Field(description="`linear`: time of any launch that was measured [us].")
    ] = 0
    us_per_byte: Annotated[
        Annotated[float, Field(ge=0, le=MAX_STARTUP_US)] | None,
        Field(description="`linear`: time of a byte [us]."),
    ] = None
    piecewise: Annotated[CurveBody | None, Field(description="`piecewise`: its figures.")] = None
    measured_bytes: Annotated[
        Annotated[list[Size], Field(min_length=2, max_length=2)] | None,
        Field(
            description="Least and most bytes that were measured; null when nobody knows, or, of a "
            "`table`, when its points tell."
        ),
    ] = None
    measured_of_kinds: Annotated[
        dict[Kind, Annotated[list[Size], Field(min_length=2, max_length=2)]],
        Field(
            exclude_if=is_empty,
            description="`table`: the same for each kind of collective, where they differ.",
        ),
    ] = Field(default={})
    error_median: Annotated[
        RelativeError | None,
        Field(
            exclude_if=is_unknown,
            description="Median of abs(cost / measured time - 1) over the launches that it was "
            "fitted to; null when nobody knows, as are the next two.",
        ),
    ] = None
    error_p90: Annotated[
        RelativeError | None,
        Field(exclude_if=is_unknown, description="The 0.9-quantile of the same."),
    ] = None
    spread: Annotated[
        RelativeError | None,
        Field(
            exclude_if=is_unknown,
            description="How far repeated measurements of one size were apart: (0.9-quantile - "
            "0.1-quantile) / median of their times, the median over the sizes.",
        ),
    ] = None

    def cluster_fields(self) -> dict[str, Any]:
        """Return what the solver's cluster and this have in common."""
        curve = PiecewiseCost(**self.piecewise.model_dump()) if self.piecewise else None
        line = {"constant_us": self.constant_us, "us_per_byte": self.us_per_byte}
        fit = {"piecewise": curve, "cost_error": self.cost_error}
        return {**super().cluster_fields(), **line, **fit}

    @property
    def cost_error(self) -> CostError | None:
        """How far it is from what it was fitted to; None when nobody knows."""
        figures = (self.error_median, self.error_p90, self.spread)
        return None if figures == (None, None, None) else CostError(*figures)

    @property
    def is_measured(self) -> bool:
        """Whether it was measured, so that workers and bandwidth are fixed."""
        return self.algorithm in MEASURED

    def range_of(self, kind: str) -> tuple[int, int] | None:
        """Least and most bytes that were measured of a kind; None when nobody knows."""
        ranges: Mapping[str, list[int]] = {
            str(k): each for k, each in self.measured_of_kinds.items()
        }
        found = ranges.get(kind) or self.measured_bytes
        return (found[0], found[1]) if found else None

    @property
    def range(self) -> tuple[int, int] | None:
        """Least and most bytes that were measured; None when nobody knows."""
        if self.algorithm == TABLE and self.table and not self.measured_bytes:
            sizes = [size for size, _ in self.table]
            return min(sizes), max(sizes)
        return (self.measured_bytes[0], self.measured_bytes[1]) if self.measured_bytes else None
