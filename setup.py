"""Compile each module of the solver that has a .pxd beside it.

The module itself is Python, the .pxd says the types. Where a compiler or Python's headers are
missing the same module runs as it is, slower. With INTERLACE_COMPILE=0 nothing is compiled.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from setuptools import Extension, setup


def can_compile() -> bool:
    """Tell whether modules are wanted compiled, and a compiler and Python's headers are here."""
    if os.environ.get("INTERLACE_COMPILE") == "0":
        return False
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return os.name == "nt" or (shutil.which(compiler) is not None and headers.is_file())


def extensions() -> list[Extension]:
    """Return the compiled modules."""
    from Cython.Build import cythonize

    modules = cythonize(
        [
            Extension(
                ".".join(types.with_suffix("").parts),
                [str(types.with_suffix(".py"))],
                # no fused multiply-add: the same figures on every machine, compiled or not
                extra_compile_args=["-O3", "-g0", "-ffp-contract=off"],
            )
            for types in sorted(Path("solver").rglob("*.pxd"))
        ],
        build_dir="build/cython",
        compiler_directives={
            "language_level": 3,
            "annotation_typing": False,
            "binding": False,
            "boundscheck": False,
            "cdivision": True,
            "initializedcheck": False,
            "wraparound": False,
        },
    )
    for module in modules:
        module.optional = True  # cythonize does not keep it
    return modules


setup(
    ext_modules=extensions() if can_compile() else [],
    options={"build_ext": {"parallel": os.cpu_count()}},
)
