"""Logs of launches: unpacked, told from what is none, and put into a request."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import typer

from app.cli.files import text_of
from app.limits import MAX_NAME_CHARACTERS, MAX_UNPACKED_BYTES
from app.reading.requests import checked_plain
from app.reading.traces import recognised
from app.reading.unpacking import unpacked_files
from app.schemas.cost_models import CostModelRequest
from solver.calibration.measurements import csv_table
from solver.calibration.measurements.logs.flight_recorder import as_text
from solver.codes import FaultCode
from solver.errors import Fault, InterlaceError, InvalidMeasurements, InvalidTrace
from solver.estimation.times_table import is_times
from solver.flight_recorder.dump import is_pickled
from solver.traces.foreign import description, is_log

Json = dict[str, Any]

#: How JSON begins; a list of no objects begins as launchers do, with "[1,0]<stdout>:".
_JSON = re.compile(rb"\s*(?:\{|\[\s*\{)")

#: Said of a text whose packing ends in the middle of a line.
_CUT_LINE = "was cut off in its last line, which is left out."


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


class LogTexts(NamedTuple):
    """What files hold that are logs of launches, or tables.

    Attributes
    ----------
    contents
        Of each text, unpacked.
    names
        What each is called: as its file, or as an archive calls it, behind the archive's name.
    places
        Which of the files each came from, from 0.
    said
        One sentence for what was left out, and for each file that ends in the middle.
    """

    contents: list[bytes]
    names: list[str]
    places: list[int]
    said: tuple[str, ...]


def read_contents(contents: Sequence[bytes], names: Sequence[str]) -> LogTexts:
    """Unpack files, write pickles as text, and refuse what is no log of launches.

    Of an archive what is neither a log nor a table is left out, where there is one. Of what was
    packed and ends in the middle the last line is left out, if it is there in part.

    Raises
    ------
    InvalidTrace
        With all of these, each at its ``/texts/i``.
    """
    found = LogTexts([], [], [], ())
    faults: list[Fault] = []
    left = MAX_UNPACKED_BYTES
    for i, content in enumerate(contents):
        try:
            texts, said = _texts_of(content, left, names[i])
        except InterlaceError as error:
            faults += [replace(fault, pointer=f"/texts/{i}") for fault in error.faults]
            continue
        left -= sum(map(len, texts.values()))
        found.contents.extend(texts.values())
        found.names.extend(texts)
        found.places.extend([i] * len(texts))
        found = found._replace(said=(*found.said, *said))
    if faults:
        raise InvalidTrace(faults)
    return found


def _texts_of(content: bytes, most: int, name: str) -> tuple[dict[str, bytes], list[str]]:
    """Return the texts of a file by what they are called, and what is to be said.

    Raises
    ------
    InvalidTrace
        When one is no log of launches.
    """
    files = unpacked_files([content], most)
    inside = [
        (name if member is None else f"{name}/{member}", text)
        for member, text in zip(files.names, files.contents, strict=True)
    ]
    is_archive = files.names != [None]
    kept = [each for each in inside if _is_measured(each[1])] if is_archive else []
    kept = kept or inside
    left = [called for called, _ in inside if called not in dict(kept)]
    said = [*files.dropped, *(f"{called} is no log of launches: not read." for called in left)]
    texts = {}
    for called, text in kept:
        plain = _without_cut_line(text) if files.cut else text
        _refuse_other(plain)
        texts[called] = (as_text(plain) or "").encode() or plain
        if len(plain) < len(text):
            said.append(f"{called} {_CUT_LINE}")
    return texts, [*(f"{name}: {each}" for each in files.cut), *said]


def _without_cut_line(text: bytes) -> bytes:
    """Return a text without a last line that has no end; JSON of one line as it is."""
    whole = text[: text.rfind(b"\n") + 1]
    return whole if whole and not is_pickled(text) else text


def _is_measured(text: bytes) -> bool:
    """Tell whether a text is a log of launches, or begins with the columns of a table."""
    if is_log(text):
        return True
    try:
        table = text_of(text)
        if not is_times(table):
            csv_table.read(table)
    except InvalidTrace:
        return False
    except InvalidMeasurements as error:
        return all(fault.code != FaultCode.WRONG_FORMAT for fault in error.faults)
    return True


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
