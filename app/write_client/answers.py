"""The client's classes of answers, made of the OpenAPI document: fields, types and what they mean.

Answers hold far more than a launcher needs, so which fields there are is said beside
(:mod:`app.write_client.answer_classes`); all else follows from the document.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent, wrap
from typing import Any

from app.write_client.answer_classes import ANSWERS, AnswerClass

#: What is written, and of what.
MODULE = Path("client/interlace_client/answers.py")
_SOURCE = Path("openapi/openapi.json")
_HEAD = '''\
"""What the service answers, in the fields that a launcher needs; ``raw`` has all of it.

Fields that a newer server adds are ignored here. Times are microseconds, sizes bytes; what is not
known is None. Made of the OpenAPI document by ``python -m app.write_client``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]
'''
_TAIL = '''

def _rows(found: Any) -> list[Any]:
    """Return rows; none where there are none, or where a list says only how many."""
    return found if isinstance(found, list) else []
'''
_WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_NOTHING = {"tuple": "()", "Mapping": "field(default_factory=dict)"}
_CLASSES = {part: each.name for each in ANSWERS for part in each.components.split()}
_WIDTH = 100

Schema = dict[str, Any]


def module() -> str:
    """Return the module's text, of the document that is committed."""
    components = json.loads(_SOURCE.read_text(encoding="utf-8"))["components"]["schemas"]
    return _HEAD + "".join(_AnswerText(each, components).text() for each in ANSWERS) + _TAIL


class _AnswerField:
    """A field of a class: its schema, and how it is written and read."""

    def __init__(self, word: str, of: AnswerClass, components: dict[str, Schema]) -> None:
        self.name = word.rstrip("!?")
        self.may_lack = word.endswith("?")
        self.path = of.places.get(self.name, self.name).split("/")
        self.schema: Schema = {"$ref": f"/{of.components.split()[0]}"}
        for part in self.path:
            self.schema = components[_reference(_known(self.schema))]["properties"][part]
        self.known = _known(self.schema)
        self.is_array = self.known.get("type") == "array"
        self.is_there = word.endswith("!")
        self.is_null = _is_null(self.schema) and not self.is_there
        self.is_needed = self.name in of.needs
        self.pair = of.pairs.get(self.name)
        pairs = (
            self.pair and components[_reference(self.known["items"])]["properties"][self.pair[1]]
        )
        self.type = f"Mapping[str, {_type(pairs)}]" if pairs else _type(self.known)
        self.default = self._default(of)

    def _default(self, of: AnswerClass) -> str:
        """Return what it is when it is left out, as an expression."""
        default = of.defaults.get(self.name, self.schema.get("default"))
        if self.is_null or default not in (None, {}, []):
            return repr(default)
        return _NOTHING.get(self.type.partition("[")[0], "None")

    def line(self) -> str:
        """Return its line in the class."""
        can_be_none = self.is_null or (self.may_lack and self.default == "None")
        default = f" = {self.default}" if self.may_lack else ""
        return f"    {self.name}: {self.type}{' | None' if can_be_none else ''}{default}\n"

    def meaning(self) -> str:
        """Return what the document says of it, in the client's words; nothing if it does not."""
        first = self.schema.get("description", "").partition("\n\n")[0]
        said = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", re.sub(r":$", ".", first))
        said = re.sub(r"\bnull\b", "None", re.sub(r"\bNull\b", "None", said))
        lines = wrap(said, _WIDTH - 8, break_long_words=False, break_on_hyphens=False)
        return f"{self.name}\n{indent(chr(10).join(lines), '    ')}\n" if said else ""

    def access(self) -> str:
        """Return the expression that finds it."""
        whole, name = (self.path[0], self.path[-1]) if len(self.path) > 1 else ("", self.path[0])
        if not self.may_lack:
            return f'raw["{whole}"]["{name}"]' if whole else f'raw["{name}"]'
        default = self.default
        falls_back = default not in ("None", *_NOTHING.values())
        return f'{whole or "raw"}.get("{name}"{f", {default}" if falls_back else ""})'

    def value(self) -> str:
        """Return the expression that reads it."""
        found = self.access()
        read = _CLASSES.get(_reference(self.known.get("items", self.known)))
        if self.is_array:
            rows = found
            if self.may_lack and _type(self.known["items"]) in _WORDS.values():
                rows = f"{found} or ()"
            elif self.may_lack:
                rows = f"_rows({found})"
            elif self.is_there and not self.is_needed:
                rows = f"{found} or ()"
            if self.pair:
                key, value = self.pair
                return f'{{each["{key}"]: each["{value}"] for each in {rows}}}'
            made = f"tuple({read}.of(each) for each in {rows})" if read else f"tuple({rows})"
            return f"None if {found} is None else {made}" if self.is_null else made
        if read:
            made = f'{read}.of(raw["{self.path[0]}"])'
            return f"None if {found} is None else {made}" if self.is_null else made
        if self.may_lack and self.default == _NOTHING["Mapping"]:
            return f"{found} or {{}}"
        return found


class _AnswerText:
    """A class as text."""

    def __init__(self, of: AnswerClass, components: dict[str, Schema]) -> None:
        self.of = of
        self.description = of.doc or components[of.components.split()[0]]["description"]
        words = of.fields.split()
        self.fields = {
            word.rstrip("!?"): None if word == "raw" else _AnswerField(word, of, components)
            for word in words
        }

    def text(self) -> str:
        """Return the class: what it is, its fields, its properties, and how it is read."""
        return (
            f"\n\n@dataclass(frozen=True)\nclass {self.of.name}:\n{self._doc()}\n"
            f"{''.join(self._lines())}{''.join(self._properties())}{self._of()}"
        )

    def _doc(self) -> str:
        meanings = "".join(each.meaning() for each in self.fields.values() if each)
        end = f"\n\nAttributes\n----------\n{meanings}" if meanings else ""
        return indent(f'"""{self.description}{end}"""\n', "    ")

    def _lines(self) -> Iterator[str]:
        for each in self.fields.values():
            yield each.line() if each else "    raw: Json = field(repr=False, compare=False)\n"

    def _properties(self) -> Iterator[str]:
        for name, sentence, state in self.of.whether:
            yield (
                f'\n    @property\n    def {name}(self) -> bool:\n        """{sentence}"""\n'
                f'        return self.state == "{state}"\n'
            )

    def _of(self) -> str:
        fields = [each for each in self.fields.values() if each]
        needed = [each for each in fields if each.is_needed]
        name = self.of.name
        lines = [f"def of(cls, raw: Json) -> {name}{' | None' if needed else ''}:"]
        lines += [
            f'    """Read it from JSON{"; None when there is none yet" if needed else ""}."""'
        ]
        if needed:
            absent = " or ".join(
                f'not isinstance(raw.get("{each.name}"), list)'
                if each.is_array
                else f'raw.get("{each.name}") is None'
                for each in needed
            )
            lines += [f"    if {absent}:", "        return None"]
        wholes = {each.path[0] for each in fields if each.may_lack and len(each.path) > 1}
        lines += [f'    {whole} = raw.get("{whole}") or {{}}' for whole in sorted(wholes)]
        values = [f"{key}={each.value() if each else 'raw'}" for key, each in self.fields.items()]
        lines += ["    return cls("]
        for value in values:
            lines += _broken(f"        {value},")
        lines += ["    )"]
        return indent("\n@classmethod\n" + "\n".join(lines) + "\n", "    ")


def _broken(line: str) -> list[str]:
    """Break a value that may be None where its line, which is indented once more, is too long."""
    if len(line) + 4 <= _WIDTH:
        return [line]
    return re.sub(r" (if|else) ", r"\n        \1 ", line).split("\n")


def _known(schema: Schema) -> Schema:
    """Return what a value is when it is not null; one of several numbers is a number."""
    kinds: list[Schema] = schema.get("anyOf", [schema])
    return [each for each in kinds if each.get("type") != "null"][-1]


def _is_null(schema: Schema) -> bool:
    return {"type": "null"} in schema.get("anyOf", [])


def _reference(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _type(schema: Schema) -> str:
    """Return a value's type; an object that is no class of the client is JSON."""
    known = _known(schema)
    if known.get("type") == "array":
        found = f"tuple[{_type(known['items'])}, ...]"
    elif known.get("type") == "object" and isinstance(known.get("additionalProperties"), dict):
        value = known["additionalProperties"]
        found = f"Mapping[str, {_type(value)}{' | None' if _is_null(value) else ''}]"
    elif known.get("type") in _WORDS:
        found = _WORDS[known["type"]]
    else:
        found = _CLASSES.get(_reference(known), "Json")
    return found
