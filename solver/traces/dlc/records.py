"""The rows of a DLC file, as columns: what one node sent and received, and when."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
import numpy.typing as npt

from solver.codes import FaultCode
from solver.errors import Fault, InvalidTrace
from solver.graph import first_of
from solver.traces.cut_files import CutFile
from solver.traces.dlc.grammar import (
    COLUMNS,
    OF_SCHEDULER,
    ROW,
    SET_UP,
    SETUP_ROW,
    STAGES,
    WORKERS,
    is_begun_row,
)
from solver.traces.files import MARK, SEEN

_MICRO = 1_000_000

Column = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Records:
    """What one node recorded, a row a message, in the order of the file.

    Attributes
    ----------
    is_server
        Whether the node is a server.
    rank
        Of the node among all, workers first.
    workers, servers
        How many the header says there are; None where it does not.
    stage
        Which of the four messages of an iteration it is: 0 a push, 1 its confirmation, 2 a
        request, 3 the parameter; 4 of a set-up row.
    key
        Of the parameter; 0 of a set-up row.
    number
        ``operation_num``; of a set-up row 0 if sent and 1 if received.
    peer
        Number of the worker or server at the other end.
    length
        [bytes].
    pair
        ``num_pp``.
    time
        [us]; 0 of a set-up row.
    cut
        How the file was cut off; None where it was not.
    """

    is_server: bool
    rank: int
    workers: int | None
    servers: int | None
    stage: Column
    key: Column
    number: Column
    peer: Column
    length: Column
    pair: Column
    time: Column
    cut: CutFile | None = None

    @property
    def name(self) -> str:
        """The node as the files call it: ``w0``, ``s0``."""
        return f"s{self.rank - (self.workers or 0)}" if self.is_server else f"w{self.rank}"

    @property
    def iteration(self) -> Column:
        """Number of each row's iteration: negative while the parameters are set up.

        Four numbers are an iteration. Worker 0 has set the parameters up with numbers 0 and 1
        before it gets them with 2 and 3; the other workers get them with 0 and 1. Servers count
        as these do, and from -2.
        """
        first = self.number - self.stage
        before = first[self.stage < SET_UP]
        base = 4 if before.size and not self.is_server and before[0] % 4 == 0 else 2
        return (first - base) // 4


def records_of(content: bytes, place: str) -> Records:
    """Read one file.

    Parameters
    ----------
    content
        Text: a header, then rows in any order.
    place
        JSON pointer of the file; faults are at ``place/line``.

    Raises
    ------
    InvalidTrace
        With each line that is no row, and rows of several nodes; when it is the scheduler's file.

    Notes
    -----
    O(bytes); rows take 56 bytes each.
    """
    head = content[:SEEN]
    if OF_SCHEDULER.search(head):
        detail = "These are records of the scheduler: give the files of the workers and servers."
        raise InvalidTrace([Fault(place, FaultCode.NOT_SUPPORTED, detail)])
    reading = _RecordReader(content, place)
    faults = first_of(reading.faults())
    if not faults and not reading.node:
        faults = [Fault(place, FaultCode.WRONG_FORMAT, "No message found: not a DLC trace.")]
    if faults:
        raise InvalidTrace(faults)
    return reading.records(head)


class _RecordReader:
    """A file that is being read."""

    def __init__(self, content: bytes, place: str) -> None:
        self._content = content.removeprefix(MARK)
        self._place = place
        self._columns: tuple[array[int], ...] = tuple(array("q") for _ in range(7))
        #: Role and rank of who wrote it.
        self.node: tuple[bytes, int] | None = None
        self._setups: list[tuple[int, int, int]] = []  # row, source, destination
        self._cut: CutFile | None = None

    def faults(self) -> Iterator[Fault]:
        """Read all lines, and yield what is wrong with them."""
        header = COLUMNS.search(self._content, 0, SEEN)
        rows_from = self._content.count(b"\n", 0, header.start()) + 1 if header else 0
        stages, keys, numbers, peers, lengths, pairs, times = self._columns
        match_row = ROW.match
        for line, text in enumerate(BytesIO(self._content), start=1):
            row = match_row(text)
            if row is None:
                if detail := self._other(line, text, rows_from):
                    yield Fault(f"{self._place}/{line}", FaultCode.WRONG_FORMAT, detail)
                continue
            src, dst, length, pair, what, role, key, number, other, peer, sec, usec = row.groups()
            stage = STAGES[what, role]
            rank = int(src if (stage % 2 == 0) == (role == b"Worker") else dst)
            if self.node != (role, rank):
                if self.node is not None:
                    detail = f"Line {line}: of another node than the rows before: a file a node."
                    yield Fault(f"{self._place}/{line}", FaultCode.RANKS_DIFFER, detail)
                    continue
                self.node = role, rank
            if (other == b"s") != (role == b"Worker"):
                detail = f"Line {line}: workers exchange messages with servers alone."
                yield Fault(f"{self._place}/{line}", FaultCode.WRONG_FORMAT, detail)
                continue
            stages.append(stage)
            keys.append(int(key))
            numbers.append(int(number))
            peers.append(int(peer))
            lengths.append(int(length))
            pairs.append(int(pair))
            times.append(int(sec) * _MICRO + int(usec))
        yield from self._wrong_numbers()

    def _other(self, line: int, text: bytes, rows_from: int) -> str:
        """Read a line that is no row; say what is wrong with it, if anything is."""
        setup = SETUP_ROW.match(text)
        if setup:
            src, dst, length, pair = map(int, setup.groups())
            self._setups.append((len(self._columns[0]), src, dst))
            for column, value in zip(
                self._columns, (SET_UP, 0, 0, 0, length, pair, 0), strict=True
            ):
                column.append(value)
            return ""
        stripped = text.strip()
        is_header = line <= rows_from and not stripped[:1].isdigit()
        if not stripped or is_header or stripped.startswith(b"="):
            return ""
        if is_begun_row(text):
            whole = self._content[: -len(text)]
            self._cut = CutFile(whole, len(self._columns[0]), len(text), "row")
            return ""
        return f"Line {line}: neither a message nor a set-up row."

    def _wrong_numbers(self) -> Iterator[Fault]:
        """Tell of operations whose numbers do not go by fours, or that are there twice."""
        stages, keys, numbers, peers = (np.asarray(c, dtype=np.int64) for c in self._columns[:4])
        rows = np.flatnonzero(stages < SET_UP)
        if not rows.size or self.node is None:
            return
        first = (numbers - stages)[rows]
        is_worker = self.node[0] == b"Worker"
        wanted = first[0] % 4 if is_worker and first[0] % 4 in (0, 2) else 2
        for row in rows[first % 4 != wanted].tolist():
            what = f"{keys[row]}-{numbers[row]}"
            yield Fault(
                self._place,
                FaultCode.WRONG_FORMAT,
                f"Operation {what}: four numbers are an iteration, and this is not its place.",
            )
        order = np.lexsort((stages[rows], peers[rows], numbers[rows], keys[rows]))
        columns = np.stack([c[rows][order] for c in (keys, numbers, peers)])
        same = np.flatnonzero((columns[:, 1:] == columns[:, :-1]).all(axis=0))
        for i in same.tolist():
            key, number, peer = columns[:, i].tolist()
            letter = "s" if is_worker else "w"
            detail = (
                f"Operation {key}-{number}-{letter}{peer} is there twice: give each run's rows "
                "in files of their own."
            )
            yield Fault(self._place, FaultCode.DUPLICATE_ID, detail)

    def records(self, head: bytes) -> Records:
        """Return what was read without a fault."""
        assert self.node is not None
        role, rank = self.node
        said = WORKERS.search(head)
        workers, servers = (int(said[1]), int(said[2])) if said else (None, None)
        stage, key, number, peer, length, pair, time = (
            np.asarray(column, dtype=np.int64) for column in self._columns
        )
        number, peer = number.copy(), peer.copy()
        is_server = role == b"Server"
        for row, src, dst in self._setups:
            number[row] = int(src != rank)
            peer[row] = max((src if src != rank else dst) - (0 if is_server else workers or 0), 0)
        return Records(
            is_server,
            rank,
            workers,
            servers,
            stage,
            key,
            number,
            peer,
            length,
            pair,
            time,
            self._cut,
        )
