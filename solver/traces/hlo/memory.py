"""Values of a program while it is read: arrays in tuples, each in a buffer.

A result that the text says is written over an input shares its memory; so does an update of a slice
with what it updates, and a loop's state with what comes out of it, where all others that read the
older value have ended by then, whatever the order. XLA copies where that is not so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from solver.graph import Buffer
from solver.traces.hlo.shapes import ArrayShape, Shape


@dataclass(slots=True, eq=False)
class Storage:
    """A buffer that is being made: what it takes, who writes it, who reads it."""

    id: str
    bytes: int
    writer: str | None
    readers: dict[str, None] = field(default_factory=dict)
    kept: bool = False
    #: The buffer that it is written over; None where it has memory of its own.
    over: "Storage | None" = None

    def place(self) -> "Storage":
        """Return the buffer whose memory it is in."""
        storage = self
        while storage.over is not None:
            storage = storage.over
        return storage


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """An array as it is known: its buffer, and the op that must have ended for it to be there."""

    storage: Storage | None
    after: str | None


#: An array, or a tuple of values.
Value = Leaf | tuple["Value", ...]


def arrays(value: Value) -> Iterator[Leaf]:
    """Yield the arrays of a value in order."""
    if isinstance(value, Leaf):
        yield value
    else:
        for part in value:
            yield from arrays(part)


def leaf_at(value: Value, index: tuple[int, ...]) -> Leaf | None:
    """Return the array at a place; None where there is none."""
    for at in index:
        if isinstance(value, Leaf) or at >= len(value):
            return None
        value = value[at]
    return value if isinstance(value, Leaf) else None


def nothing(shape: Shape) -> Value:
    """Return a value of a shape that takes no memory and waits for nothing."""
    if isinstance(shape, ArrayShape):
        return Leaf(None, None)
    return tuple(map(nothing, shape))


class ProgramMemory:
    """The buffers of a program, in the order in which they are written."""

    def __init__(self) -> None:
        self.every: list[Storage] = []
        self._over: list[tuple[Storage, Storage]] = []

    def write_over(self, old: Leaf, new: Leaf) -> None:
        """Remember that a value may be written over another; :meth:`settle` says whether."""
        if old.storage is not None and new.storage is not None and old.storage is not new.storage:
            self._over.append((old.storage, new.storage))

    def settle(self, after: Mapping[str, Sequence[str]]) -> int:
        """Write over what may be; return how many could not be.

        Parameters
        ----------
        after
            For each op the ids of those that it waits for, in an order in which they can run.

        Notes
        -----
        O(edges * ops / 64) bits.
        """
        if not self._over:
            return 0
        before = _before(after)
        bit = {name: 1 << k for k, name in enumerate(after)}
        taken: dict[int, None] = {}
        apart = 0
        for old, new in self._over:
            others = [name for name in old.readers if name != new.writer]
            earlier = before.get(new.writer or "", 0)
            if (
                new.writer is None
                or new.over is not None
                or old.kept
                or id(old) in taken
                or old.bytes != new.bytes
                or any(not earlier & bit[name] for name in others)
            ):
                apart += 1
                continue
            taken[id(old)] = None
            new.over = old
        return apart

    def written(self, name: str, shape: Shape, writer: str | None) -> Value:
        """Make a value of a shape, with a buffer for each array that has bytes."""
        count = 0

        def made(part: Shape) -> Value:
            nonlocal count
            if not isinstance(part, ArrayShape):
                return tuple(map(made, part))
            own = name if isinstance(shape, ArrayShape) else f"{name}{{{count}}}"
            count += 1
            if not part.bytes:
                return Leaf(None, writer)
            self.every.append(Storage(own, part.bytes, writer))
            return Leaf(self.every[-1], writer)

        return made(shape)

    def buffers(self) -> tuple[Buffer, ...]:
        """Return the buffers that have memory of their own, with those written over them."""
        held: dict[int, list[Storage]] = {}
        for storage in self.every:
            held.setdefault(id(storage.place()), []).append(storage)
        found = []
        for storage in self.every:
            if storage.over is not None:
                continue
            in_it = held[id(storage)]
            names: dict[str, None] = {}
            for each in in_it:
                if each is not storage and each.writer is not None:
                    names[each.writer] = None
                names |= each.readers
            kept = any(each.kept for each in in_it)
            found.append(Buffer(storage.id, storage.bytes, storage.writer, tuple(names), kept))
        return tuple(found)


def _before(after: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return all ops before each, as bits in their order."""
    found: dict[str, int] = {}
    bit: dict[str, int] = {}
    for k, (name, needed) in enumerate(after.items()):
        bit[name] = 1 << k
        mask = 0
        for each in needed:
            mask |= found[each] | bit[each]
        found[name] = mask
    return found
