"""Every message of a worker or a server with its time, as a SketchDLC trace.

References
----------
.. [1] Xu et al., SketchDLC, ACM TACO 2018: sections 3.2.3 and 4.1, Table 1 and Fig. 8.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from interlace_client.torch.parameter_server.recorder import StepEvents

#: The messages of an iteration: a gradient, that it was taken, the request for the parameter, and
#: the parameter; what each depends on is of so many a type.
PUSH, CONFIRMATION, REQUEST, PARAMETER = range(4)
_TYPES = (4, 1, 2, 3)
_COLUMNS = "ID src dst length Dep_PP Operation OP_ID dep_Type dTime time_sec time_usec IDdep"
#: Bytes of a frame that carries nothing, and of the request for all parameters of a server.
FRAME_BYTES = 21


class Message(NamedTuple):
    """A message as one of its ends saw it.

    Attributes
    ----------
    time_us
        When it was ready to be sent, or had come [us since 1970].
    key
        Position of the tensor among all.
    number
        Which of the key's messages with this peer: four are an iteration.
    stage
        Which of the four.
    peer
        Rank of the worker, or number of the server, at the other end.
    length
        [bytes].
    """

    time_us: int
    key: int
    number: int
    stage: int
    peer: int
    length: int


class MessageRecorder:
    """Keeps the messages of one node.

    Parameters
    ----------
    rank
        Of the worker; of a server its number, with ``is_server``.
    workers, servers
        How many there are.
    is_server
        Whether the node is a server.

    Notes
    -----
    Memory is some 150 bytes a message.
    """

    def __init__(self, rank: int, workers: int, servers: int, *, is_server: bool = False) -> None:
        most = servers if is_server else workers
        if not 0 <= rank < most:
            kind = "servers" if is_server else "workers"
            raise ValueError(f"rank must be 0 to {most - 1} of {most} {kind}, got {rank}.")
        self._rank, self._workers, self._servers = rank, workers, servers
        self._is_server = is_server
        self._messages: list[Message] = []
        self._epoch_us = time.time() * 1e6 - time.perf_counter() * 1e6

    def add(self, events: StepEvents, owners: Sequence[int], _servers: int) -> None:
        """Add a step of a worker: the parameters that it got, and the gradients that it sent."""
        first = 4 * events.number + (4 if self._rank == 0 else 2)  # worker 0 has set them up, too
        for key, arrived in events.arrived.items():
            owner, size = owners[key], events.sizes[key]
            self.keep(events.began, key, first - 2, REQUEST, owner, FRAME_BYTES)
            self.keep(arrived, key, first - 1, PARAMETER, owner, size)
        for key, ready in events.ready.items():
            owner, size = owners[key], events.sizes[key]
            self.keep(ready, key, first, PUSH, owner, size)
            self.keep(events.taken[key][0], key, first + 1, CONFIRMATION, owner, FRAME_BYTES)

    def keep(
        self, seconds: float, key: int, number: int, stage: int, peer: int, length: int
    ) -> None:
        """Keep a message; its time is of ``time.perf_counter``. Threads may do so at once."""
        time_us = int(self._epoch_us + seconds * 1e6)
        self._messages.append(Message(time_us, key, number, stage, peer, length))

    def text(self) -> str:
        """Return the trace: a header, and a row a message in the order of their times."""
        if not self._messages:
            raise ValueError("No message is recorded: set the recorder before a step.")
        return "\n".join([*self._header(), *self._rows(), ""])

    def write(self, path: str | Path) -> None:
        """Write :meth:`text`; `interlace dlc` reads the files of all nodes."""
        Path(path).write_text(self.text(), encoding="ascii")

    def _header(self) -> Iterator[str]:
        name = f"{'s' if self._is_server else 'w'}{self._rank}"
        yield (
            f"== num_workers: = {self._workers} num_servers: = {self._servers} hostname:= {name}"
        )
        yield "== OP_ID: key-operation_num-role"
        yield _COLUMNS.replace(" ", "\t")

    def _rows(self) -> Iterator[str]:
        times = {(m.key, m.number, m.peer): m.time_us for m in self._messages}
        role, letter = ("Server", "w") if self._is_server else ("Worker", "s")
        own = self._rank + (self._workers if self._is_server else 0)
        first = 0 if self._is_server else self._workers
        for i, message in enumerate(sorted(self._messages)):
            time_us, key, number, stage, peer, length = message
            is_sent = (stage in (PUSH, REQUEST)) != self._is_server
            src, dst = (own, first + peer) if is_sent else (first + peer, own)
            what = f"{'Push' if stage <= CONFIRMATION else 'Pull'}_{'Send' if is_sent else 'Recv'}"
            before = times.get((key, number - 1, peer))
            name, before = f"{key}-{number}-{letter}{peer}", times.get((key, number - 1, peer))
            kind, took, of = 0, 0, "-1"
            if before is not None:
                kind, took = _TYPES[stage], time_us - before
                of = f"{key}-{number - 1}-{letter}{peer}"
            ends = (i, src, dst, length, 1, f"OP:= {what}_{role}", name)
            told = (kind, took, *divmod(time_us, 1_000_000), of)
            yield "\t".join(map(str, (*ends, *told)))


class MessagesWithWorker:
    """What a server and one worker exchange, kept where there is a recorder.

    Parameters
    ----------
    recorder
        Of the server.
    keys, sizes
        Of its tensors: positions among all, and bytes.
    worker
        Rank of the worker.
    """

    def __init__(
        self,
        recorder: MessageRecorder | None,
        keys: Sequence[int],
        sizes: Sequence[int],
        worker: int,
    ) -> None:
        self._recorder, self._keys, self._sizes, self._worker = recorder, keys, sizes, worker
        self._pulls = 0

    def pulled(self) -> None:
        """Note that the worker asks for all parameters."""
        self._pulls += 1
        for tensor in range(len(self._keys)):
            self.note(tensor, REQUEST)

    def note(self, tensor: int, stage: int) -> None:
        """Note a message of a tensor now."""
        if self._recorder is None:
            return
        first = 4 * self._pulls - 2  # of the push after the last pull
        number = first + stage - (4 if stage >= REQUEST else 0)
        length = self._sizes[tensor] if stage in (PUSH, PARAMETER) else FRAME_BYTES
        now = time.perf_counter()
        self._recorder.keep(now, self._keys[tensor], number, stage, self._worker, length)
