"""Compile each module of the solver that has a .pxd beside it.

The module itself is Python, the .pxd says the types. Where a compiler or Python's headers are
missing the same module runs as it is, slower.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

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
setup(ext_modules=modules, options={"build_ext": {"parallel": os.cpu_count()}})
