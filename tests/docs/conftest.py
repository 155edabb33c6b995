"""One command for the examples of all pages; their server is that of all tests."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.app.service import environment
from tests.docs.blocks import ROOT
from tests.docs.commands import SHIM


@pytest.fixture(scope="session")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return an environment in which commands are those of this checkout, as it is installed."""
    folder = tmp_path_factory.mktemp("bin")
    path = folder / "socket"
    shims = {
        "interlace": SHIM.format(python=sys.executable, path=str(path)),
        "make": '#!/bin/sh\n[ "$*" = demo ] && exec interlace demo\n',
        "python3": f'#!/bin/sh\nexec {sys.executable} "$@"\n',
    }
    for name, text in shims.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.docs.commands", str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        paths = os.pathsep.join([str(folder), os.environ["PATH"]])
        yield environment(folder / "data") | {"PATH": paths, "COLUMNS": "100"}
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
