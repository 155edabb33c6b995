"""The cluster of a request: its workers, and the networks between them.

A network says what a launch costs by an algorithm and its figures, or by a cost model: a row of
the same kind that was stored before, or fitted to measurements.
"""

from collections.abc import Iterable, Mapping
from operator import not_
from typing import Annotated, Any, Self

from pydantic import FailFast, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from app.limits import MAX_CHANNELS, MAX_LINKS, MAX_PATH_LINKS, MAX_PRIORITY
from app.schemas.base import Name, RequestModel, is_one
from app.schemas.networks import CostModelBody, NetworkBody, Workers
from solver.costs import Cluster
from solver.graph import NETWORK
from solver.limits import (
    MAX_BANDWIDTH_GBPS,
    MAX_COMPUTE_SLOWDOWN,
    MAX_WORKERS,
    MIN_BANDWIDTH_GBPS,
)


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


class LinkBody(RequestModel):
    """A link: a network card, a port, an uplink."""

    capacity_gbps: Annotated[
        float,
        Field(
            ge=MIN_BANDWIDTH_GBPS,
            le=MAX_BANDWIDTH_GBPS,
            description="What it carries at most [Gbit/s], one direction.",
        ),
    ]


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
    shares: Annotated[
        Name | None,
        Field(
            description="Any name for the network card that carries it. Channels of one card that "
            "carry at once share its bandwidth equally; start-ups and steps do not slow down. Null "
            "for a card of its own."
        ),
    ] = None
    path: Annotated[
        list[Name],
        FailFast(),
        Field(
            max_length=MAX_PATH_LINKS,
            exclude_if=not_,
            description="Links of `cluster.links` that its launches cross. Channels that cross a "
            "link at once share it max-min fairly, none faster than its cost says. Not beside "
            "`shares`.",
        ),
    ] = Field(default=[])
    priority: Annotated[
        int,
        Field(
            ge=0,
            le=MAX_PRIORITY,
            exclude_if=not_,
            description="Its class on these links: higher ones are served first, lower ones share "
            "what is left.",
        ),
    ] = 0

    launch_slowdown: Annotated[
        float,
        Field(
            ge=1,
            le=MAX_COMPUTE_SLOWDOWN,
            exclude_if=is_one,
            description="Factor by which the bytes of its launches take longer while a rank "
            "computes that has compute directly before or after a collective on it.",
        ),
    ] = 1

    def on(self, workers: int) -> dict[str, Any]:
        """Return the fields of the solver's cluster, without channels."""
        own = {
            "workers": self.workers or workers,
            "shares": self.shares,
            "path": tuple(self.path),
            "priority": self.priority,
            "launch_slowdown": self.launch_slowdown,
        }
        model = self.cost_model
        if model is None:
            return {**self.cluster_fields(), **own}
        merged = {
            **model.cluster_fields(),
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

    workers: Annotated[
        int,
        Field(
            ge=1,
            le=MAX_WORKERS,
            description="Data-parallel ranks. May be left out where every collective is on one of "
            "`channels` that has workers of its own.",
        ),
    ] = 1
    compute_slowdown: Annotated[
        float,
        Field(
            ge=1,
            le=MAX_COMPUTE_SLOWDOWN,
            description="Factor by which compute takes longer while any launch is under way, since "
            "both share cores or memory. Durations recorded beside communication contain it. An "
            "op's own `slowdown` replaces it.",
        ),
    ] = 1
    channels: Annotated[
        dict[Name, ChannelBody],
        Field(
            max_length=MAX_CHANNELS,
            description="Networks besides this one, by the name that ops give; `network` is the "
            "one that the cluster's own fields describe.",
        ),
    ] = Field(default={})
    links: Annotated[
        dict[Name, LinkBody],
        Field(
            max_length=MAX_LINKS,
            exclude_if=not_,
            description="What several channels may cross: network cards, ports, uplinks.",
        ),
    ] = Field(default={})

    def to_cluster(self) -> Cluster:
        """Return the cluster as the solver knows it."""
        channels = tuple(
            (name, Cluster(**channel.on(self.workers)))
            for name, channel in sorted(self.channels.items())
        )
        return Cluster(
            **self.on(self.workers),
            channels=channels,
            compute_slowdown=self.compute_slowdown,
            links=tuple((name, link.capacity_gbps) for name, link in sorted(self.links.items())),
        )

    def lacks_workers(self, used: Iterable[str]) -> bool:
        """Tell whether the workers are not said, and some channel in use needs them."""
        own = {name for name, channel in self.channels.items() if channel.workers is not None}
        return "workers" not in self.model_fields_set and not own.issuperset(used)

    def networks(self) -> dict[str, tuple[tuple[str, ...], ChannelBody]]:
        """Return each channel by name, with its place in the cluster."""
        others = {name: (("channels", name), self.channels[name]) for name in self.channels}
        return {**others, NETWORK: ((), self)}

    def with_models(self, models: Mapping[str, CostModelBody]) -> Self:
        """Return the cluster with the cost models of some of its channels replaced."""
        channels = {
            name: channel.model_copy(update={"cost_model": models[name]})
            if name in models
            else channel
            for name, channel in self.channels.items()
        }
        own = {"cost_model": models[NETWORK]} if NETWORK in models else {}
        return self.model_copy(update={**own, "channels": channels})
