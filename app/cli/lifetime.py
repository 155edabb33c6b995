"""What a process that ends soon does otherwise than one that serves."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from app.schemas.building import build_at_first_use

#: So many objects more than were freed have garbage looked for, where a process ends soon: most of
#: what it makes are modules and classes, which stay, and to look through them takes time.
_OBJECTS = 100_000

_USUAL = gc.get_threshold()


@contextmanager
def ending_soon() -> Iterator[None]:
    """Build little, and look for garbage seldom."""
    gc.set_threshold(_OBJECTS, *_USUAL[1:])
    build_at_first_use(is_so=True)
    try:
        yield
    finally:
        go_on()


def go_on() -> None:
    """Do as Python does, from here on."""
    gc.set_threshold(*_USUAL)
    build_at_first_use(is_so=False)
