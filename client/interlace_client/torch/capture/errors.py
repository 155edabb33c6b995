"""What can go wrong with a recording."""

from __future__ import annotations

from interlace_client.errors import InterlaceError


class Unrecorded(InterlaceError):
    """The steps that were seen make no recording: too few, or none that could be read."""


class RanksDiffer(InterlaceError):
    """The ranks train different models; the message has every difference."""
