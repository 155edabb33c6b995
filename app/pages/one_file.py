"""A page as one file: styles, scripts, charts and answers are inside, and nobody is asked.

The page is that of the service. Its scripts import each other by name, each a ``data:`` address in
an import map, since a file has no folder to import from; where they would ask the API, they read
what the file has for that path. What the file may load is said in its own policy: itself.
"""

import gzip
import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import resources
from posixpath import dirname, join, normpath
from typing import Any

from pydantic_core import to_json

from app.pages.markup import markup

Json = dict[str, Any]

#: The import map is the only script that stands in the markup; plotly is unpacked to a blob.
_POLICY = (
    "default-src 'none'; script-src data: blob: 'sha256-{map_hash}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)


#: How a module says what it imports: at the end of a line, from a file beside it.
_IMPORT = re.compile(r'^((?:import|\}).*\bfrom|import) "(\.\.?/[^"]+)";$', re.MULTILINE)


#: Pages that may be saved; their scripts put what they show into a file of :func:`page_file`.
SAVED = ("plan", "simulation", "sweep", "compare", "shapes", "allocations", "mixes", "run")


def page_file(page: str, title: str, inside: Json, *, saved: str = "", summary: str = "") -> str:
    """Write a page as a file of HTML that shows what the page shows, wherever it is opened.

    ``inside`` is what the page asks for, by the paths that it asks, ``saved`` the id of what it
    shows, ``summary`` what is read where no script runs.
    """
    return markup(
        "one-file.html",
        page=page,
        title=title,
        saved=saved,
        summary=summary,
        inside={path: _in_script(to_json(value).decode()) for path, value in inside.items()},
        plotly=_plotly(),
        **_parts(page),
    )


def _in_script(text: str) -> str:
    """Write JSON so that nothing in it ends the script element that it stands in."""
    return text.replace("<", "\\u003c")


@cache
def _parts(page: str) -> dict[str, str]:
    """Return style, icon and scripts of a page as its markup has them."""
    entries = ("frame.js", f"pages/{page}.js")
    modules = {name: _data(text, "text/javascript") for name, text in _modules(entries).items()}
    import_map = to_json({"imports": modules}).decode()
    begin = "".join(f'import "{name}";' for name in entries)
    return {
        "policy": _POLICY.format(map_hash=_base64(sha256(import_map.encode()).digest())),
        "style": _asset("style.css"),
        "icon": _data(_asset("icon.svg"), "image/svg+xml"),
        "theme": _data(_asset("theme.js"), "text/javascript"),
        "import_map": import_map,
        "begin": _data(begin, "text/javascript"),
    }


def _modules(entries: Iterable[str]) -> dict[str, str]:
    """Return modules by their names, with all that they import, by name as well."""
    found: dict[str, str] = {}
    waiting = list(entries)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        folder = dirname(name)

        def by_name(match: re.Match[str], folder: str = folder) -> str:
            other = normpath(join(folder, match[2]))
            waiting.append(other)
            return f'{match[1]} "{other}";'

        found[name] = _IMPORT.sub(by_name, _asset(name))
    return found


@cache
def _plotly() -> str:
    """Return the charts' library, packed: a third of its length."""
    script = resources.files("plotly") / "package_data" / "plotly.min.js"
    return _base64(gzip.compress(script.read_bytes(), mtime=0))


def _asset(name: str) -> str:
    return (resources.files("app.pages") / "assets" / name).read_text(encoding="utf-8")


def _data(text: str, media_type: str) -> str:
    return f"data:{media_type};base64,{_base64(text.encode())}"


def _base64(content: bytes) -> str:
    return b64encode(content).decode()
