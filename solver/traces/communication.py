"""Where the time of communication went in a recorded run: figures of a report."""

from dataclasses import dataclass

#: Parts of the time from a tensor's release to its result, as OSF divides it.
NEGOTIATE, WAIT, OPERATE, MEMCPY, OTHER = "negotiate", "wait", "all_reduce", "memcpy", "other"
PARTS = (NEGOTIATE, WAIT, OPERATE, MEMCPY, OTHER)


@dataclass(frozen=True, slots=True)
class Share:
    """A part of the time of communication.

    Attributes
    ----------
    time_us
        Of a tensor in a step, on average [us].
    share
        Of all parts, 0..1; None when they take no time.
    """

    time_us: float
    share: float | None


@dataclass(frozen=True, slots=True)
class RecordedBucket:
    """Tensors that were sent as one; times from the begin of the step.

    Attributes
    ----------
    kind
        Of the collective.
    tensors
        Names, in the order of their release.
    bytes
        Of all together.
    released_us, decided_us
        When the first of them was released, and when all workers had them all [us].
    start_us, end_us
        Of the operation with everything around it [us].
    time_us
        The operation alone [us].
    """

    kind: str
    tensors: tuple[str, ...]
    bytes: int
    released_us: float
    decided_us: float
    start_us: float
    end_us: float
    time_us: float


@dataclass(frozen=True, slots=True)
class Communication:
    """How a recorded run communicated.

    Attributes
    ----------
    tensors
        Of a step.
    buffers
        Those of the step that was read, by start.
    shares
        Of negotiating, waiting for others, the operation, copies and the rest.
    skew_us
        From the first worker that was ready to the last, on average [us]; None where the file
        does not tell them apart.
    last_worker
        The one that was ready last most often; None likewise.
    cycle_us
        Median time between two cycles [us]; None where they are not marked.
    """

    tensors: int
    buffers: tuple[RecordedBucket, ...]
    shares: dict[str, Share]
    skew_us: float | None = None
    last_worker: int | None = None
    cycle_us: float | None = None
