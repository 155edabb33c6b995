"""A table is text and numbers to a spreadsheet, whatever things are called."""

import csv
import io

import pytest

from solver.exports.csv_text import csv_text


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_what_a_spreadsheet_would_run_is_text(first: str) -> None:
    name = f"{first}cmd|' /C calc'!A0"
    text = csv_text([name, "n"], [[name, -1], ["b" + name, -2.5]])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        [f"'{name}", "n"],
        [f"'{name}", "-1"],
        ["b" + name, "-2.5"],
    ]


def test_what_is_unknown_is_empty() -> None:
    assert csv_text(["a", "b"], [(None, -0.5), ("", 'x,"y')]) == 'a,b\n,-0.5\n,"x,""y"\n'
