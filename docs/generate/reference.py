"""The generated parts as they stand in the committed pages, for who reads the repository."""

import re
from collections.abc import Iterator
from pathlib import Path

from docs.generate import PARTS

ROOT = Path(__file__).resolve().parents[2]
#: What the site alone has: docstrings, which mkdocstrings lays out, and every field of the API.
SITE_ALONE = frozenset({"client", "names", "schemas"})
_PART = re.compile(r"^<!-- generate: (\w+) -->\n.*?^<!-- end: \1 -->$", re.MULTILINE | re.DOTALL)


def written(text: str) -> str:
    """Return a page with each part between its two marks as the code has it now."""
    return _PART.sub(lambda mark: _part(mark[1]), text)


def stale() -> Iterator[tuple[Path, str]]:
    """Yield the pages that are not as the code has it now, and what they should be."""
    for page in sorted((ROOT / "docs").rglob("*.md")):
        text = page.read_text("utf-8")
        if (fresh := written(text)) != text:
            yield page, fresh


def _part(name: str) -> str:
    return f"<!-- generate: {name} -->\n\n{PARTS[name]().strip()}\n\n<!-- end: {name} -->"


if __name__ == "__main__":
    for page, fresh in stale():
        page.write_text(fresh, encoding="utf-8")
