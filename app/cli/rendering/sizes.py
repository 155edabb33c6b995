"""The distribution of tensor sizes, for a reader."""

from collections.abc import Sequence

from app.cli.rendering.figures import counted, percent
from app.cli.rendering.page import Line, page
from app.cli.rendering.tables import table
from solver.explanation.tensor_sizes import TensorSizes

#: Sizes that tensors are counted up to [bytes].
_UP_TO = (1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)


def _bytes(count: int) -> str:
    """Write a size as all of the table are: bytes."""
    return f"{count:,} B"


def render(name: str, found: Sequence[TensorSizes]) -> str:
    """Write how many tensors are how small, and what of the bytes they are."""
    return page([name], *(_each(each) for each in found))


def _each(found: TensorSizes) -> list[Line]:
    least, most = found.shares[0].size, found.shares[-1].size
    up_to = [found.up_to(each) for each in _UP_TO if least <= each < most]
    up_to.append(found.shares[-1])
    rows = [
        (
            _bytes(share.size),
            str(share.tensors),
            percent(share.tensors / found.tensors),
            percent(share.bytes / found.bytes),
        )
        for share in up_to
    ]
    head = (
        f"{counted(found.tensors, 'tensor')} by {found.kind} on {found.channel}: "
        f"{_bytes(least)} to {_bytes(most)}, the median {_bytes(found.median_bytes)}, "
        f"{_bytes(found.bytes)} in all"
    )
    return [head, table(("no larger than", "tensors", "of all", "of the bytes"), rows)]
