"""Objects of Kubernetes as JSON: what is read of each, and the place of what is wrong in it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from solver.clusters.topology import InvalidTopology
from solver.codes import FaultCode
from solver.errors import Fault
from solver.wording import must_be

Found = TypeVar("Found")

#: The resource that counts GPUs.
GPU: Final = "nvidia.com/gpu"


@dataclass(frozen=True, slots=True)
class LabelledNode:
    """A node as Kubernetes describes it.

    Attributes
    ----------
    name
        Its name.
    labels
        Its labels.
    gpus
        GPUs that it counts; None where it counts none of them.
    """

    name: str
    labels: dict[str, str]
    gpus: int | None


def of_each(items: list[Any], read: Callable[[dict[str, Any], str], Found]) -> list[Found]:
    """Return what is read of each object of a list, which gets its place as well.

    Raises
    ------
    InvalidTopology
        With what is wrong with all of them.
    """
    found: list[Found] = []
    faults: list[Fault] = []
    for i, item in enumerate(items):
        place = f"/items/{i}"
        try:
            found.append(read(checked_object(item, "An item of the list", place), place))
        except InvalidTopology as error:
            faults += error.faults
    if faults:
        raise InvalidTopology(faults)
    return found


def node_of(item: dict[str, Any], place: str) -> LabelledNode:
    """Return a node.

    Raises
    ------
    InvalidTopology
        When its name, labels or GPUs are not what Kubernetes has there.
    """
    own = object_at(item, ("metadata", "labels"), place)
    labels = {key: _text(value, f"Label {key}", place) for key, value in own.items()}
    counted = object_at(item, ("status", "allocatable"), place).get(GPU)
    if counted is None:
        return LabelledNode(name_of(item, place), labels, None)
    if isinstance(counted, bool) or not str(counted).isdecimal():
        at = f"{place}/status/allocatable/{escaped(GPU)}"
        detail = must_be(f"Node {name_of(item, place)!r}: {GPU}", "a whole number", counted)
        raise InvalidTopology([Fault(at, FaultCode.WRONG_FORMAT, detail)])
    return LabelledNode(name_of(item, place), labels, int(counted))


def name_of(item: dict[str, Any], place: str) -> str:
    """Return the name of an object; "" where it has none."""
    name = object_at(item, ("metadata",), place).get("name")
    return "" if name is None else _text(name, "metadata.name", place)


def object_at(item: dict[str, Any], path: tuple[str, ...], place: str) -> dict[str, Any]:
    """Return the object at a path; {} where it is not there.

    Raises
    ------
    InvalidTopology
        When something else stands there, or on the way.
    """
    found = item
    for depth, step in enumerate(path, 1):
        inner = found.get(step)
        if inner is None:
            return {}
        at = "/".join([place, *map(escaped, path[:depth])])
        found = checked_object(inner, ".".join(path[:depth]), at)
    return found


def checked_object(value: Any, what: str, place: str) -> dict[str, Any]:
    """Return what must be an object.

    Raises
    ------
    InvalidTopology
        When it is none.
    """
    if not isinstance(value, dict):
        detail = must_be(what, "an object", value)
        raise InvalidTopology([Fault(place, FaultCode.WRONG_TYPE, detail)])
    return value


def checked_list(value: Any, what: str, place: str) -> list[Any]:
    """Return what must be a list; [] where it is not there.

    Raises
    ------
    InvalidTopology
        When it is none.
    """
    if value is not None and not isinstance(value, list):
        raise InvalidTopology([Fault(place, FaultCode.WRONG_TYPE, must_be(what, "a list", value))])
    return value or []


def escaped(step: str) -> str:
    """Return a step of a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")


def _text(value: Any, what: str, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidTopology(
            [Fault(place, FaultCode.WRONG_TYPE, must_be(what, "a string", value))]
        )
    return value
