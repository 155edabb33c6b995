"""Compile each module of the solver that has a .pxd beside it.

The module itself is Python, the .pxd says the types. Where a compiler or Python's headers are
missing the same module runs as it is, slower. With INTERLACE_COMPILE=0 nothing is compiled.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

#: What all compiled modules need of Cython, compiled once (half of their code otherwise).
SHARED = "solver.cython_shared"


def can_compile() -> bool:
    """Tell whether modules are wanted compiled, and a compiler and Python's headers are here."""
    if os.environ.get("INTERLACE_COMPILE") == "0":
        return False
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return os.name == "nt" or (shutil.which(compiler) is not None and headers.is_file())


def extensions_of_solver() -> list[Extension]:
    """Return the compiled modules."""
    from Cython.Build import cythonize  # noqa: PLC0415 - not needed where nothing is compiled

    modules = [path.with_suffix("") for path in sorted(Path("solver").rglob("*.pxd"))]
    sources = {".".join(path.parts): f"{path}.py" for path in modules}
    # -O1: a third of the time of -O3; fewer plans a second by 2 % (tests/benchmarks/evaluator.py).
    # No fused multiply-add: the same figures on every machine, compiled or not.
    flags = ["-O1", "-g0", "-ffp-contract=off"]
    extensions = cythonize(
        [
            Extension(name, [source], extra_compile_args=flags)
            for name, source in {SHARED: f"{SHARED.replace('.', '/')}.c", **sources}.items()
        ],
        build_dir="build/cython",
        quiet=True,
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "annotation_typing": False,
            "binding": False,
            "boundscheck": False,
            "cdivision": True,
            "initializedcheck": False,
            "show_performance_hints": False,
            "wraparound": False,
        },
    )
    for extension in extensions:
        extension.optional = True  # cythonize does not keep it
    return extensions


setup(
    ext_modules=extensions_of_solver() if can_compile() else [],
    options={"build_ext": {"parallel": os.cpu_count()}},
)
