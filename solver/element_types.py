"""How many bytes an element has, by the names that frameworks give its type."""

import re
from functools import lru_cache
from typing import Any

_BYTES = {
    1: "byte char bool unsignedchar signedchar uint8 int8 float8e4m3fn float8e5m2 float8e4m3fnuz"
    " float8e5m2fnuz",
    2: "half bfloat16 short shortint int16 float16 uint16 unsignedshort",
    4: "float int float32 int32 uint32 unsignedint complexhalf",
    8: "double long longint float64 int64 uint64 complexfloat unsignedlong",
    16: "complexdouble",
}
_WIDTHS = {name: size for size, names in _BYTES.items() for name in names.split()}


def width_of(dtype: Any) -> int | None:
    """Return the bytes of one element: of ``c10::Half``, ``long int``, ``float32``; else None."""
    return _width(dtype) if isinstance(dtype, str) else None


@lru_cache(maxsize=4_096)
def _width(dtype: str) -> int | None:
    return _WIDTHS.get(re.sub(r"[^a-z0-9]", "", dtype.lower().removeprefix("c10::")))
