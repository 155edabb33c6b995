"""What DLC files tell of training: phases, overheads, volume and message lengths.

Times are microseconds, sizes bytes; what the files cannot tell is None, with the reason beside it.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: sections 3.2.4 and 4.2, Tables 5 to 7, Figs. 9 to 18.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerIteration:
    """One training iteration of one worker (Fig. 5).

    Attributes
    ----------
    node
        The worker: ``w0``.
    iteration
        Its number, counted from 0; the same on all nodes.
    start_us
        When it began, counted from the worker's first record [us]: the last parameter of the
        iteration before was got; None where that is not known.
    phase_1_us
        From then to its first push [us].
    phase_2_us
        From its first to its last push [us].
    phase_3_us
        From its first push to the last parameter that it gets [us].
    computation_us
        Phases 1 and 2 together [us].
    wait_us
        From the first to the last parameter that it gets [us].
    overlap_ratio
        Phase 2 / (phase 1 + phase 3).
    """

    node: str
    iteration: int
    start_us: int | None
    phase_1_us: int | None
    phase_2_us: int | None
    phase_3_us: int | None
    computation_us: int | None
    wait_us: int | None
    overlap_ratio: float | None


@dataclass(frozen=True, slots=True)
class DistributionFit:
    """The normal or log-normal distribution that is nearest to some values.

    Attributes
    ----------
    distribution
        ``normal`` or ``log_normal``.
    median_us
        Its median [us], which is a normal's mean.
    deviation_us
        Standard deviation of a normal [us]; else None.
    log_deviation
        Standard deviation of the natural logarithms of a log-normal; else None.
    error
        The most that its share of values up to some time differs from the true one, 0 to 1:
        Kolmogorov and Smirnov's distance.
    """

    distribution: str
    median_us: float
    deviation_us: float | None
    log_deviation: float | None
    error: float


@dataclass(frozen=True, slots=True)
class OverheadSpread:
    """How an overhead spreads.

    Attributes
    ----------
    key
        Of the parameter; None of all.
    node
        The node; None of all.
    count
        Values.
    minimum_us, mean_us, maximum_us
        Of them [us].
    histogram
        How many values are in each of equal bins from the least to the most.
    fit
        The nearest distribution; None of fewer than two different values.
    """

    key: int | None
    node: str | None
    count: int
    minimum_us: int
    mean_us: float
    maximum_us: int
    histogram: tuple[int, ...]
    fit: DistributionFit | None


@dataclass(frozen=True, slots=True)
class Overhead:
    """One kind of overhead.

    Attributes
    ----------
    overall
        Of all values; None where the files cannot tell.
    reason
        Why they cannot; None where they can.
    by_key, by_node
        Of each parameter and of each node.
    left_out
        How many values are left out, as their times run back.
    """

    overall: OverheadSpread | None
    reason: str | None
    by_key: tuple[OverheadSpread, ...] = ()
    by_node: tuple[OverheadSpread, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Overheads:
    """The overheads of section 4.2.

    Attributes
    ----------
    computation
        From the last parameter got to the last push; by key, to that key's push.
    search
        On a server, from a request for a parameter to its sending.
    synchronization
        On a server, from the first to the last worker's push of a key in an iteration.
    update
        On a server, from the last push of a key to the first confirmation; where it updates
        asynchronously, from each push to its own confirmation.
    wait
        From the first parameter got to the last; by key, to that key's.
    """

    computation: Overhead
    search: Overhead
    synchronization: Overhead
    update: Overhead
    wait: Overhead


@dataclass(frozen=True, slots=True)
class Volume:
    """What a node's messages of one iteration carry, as its workers see them (Table 5).

    Attributes
    ----------
    node
        The node.
    iterations
        Whole iterations that these are the mean of.
    push_send_bytes, push_recv_bytes, pull_send_bytes, pull_recv_bytes
        Gradients, their confirmations, requests, and parameters [bytes].
    """

    node: str
    iterations: int
    push_send_bytes: float
    push_recv_bytes: float
    pull_send_bytes: float
    pull_recv_bytes: float


@dataclass(frozen=True, slots=True)
class MessageLengths:
    """Lengths of the messages of a key, as its workers see them (Tables 6 and 7).

    Attributes
    ----------
    key
        Of the parameter.
    server
        That keeps it: ``s0``.
    push_send_bytes, push_recv_bytes, pull_send_bytes, pull_recv_bytes
        The most frequent length in training, of equals the shorter [bytes]; None where there is no
        such message.
    is_constant
        Whether all messages of a direction are of one length.
    """

    key: int
    server: str
    push_send_bytes: int | None
    push_recv_bytes: int | None
    pull_send_bytes: int | None
    pull_recv_bytes: int | None
    is_constant: bool


@dataclass(frozen=True, slots=True)
class DlcReport:
    """All that was measured of DLC files.

    Attributes
    ----------
    nodes
        Those whose files were read, workers first.
    is_synchronous
        Whether servers update when all workers have pushed; None where no server's file
        tells: there is none, one worker alone, or each update was over when the last push came.
    iterations
        By worker and number.
    overheads, volume, message_lengths
        See there; lengths by size.
    """

    nodes: tuple[str, ...]
    is_synchronous: bool | None
    iterations: tuple[WorkerIteration, ...]
    overheads: Overheads
    volume: tuple[Volume, ...]
    message_lengths: tuple[MessageLengths, ...]
