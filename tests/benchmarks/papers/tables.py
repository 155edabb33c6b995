"""Tables of claims: the paper's value, ours, whether they agree, and why not."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """One claim; ``agrees`` is None where there is nothing to compare."""

    claim: str
    paper: str
    ours: str
    agrees: bool | None = None
    why: str = ""


class Table(NamedTuple):
    """Rows under a title; notes are printed below it, ``column`` heads the agreement."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    column: str = "agrees?"


def span(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)


def overlap(ours: tuple[float, float], paper: tuple[float, float]) -> bool:
    """Tell whether two ranges meet, once rounded to whole percents as the papers print them."""
    low, high = (round(100 * x) for x in ours)
    return low <= round(100 * paper[1]) and round(100 * paper[0]) <= high


def percents(values: tuple[float, float]) -> str:
    low, high = (round(100 * x) for x in values)
    return f"{low} %" if low == high else f"{low} to {high} %"


def show(table: Table) -> None:
    print(f"\n{table.title}\n{'=' * len(table.title)}")
    for note in table.notes:
        print(textwrap.fill(note, 100, initial_indent="- ", subsequent_indent="  "))
    rows = [Row("claim", "paper", "ours"), *table.rows]
    claim = max(len(row.claim) for row in rows)
    paper = max(len(row.paper) for row in rows)
    ours = max(len(row.ours) for row in rows)
    head = f"\n{'claim':<{claim}}  {'paper':>{paper}}  {'ours':>{ours}}  {table.column}"
    print(head.rstrip())
    for row in table.rows:
        verdict = {None: "", True: "yes", False: "no"}[row.agrees]
        line = f"{row.claim:<{claim}}  {row.paper:>{paper}}  {row.ours:>{ours}}  {verdict}"
        print(line.rstrip())
        if row.agrees is False and row.why:
            print(textwrap.fill(row.why, 100, initial_indent="    ", subsequent_indent="    "))
