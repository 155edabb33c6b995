"""The examples of a page: its fenced blocks, and the mark that may stand before each.

A shell or Python block is run. A text block is what the block before it prints, with ``...`` for
what is left out. JSON needs a mark: ``<!-- POST /v1/plans -->`` is sent, ``<!-- answer -->`` is
part of what the block before it printed. ``<!-- not run: REASON -->`` keeps a block from being run.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"(?:^<!-- (?P<mark>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


#: What is generated from code, whose examples are run where they are written.
_GENERATED = re.compile(
    r"^<!-- generate: (\w+) -->\n.*?^<!-- end: \1 -->$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """One example."""

    line: int
    language: str
    text: str
    mark: str

    @property
    def is_run(self) -> bool:
        return not self.mark.startswith("not run: ")


def blocks_of(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page, in order."""
    text = _GENERATED.sub(lambda part: "\n" * part[0].count("\n"), text)
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        yield Block(line, found["language"], found["text"], found["mark"] or "")


def pages() -> list[str]:
    """Return every page of the project that has examples."""
    found = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "client").glob("*.md")]
    for folder in ("docs", "solver", "tests"):
        found += sorted((ROOT / folder).rglob("*.md"))
    return [str(path.relative_to(ROOT)) for path in found if "```" in path.read_text("utf-8")]
