"""What an unknown file looks most like: what was looked for, and how near the best guess came."""

from collections.abc import Sequence

from solver.traces.formats import TraceFormat


def nearest_said(content: bytes, formats: Sequence[TraceFormat]) -> str:
    """Say which format comes nearest to an unpacked file, and what it lacks for it.

    Nearest is the one of whose signs the largest share is there, of two alike the first; empty
    where no sign of any is.

    Notes
    -----
    O(signs x bytes looked at).
    """
    shares = [(_share(content, form), form) for form in formats if form.signs]
    share, form = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    if form is None or not share:
        return ""
    there = [sign.words for sign in form.signs if sign.is_in(content)]
    missing = [sign.words for sign in form.signs if sign.words not in there]
    rest = (
        f"; it lacks {', '.join(missing)}" if missing else "; the rest of it is not of that format"
    )
    return f"Nearest is {form.name}: the file has {', '.join(there)}{rest}."


def _share(content: bytes, form: TraceFormat) -> float:
    return sum(sign.is_in(content) for sign in form.signs) / len(form.signs)
