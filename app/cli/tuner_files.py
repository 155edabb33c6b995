"""Benchmarks of NCCL's algorithms as the command is given them: ``ALGORITHM/PROTOCOL=FILE``."""

from collections.abc import Sequence
from typing import Any

import typer

from app.cli.benchmarks import LogTexts, kinds_of, read_contents
from app.cli.failures import explaining
from app.cli.files import text_of
from app.cli.options import content, present
from app.reading.requests import checked_plain
from app.schemas.tuners import TunerRequest

_HINT = "FILE"


def places_of(given: Sequence[str]) -> dict[str, str]:
    """Return what a pointer to a run stands for, of files given so."""
    fields = ("algorithm", "protocol", "channels", "text")
    return {f"/runs/{i}/{field}": each for i, each in enumerate(given) for field in fields}


def read_tuner(
    given: Sequence[str], kinds: Sequence[str], fields: dict[str, Any]
) -> tuple[TunerRequest, LogTexts]:
    """Read files, each with the algorithm and the protocol that it was measured with.

    Returns
    -------
    tuple
        The request, with a run for each text, and the texts.

    Raises
    ------
    typer.BadParameter
        When a file has none of them, or ``--kind`` names another one.
    InvalidRequest, InvalidTrace
        When a file is not what a benchmark printed.
    """
    labels, files = zip(*map(_split, given), strict=True)
    named = kinds_of(kinds, files)
    own = named.get("kinds", [None] * len(files))
    names, packed = zip(*map(content, files), strict=True)
    with explaining(names[0], {}, {f"/texts/{i}": name for i, name in enumerate(names)}):
        logs = read_contents(packed, names)
        texts = [text_of(each) for each in logs.contents]
    runs = [
        {**labels[place], "text": text, **present(kind=own[place] or named.get("kind"))}
        for place, text in zip(logs.places, texts, strict=True)
    ]
    return checked_plain({"runs": runs, **fields}, TunerRequest), logs


def _split(given: str) -> tuple[dict[str, Any], str]:
    """Take ALGORITHM/PROTOCOL=FILE or ALGORITHM/PROTOCOL/CHANNELS=FILE apart."""
    label, _, file = given.partition("=")
    parts = label.split("/")
    if not file or len(parts) not in {2, 3} or not all(parts):
        detail = (
            f"{given}: say what each file was measured with, as ring/simple=FILE, or with the "
            "channels that NCCL used, as ring/simple/16=FILE"
        )
        raise typer.BadParameter(detail, param_hint=_HINT)
    fields: dict[str, Any] = {"algorithm": parts[0], "protocol": parts[1]}
    if parts[2:]:
        if not parts[2].isdecimal():
            raise typer.BadParameter(f"{given}: {parts[2]} channels", param_hint=_HINT)
        fields["channels"] = int(parts[2])
    return fields, file
