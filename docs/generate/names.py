"""The public names of a package, each as its docstring says."""

import importlib
import inspect


def names(package: str) -> str:
    """Ask mkdocstrings for each name of a package: functions, then classes, then the rest."""
    module = importlib.import_module(package)

    def sort(name: str) -> tuple[bool, bool]:
        value = getattr(module, name)
        return not inspect.isfunction(value), not inspect.isclass(value)

    return "\n\n".join(f"::: {package}.{name}" for name in sorted(module.__all__, key=sort))
