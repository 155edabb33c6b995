"""Chakra messages by hand: protobuf's wire format, sharing no code with the reader."""

STRING, VALUES = 2, {bool: 27, int: 9, str: 29, float: 3}


def varint(value):
    """7 bits a byte, least first; the eighth says that more follow."""
    found = b""
    while value > 127:
        found += bytes([value % 128 + 128])
        value //= 128
    return found + bytes([value])


def number(field, value):
    return varint(field * 8) + varint(value % 2**64)


def text(field, value):
    content = value.encode() if isinstance(value, str) else value
    return varint(field * 8 + STRING) + varint(len(content)) + content


def attr(name, value):
    field = VALUES[type(value)]
    content = (
        text(field, value)
        if isinstance(value, str)
        else varint(field * 8 + 1) + b"\0" * 8
        if isinstance(value, float)
        else number(field, value)
    )
    return text(1, name) + content


def node(ident, kind, us=0, after=(), outer=(), name="", **attrs):
    found = number(1, ident) + text(2, name or f"n{ident}") + number(3, kind)
    found += b"".join(number(4, other) for other in outer)
    if after:  # packed, as proto3 does; ctrl_deps are not, as proto2 did: both are read
        found += text(5, b"".join(varint(other) for other in after))
    found += number(7, us)
    return found + b"".join(text(10, attr(name, value)) for name, value in attrs.items())


def file(*nodes, metadata=None):
    metadata = text(1, "0.0.4") if metadata is None else metadata
    return b"".join(varint(len(message)) + message for message in (metadata, *nodes))
