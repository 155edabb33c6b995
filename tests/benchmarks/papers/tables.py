"""Tables of claims: the paper's value, ours, whether they agree, and why not."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One claim.

    Attributes
    ----------
    claim
        What is compared.
    paper
        What is printed; empty where the paper has no value for it.
    ours
        What comes out here.
    agrees
        None where there is nothing to compare.
    why
        Why not; of a row without a comparison, what is not published.
    at
        Where the value stands, where that is not the table's own place.
    """

    claim: str
    paper: str
    ours: str
    agrees: bool | None = None
    why: str = ""
    at: str = ""


@dataclass(frozen=True)
class Curve:
    """A line of a plot, or what is printed as points where ``is_printed``."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    is_printed: bool = False


@dataclass(frozen=True)
class Plot:
    """A panel in the axes of a figure; bars where ``x`` has names, steps for distributions."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_x: bool = False
    log_y: bool = False
    names: tuple[str, ...] = ()
    is_stepped: bool = False
    is_signed: bool = False


class Table(NamedTuple):
    """Rows under a title.

    Attributes
    ----------
    title
        Paper, figure and subject.
    rows
        In the paper's order.
    notes
        What holds for all rows.
    column
        Head of the agreement.
    place
        Figure, table or section where the values are printed.
    decides
        The assumption on which the outcome hangs most.
    plots
        The same values in the axes of the figure.
    """

    title: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    column: str = "agrees?"
    place: str = ""
    decides: str = ""
    plots: Sequence[Plot] = ()


class Paper(NamedTuple):
    """A paper, as it is cited, and its tables."""

    name: str
    cited: str
    tables: Sequence[Table]


def content_of(papers: Iterable[Paper]) -> dict[str, Any]:
    """Return papers as JSON has them: a row a claim, with its paper, place and assumption."""
    papers = list(papers)
    return {
        "papers": [{"name": paper.name, "cited": paper.cited} for paper in papers],
        "tables": [
            {
                "paper": paper.name,
                "title": table.title,
                "notes": list(table.notes),
                "column": table.column,
                "plots": [_drawn(plot) for plot in table.plots],
            }
            for paper in papers
            for table in paper.tables
        ],
        "rows": [
            {
                "paper": paper.name,
                "table": table.title,
                "at": row.at or table.place,
                "claim": row.claim.strip(),
                "printed": row.paper,
                "ours": row.ours,
                "agrees": row.agrees,
                "why": row.why,
                "decides": table.decides,
            }
            for paper in papers
            for table in paper.tables
            for row in table.rows
        ],
    }


def _drawn(plot: Plot) -> dict[str, Any]:
    """Return a plot with five figures of each value."""
    found = asdict(plot)
    for curve in found["curves"]:
        for axis in ("x", "y"):
            curve[axis] = [float(f"{value:.5g}") for value in curve[axis]]
    return found


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


def exactly(claim: str, paper: str, ours: str, why: str = "", at: str = "") -> Row:
    """Return a row whose texts agree when they are the same."""
    return Row(claim, paper, ours, paper == ours, why, at)


def verdict(row: Row) -> str:
    return {None: "", True: "yes", False: "no"}[row.agrees]


def show(table: Table) -> None:
    print(f"\n{table.title}\n{'=' * len(table.title)}")
    notes = [*table.notes, *([f"Decides: {table.decides}"] if table.decides else [])]
    for note in notes:
        print(textwrap.fill(note, 100, initial_indent="- ", subsequent_indent="  "))
    rows = [Row("claim", "paper", "ours"), *table.rows]
    claim = max(len(row.claim) for row in rows)
    paper = max(len(row.paper) for row in rows)
    ours = max(len(row.ours) for row in rows)
    head = f"\n{'claim':<{claim}}  {'paper':>{paper}}  {'ours':>{ours}}  {table.column}"
    print(head.rstrip())
    before = ""
    for row in table.rows:
        line = f"{row.claim:<{claim}}  {row.paper:>{paper}}  {row.ours:>{ours}}  {verdict(row)}"
        print(line.rstrip())
        if row.why and (row.agrees is False or (row.agrees is None and row.why != before)):
            print(textwrap.fill(row.why, 100, initial_indent="    ", subsequent_indent="    "))
        before = row.why
