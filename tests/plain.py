"""Modules of the solver as they run without a compiler, beside those that are compiled."""

import importlib
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class _Source(MetaPathFinder):
    """Finds the .py of a module of the solver, whatever lies beside it."""

    def find_spec(self, fullname, path=None, target=None):
        found = PathFinder.find_spec(fullname, path, target) if fullname[:6] == "solver" else None
        if found is None or found.origin.endswith(".py"):
            return found
        file = Path(found.origin).parent / (fullname.rpartition(".")[2] + ".py")
        return spec_from_file_location(fullname, file, loader=SourceFileLoader(fullname, str(file)))


def plain(*names: str) -> list[ModuleType]:
    """Import modules, and all of the solver that they import, without compiled ones.

    They are others than those that ``import`` gives: their classes are not the same.
    """
    before = {
        name: module for name, module in sys.modules.items() if _is_solver(name) or name in names
    }
    finder = _Source()
    for name in before:
        del sys.modules[name]
    sys.meta_path.insert(0, finder)
    try:
        return [importlib.import_module(name) for name in names]
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_solver(name) or name in names]:
            del sys.modules[name]
        sys.modules.update(before)


def _is_solver(name: str) -> bool:
    return name.partition(".")[0] == "solver"
