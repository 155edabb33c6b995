"""Checks the proof of a plan in exact arithmetic, with Python's standard library alone."""


class Refuted(Exception):
    """A line of the certificate, or a part of the plan, is not so."""


class NotCovered(Exception):
    """What this does not check, or what is no text of its kind."""
