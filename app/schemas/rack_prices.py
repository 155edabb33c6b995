"""Prices of racks with and without a PHub: the part ``prices`` of a request for placements."""

from typing import Annotated

from pydantic import Field

from app.limits import MAX_OVERSUBSCRIPTIONS
from app.schemas.base import RequestModel, is_unknown
from solver.placements.prices import Ports, Prices, workers_beside

Dollars = Annotated[float, Field(ge=0, le=1e12)]
Positive = Annotated[float, Field(ge=1e-6, le=1e12)]


class BaselinePorts(RequestModel):
    """What it costs to connect a host; by itself a 100 Gbit/s host of PHub, Section 4.9."""

    nic_port_dollars: Annotated[Dollars, Field(description="A port of a network card.")] = 795
    switch_dollars: Annotated[Dollars, Field(description="A switch.")] = 21_077
    switch_ports: Annotated[
        Positive, Field(description="Hosts that it can connect at this speed.")
    ] = 32
    cable_dollars: Annotated[
        Dollars, Field(description="A cable, or its share of one that breaks out.")
    ] = 94
    oversubscription: Annotated[
        float,
        Field(
            ge=1,
            le=1e12,
            description="Bandwidth of a rack's hosts over that of its links to other racks.",
        ),
    ] = 1

    def to_ports(self) -> Ports:
        """Return the prices as the solver knows them."""
        return Ports(**self.model_dump())


class HubPorts(BaselinePorts):
    """The same; by itself a 25 Gbit/s host of PHub, Section 4.9, with 2:1 oversubscription."""

    nic_port_dollars: Annotated[Dollars, Field(description="A port of a network card.")] = 260
    switch_ports: Annotated[
        Positive, Field(description="Hosts that it can connect at this speed.")
    ] = 128
    cable_dollars: Annotated[
        Dollars, Field(description="A cable, or its share of one that breaks out.")
    ] = 31.25
    oversubscription: Annotated[
        float,
        Field(
            ge=1,
            le=1e12,
            description="Bandwidth of a rack's hosts over that of its links to other racks.",
        ),
    ] = 2


class PricesBody(RequestModel):
    """Prices of a rack with a PHub and of one without; by itself those of PHub, Section 4.9."""

    baseline_samples_per_s: Annotated[
        Positive,
        Field(description="What a worker trains whose host is also a server [samples/s]."),
    ]
    hub_samples_per_s: Annotated[
        Positive, Field(description="What a worker trains that shares a PHub [samples/s].")
    ]
    worker_dollars: Annotated[Positive, Field(description="A worker without GPUs.")] = 4_117
    gpu_dollars: Annotated[Dollars, Field(description="A GPU.")] = 699
    gpus_per_worker: Positive = 4
    baseline: Annotated[
        BaselinePorts, Field(description="Connection of the workers that are servers, too.")
    ] = BaselinePorts()
    hub: Annotated[HubPorts, Field(description="Connection of the workers with a PHub.")] = (
        HubPorts()
    )
    hub_dollars: Annotated[Dollars, Field(description="A PHub without network cards.")] = 8_407
    hub_nic_port_dollars: Annotated[
        Dollars, Field(description="A port of the PHub's network cards.")
    ] = 162.5
    hub_ports: Annotated[Positive, Field(description="Ports of the PHub.")] = 20
    workers_per_hub: Annotated[
        Positive | None,
        Field(description="That share a PHub; null for as many as the switch has ports beside it."),
    ] = None
    oversubscriptions: Annotated[
        Annotated[
            list[Annotated[float, Field(ge=1, le=1e12)]],
            Field(min_length=1, max_length=MAX_OVERSUBSCRIPTIONS),
        ]
        | None,
        Field(
            exclude_if=is_unknown,
            description="Of racks with a PHub that are to be compared, each in the place of "
            "`hub.oversubscription`; the answer picks one.",
        ),
    ] = None

    def with_oversubscription(self, ratio: float) -> "PricesBody":
        """Return the same prices of a rack with a PHub of another oversubscription."""
        hub = self.hub.model_copy(update={"oversubscription": ratio})
        return self.model_copy(update={"hub": hub})

    def sharing(self) -> float:
        """Return the workers that share a PHub; 0 where the switch has no ports for any."""
        if self.workers_per_hub is not None:
            return self.workers_per_hub
        return workers_beside(self.hub.switch_ports, self.hub_ports, self.hub.oversubscription)

    def to_prices(self) -> Prices:
        """Return the prices as the solver knows them."""
        return Prices(
            worker_dollars=self.worker_dollars,
            gpu_dollars=self.gpu_dollars,
            gpus_per_worker=self.gpus_per_worker,
            baseline=self.baseline.to_ports(),
            hub=self.hub.to_ports(),
            hub_dollars=self.hub_dollars,
            hub_nic_port_dollars=self.hub_nic_port_dollars,
            hub_ports=self.hub_ports,
            workers_per_hub=self.sharing(),
            baseline_samples_per_s=self.baseline_samples_per_s,
            hub_samples_per_s=self.hub_samples_per_s,
        )
