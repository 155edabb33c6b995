"""The public names of a package, each as its docstring says."""

import importlib


def names(package: str) -> str:
    """Ask mkdocstrings for each name that a package lists, in that order."""
    listed = importlib.import_module(package).__all__
    return "\n\n".join(f"::: {package}.{name}" for name in listed)
