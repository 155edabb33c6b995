"""What Node's linter holds where it is, held where it is not: lines that fit beside each other."""

from pathlib import Path

PAGES = Path(__file__).parents[1] / "app" / "pages"
MOST = 110


def test_no_line_of_the_pages_is_long() -> None:
    long = [
        f"{path.relative_to(PAGES)}:{number}: {len(line)} characters"
        for path in sorted(PAGES.rglob("*"))
        if path.suffix in {".css", ".html", ".js", ".py", ".svg"}
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > MOST
    ]
    assert long == []
