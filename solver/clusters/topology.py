"""A cluster as it is wired: nodes, the switches above them, and the links between."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final

from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.wording import meant

#: The level of links that leave a node, and of those between nodes that share an NVLink domain.
NODE: Final = "node"
DOMAIN: Final = "domain"


class InvalidTopology(InterlaceError):
    """The nodes, switches and links are not a cluster that jobs can be put on."""


@dataclass(frozen=True, slots=True)
class ClusterNode:
    """A node: GPUs, and the way out.

    Attributes
    ----------
    name
        What its scheduler calls it.
    gpus
        GPUs, at least 1.
    above
        The switches above it, from the nearest; those of one level share a name or differ.
    domain
        The NVLink domain that it shares with other nodes, which its traffic with them stays in;
        None where NVLink ends at the node.
    labels
        What else is known of it: (key, value).
    """

    name: str
    gpus: int
    above: tuple[str, ...]
    domain: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterLink:
    """A link up: from a node or a switch to what is above it.

    Attributes
    ----------
    name
        ``below>above``, as :func:`link_name` makes it.
    level
        The level of what is below it: ``node``, ``leaf``, ...; ``domain`` for NVLink beyond a node.
    capacity_gbps
        Capacity each way, of all cables and cards together [Gbit/s]; None where nobody said.
    """

    name: str
    level: str
    capacity_gbps: float | None = None


@dataclass(frozen=True)
class Topology:
    """Nodes and switches as a tree, or several, with the links between them.

    What several switches of a level do together (the rails of a pod, the switches of a spine) is
    one switch here, whose links have the capacities of all.

    Attributes
    ----------
    nodes
        Nodes in the order of their ranks: the order of the file, which Slurm follows as well.
    links
        Links up, each once.
    levels
        Levels from the innermost: ``node`` first.
    node_gbps
        Bandwidth of a GPU to others of its node, one way [Gbit/s]; None where nobody said.
    startup_us, hop_us
        Fixed cost of a launch that leaves the node, and of each step of its ring [us].
    node_startup_us, node_hop_us
        The same for a launch that does not.
    """

    nodes: tuple[ClusterNode, ...]
    links: tuple[ClusterLink, ...]
    levels: tuple[str, ...]
    node_gbps: float | None = None
    startup_us: float = 0.0
    hop_us: float = 0.0
    node_startup_us: float = 0.0
    node_hop_us: float = 0.0

    @cached_property
    def by_name(self) -> dict[str, ClusterNode]:
        """Nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def link_by_name(self) -> dict[str, ClusterLink]:
        """Links by name."""
        return {link.name: link for link in self.links}

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return sum(node.gpus for node in self.nodes)

    def node(self, name: str) -> ClusterNode:
        """Return a node.

        Raises
        ------
        InvalidTopology
            When there is none of that name.
        """
        if name not in self.by_name:
            raise InvalidTopology([unknown_node(name, "", self.by_name)])
        return self.by_name[name]

    def path(self, one: str, two: str) -> tuple[str, ...] | None:
        """Return the names of the links between two nodes, from the first to the second.

        Nothing for a node and itself; None where no switch joins the two.

        Raises
        ------
        InvalidTopology
            When a name is not of a node.

        Notes
        -----
        O(levels). Links carry as much one way as the other, so the way back is as long.
        """
        a, b = self.node(one), self.node(two)
        if a is b:
            return ()
        if a.domain is not None and a.domain == b.domain:
            return link_name(one, a.domain), link_name(two, b.domain)
        joined = next((switch for switch in a.above if switch in b.above), None)
        if joined is None:
            return None
        return (*way_up(a, joined), *reversed(way_up(b, joined)))

    def meets(self, one: str, two: str) -> str | None:
        """Return the domain or switch where two nodes' traffic meets; None where none does."""
        a, b = self.node(one), self.node(two)
        if a.domain is not None and a.domain == b.domain:
            return a.domain
        return next((switch for switch in a.above if switch in b.above), None)


def link_name(below: str, above: str) -> str:
    """Name the link up from a node or switch."""
    return f"{below}>{above}"


def way_up(node: ClusterNode, switch: str) -> tuple[str, ...]:
    """Return the names of the links from a node up to a switch above it."""
    steps = (node.name, *node.above[: node.above.index(switch) + 1])
    return tuple(link_name(below, above) for below, above in pairwise(steps))


def unknown_node(name: str, pointer: str, known: Iterable[str]) -> Fault:
    """Say that a node is not in the topology, and which may be meant."""
    detail = f"The topology has no node {name!r}.{meant(name, known)}"
    return Fault(pointer, FaultCode.UNKNOWN_NODE, detail)


def wired(
    nodes: Iterable[ClusterNode],
    levels: Iterable[str],
    capacities: dict[str, float | None] | None = None,
) -> Topology:
    """Return the topology of nodes, with all links up that they have.

    Parameters
    ----------
    nodes
        Nodes, each with the switches above it.
    levels
        Names of the levels: ``node``, then of the switches of each height.
    capacities
        Capacities by the name of a link, of those that are known [Gbit/s].

    Raises
    ------
    InvalidTopology
        When there is no node, a name is there twice, or a switch has two switches above it.

    Notes
    -----
    O(nodes * levels).
    """
    own, names, told = tuple(nodes), tuple(levels), capacities or {}
    faults: list[Fault] = []
    if not own:
        faults.append(Fault("/nodes", FaultCode.EMPTY, "The topology has no node."))
    parents: dict[str, str] = {}
    links: dict[str, ClusterLink] = {}
    seen: set[str] = set()
    for i, node in enumerate(own):
        if node.name in seen:
            detail = f"Node {node.name!r} is there twice."
            faults.append(Fault(f"/nodes/{i}", FaultCode.DUPLICATE_ID, detail))
        seen.add(node.name)
        if node.gpus < 1:
            detail = f"Node {node.name!r}: gpus must be at least 1, got {node.gpus}."
            faults.append(Fault(f"/nodes/{i}/gpus", FaultCode.OUT_OF_RANGE, detail))
        if node.domain is not None:
            name = link_name(node.name, node.domain)
            links[name] = ClusterLink(name, DOMAIN, told.get(name))
        below = node.name
        for height, above in enumerate(node.above):
            name = link_name(below, above)
            level = names[height] if height < len(names) else f"level{height}"
            links.setdefault(name, ClusterLink(name, level, told.get(name)))
            if height and parents.setdefault(below, above) != above:
                detail = (
                    f"Switch {below!r} is below {parents[below]!r} and {above!r}; a switch has one "
                    "above it: name switches that work together as one."
                )
                faults.append(Fault(f"/nodes/{i}/above", FaultCode.DUPLICATE_ID, detail))
            below = above
    if faults:
        raise InvalidTopology(faults)
    return Topology(own, tuple(links.values()), names)


def with_capacities(topology: Topology, capacities: dict[str, float]) -> Topology:
    """Return a topology whose named links have these capacities [Gbit/s]."""
    return replace(
        topology,
        links=tuple(
            replace(link, capacity_gbps=capacities.get(link.name, link.capacity_gbps))
            for link in topology.links
        ),
    )
