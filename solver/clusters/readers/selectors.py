"""Label selectors of Kubernetes: which labels they mean.

The rules are those of the type ``LabelSelector`` of Kubernetes' API ``meta/v1``.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from solver.clusters.readers.manifests import checked_list, checked_object, escaped, object_at
from solver.clusters.topology import InvalidTopology
from solver.codes import FaultCode
from solver.errors import Fault
from solver.wording import must_be, one_of

Labels = Mapping[str, str]

#: Whether labels have a key with a value that a requirement asks for, by its operator.
OPERATORS: Final[dict[str, Callable[[Labels, str, list[Any]], bool]]] = {
    "In": lambda labels, key, values: labels.get(key) in values,
    "NotIn": lambda labels, key, values: labels.get(key) not in values,
    "Exists": lambda labels, key, _: key in labels,
    "DoesNotExist": lambda labels, key, _: key not in labels,
}


def selecting(selector: dict[str, Any], place: str) -> Callable[[Labels], bool]:
    """Return what tells whether labels are meant.

    Parameters
    ----------
    selector
        ``matchLabels`` and ``matchExpressions``, which must all hold; {} means all labels.
    place
        Where it stands.

    Raises
    ------
    InvalidTopology
        When a requirement has no key, no operator that is known, or not the values that it needs.
    """
    exact = object_at(selector, ("matchLabels",), place)
    at = f"{place}/matchExpressions"
    expressions = checked_list(selector.get("matchExpressions"), "matchExpressions", at)
    wanted = [_requirement(each, f"{at}/{i}") for i, each in enumerate(expressions)]
    wrong = next((key for key, value in exact.items() if not isinstance(value, str)), None)
    if wrong is not None:
        detail = must_be(f"matchLabels {wrong}", "a string", exact[wrong])
        under = f"{place}/matchLabels/{escaped(wrong)}"
        raise InvalidTopology([Fault(under, FaultCode.WRONG_TYPE, detail)])

    def are_meant(labels: Labels) -> bool:
        return all(labels.get(key) == value for key, value in exact.items()) and all(
            OPERATORS[operator](labels, key, values) for key, operator, values in wanted
        )

    return are_meant


def _requirement(expression: Any, place: str) -> tuple[str, str, list[Any]]:
    """Return key, operator and values."""
    own = checked_object(expression, "A requirement of matchExpressions", place)
    key, operator = own.get("key"), own.get("operator")
    values = checked_list(own.get("values"), "values", f"{place}/values")
    if not isinstance(key, str) or not key:
        detail = must_be("key", "a label's name", key)
        raise InvalidTopology([Fault(f"{place}/key", FaultCode.WRONG_FORMAT, detail)])
    if not isinstance(operator, str) or operator not in OPERATORS:
        detail = must_be("operator", one_of(OPERATORS), operator, OPERATORS)
        raise InvalidTopology([Fault(f"{place}/operator", FaultCode.WRONG_FORMAT, detail)])
    if bool(values) != (operator in ("In", "NotIn")):
        rule = "one or more of a label" if operator in ("In", "NotIn") else "left out"
        detail = must_be(f"values of the operator {operator}", rule, values)
        raise InvalidTopology([Fault(f"{place}/values", FaultCode.WRONG_FORMAT, detail)])
    return key, operator, values
