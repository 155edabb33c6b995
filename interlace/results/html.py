"""What a notebook shows of an answer."""

from collections.abc import Sequence
from html import escape


def shown(sentences: Sequence[str], *pictures: str) -> str:
    """Set sentences, the first one bold, above pictures."""
    said = "".join(
        f"<p>{f'<b>{escape(text)}</b>' if i == 0 else escape(text)}</p>"
        for i, text in enumerate(sentences)
    )
    return f"<div>{said}{''.join(pictures)}</div>"
