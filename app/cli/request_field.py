"""What the command knows of a field of a request without importing its model."""

from typing import NamedTuple

#: Larger numbers are told by powers.
_PLAIN = 1e10


class RequestField(NamedTuple):
    """A field of a request.

    Attributes
    ----------
    text
        What it is, in a few words.
    least, most
        Range of its values, or of those in a list; None without one.
    is_open
        Whether the least is no value itself.
    choices
        The words that it may be.
    default
        Its default as text; "" where it has none, or null.
    """

    text: str
    least: float | None = None
    most: float | None = None
    is_open: bool = False
    choices: tuple[str, ...] = ()
    default: str = ""

    def span(self) -> str:
        """Say the range; "" without one."""
        if self.least is None or self.most is None:
            return ""
        least, most = _number(self.least), _number(self.most)
        return f"above {least}, to {most}" if self.is_open else f"{least} to {most}"


def _number(value: float) -> str:
    if value < _PLAIN:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}".replace("e-0", "e-")
    return f"2^{int(value).bit_length() - 1}" if int(value).bit_count() == 1 else f"{value:.3g}"
