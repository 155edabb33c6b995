"""The runs of one file of nccl-tests or mscclpp-test: where each begins, and what it says."""

import re
from dataclasses import replace
from typing import NamedTuple

from solver.calibration.measurements.lines import lines_of, untagged
from solver.calibration.measurements.nccl_tests import HEADER, row_of, run_of
from solver.calibration.measurements.ranks import OTHER
from solver.calibration.measurements.readings import Measurements

#: What begins a run, before its header.
_BEGINS = re.compile(r"\bnThread\b|\bUsing devices\b|\bRank\s+\d|\b[a-z_]+_perf\b")


#: What ends one, after its rows.
_ENDS = re.compile(r"Out of bounds|Avg bus bandwidth|test concluded")


class FileRun(NamedTuple):
    """A run of a file: its text, and whether devices or a program stand before its header."""

    text: str
    is_headed: bool


def pieces(text: str) -> list[FileRun]:
    """Cut a file into its runs, each with empty lines in place of those before it.

    A header behind rows begins a run, with the lines before it but for those that end the run
    before. O(characters).
    """
    cuts: list[tuple[int, bool]] = []
    has_rows = is_headed = False
    is_typed = True
    last = 0
    for number, tagged in lines_of(text):
        line = untagged(tagged)
        if row_of(line, is_typed=is_typed):
            has_rows, last = True, number
        elif header := HEADER.search(line):
            is_typed = "type" in header[0].split()
            if has_rows:
                cuts.append((last, is_headed))
            has_rows = is_headed = False
        elif has_rows and not is_headed:
            is_headed = bool(_BEGINS.search(line)) and not _ENDS.search(line)
            last = last if is_headed else number
    if not cuts:
        return [FileRun(text, is_headed=True)]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ends = [*(end for end, _ in cuts), len(lines)]
    return [
        FileRun("\n" * begin + "\n".join(lines[begin:end]), is_headed)
        for (begin, is_headed), end in zip([(0, True), *cuts], ends, strict=True)
    ]


def read(text: str) -> tuple[Measurements, ...]:
    """Read the output of several runs, each by itself: a header behind rows begins one.

    Raises
    ------
    InvalidMeasurements
        When the reader rejects a run.
    """
    runs: list[Measurements] = []
    for piece in pieces(text):
        run = run_of(piece.text)
        if not piece.is_headed and run.kind in {None, OTHER}:  # the program is named before
            run = replace(run, kind=runs[-1].kind, notes=())
        runs.append(run)
    return tuple(runs)
