"""Tables of iteration times, with the files of the graphs that they name."""

from pathlib import Path
from typing import Any

from app.cli.files import read_graph, text_of
from app.errors import InvalidRequest
from app.reading.requests import checked_plain
from app.schemas.estimates import EstimateRequest
from app.services.assumed_cluster import WORKERS
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError
from solver.estimation.times_table import is_times, read_times

Json = dict[str, Any]

#: What is likely where nobody says; of start-up and hop the solver knows.
_BEFORE: Json = {"bandwidth_gbps": 10.0}


def read_estimate(content: bytes, folder: Path, cluster: Json, fields: Json) -> EstimateRequest:
    """Read a table of iteration times; the graphs that it names are files beside it.

    Raises
    ------
    InvalidRequest, InvalidTrace, InvalidMeasurements
        When a cell or a field is wrong, or a graph cannot be read.
    """
    text = text_of(content)
    raw = {"text": text, "cluster": {"workers": WORKERS, **_BEFORE, **cluster}, **fields}
    graphs = {}
    for name in dict.fromkeys(row.graph for row in read_times(text) if row.graph):
        try:
            graphs[name] = read_graph((folder / name).read_bytes(), name)
        except OSError as error:
            detail = f"Graph {name}: {error.strerror}."
            raise InvalidRequest([Fault("/graphs", FaultCode.EMPTY, detail)]) from error
    return checked_plain({**raw, "graphs": graphs}, EstimateRequest)


def is_estimate(content: bytes) -> bool:
    """Tell whether a file is a table of iteration times."""
    try:
        return is_times(text_of(content))
    except InterlaceError:
        return False
