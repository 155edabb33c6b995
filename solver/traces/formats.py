"""What a format of other tools' files is: how it is told, read, and described."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from solver.traces.trace import Reader

#: Signs of a format are looked for in so many bytes of a file.
SIGNS_WITHIN = 2**20
#: What the work of a reader grows with, and a service bounds before it reads.
Counted = Literal["values", "lines", "rows", "messages"]


class Sign(NamedTuple):
    """One thing that files of a format have.

    Attributes
    ----------
    words
        What it is: they complete "The file has ...".
    is_in
        Tells whether an unpacked file has it.
    """

    words: str
    is_in: Callable[[bytes], bool]


def names(*words: str) -> tuple[Sign, ...]:
    """Return the signs that files of a format name certain things, each of which is one.

    They are looked for in the first :data:`SIGNS_WITHIN` bytes.
    """
    return tuple(Sign(word, partial(_has, word.encode())) for word in words)


def _has(word: bytes, content: bytes) -> bool:
    return content.find(word, 0, SIGNS_WITHIN) >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFormat:
    """One format that is read; :data:`solver.traces.readers.FORMATS` has them all.

    Attributes
    ----------
    name
        What people call it by.
    source
        Which tool writes such files, and how many there are of one run.
    versions
        Of the tool or of the schema, from which on the files are read.
    reads, assumes, refuses
        What is read of them, what is concluded where they do not say, and what is refused: a
        cell of a table each, in Markdown.
    looks_like
        Tells from an unpacked file's content whether it is one of the format.
    read
        Reads such files.
    counted
        What the reader's work grows with.
    layer_mark
        What stands once, at least, for each layer of a graph: an op of either pass; empty where
        files have no layers.
    signs
        What its files have, to say how near an unknown file comes.
    is_graph
        Whether a file is no recording but a graph, which lacks layers where it lacks its end.
    leads
        Whether files of other formats are read together with it, and it then reads them all.
    is_beside
        Tells a file that is none of any format, but is read beside one of this.
    """

    name: str
    source: str
    versions: str
    reads: str
    assumes: str
    refuses: str
    looks_like: Callable[[bytes], bool]
    read: Reader
    counted: Counted
    layer_mark: bytes = b""
    signs: tuple[Sign, ...] = ()
    is_graph: bool = False
    leads: bool = False
    is_beside: Callable[[bytes], bool] | None = None
