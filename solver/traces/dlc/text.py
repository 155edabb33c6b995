"""A node's records as the text of a DLC file, in the recorder's spelling.

What follows from the messages is written anew: ids count up, and what a message depends on, of what
type that is and how long it took follow from the message before of the same key and peer.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: sections 3.2.3 and 4.1, Table 1 and Fig. 8.
"""

from collections.abc import Iterator

from solver.traces.dlc.grammar import PUSH, SET_UP, STAGES
from solver.traces.dlc.records import Records

_MICRO = 1_000_000
_RULE = 132 * "="
_COLUMNS = (
    "ID\tsrc\tdst\tlength\t\tDep_PP\t\tOperation\t\tOP_ID\t\tdep_Type\t\tdTime\t\ttime_sec\t\t"
    "time_usec\t\tIDdep"
)
#: Dependency types: push on pull, push on push, pull on push, pull on pull.
_TYPES = (4, 1, 2, 3)
_NAMES = {
    (stage, role == b"Server"): f"{what.decode()}_{role.decode()}"
    for (what, role), stage in STAGES.items()
}


def text_of(records: Records) -> str:
    """Write a file that :func:`solver.traces.dlc.nodes_of` reads as the same records.

    Rows are in the order of the records. Written, read and written again, the text is the same.

    Notes
    -----
    O(rows).
    """
    return "\n".join([*_header(records), *_rows(records), ""])


def _header(records: Records) -> Iterator[str]:
    yield _RULE
    if records.workers is not None:
        yield (
            f"==\t\t num_workers: = {records.workers}     num_servers: = {records.servers}     "
            f"hostname:= {records.name}"
        )
        first = records.workers
        servers = ",".join(str(first + i) for i in range(records.servers or 0))
        workers = ",".join(map(str, range(records.workers)))
        yield f"==\t\t Worker_ID: = {workers},\tServer_ID: = {servers},"
    yield "==     Dep_PP: -15: Initialize Server  0: setup messages"
    yield "==\t OP_ID: key-operation_num-role"
    yield _RULE
    yield _COLUMNS


def _rows(records: Records) -> Iterator[str]:
    columns = (
        records.stage,
        records.key,
        records.number,
        records.peer,
        records.length,
        records.pair,
        records.time,
    )
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    times = {
        (key, number, peer): time for stage, key, number, peer, _, _, time in rows if stage < SET_UP
    }
    peers: dict[tuple[int, int], list[int]] = {}
    for key, number, peer in times:
        peers.setdefault((key, number), []).append(peer)
    letter = "w" if records.is_server else "s"
    first = 0 if records.is_server else records.workers or 0
    for i, (stage, key, number, peer, length, pair, time) in enumerate(rows):
        is_sent = (stage % 2 == 0) != records.is_server if stage < SET_UP else not number
        ends = (records.rank, first + peer)
        src, dst = ends if is_sent else ends[::-1]
        start = f"{i}\t{src}\t{dst}\t{length}\t\t{pair}\t\tOP:= "
        if stage == SET_UP:
            yield f"{start}SendCom_To_{'Workers' if records.is_server else 'Servers'}"
            continue
        kind, took, of = 0, 0, "-1"
        if (key, number - 1, peer) in times:
            kind, took = _TYPES[stage], time - times[key, number - 1, peer]
            others = sorted(peers[key, number - 1])
            if stage == PUSH and not records.is_server:
                of = "(" + "".join(f"{number - 1}-s{other}," for other in others) + ")"
            elif stage <= 1 and records.is_server:
                of = "(" + "".join(f"{key}-{number - 1}-w{other}, " for other in others) + ")"
            else:
                of = f"{key}-{number - 1}-{letter}{peer}"
        yield (
            f"{start}{_NAMES[stage, records.is_server]}\t\t{key}-{number}-{letter}{peer}\t\t{kind}"
            f"\t\t{took}\t\t{time // _MICRO}\t\t{time % _MICRO}\t\t{of}"
        )
