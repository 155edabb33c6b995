"""How sentences of reports and refusals count and name things."""

from collections.abc import Sequence


def counted(count: int, one: str, many: str = "") -> str:
    """Say how many there are: ``1 step``, ``1,200 steps``; ``many`` where it takes no mere s."""
    return f"1 {one}" if count == 1 else f"{count:,} {many or f'{one}s'}"


def named(names: Sequence[str]) -> str:
    """Name the first, and count the others."""
    more = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"{names[0]!r}{more}"
