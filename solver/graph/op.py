"""One node of the training iteration, and the kinds of collective."""

from typing import NamedTuple

COMPUTE = "compute"
ALL_REDUCE = "all_reduce"
ALL_GATHER = "all_gather"
REDUCE_SCATTER = "reduce_scatter"
BROADCAST = "broadcast"
ALL_TO_ALL = "all_to_all"
#: From one rank to another, as between the stages of a pipeline.
SEND_RECV = "send_recv"
COLLECTIVES = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, ALL_TO_ALL, SEND_RECV)
KINDS = (COMPUTE, *COLLECTIVES)
#: The channel of a collective that names none.
NETWORK = "network"


class Op(NamedTuple):
    """One node of the graph.

    Attributes
    ----------
    id
        Name, unique in the graph.
    kind
        ``compute`` or one of :data:`COLLECTIVES`.
    duration_us
        Time of a compute op [us]; None for a collective.
    bytes
        Size of a collective [bytes]: of the whole tensor, not of a worker's share; for an
        all-to-all all that one worker holds, for a send what it moves; None for a compute op.
    after
        Ids of the ops that must end before this one starts.
    channel
        What carries a collective, one launch at a time.
    stream
        Compute ops of one stream run one at a time, in the order of the graph; None runs as soon
        as what it comes after has ended.
    element_bytes
        Size of an element of a collective's tensor [bytes]: what is sent in parts is cut between
        elements.
    fuse_key
        Collectives may be sent as one only with the same key, such as the type of their elements
        or the group of their parameters.
    slowdown
        While a channel of these carries, a compute op takes so many times as long: (channel,
        factor >= 1). None where nothing is said, which leaves it to the network; what is said is
        all that slows the op.
    cut
        Whether a collective may be sent in parts; False where the runtime cannot, as in a compiled
        graph.
    source, target
        Of a ``send_recv`` the rank that sends and the one that receives, by any names; None for
        those of its channel. Sends of different pairs are never one launch.
    """

    id: str
    kind: str
    duration_us: float | None = None
    bytes: int | None = None
    after: tuple[str, ...] = ()
    channel: str = NETWORK
    stream: str | None = None
    element_bytes: int = 1
    fuse_key: str | None = None
    slowdown: tuple[tuple[str, float], ...] | None = None
    cut: bool = True
    source: str | None = None
    target: str | None = None
