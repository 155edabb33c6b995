"""What a topology's file does not say: capacities, asked for by name and put in."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from solver.clusters.topology import DOMAIN, NODE, InvalidTopology, Topology
from solver.codes import FaultCode
from solver.errors import Fault
from solver.wording import meant, must_be


@dataclass(frozen=True, slots=True)
class MissingFigure:
    """A figure that nobody gave.

    Attributes
    ----------
    name
        What to give it as: ``node_gbps``, or the level of links.
    count
        Links of the level that lack it.
    example
        One of them; None for ``node_gbps``.
    """

    name: str
    count: int
    example: str | None = None


def missing_figures(topology: Topology) -> tuple[MissingFigure, ...]:
    """Return all figures that predictions need and the topology lacks, level by level.

    What a level of the tree needs nobody crosses where it has no link, so nothing is asked of it;
    and ``node_gbps`` of nodes with one GPU is not.
    """
    found: list[MissingFigure] = []
    if topology.node_gbps is None and any(node.gpus > 1 for node in topology.nodes):
        found.append(MissingFigure("node_gbps", len(topology.nodes)))
    for level in (DOMAIN, *topology.levels):
        lacking = [
            link.name
            for link in topology.links
            if link.level == level and link.capacity_gbps is None
        ]
        if lacking:
            found.append(MissingFigure(level, len(lacking), lacking[0]))
    return tuple(found)


def faults_of_missing(topology: Topology, pointer: str = "") -> Iterator[Fault]:
    """Yield a fault for each figure that is missing, with how to give it."""
    for figure in missing_figures(topology):
        if figure.example is None:
            detail = (
                "The topology does not say how fast GPUs of a node are joined: give `node_gbps`, "
                "of a GPU one way [Gbit/s]."
            )
            yield Fault(f"{pointer}/node_gbps", FaultCode.MISSING_FIELD, detail)
        else:
            links = "link" if figure.count == 1 else "links"
            is_above = figure.name not in (NODE, DOMAIN)
            ratio = f", or `oversubscription` {figure.name}=RATIO" if is_above else ""
            detail = (
                f"The topology does not say the capacity of {figure.count:,} {links} up from level "
                f"{figure.name}, such as {figure.example}: give `level_gbps` {figure.name}=GBPS, "
                f"of all cables of a link together, one way{ratio}."
            )
            yield Fault(f"{pointer}/level_gbps/{figure.name}", FaultCode.MISSING_FIELD, detail)


def with_figures(
    topology: Topology,
    level_gbps: Mapping[str, float] | None = None,
    oversubscription: Mapping[str, float] | None = None,
    **figures: float | None,
) -> Topology:
    """Return a topology with capacities by level; what its file says of a link stays.

    Parameters
    ----------
    topology
        Nodes and links.
    level_gbps
        Capacity of each link up from a level, one way [Gbit/s].
    oversubscription
        By level: what comes into a switch from below over what goes up from it, for links whose
        capacity neither the file nor ``level_gbps`` tells.
    figures
        ``node_gbps`` [Gbit/s], ``startup_us``, ``hop_us``, ``node_startup_us`` and ``node_hop_us``
        [us]; None leaves what is there.

    Raises
    ------
    InvalidTopology
        When a level is not one of the topology's, or a figure is not positive; all at once.

    Notes
    -----
    O(links * levels).
    """
    by_level, ratios = dict(level_gbps or {}), dict(oversubscription or {})
    if faults := list(_faults(topology, by_level, ratios, figures)):
        raise InvalidTopology(faults)
    given: dict[str, Any] = {name: value for name, value in figures.items() if value is not None}
    capacities = {
        link.name: by_level.get(link.level) if link.capacity_gbps is None else link.capacity_gbps
        for link in topology.links
    }
    for level in topology.levels[1:]:
        if level in ratios:
            _subscribe(topology, level, ratios[level], capacities)
    links = (replace(link, capacity_gbps=capacities[link.name]) for link in topology.links)
    return replace(topology, links=tuple(links), **given)


def _subscribe(
    topology: Topology, level: str, ratio: float, capacities: dict[str, float | None]
) -> None:
    """Give links up from a level the sum of those into their switch, divided by the ratio."""
    into: dict[str, list[float | None]] = {}
    for link in topology.links:
        if link.level != DOMAIN:
            into.setdefault(link.name.rpartition(">")[2], []).append(capacities[link.name])
    for link in topology.links:
        below = into.get(link.name.partition(">")[0], [])
        if link.level == level and capacities[link.name] is None and below:
            known = [each for each in below if each is not None]
            if len(known) == len(below):
                capacities[link.name] = sum(known) / ratio


def _faults(
    topology: Topology,
    level_gbps: Mapping[str, float],
    ratios: Mapping[str, float],
    figures: Mapping[str, Any],
) -> Iterator[Fault]:
    has_domain = any(link.level == DOMAIN for link in topology.links)
    known = (*topology.levels, DOMAIN) if has_domain else topology.levels
    yield from _of_levels("level_gbps", level_gbps, known)
    yield from _of_levels("oversubscription", ratios, [each for each in known if each != NODE])
    for name, value in figures.items():
        may_be_zero = name.endswith("_us")
        if value is not None and not (0 < value < inf or (may_be_zero and value == 0)):
            rule = "at least 0" if may_be_zero else "positive"
            yield Fault(f"/{name}", FaultCode.OUT_OF_RANGE, must_be(name, rule, value))


def _of_levels(field: str, given: Mapping[str, float], known: Iterable[str]) -> Iterator[Fault]:
    names = list(known)
    for level, value in given.items():
        if level not in names:
            detail = (
                f"{field}: the topology has no level {level!r}; it has {', '.join(names)}."
                f"{meant(level, names)}"
            )
            yield Fault(f"/{field}/{level}", FaultCode.OUT_OF_RANGE, detail)
        elif not 0 < value < inf:
            detail = must_be(f"{field} of {level}", "positive", value)
            yield Fault(f"/{field}/{level}", FaultCode.OUT_OF_RANGE, detail)
