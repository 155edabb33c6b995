"""Tensors as frameworks name them, and lists of names as Python."""

from collections.abc import Container, Sequence
from importlib.resources import files

from solver.codes import FaultCode
from solver.errors import Fault, InvalidPlan
from solver.exports import templates
from solver.exports.explicit_plan import ExplicitPlan
from solver.graph.names import GRADIENT, is_parameter


def parameter_name(tensor: str) -> str:
    """Return the name of the parameter whose gradient a tensor is."""
    return tensor.removeprefix(GRADIENT)


def check_names(plan: ExplicitPlan, tensors: Container[str]) -> None:
    """Check that gradients have names that parameters may have.

    An id that begins with ``grad:`` has one by its form; any other is a path of words.

    Raises
    ------
    InvalidPlan
        When some have none (``no_parameter_names``), at the first of each bucket.
    """
    faults = []
    for place, bucket in enumerate(plan.buckets):
        nameless = [
            (k, tensor)
            for k, tensor in enumerate(bucket.tensors)
            if tensor in tensors and not is_parameter(tensor)
        ]
        if nameless:
            k, tensor = nameless[0]
            detail = (
                f"{len(nameless)} of {len(bucket.tensors)} tensors of bucket {bucket.id!r} have no "
                f"name of a parameter, the first is {tensor!r}; give names and bytes of the "
                "model's parameters with the trace (--parameters of export, plan and import)."
            )
            fault = Fault(f"/buckets/{place}/tensors/{k}", FaultCode.NO_PARAMETER_NAMES, detail)
            faults.append(fault)
    if faults:
        raise InvalidPlan(faults)


#: What a framework needs of the names.
NAMES_NOTE = (
    "Names are those of the graph's tensors; they must be the model's parameters (import a trace "
    "with its parameters)."
)


def python_list(values: Sequence[object]) -> str:
    """Write a list as Python: an entry a line, and of lists of names a name a line."""
    lines = ["["]
    for value in values:
        if isinstance(value, list) and value and isinstance(value[0], str):
            lines += ["    [", *(f"        {name!r}," for name in value), "    ],"]
        else:
            lines.append(f"    {value!r},")
    return "\n".join([*lines, "]"])


def program(name: str, **lists: Sequence[object]) -> str:
    """Return a program of :mod:`solver.exports.templates` with lists in their places.

    Parameters
    ----------
    name
        Its file.
    lists
        By the names that the program assigns them to, each in a line of its own.
    """
    text = (files(templates) / name).read_text()
    for variable, values in lists.items():
        before, found, rest = text.partition(f"\n{variable} = ")
        assert found, f"{name} has no {variable}"
        text = before + found + python_list(values) + rest[rest.index("\n") :]
    return text
