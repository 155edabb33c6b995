"""Bytes that were broken anywhere, through every reader: an answer or faults, and nothing else."""

import random
from contextlib import suppress
from functools import cache

import pytest

from app.reading.traces import read_files
from solver.errors import InterlaceError
from solver.traces import READERS, TraceOptions
from tests import fuzzed_files
from tests.sampling import cases

#: Inputs of one test.
EACH = 20


@cache
def files() -> list[bytes]:
    """Return small files: those of each format, and of the recorded ones the short."""
    short = [file for file in fuzzed_files.recorded() if len(file) < 30_000]
    return [*fuzzed_files.made(), *short]


@pytest.mark.parametrize("part", range(cases(500, 10, 50)))
def test_broken_files_are_read_or_refused(part: int) -> None:
    """200 files, and 10,000 in the long lane."""
    for seed in range(part * EACH, (part + 1) * EACH):
        draw = random.Random(seed)
        content = [fuzzed_files.mangled(draw.choice(files()), draw)]
        if draw.random() < 0.1:
            content.append(fuzzed_files.mangled(draw.choice(files()), draw))
        form = draw.choice([None, draw.choice(list(READERS))])
        with suppress(InterlaceError):
            read_files(content, form, TraceOptions(step=draw.choice([None, 0, 3])))
