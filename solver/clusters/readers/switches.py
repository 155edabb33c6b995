"""Switches with what is below them, as Slurm's files list them, made into a topology."""

from dataclasses import dataclass

from solver.clusters.topology import ClusterNode, InvalidTopology, Topology, link_name, wired
from solver.codes import FaultCode
from solver.errors import Fault

#: What levels are called from the nodes up, where a file has no names for them.
LEVELS = ("node", "leaf", "spine", "core")


@dataclass(frozen=True, slots=True)
class SwitchBelow:
    """A switch as a file lists it.

    Attributes
    ----------
    name
        Its name.
    switches, nodes
        What is below it, by name.
    place
        Where it stands, as a JSON pointer.
    uplink_gbps
        Capacity of its link up, where the file tells [Gbit/s].
    """

    name: str
    switches: tuple[str, ...]
    nodes: tuple[str, ...]
    place: str
    uplink_gbps: float | None = None


def topology_of_switches(
    switches: list[SwitchBelow],
    gpus: int,
    domains: dict[str, str] | None = None,
    levels: tuple[str, ...] = LEVELS,
) -> Topology:
    """Return the topology of switches.

    Parameters
    ----------
    switches
        Switches in the order of the file.
    gpus
        GPUs of each node.
    domains
        The NVLink domain of nodes, by name.
    levels
        Names of the levels.

    Raises
    ------
    InvalidTopology
        When a switch is there twice, has two switches above it, is above itself, or one is named
        that is not there; when there is no node, with each switch that has nothing below it. Of
        switches that are below each other, as in a hypercube, with the first two alone.

    Notes
    -----
    O(switches + nodes * levels). A switch is a level above the highest that is below it.
    """
    by_name = {switch.name: switch for switch in switches}
    _refuse_peers(switches, by_name)
    faults, above = _parents(switches, by_name)
    over = {switch.name: _way_up(switch, above, faults) for switch in switches}
    nodes: dict[str, ClusterNode] = {}
    for switch in switches:
        for name in switch.nodes:
            if name in nodes and nodes[name].above[0] != switch.name:
                detail = (
                    f"Node {name!r} is below {nodes[name].above[0]!r} and {switch.name!r}; name "
                    "switches that work together as one."
                )
                faults.append(Fault(switch.place, FaultCode.DUPLICATE_ID, detail))
            domain = (domains or {}).get(name)
            nodes.setdefault(name, ClusterNode(name, gpus, over[switch.name], domain))
    if not nodes:
        faults += [below_none(each) for each in switches if not each.switches]
    if faults:
        raise InvalidTopology(faults)
    told = {link_name(below, up): by_name[below].uplink_gbps for below, up in above.items()}
    height = max((len(node.above) for node in nodes.values()), default=0)
    names = tuple(levels[i] if i < len(levels) else f"level{i}" for i in range(height + 1))
    return wired(nodes.values(), names, told)


def below_none(switch: SwitchBelow) -> Fault:
    """Say that nothing is below a switch, where no other has nodes either."""
    detail = f"{switch.name!r} has no node below it, nor has any other: say which nodes it has."
    return Fault(switch.place, FaultCode.EMPTY, detail)


def _parents(
    switches: list[SwitchBelow], by_name: dict[str, SwitchBelow]
) -> tuple[list[Fault], dict[str, str]]:
    """Return what is wrong with the names, and the switch above each."""
    faults: list[Fault] = []
    above: dict[str, str] = {}
    seen: set[str] = set()
    for switch in switches:
        if switch.name in seen:
            detail = f"Switch {switch.name!r} is there twice."
            faults.append(Fault(switch.place, FaultCode.DUPLICATE_ID, detail))
        seen.add(switch.name)
        for below in switch.switches:
            if below not in by_name:
                detail = f"Switch {switch.name!r}: {below!r} is no switch of the file."
                faults.append(Fault(switch.place, FaultCode.UNKNOWN_NODE, detail))
            elif above.setdefault(below, switch.name) != switch.name:
                detail = f"Switch {below!r} is below {above[below]!r} and {switch.name!r}."
                faults.append(Fault(switch.place, FaultCode.DUPLICATE_ID, detail))
    return faults, above


def _refuse_peers(switches: list[SwitchBelow], by_name: dict[str, SwitchBelow]) -> None:
    """Refuse switches that are below each other."""
    for switch in switches:
        for below in switch.switches:
            peer = by_name.get(below, switch)
            if peer is not switch and switch.name in peer.switches:
                detail = (
                    f"Switches {switch.name!r} and {below!r} are below each other: only trees are "
                    "read. Of a hypercube or a dragonfly leave the links between switches out, and "
                    "name one switch above them all."
                )
                raise InvalidTopology([Fault(switch.place, FaultCode.CYCLE, detail)])


def _way_up(switch: SwitchBelow, above: dict[str, str], faults: list[Fault]) -> tuple[str, ...]:
    """Return a switch and those above it, from the nearest."""
    way = [switch.name]
    while (up := above.get(way[-1])) is not None:
        if up in way:
            if up == switch.name:  # else it is below a switch that is
                detail = f"Switch {switch.name!r} is above itself."
                faults.append(Fault(switch.place, FaultCode.CYCLE, detail))
            break
        way.append(up)
    return tuple(way)
