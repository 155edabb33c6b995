"""One dump and its entries, as JSON or as a pickle: which launch, of which group, of what bytes.

References
----------
.. [1] PyTorch, torch/csrc/distributed/c10d/FlightRecorder.hpp: the keys of an entry.
"""

from math import prod
from typing import Any, TypeVar

import msgspec

from solver.codes import FaultCode
from solver.element_types import width_of
from solver.errors import Fault, InterlaceError
from solver.flight_recorder.pickled import BEGINS
from solver.limits import MAX_BYTES, MAX_DIMENSIONS, MAX_MEASURED_TIMES

#: What the JSON of a dump has, as a regular expression.
SIGNS = r'"profiling_name"\s*:|"nccl_comm_state"\s*:'
#: What a dump is, where a file is none.
FORM = "dump of PyTorch's flight recorder: an object with entries, a list"
#: Most tensors of all entries, and the longest name of anything.
_MAX_TENSORS, _LONGEST_WORD = 2**22, 200

D = TypeVar("D", bound="Dump")


class DumpEntry(msgspec.Struct, gc=False):
    """What a dump says of a launch; nothing of it is checked."""

    process_group: Any = None
    collective_seq_id: Any = None
    profiling_name: Any = None
    state: Any = "completed"
    duration_ms: Any = None
    input_sizes: Any = None
    input_dtypes: Any = None
    output_sizes: Any = None
    output_dtypes: Any = None

    @property
    def called(self) -> str:
        """The name of its call, without the library before the colon."""
        return word(self.profiling_name).rpartition(":")[2]

    @property
    def group(self) -> tuple[str, str]:
        """The name and the description of its process group."""
        own = self.process_group
        name, description = (*own, "", "")[:2] if isinstance(own, list | tuple) else (own, "")
        return word(str(name) if isinstance(name, int | None) else name), word(description)

    @property
    def bytes(self) -> int | None:
        """The larger of what went in and came out; None where neither is known.

        All that is more than ``MAX_BYTES`` is ``MAX_BYTES + 1``. O(tensors).
        """
        sides = (
            _bytes_of(self.input_sizes, self.input_dtypes),
            _bytes_of(self.output_sizes, self.output_dtypes),
        )
        return max((size for size in sides if size is not None), default=None)


class Dump(msgspec.Struct):
    """One rank's dump, whose entries are not decoded yet."""

    entries: list[Any]
    rank: Any = None
    world_size: Any = None
    pg_config: Any = None

    @property
    def groups(self) -> dict[str, dict[str, Any]]:
        """What is said of each process group, by its name."""
        config = self.pg_config if isinstance(self.pg_config, dict) else {}
        return {str(name): group for name, group in config.items() if isinstance(group, dict)}


def dump_in(value: Any, form: type[D]) -> D:
    """Return the plain data of a file as a dump.

    Raises
    ------
    InterlaceError
        When it is no dump, or has more entries and tensors than are read: a pickle may name one
        many times.

    Notes
    -----
    O(entries).
    """
    try:
        _check_size(msgspec.convert(value, Dump).entries)
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise InterlaceError([Fault("", FaultCode.WRONG_FORMAT, f"No {FORM} ({error}).")]) from None


def is_pickled(head: bytes) -> bool:
    """Tell whether the beginning of a file is that of a dump's pickle."""
    return head.startswith(BEGINS) and b"profiling_name" in head


def word(value: Any) -> str:
    """Return a short text; an empty one for anything else."""
    return value if isinstance(value, str) and len(value) <= _LONGEST_WORD else ""


def _check_size(entries: list[Any]) -> None:
    sides = ("input_sizes", "output_sizes")
    tensors = (
        len(sizes)
        for entry in entries
        if isinstance(entry, dict)
        for side in sides
        if isinstance(sizes := entry.get(side), list | tuple)
    )
    if len(entries) > MAX_MEASURED_TIMES or sum(tensors) > _MAX_TENSORS:
        detail = (
            f"At most {MAX_MEASURED_TIMES:,} entries with {_MAX_TENSORS:,} tensors in all are read."
        )
        raise InterlaceError([Fault("/entries", FaultCode.TOO_LARGE, detail)])


def _bytes_of(shapes: Any, types: Any) -> int | None:
    """Return the bytes of what went in, or of what came out; None where they are unknown."""
    types = [types] if isinstance(types, str) else types
    if not all(isinstance(each, list | tuple) and each for each in (shapes, types)):
        return None
    total = 0
    for i, dims in enumerate(shapes):
        width = width_of(word(types[min(i, len(types) - 1)]))
        if width is None or not isinstance(dims, list | tuple) or len(dims) > MAX_DIMENSIONS:
            return None
        if not all(type(dim) is int and 0 <= dim <= MAX_BYTES for dim in dims):
            return None
        total = min(total + width * prod(dims), MAX_BYTES + 1)
    return total
