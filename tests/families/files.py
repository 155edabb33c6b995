"""Requests in a folder, and the best plans that are known of them."""

import re
from collections.abc import Iterator
from pathlib import Path

from app.reading.requests import read_body
from app.schemas.plans import PlanRequest
from solver.costs import network_of
from tests.families import Instance

#: What these instances are called, as a family.
FILES = "files"
#: A row of the README's table: the file first, the best known time [ms] where the last cell begins.
ROW = re.compile(r"^\| (\w+\.json)\b.*\| ([\d.]+)[^|]*\|$", re.MULTILINE)


def requests(folder: Path) -> Iterator[Instance]:
    """Read what `POST /v1/plans` takes from each file of the table in a folder's README.md."""
    readme = folder / "README.md"
    if not readme.is_file():
        return
    for name, known_ms in ROW.findall(readme.read_text()):
        graph, request = read_body((folder / name).read_bytes(), PlanRequest)
        cluster = network_of(request.cluster.to_cluster())
        yield Instance(FILES, name, graph, cluster, 1000.0 * float(known_ms))
