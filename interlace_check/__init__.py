"""Checks the proof of a plan in exact arithmetic, with Python's standard library alone."""


class Refuted(Exception):  # noqa: N818 - named after the situation
    """A line of the certificate, or a part of the plan, is not so."""


class NotCovered(Exception):  # noqa: N818
    """What this does not check, or what is no text of its kind."""
