"""The page of the papers' figures beside ours, made of its JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.papers.plots import draw
from tests.benchmarks.papers.tables import Paper, content_of

_HEAD = """\
# The papers' figures beside ours

<!-- written by python -m tests.benchmarks.reproduce -->

Five papers stand behind this project. Here is every table and figure of theirs with numbers that a
model can say something about: what is printed and where, what comes out here, whether the two
agree, and if not, why. *Decides* names the assumption that the outcome hangs on most.

- Command: `make reproduce`. It writes this page, its [JSON](papers.json) (a row a claim) and its
  plots; the same bytes come out each time.
- Only numbers that are printed as text or in tables are compared. No figure was read by eye, so
  there is no reading error; a curve without printed points has nothing beside it.
- In the plots lines and bars are ours; stars are what the paper prints.
- *yes* and *no*: agrees or not. An empty cell: nothing to compare; then the reason says what is
  not published.
"""


def write(folder: Path, papers: Sequence[Paper]) -> None:
    """Write ``papers.json``, ``papers.md`` and a ``papers-NAME.svg`` for each paper's plots."""
    folder.mkdir(parents=True, exist_ok=True)
    content = content_of(papers)
    (folder / "papers.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    for paper in papers:
        plots = [plot for table in paper.tables for plot in table.plots]
        if plots:
            draw(folder / picture(paper.name), plots)
    (folder / "papers.md").write_text(page(content))


def picture(name: str) -> str:
    """Name the file of a paper's plots."""
    return f"papers-{name.lower().replace(' ', '-')}.svg"


def page(content: Mapping[str, Any]) -> str:
    """Return the page of what ``papers.json`` holds."""
    text = [_HEAD, _summary(content)]
    for paper in content["papers"]:
        name = paper["name"]
        tables = [table for table in content["tables"] if table["paper"] == name]
        text.append(f"## {name}\n\n{paper['cited']}\n")
        if any(table["plots"] for table in tables):
            text.append(f"![{name}: ours in the paper's axes]({picture(name)})\n")
        text += [_table(table, _rows_of(content, table=table["title"])) for table in tables]
    return "\n".join(text).rstrip() + "\n"


def _rows_of(content: Mapping[str, Any], **wanted: str) -> list[Mapping[str, Any]]:
    return [row for row in content["rows"] if all(row[k] == v for k, v in wanted.items())]


def _summary(content: Mapping[str, Any]) -> str:
    lines = [
        "| paper | rows | agree | do not | nothing to compare |",
        "| --- " + "| ---: " * 4 + "|",
    ]
    for paper in content["papers"]:
        marks = [row["agrees"] for row in _rows_of(content, paper=paper["name"])]
        counts = (len(marks), marks.count(True), marks.count(False), marks.count(None))
        lines.append(f"| {paper['name']} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines) + "\n"


def _table(table: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"### {table['title']}\n"]
    notes = list(table["notes"])
    if rows and rows[0]["decides"]:
        notes.append(f"*Decides:* {rows[0]['decides']}")
    lines += [f"- {note}" for note in notes] + ([""] if notes else [])
    head = ["claim", "printed", "at", "ours", table["column"].rstrip("?")]
    lines += [_line(head), "| --- | ---: | --- | ---: | --- |"]
    reasons: dict[str, int] = {}
    for row in rows:
        mark = {True: "yes", False: "no", None: ""}[row["agrees"]]
        if row["agrees"] is not True and row["why"]:
            number = reasons.setdefault(row["why"], len(reasons) + 1)
            mark = f"{mark} ({number})".strip()
        lines.append(_line([row["claim"], row["printed"], row["at"], row["ours"], mark]))
    lines.append("")
    lines += [f"({number}) {why}\n" for why, number in reasons.items()]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
