"""An encoder of protobuf's wire format, apart from any schema: fields by number, as they come."""

import struct


def number(value):
    """Write a number of seven bits a byte; a negative one as its 64 bits."""
    value %= 2**64
    out = bytearray()
    while value > 127:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def field(place, value):
    """Write a field: a number, a float, a text, bytes of a message, or several of these."""
    if isinstance(value, list):
        return b"".join(field(place, one) for one in value)
    if isinstance(value, float):
        return number(place * 8 + 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return number(place * 8) + number(value)
    content = value.encode() if isinstance(value, str) else value
    return number(place * 8 + 2) + number(len(content)) + content


def message(fields):
    """Write the fields of a message by number; None leaves one out."""
    return b"".join(field(place, value) for place, value in fields.items() if value is not None)
