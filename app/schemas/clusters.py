"""The cluster of a request: its workers, and the networks between them.

A network says what a launch costs by an algorithm and its figures, or by a cost model: a row of
the same kind that was stored before, or fitted to measurements.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, GetCoreSchemaHandler, Strict
from pydantic_core import CoreSchema, core_schema

from app.limits import (
    MAX_BANDWIDTH_GBPS,
    MAX_CHANNELS,
    MAX_NAME_CHARACTERS,
    MAX_STARTUP_US,
    MIN_BANDWIDTH_GBPS,
)
from app.schemas.base import PLAIN, Name, OneOf, RequestModel
from solver.costs import ALGORITHMS, LINEAR, MEASURED, PIECEWISE, PLACEMENTS, RING, Cluster, Curve
from solver.graph import graph
from solver.limits import MAX_BYTES, MAX_DURATION_US, MAX_TABLE_SIZES, MAX_WORKERS

Microseconds = Annotated[float, Field(ge=0, le=MAX_STARTUP_US)]


Gbps = Annotated[float, Field(ge=MIN_BANDWIDTH_GBPS, le=MAX_BANDWIDTH_GBPS)]


Workers = Annotated[int, Field(ge=1, le=MAX_WORKERS)]


Size = Annotated[int, Field(ge=1, le=MAX_BYTES)]


Point = Annotated[
    tuple[
        Annotated[int, Strict(), Field(ge=1, le=MAX_BYTES)],
        Annotated[float, Strict(), Field(gt=0, le=MAX_DURATION_US)],
    ],
    Strict(strict=False),  # JSON has no tuples
]


Table = Annotated[list[Point], Field(max_length=MAX_TABLE_SIZES)]


#: The kinds of collective whose measured points stand in ``tables``; the others' in ``table``.
OtherKind = Literal["all_gather", "reduce_scatter", "broadcast", "all_to_all"]


#: What only a cost model can be: it takes figures that nobody knows by heart.
_FITTED = (LINEAR, PIECEWISE)


#: Fields that count with some algorithms only, and with which.
_HOPS = tuple(name for name in ALGORITHMS if name not in MEASURED)


_COUNTS: dict[str, tuple[str, ...]] = {
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
    "measured_bytes": _FITTED,
}


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

    def described(self) -> dict[str, Any]:
        """Return what the solver's cluster and this have in common."""
        same = self.model_dump(include=set(NetworkBody.model_fields) - {"table", "tables"})
        tables = tuple((kind, tuple(points)) for kind, points in sorted(self.tables.items()))
        return {**same, "table": tuple(self.table), "tables": tables}

    def idle(self) -> list[str]:
        """Name the fields that were given and do not count with the algorithm."""
        return [
            field
            for field, algorithms in _COUNTS.items()
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
        Field(description="Least and most bytes that were measured; null when nobody knows."),
    ] = None

    def described(self) -> dict[str, Any]:
        """Return what the solver's cluster and this have in common."""
        curve = Curve(**self.piecewise.model_dump()) if self.piecewise else None
        line = {"constant_us": self.constant_us, "us_per_byte": self.us_per_byte}
        return {**super().described(), **line, "piecewise": curve}

    @property
    def is_measured(self) -> bool:
        """Whether it was measured, so that workers and bandwidth are fixed."""
        return self.algorithm in MEASURED

    @property
    def range(self) -> tuple[int, int] | None:
        """Least and most bytes that were measured; None when nobody knows."""
        if self.algorithm == "table" and self.table:
            sizes = [size for size, _ in self.table]
            return min(sizes), max(sizes)
        return (self.measured_bytes[0], self.measured_bytes[1]) if self.measured_bytes else None


def _model_in(value: Any) -> Any:
    """Return the model in an id, or in what ``POST /v1/cost-models`` answered."""
    if isinstance(value, str):
        return {"id": value}
    if isinstance(value, dict) and isinstance(model := value.get("model"), dict):
        return {**model, "id": value["id"]} if "id" in value else model
    return value


class _IdOrModel:
    """A cost model, the answer that it stands in, or the id of one."""

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        model = handler(source)
        return core_schema.no_info_before_validator_function(
            _model_in,
            model,
            json_schema_input_schema=core_schema.union_schema([model, core_schema.str_schema()]),
        )


class ChannelBody(NetworkBody):
    """A network between workers, and what a launch on it costs."""

    workers: Annotated[
        Workers | None,
        Field(description="Ranks of a collective on it; null for those of the cluster."),
    ] = None
    cost_model: Annotated[
        Annotated[CostModelBody, _IdOrModel()] | None,
        Field(
            description="Instead of an algorithm and its figures: a cost model, or the id of a "
            "stored one. `startup_us` comes on top, `bandwidth_gbps` wins over the model's."
        ),
    ] = None
    extrapolate: Annotated[
        bool,
        Field(
            description="Scale a measured cost model to other workers or another bandwidth, as "
            "the steps and shares of a ring grow."
        ),
    ] = False

    def on(self, workers: int) -> dict[str, Any]:
        """Return the fields of the solver's cluster, without channels."""
        own = {"workers": self.workers or workers}
        model = self.cost_model
        if model is None:
            return {**self.described(), **own}
        merged = {
            **model.described(),
            **own,
            "startup_us": model.startup_us + self.startup_us,
            "bandwidth_gbps": self.bandwidth_gbps or model.bandwidth_gbps,
        }
        if not model.is_measured:
            return merged
        return {
            **merged,
            "measured_workers": model.workers,
            "measured_gbps": model.bandwidth_gbps,
            "extrapolate": self.extrapolate,
        }

    def idle(self) -> list[str]:
        """Name the fields that were given and do not count, with a cost model all of its own."""
        if self.cost_model is None:
            return [*super().idle(), *(["extrapolate"] if self.extrapolate else [])]
        wins = {"bandwidth_gbps", "startup_us"}
        fields = [field for field in NetworkBody.model_fields if field not in wins]
        if not self.cost_model.is_measured:
            fields.append("extrapolate")
        return [f for f in fields if getattr(self, f) != ChannelBody.model_fields[f].default]


class ClusterBody(ChannelBody):
    """The workers and the networks between them."""

    workers: Annotated[int, Field(ge=1, le=MAX_WORKERS, description="Data-parallel ranks.")]
    channels: Annotated[
        dict[Name, ChannelBody],
        Field(
            max_length=MAX_CHANNELS,
            description="Networks besides this one, by the name that ops give; `network` is the "
            "one that the cluster's own fields describe.",
        ),
    ] = Field(default={})

    def to_cluster(self) -> Cluster:
        """Return the cluster as the solver knows it."""
        channels = tuple(
            (name, Cluster(**channel.on(self.workers)))
            for name, channel in sorted(self.channels.items())
        )
        return Cluster(**self.on(self.workers), channels=channels)

    def networks(self) -> dict[str, tuple[tuple[str, ...], ChannelBody]]:
        """Return each channel by name, with its place in the cluster."""
        others = {name: (("channels", name), self.channels[name]) for name in self.channels}
        return {**others, graph.NETWORK: ((), self)}

    def with_models(self, models: Mapping[str, CostModelBody]) -> Self:
        """Return the cluster with the cost models of some of its channels replaced."""
        channels = {
            name: channel.model_copy(update={"cost_model": models[name]})
            if name in models
            else channel
            for name, channel in self.channels.items()
        }
        own = {"cost_model": models[graph.NETWORK]} if graph.NETWORK in models else {}
        return self.model_copy(update={**own, "channels": channels})
