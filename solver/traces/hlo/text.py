"""HLO text as computations of instructions: the parsing, and what is wrong with it, by line."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.traces.hlo.module import HloComputation, HloInstruction, HloModule, Index
from solver.traces.hlo.shapes import ShapeFault, parted, shape_of
from solver.traces.hlo.text_faults import circular, line_fault, unknown_names

_COMMENT = re.compile(r"/\*.*?\*/")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BEGIN = re.compile(r"(?P<entry>ENTRY\s+)?%?(?P<name>[\w.\-<>]{1,512})\s*(?:\(.*\)\s*->.*)?\{\s*$")
_HEAD = re.compile(r"\s+(?P<root>ROOT\s+)?%?(?P<name>[\w.\-<>]{1,512})\s*=\s*")
_OPCODE = re.compile(r"\s*(?P<opcode>[a-z][\w\-]{0,63})\(")
_BRACKET = re.compile(r"[()]")
_SIGIL = re.compile(r"%([\w.\-<>]+)")
_NAME = re.compile(r"[\w.\-<>]+")
_COUNTS = re.compile(r"(?:num_partitions|replica_count)=(\d{1,9})")
_ALIAS = re.compile(r"\{([\d,\s]*)\}:\s*\((\d{1,9}),\s*\{([\d,\s]*)\}")
_DONOR = re.compile(r"\((\d{1,9}),\s*\{([\d,\s]*)\}\)")
#: Operands of these are literals and numbers.
_LITERAL = {"constant", "parameter"}
#: So many faults are listed.
_FAULTS = 20


def read_module(text: str) -> HloModule:
    """Read a module as ``compiled.as_text()`` and ``--xla_dump_to`` write it.

    Raises
    ------
    InvalidTrace
        With the first 20 faults, each with its line: what is no instruction, unknown types and
        names, names twice, computations without a result, a text without an end or an entry.

    Notes
    -----
    O(characters).
    """
    lines = text.splitlines()
    head = next((line for line in lines if line.strip()), "")
    found: dict[str, HloComputation] = {}
    entries: list[str] = []
    faults = list(islice(_computations(lines, found, entries), _FAULTS))
    if not faults:
        faults = list(islice(unknown_names(found), _FAULTS))
    if not faults:
        faults = list(circular(found))
    if not faults and len(entries) != 1:
        said = "no ENTRY computation" if not entries else f"{len(entries)} ENTRY computations"
        faults = [Fault("", FaultCode.WRONG_FORMAT, f"HLO text: one entry is read, got {said}.")]
    if faults:
        raise InvalidTrace(faults)
    counts = [int(count) for count in _COUNTS.findall(head)]
    devices = 1
    for count in counts:
        devices *= max(1, count)
    return HloModule(
        found,
        found[entries[0]],
        devices if counts else None,
        tuple(
            (_index(out), int(number), _index(place))
            for out, number, place in _ALIAS.findall(_braced(head, "input_output_alias="))
        ),
        tuple(
            (int(number), _index(place))
            for number, place in _DONOR.findall(_braced(head, "buffer_donor="))
        ),
    )


def _index(text: str) -> Index:
    return tuple(int(each.strip()[:9]) for each in text.split(",") if each.strip())


def _braced(head: str, key: str) -> str:
    """Return what stands in the braces after a key of the head."""
    _, found, rest = head.partition(key)
    depth = 0
    for mark in re.finditer(r"[{}]", rest if found else ""):
        depth += 1 if mark[0] == "{" else -1
        if depth == 0:
            return rest[: mark.start()]
    return ""


def _computations(  # noqa: C901 - one loop
    lines: Sequence[str], found: dict[str, HloComputation], entries: list[str]
) -> Iterator[Fault]:
    """Collect computations; yield what is wrong."""
    name: str | None = None
    root = ""
    inside: dict[str, HloInstruction] = {}
    numbered = enumerate(lines, 1)
    for number, line in numbered:
        plain = _COMMENT.sub("", line)
        if name is None:
            begin = _BEGIN.match(plain) if plain.rstrip().endswith("{") else None
            if begin and not plain[0].isspace():
                name, root, inside = begin["name"], "", {}
                entries += [name] if begin["entry"] else []
                if name in found:
                    yield line_fault(number, f"computation {name!r} is there twice", twice=True)
        elif plain.startswith("}"):
            last = root or next(reversed(inside), "")
            if last:
                found[name] = HloComputation(name, inside, last)
            else:
                yield line_fault(number, f"computation {name!r} has no instruction")
            name = None
        elif plain.strip():
            for _, more in zip(range(_FAULTS * 100), _rest(plain, numbered), strict=False):
                plain += _COMMENT.sub("", more)
            try:
                one, is_root = _instruction(number, plain)
            except ShapeFault as why:
                yield line_fault(number, str(why))
                continue
            if one.name in inside:
                yield line_fault(number, f"instruction {one.name!r} is there twice", twice=True)
            inside[one.name] = one
            root = one.name if is_root else root
    if name is not None:
        detail = f"HLO text: the file ends within computation {name!r}."
        yield Fault("", FaultCode.TRUNCATED, detail)


def _rest(plain: str, numbered: Iterator[tuple[int, str]]) -> Iterator[str]:
    """Yield the lines after one whose literal is not closed, to its end."""
    depth = _depth(plain) if " constant(" in plain else 0
    while depth > 0:
        _, line = next(numbered, (0, ")" * depth))
        depth += _depth(line)
        yield line


def _depth(text: str) -> int:
    text = _QUOTED.sub("", text)
    return text.count("(") - text.count(")")


def _instruction(number: int, text: str) -> tuple[HloInstruction, bool]:
    """Read an instruction, and tell whether it is the root."""
    head = _HEAD.match(text)
    if head is None:
        raise ShapeFault(f"{text.strip()[:60]!r} is no instruction")
    at = head.end()
    end = _closed(text, at) if text[at : at + 1] == "(" else at
    opcode = _OPCODE.search(text, end)
    if opcode is None:
        raise ShapeFault(f"instruction {head['name']!r} has no opcode")
    close = _closed(text, opcode.end() - 1)
    shape = shape_of(text[at : opcode.start()])
    between = text[opcode.end() : close - 1]
    attributes = text[close:].strip().removeprefix(",")
    kind, which = opcode["opcode"], None
    operands: tuple[str, ...] = ()
    if kind == "parameter":
        if not re.fullmatch(r"\s*\d{1,9}\s*", between):
            raise ShapeFault(f"parameter {head['name']!r} has no number")
        which = int(between)
    elif kind not in _LITERAL:
        operands = tuple(_operands(between))
    plain = _QUOTED.sub('""', attributes)
    one = HloInstruction(number, head["name"], kind, shape, operands, attributes, plain, which)
    return one, head["root"] is not None


def _closed(text: str, begin: int) -> int:
    """Return the place behind the bracket that closes the one at a place."""
    depth = 0
    for mark in _BRACKET.finditer(text, begin):
        depth += 1 if mark[0] == "(" else -1
        if depth == 0:
            return mark.end()
    raise ShapeFault(f"{text.strip()[:60]!r}: a bracket is not closed")


def _operands(text: str) -> Iterator[str]:
    if "%" in text:
        yield from _SIGIL.findall(text)
        return
    for part in parted(text):
        words = part.split()
        if not words or not _NAME.fullmatch(words[-1]):
            raise ShapeFault(f"{part.strip()[:40]!r} is no operand")
        yield words[-1]
