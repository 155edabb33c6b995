"""Names of many hosts in one word, as Slurm writes them: ``gpu[01-04,7],login1``."""

import re
from collections.abc import Iterator

from solver.clusters.topology import InvalidTopology
from solver.codes import FaultCode
from solver.errors import Fault

#: Most hosts of one list.
MAX_HOSTS = 100_000

_NAME = re.compile(r"[\w.-]*")
_PIECE = re.compile(r"^(\d+)(?:-(\d+))?$")


def hosts(text: str, pointer: str = "") -> tuple[str, ...]:
    """Return the names that a host list stands for, in its order.

    Parameters
    ----------
    text
        Names separated by commas; a name may have ranges in brackets, several of them too.
    pointer
        Where it stands.

    Raises
    ------
    InvalidTopology
        When brackets are not closed, a range is none, a name has characters that no host has, or
        the hosts are too many.

    Examples
    --------
    >>> hosts("gpu[08-10],login1")
    ('gpu08', 'gpu09', 'gpu10', 'login1')
    """
    found: list[str] = []
    for word in _words(text, pointer):
        for name in _expanded(word, pointer):
            found.append(name)
            if len(found) > MAX_HOSTS:
                detail = f"Host list {text[:40]!r}: more than {MAX_HOSTS:,} hosts."
                raise InvalidTopology([Fault(pointer, FaultCode.TOO_LARGE, detail)])
    return tuple(found)


def _words(text: str, pointer: str) -> Iterator[str]:
    """Yield the parts between commas that stand in no brackets."""
    depth, word = 0, ""
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            break
        if character == "," and not depth:
            yield word.strip()
            word = ""
        else:
            word += character
    if depth:
        detail = f"Host list {text[:40]!r}: brackets do not match."
        raise InvalidTopology([Fault(pointer, FaultCode.WRONG_FORMAT, detail)])
    yield word.strip()


def _expanded(word: str, pointer: str) -> Iterator[str]:
    head, bracket, rest = word.partition("[")
    if not _NAME.fullmatch(head):
        detail = f"Host list {word[:40]!r}: {head[:40]!r} is no name of a host."
        raise InvalidTopology([Fault(pointer, FaultCode.WRONG_FORMAT, detail)])
    if not bracket:
        if head:
            yield head
        return
    inside, _, tail = rest.partition("]")
    for piece in inside.split(","):
        match = _PIECE.match(piece)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            detail = f"Host list {word[:40]!r}: {piece!r} is no number and no range."
            raise InvalidTopology([Fault(pointer, FaultCode.WRONG_FORMAT, detail)])
        last = int(match[2] or match[1])
        for number in range(int(match[1]), min(last, int(match[1]) + MAX_HOSTS) + 1):
            for end in _expanded(tail, pointer) if tail else ("",):
                yield f"{head}{number:0{len(match[1])}d}{end}"
