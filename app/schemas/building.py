"""When models are built: what their fields become is checked by, which takes time.

A service needs most of them in each of its processes, so it builds them as it starts; the command
needs a few, and says so before it imports any.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ConfigDict

_at_first_use = False


def build_at_first_use(*, is_so: bool) -> None:
    """Say when the models are built that are imported from here on."""
    global _at_first_use  # noqa: PLW0603 - of the process, as the models are
    _at_first_use = is_so


def when_built() -> "ConfigDict":
    """Return what the models' settings say of it."""
    return {"defer_build": _at_first_use}
