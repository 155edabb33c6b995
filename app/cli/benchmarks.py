"""Logs of launches: unpacked, told from what is none, and put into a request."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from app.cli.files import text_of
from app.limits import MAX_NAME_CHARACTERS, MAX_UNPACKED_BYTES
from app.reading.requests import checked_plain
from app.reading.traces import recognised
from app.reading.unpacking import unpacked
from app.schemas.cost_models import CostModelRequest
from solver.calibration.measurements.logs.flight_recorder import as_text
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError, InvalidTrace
from solver.traces.foreign import description, is_log

Json = dict[str, Any]

#: How JSON begins; a list of no objects begins as launchers do, with "[1,0]<stdout>:".
_JSON = re.compile(rb"\s*(?:\{|\[\s*\{)")


def places_of(names: Sequence[str]) -> dict[str, str]:
    """Return what a pointer to a text of the request stands for, of files called so."""
    each = {f"/texts/{i}": name for i, name in enumerate(names)}
    return {"/text": names[0], "/texts": ", ".join(names), **each}


def kinds_of(given: Sequence[str], files: Sequence[str]) -> Json:
    """Read what ``--kind`` says, KIND or FILE=KIND, as fields of a request.

    Raises
    ------
    typer.BadParameter
        When one names another file, or two are of the same.
    """
    found: dict[str, str] = {}
    for text in given:
        file, _, kind = text.rpartition("=")
        if file and file not in files:
            raise typer.BadParameter(f"{file} is none of the files", param_hint="--kind")
        if file in found:
            detail = f"two are given for {file}" if file else "two are given for all files"
            raise typer.BadParameter(detail, param_hint="--kind")
        found[file] = kind
    fields: Json = {"kind": found.pop("")} if "" in found else {}
    return fields | ({"kinds": [found.get(file) for file in files]} if found else {})


def read_contents(contents: Sequence[bytes]) -> list[bytes]:
    """Unpack files, write pickles as text, and refuse what is no log of launches.

    Raises
    ------
    InvalidTrace
        With all of these, each at its ``/texts/i``.
    """
    plain: list[bytes] = []
    faults: list[Fault] = []
    left = MAX_UNPACKED_BYTES
    for i, content in enumerate(contents):
        try:
            whole = unpacked(content, left)
            left -= len(whole)
            _refuse_other(whole)
            plain.append((as_text(whole) or "").encode() or whole)
        except InterlaceError as error:
            faults += [replace(fault, pointer=f"/texts/{i}") for fault in error.faults]
    if faults:
        raise InvalidTrace(faults)
    return plain


def read_benchmarks(contents: Sequence[bytes], name: str, fields: Json) -> CostModelRequest:
    """Read what benchmarks printed as measurements to fit a cost model to.

    ``fields`` are the others of the request; the model is called after the first file.

    Raises
    ------
    InvalidRequest, InvalidTrace
        When a field is out of range, or a file is not text.
    """
    texts = [text_of(content) for content in contents]
    is_one = len(texts) == 1 and "kinds" not in fields
    source = {"text": texts[0]} if is_one else {"texts": texts}
    title = Path(name.removesuffix(".gz")).stem
    return checked_plain(
        {"name": title[:MAX_NAME_CHARACTERS], **fields, **source}, CostModelRequest
    )


def _refuse_other(content: bytes) -> None:
    """Say what a file is that is no log of launches.

    Raises
    ------
    InvalidTrace
        When it is JSON, packed or not text.
    """
    is_json = _JSON.match(content) is not None
    if is_log(content):
        return
    if not is_json and b"\0" not in content:
        text_of(content)
        return
    if form := recognised(content):
        what = f"a trace ({form}): 'interlace import' reads it, with the costs that it recorded"
    elif is_json:
        what = "JSON of no known log: give what a benchmark printed, or a CSV"
    else:
        what = description(content) or "not text"
    raise InvalidTrace([Fault("", FaultCode.WRONG_FORMAT, f"The file is {what}.")])
