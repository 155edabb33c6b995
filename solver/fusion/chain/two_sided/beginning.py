"""What some plans of a layer chain begin with, told from the core outwards."""

from typing import NamedTuple


class Beginning(NamedTuple):
    """A label: how many tensors are left, its figures but the bound, launches, whether in parts.

    Then where the tensors went that are not left, in their order, and what it may come to [us].
    """

    left: int
    figures: tuple[float, ...]
    launches: int
    torn: int
    choices: tuple[str, ...] = ()
    bound: float = 0.0
