"""What the pages name is there, what is generated is whole, and what is drawn is fresh."""

import re
from collections.abc import Iterable

import pytest

import interlace
from app.operations.settings import Settings
from docs.generate import PARTS
from docs.generate.hook import INCLUDED, filled
from docs.generate.pictures import FOLDER, PICTURES, layers
from docs.generate.reference import SITE_ALONE, stale
from interlace_client.problems import PROBLEMS
from solver.bounds.kinds import BOUND_KINDS
from solver.costs.algorithms import ALGORITHMS
from solver.exports import EXPORTS
from solver.fusion.layered import FUSIONS
from solver.models import MODELS
from solver.policies import POLICIES
from solver.schedule import SCHEDULERS
from solver.traces import READERS
from tests.docs.blocks import ROOT, pages

_PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
#: Characters of one cell of a table.
LONGEST_CELL = 200
_ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 200


def _first_column(table: str) -> set[str]:
    """Return the names in backquotes with which the rows of a table begin."""
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


@pytest.mark.parametrize("top", ["app", "solver"])
def test_rooms_are_those_of_the_rules_and_on_disk(top: str) -> None:
    ruled = {name for layer in layers(top) for name in layer}
    table = _ARCHITECTURE.partition(f"| package of `{top}/` |")[2].partition("\n\n")[0]
    assert _first_column(table) == ruled
    there = {
        path.stem
        for path in (ROOT / top).iterdir()
        if (path.suffix == ".py" and not path.stem.startswith("_"))
        or (path / "__init__.py").exists()
    }
    assert there == ruled


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_fresh(name: str) -> None:
    assert (FOLDER / name).read_text("utf-8") == PICTURES[name](), "stale: run make pictures"


@pytest.mark.parametrize("page", ["README.md", "solver/MODEL.md", *_PAGES])
def test_paths_are_there(page: str) -> None:
    """A path in backquotes is one of the repository, or of the folder that the page is in."""
    text = (ROOT / page).read_text("utf-8")
    tops = ("app/", "solver/", "interlace/", "client/", "tests/", "docs/", "openapi/")
    found = re.findall(r"`([\w./-]+\.(?:py|md|json|toml|svg)|[\w./-]+/)`", text)
    if page == "solver/MODEL.md":
        found = [f"solver/{path}" for path in found]
    missing = [
        path
        for path in found
        if path.startswith(tops) and "name.py" not in path and not (ROOT / path).exists()
    ]
    assert missing == []


def test_citations_of_the_model_are_sections() -> None:
    sections = re.findall(
        r'<a id="section-([\d.]+)"></a>\n\n#+ ([\d.]+)\. ',
        (ROOT / "solver" / "MODEL.md").read_text("utf-8"),
    )
    assert sections
    assert all(anchor == number for anchor, number in sections)
    known = {number for number, _ in sections}
    cited = set()
    for path in (ROOT / "solver").rglob("*.py"):
        text = path.read_text("utf-8")
        assert "model.md" not in text
        cited |= set(re.findall(r"MODEL\.md\s+section (\d+(?:\.\d+)?)", text))
    assert cited
    assert cited <= known


def test_every_part_stands_on_one_page() -> None:
    marks = [
        mark
        for page in _PAGES
        for mark in re.findall(
            r"^<!-- generate: (\w+) -->$", (ROOT / page).read_text("utf-8"), re.MULTILINE
        )
    ]
    assert sorted(marks) == sorted(PARTS)


def test_generated_parts_are_fresh() -> None:
    assert [page.name for page, _ in stale()] == [], "stale: run make reference"


def test_generated_parts_are_in_the_repository() -> None:
    pages_of = {
        mark: (ROOT / page).read_text("utf-8")
        for page in _PAGES
        for mark in re.findall(
            r"^<!-- generate: (\w+) -->$", (ROOT / page).read_text("utf-8"), re.MULTILINE
        )
    }
    left = {mark for mark, text in pages_of.items() if f"<!-- end: {mark} -->" not in text}
    assert left == SITE_ALONE


@pytest.mark.parametrize("page", ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", *_PAGES])
def test_cells_are_short(page: str) -> None:
    """What needs more words than a cell holds is said below its table."""
    rows = [line for line in (ROOT / page).read_text("utf-8").splitlines() if line[:1] == "|"]
    cells = [cell.strip() for row in rows for cell in re.split(r"(?<!\\)\|", row)]
    assert [f"{len(cell)}: {cell[:60]}" for cell in cells if len(cell) > LONGEST_CELL] == []


@pytest.mark.parametrize("source", sorted(set(INCLUDED) - {"README.md"}))
def test_included_pages_are_shown(source: str) -> None:
    page = INCLUDED[source]
    text = (ROOT / page).read_text("utf-8")
    assert f"<!-- include: {source} -->" in text
    for target in re.findall(r"\]\((?!http|#)([^)#]+)", filled(text, page)):
        assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize(
    ("part", "names"),
    [
        ("algorithms", ALGORITHMS),
        ("bound_kinds", list(BOUND_KINDS)),
        ("errors", PROBLEMS),
        ("exporters", EXPORTS),
        ("names", [f"interlace.{name}" for name in interlace.__all__]),
        ("policies", POLICIES),
        ("readers", READERS),
        ("settings", [f"INTERLACE_{name.upper()}" for name in Settings.model_fields]),
    ],
)
def test_part_has_every_name(part: str, names: list[str]) -> None:
    text = PARTS[part]()
    assert [name for name in names if not re.search(rf"\b{re.escape(name)}\b", text)] == []


@pytest.mark.parametrize(("heading", "names"), [("of", READERS), ("files", EXPORTS)])
def test_table_has_every_format(heading: str, names: list[str]) -> None:
    text = (ROOT / "docs" / "reference" / "formats.md").read_text("utf-8")
    table = text.partition(f"| format | {heading}")[2].partition("\n\n")[0]
    assert [name for name in names if f"`{name}`" not in table] == []


def test_table_has_every_policy() -> None:
    text = (ROOT / "docs" / "reference" / "policies.md").read_text("utf-8")
    table = text.partition("| name |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` ", table, re.MULTILINE) == list(POLICIES)


@pytest.mark.parametrize(
    ("page", "start", "names"),
    [
        ("reference/costs.md", "a launch takes", ALGORITHMS),
        ("reference/options.md", "| `fusion` |", FUSIONS),
        ("reference/options.md", "| `schedule` |", SCHEDULERS),
        ("tutorials/http.md", "## Try the examples", ["two_layers", *MODELS]),
    ],
)
def test_prose_has_every_name(page: str, start: str, names: Iterable[str]) -> None:
    text = (ROOT / "docs" / page).read_text("utf-8").partition(start)[2]
    prose = text.partition("\n" if start.startswith("|") else "\n#")[0]
    assert [name for name in names if f"`{name}`" not in prose] == []


def test_every_unrun_example_has_a_reason() -> None:
    for page in pages():
        for reason in re.findall(r"<!-- not run:(.*)-->", (ROOT / page).read_text("utf-8")):
            assert len(reason.split()) > 2, page
