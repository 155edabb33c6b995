"""Tensors as frameworks name them, and lists of names as Python."""

from collections.abc import Sequence

#: What an id of a gradient begins with in graphs that are made of layers.
_GRADIENT = "grad:"


def parameter_name(tensor: str) -> str:
    """Return the name of the parameter whose gradient a tensor is."""
    return tensor.removeprefix(_GRADIENT)


#: What a framework needs of the names.
NAMES_NOTE = (
    "Names are those of the graph's tensors; they must be the model's parameters (import a trace "
    "with its parameters)."
)


def python_lists(names: Sequence[Sequence[str]]) -> str:
    """Write lists of names as Python, a name a line."""
    lines = ["["]
    for bucket in names:
        lines += ["    [", *(f"        {name!r}," for name in bucket), "    ],"]
    return "\n".join([*lines, "]"])
