"""Broken files: what hypothesis makes of a good one."""

from hypothesis import strategies as st

_BITS = st.sampled_from(
    [b"", b"\x00", b"\xff", b"-1", b"1e999", b"99999999999999999999", b"null", b"[", b"{", b'"']
)


@st.composite
def mangled(draw, content: bytes) -> bytes:
    """Cut pieces out, put others in, and stop early."""
    found = content
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(found)))
        end = draw(st.integers(start, min(len(found), start + 8)))
        piece = draw(st.one_of(_BITS, st.binary(max_size=4)))
        found = found[:start] + piece + found[end:]
    return found[: draw(st.integers(0, len(found)))] if draw(st.booleans()) else found
