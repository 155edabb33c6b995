"""Throughput for money of a rack with PHubs beside one with servers on the workers' hosts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

from solver.codes import FaultCode
from solver.errors import Fault, InvalidOptions
from solver.placements.ranges import real


@dataclass(frozen=True, slots=True)
class Ports:
    """What it costs to connect a host.

    Attributes
    ----------
    nic_port_dollars
        A port of a network card.
    switch_dollars, switch_ports
        A switch, and how many hosts it can connect at this speed.
    cable_dollars
        A cable, or its share of one that breaks out.
    oversubscription
        Bandwidth of a rack's hosts over that of its links to the other racks, at least 1.
    """

    nic_port_dollars: float
    switch_dollars: float
    switch_ports: float
    cable_dollars: float
    oversubscription: float = 1.0


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of both racks, and what their workers do.

    Attributes
    ----------
    worker_dollars
        A worker without its GPUs.
    gpu_dollars, gpus_per_worker
        A GPU, and how many a worker has.
    baseline, hub
        Connections of the workers whose hosts have the servers, and of those with a PHub.
    hub_dollars
        A PHub without network cards.
    hub_nic_port_dollars
        A port of a PHub's network cards.
    hub_ports
        Its ports.
    workers_per_hub
        Workers that share a PHub.
    baseline_samples_per_s, hub_samples_per_s
        Samples that a worker trains in a second in either rack.
    """

    worker_dollars: float
    gpu_dollars: float
    gpus_per_worker: float
    baseline: Ports
    hub: Ports
    hub_dollars: float
    hub_nic_port_dollars: float
    hub_ports: float
    workers_per_hub: float
    baseline_samples_per_s: float
    hub_samples_per_s: float


@dataclass(frozen=True, slots=True)
class WorkerValue:
    """What a worker of a rack costs, and trains for that.

    Attributes
    ----------
    network_dollars
        A: its share of network card, switches and cables.
    hub_dollars
        K P: its share of a PHub; 0 without one.
    total_dollars
        All of it, host and GPUs too.
    samples_per_s_per_1000_dollars
        What it trains for each 1000 dollars [samples/s].
    """

    network_dollars: float
    hub_dollars: float
    total_dollars: float
    samples_per_s_per_1000_dollars: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both racks.

    Attributes
    ----------
    baseline
        Servers on the workers' hosts.
    hub
        A PHub for so many workers.
    gain
        The second's throughput for money over the first's, less 1.
    """

    baseline: WorkerValue
    hub: WorkerValue
    gain: float


def compare_prices(prices: Prices) -> Comparison:
    """Compare what a rack with PHubs trains for its money with one without.

    A host's network costs A = (N + S + C) + F (4 S + 2 C), with N a port of its card, S one of a
    switch, C a cable and F = 1 / oversubscription. A worker costs W + N + g G + A, with g GPUs, and
    K P more with a PHub: K = 1 / workers per PHub, P = H + p N + p A with p ports of its own cards.
    A holds N already, so the paper counts N twice, of workers and of PHubs; it is counted so here,
    too. P is printed with the price W of a worker; H, that of the PHub, is meant.

    Raises
    ------
    InvalidOptions
        With every value that is out of range.

    References
    ----------
    .. [1] PHub, Section 4.9. Its Table 5 cannot be had exactly from the prices beside it.
    """
    if faults := list(price_faults(prices)):
        raise InvalidOptions(faults)
    hub_network = network_dollars(prices.hub, prices.hub_nic_port_dollars)
    hub = prices.hub_dollars + prices.hub_ports * (prices.hub_nic_port_dollars + hub_network)
    amortized = hub / prices.workers_per_hub
    baseline = _value(prices, prices.baseline, 0.0, prices.baseline_samples_per_s)
    with_hub = _value(prices, prices.hub, amortized, prices.hub_samples_per_s)
    gain = with_hub.samples_per_s_per_1000_dollars / baseline.samples_per_s_per_1000_dollars - 1
    return Comparison(baseline, with_hub, gain)


def network_dollars(ports: Ports, nic_port_dollars: float) -> float:
    """Price A of a host's network [dollars].

    Its card, a port and a cable at the rack's switch; and for the share of it that leaves the rack
    four ports and two cables.
    """
    switch = ports.switch_dollars / ports.switch_ports
    cable = ports.cable_dollars
    beyond = (4 * switch + 2 * cable) / ports.oversubscription
    return nic_port_dollars + switch + cable + beyond


def workers_beside(switch_ports: float, hub_ports: float, oversubscription: float) -> int:
    """Count the workers that a rack's switch has ports for beside a PHub.

    With oversubscription o, p o / (1 + o) of p ports lead to hosts, the others to other racks. With
    128 ports and a PHub of 20 these are the 44, 65 and 76 workers of the paper for o of 1, 2 and 3.

    References
    ----------
    .. [1] PHub, Section 4.9.
    """
    down = switch_ports * oversubscription / (1 + oversubscription)
    return max(0, math.floor(down - hub_ports))


def _value(prices: Prices, ports: Ports, hub: float, throughput: float) -> WorkerValue:
    network = network_dollars(ports, ports.nic_port_dollars)
    gpus = prices.gpus_per_worker * prices.gpu_dollars
    total = prices.worker_dollars + ports.nic_port_dollars + gpus + network + hub
    return WorkerValue(network, hub, total, 1000 * throughput / total)


def price_faults(prices: Prices) -> Iterator[Fault]:
    """Find every value that is out of range."""
    for name in (field.name for field in fields(Prices) if field.type is float):
        free = name.endswith("dollars") and name != "worker_dollars"
        yield from real(f"/{name}", name, getattr(prices, name), zero=free)
    for place, ports in (("baseline", prices.baseline), ("hub", prices.hub)):
        for name in (field.name for field in fields(Ports)):
            value = getattr(ports, name)
            yield from real(f"/{place}/{name}", name, value, zero=name.endswith("dollars"))
        if 0 < ports.oversubscription < 1:
            detail = f"oversubscription must be 1 or more, got {ports.oversubscription!r}."
            yield Fault(f"/{place}/oversubscription", FaultCode.OUT_OF_RANGE, detail)
