"""Rows of a profiled step of several tasks: what each computed, and what it sent to another."""

from typing import NamedTuple


class ProfiledOp(NamedTuple):
    """Something that a task computed, or a tensor on its way between two tasks.

    Attributes
    ----------
    id
        Unique in the step.
    task
        Where it ran: ``worker0``; of a transfer, where it went.
    duration_us
        Compute time [us]; None of a transfer.
    bytes
        Of a transfer; None of what is computed.
    origin
        The task that sent it; None of what is computed.
    after
        Ids of what must end before it starts.
    """

    id: str
    task: str
    duration_us: float | None
    bytes: int | None
    origin: str | None
    after: tuple[str, ...]
