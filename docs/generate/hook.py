"""What MkDocs calls for each page: put in what is generated or lies elsewhere."""

import posixpath
import re
from pathlib import Path
from typing import Any

from docs.generate import PARTS

ROOT = Path(__file__).resolve().parents[2]
#: A mark, with what is committed behind it where a page has a second one.
_GENERATE = re.compile(
    r"^<!-- generate: (\w+) -->$(?:\n(?:(?!^<!-- generate: ).)*?^<!-- end: \1 -->$)?",
    re.MULTILINE | re.DOTALL,
)
_INCLUDE = re.compile(r"^<!-- include: (\S+) -->$", re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
#: Files elsewhere in the repository, and the pages that show them or stand for them.
INCLUDED = {
    "README.md": "docs/index.md",
    "CHANGELOG.md": "docs/reference/changelog.md",
    "client/README.md": "docs/how-to/launchers.md",
    "solver/MODEL.md": "docs/explanation/model.md",
    "tests/benchmarks/PROTOCOL.md": "docs/explanation/benchmarks.md",
}


def on_page_markdown(text: str, *, page: Any, **_: Any) -> str:
    """Fill in a page; MkDocs calls this by its name."""
    return filled(text, f"docs/{page.file.src_uri}")


def filled(text: str, page: str) -> str:
    """Return the Markdown of a page with what belongs at its marks.

    Parameters
    ----------
    text
        The page as it is committed.
    page
        Its path in the repository.
    """
    text = _INCLUDE.sub(lambda mark: included(mark[1], page), text)
    return _GENERATE.sub(lambda mark: PARTS[mark[1]](), text)


def included(source: str, page: str) -> str:
    """Return a file with its links as they are from the page that shows it."""
    folder = posixpath.dirname(source)

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        shown = INCLUDED.get(target, target)
        return f"]({posixpath.relpath(shown, posixpath.dirname(page))}{found[2] or ''})"

    return _LINK.sub(link, (ROOT / source).read_text(encoding="utf-8"))
