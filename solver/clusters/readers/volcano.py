"""Volcano's HyperNodes: sets of nodes, and of other sets, by tier."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic_core import SchemaError, SchemaValidator, core_schema

from solver.clusters.readers.manifests import (
    LabelledNode,
    checked_list,
    checked_object,
    name_of,
    node_of,
    object_at,
    of_each,
)
from solver.clusters.readers.selectors import selecting
from solver.clusters.readers.slurm_conf import ASSUMED_GPUS
from solver.clusters.readers.switches import SwitchBelow, topology_of_switches
from solver.clusters.topology import InvalidTopology, Topology
from solver.codes import FaultCode
from solver.errors import Fault
from solver.wording import must_be, one_of

#: Characters of a ``regexMatch``.
MAX_PATTERN_CHARACTERS: Final = 1_000

#: How a member of a HyperNode is told.
SELECTORS: Final = ("exactMatch", "regexMatch", "labelMatch")


def looks_like(document: Any) -> bool:
    """Tell whether a document is a list of HyperNodes."""
    items = document.get("items") if isinstance(document, dict) else None
    return isinstance(items, list) and any(
        isinstance(item, dict) and item.get("kind") == "HyperNode" for item in items
    )


def read(document: Any, gpus: int | None = None) -> Topology:
    """Return the topology of HyperNodes, and of the nodes that stand beside them in the list.

    A member is named (``exactMatch``), or meant by a regular expression of names (``regexMatch``)
    or by labels (``labelMatch``); these two are looked for among the nodes of the list (``kubectl
    get nodes,hypernodes -o json``).

    Parameters
    ----------
    document
        The list.
    gpus
        GPUs of a node that does not count ``nvidia.com/gpu``; None for 8.

    Raises
    ------
    InvalidTopology
        When a member is not told in one of these ways, or the sets are no tree.
    """
    items = document["items"]
    nodes = [node for node in of_each(items, _node_or_none) if node is not None]
    counted = {node.name: node.gpus for node in nodes}
    sets = of_each(items, partial(_set_or_none, nodes=nodes))
    switches = [
        replace(each, nodes=tuple(name for name in each.nodes if counted.get(name) != 0))
        for each in sets
        if each is not None
    ]
    found = topology_of_switches(switches, gpus or ASSUMED_GPUS)
    own = (replace(node, gpus=counted.get(node.name) or node.gpus) for node in found.nodes)
    return replace(found, nodes=tuple(own))


def _node_or_none(item: dict[str, Any], place: str) -> LabelledNode | None:
    return node_of(item, place) if item.get("kind") == "Node" else None


def _set_or_none(item: dict[str, Any], place: str, nodes: list[LabelledNode]) -> SwitchBelow | None:
    if item.get("kind") != "HyperNode":
        return None
    at = f"{place}/spec/members"
    listed = checked_list(object_at(item, ("spec",), place).get("members"), "spec.members", at)
    members = [checked_object(each, "A member", f"{at}/{i}") for i, each in enumerate(listed)]
    below: tuple[list[str], list[str]] = [], []
    for i, member in enumerate(members):
        is_set = member.get("type") == "HyperNode"
        below[is_set].extend(_meant(member, nodes, f"{at}/{i}", is_set=is_set))
    return SwitchBelow(name_of(item, place), tuple(below[True]), tuple(below[False]), place)


def _meant(
    member: dict[str, Any], nodes: list[LabelledNode], place: str, *, is_set: bool
) -> list[str]:
    """Return the names that a member stands for."""
    selector = object_at(member, ("selector",), place)
    given = [name for name in SELECTORS if selector.get(name) is not None]
    at = f"{place}/selector"
    if len(given) != 1:
        detail = f"A member is told by {one_of(SELECTORS)}; got {' and '.join(given) or 'none'}."
        raise InvalidTopology([Fault(at, FaultCode.MISSING_FIELD, detail)])
    (way,) = given
    told, under = object_at(selector, (way,), at), f"{at}/{way}"
    if way == "exactMatch":
        return [_word(told, "name", under)]
    if is_set:
        detail = f"A member that is a HyperNode is named by exactMatch, not by {way}."
        raise InvalidTopology([Fault(under, FaultCode.NOT_SUPPORTED, detail)])
    if not nodes:
        detail = f"{way} is looked for among nodes: list them too (kubectl get nodes,hypernodes)."
        raise InvalidTopology([Fault(under, FaultCode.MISSING_FIELD, detail)])
    if way == "labelMatch":
        are_meant = selecting(told, under)
        return [node.name for node in nodes if are_meant(node.labels)]
    fits = _pattern(told, under)
    return [node.name for node in nodes if fits(node.name)]


def _pattern(told: dict[str, Any], place: str) -> Callable[[str], bool]:
    """Return what tells whether a name fits a regular expression.

    The expressions are those of Rust's ``regex``, which pydantic has: as those of Go, on which
    Volcano runs, they know no look-around and no back-references, and take time linear in the name.
    """
    pattern = _word(told, "pattern", place)
    fault = partial(Fault, f"{place}/pattern", FaultCode.WRONG_FORMAT)
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        detail = (
            f"regexMatch: a pattern must have at most {MAX_PATTERN_CHARACTERS:,} characters, got "
            f"{len(pattern):,}."
        )
        raise InvalidTopology([fault(detail)])
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern)).isinstance_python
    except SchemaError as error:
        why = str(error).splitlines()[-1].strip().removeprefix("SchemaError: ")
        why = why.removeprefix("error: ").removesuffix(".")
        detail = f"regexMatch: {pattern[:40]!r} is no regular expression: {why}."
        raise InvalidTopology([fault(detail)]) from None


def _word(told: dict[str, Any], field: str, place: str) -> str:
    value = told.get(field)
    if not isinstance(value, str) or not value:
        detail = must_be(field, "a text that is not empty", value)
        raise InvalidTopology([Fault(f"{place}/{field}", FaultCode.WRONG_FORMAT, detail)])
    return value
