"""A parameter server: it sends parameters, takes gradients, and says how long each took."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from threading import Lock, Thread

from torch import nn

from interlace_client.torch.parameter_server.frames import (
    BYE,
    DONE,
    ERROR,
    HELLO,
    PART,
    PULL,
    Frame,
    FrameSender,
    ServingFailed,
    bytes_of,
    read_frame,
    read_into,
    read_json,
)
from interlace_client.torch.parameter_server.messages import (
    CONFIRMATION,
    PARAMETER,
    PUSH,
    MessageRecorder,
    MessagesWithWorker,
)
from interlace_client.torch.parameter_server.shards import shards_of
from interlace_client.torch.parameter_server.tensors import OptimizerOf, ServedTensor

#: A wait of nought would not block at all; how long those who came may take to be told [s].
_LEAST_WAIT_S, _TELL_S = 0.001, 5.0


def absent_said(workers: int, came: Sequence[tuple[str, int | None]], waited_s: float) -> str:
    """Say which of so many workers have not come: by rank where those who came say theirs.

    Parameters
    ----------
    workers
        How many there should be.
    came
        Where each is that came, and its rank; None where it does not say.
    waited_s
        How long they were waited for [s].
    """
    ranks = {rank for _, rank in came}
    absent = [rank for rank in range(workers) if rank not in ranks]
    if came and len(absent) == workers - len(came):
        named = f"{'Worker' if len(absent) == 1 else 'Workers'} {', '.join(map(str, absent))}"
        return f"{named} of {workers} did not come in {waited_s:g} s."
    count = workers - len(came)
    told = ", ".join(where for where, _ in came) or "nobody"
    return f"{count} of {workers} workers did not come in {waited_s:g} s; there came: {told}."


class TrainingServer:
    """Serves the parameters of a model to workers that train it.

    Parameters
    ----------
    parameters
        ``model.named_parameters()``: all of the model, in the workers' order. They are updated in
        place.
    optimizer_of
        Makes an optimizer of a list of parameters; called for each parameter by itself.
    workers
        How many there will be.
    needed
        Gradients that make an update. None: each is used when it comes, asynchronously.
        ``workers``: synchronously. Fewer: the others are backups, whose late gradients are dropped.
    shard
        Which server this is, and of how many: each tensor goes to the server with the fewest bytes
        so far.
    window_bytes
        See :class:`~interlace_client.torch.parameter_server.frames.FrameSender`.
    address
        Where it listens; port 0 takes a free one.

    Notes
    -----
    Whoever can connect can train: for a network of your own. A gradient may be of older parameters
    (asynchronously), and a pull may hold tensors of different versions.
    """

    def __init__(
        self,
        parameters: Iterable[tuple[str, nn.Parameter]],
        optimizer_of: OptimizerOf,
        *,
        workers: int,
        needed: int | None = None,
        shard: tuple[int, int] = (0, 1),
        window_bytes: int | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be 1 or more, got {workers}.")
        if needed is not None and not 1 <= needed <= workers:
            raise ValueError(f"needed must be 1 to {workers} of {workers} workers, got {needed}.")
        number, servers = shard
        if not 0 <= number < servers:
            raise ValueError(
                f"shard must be (0, {servers}) to ({servers - 1}, {servers}): {shard}."
            )
        named = [(name, p) for name, p in parameters if p.requires_grad]
        owners = shards_of([p.numel() * p.element_size() for _, p in named], servers)
        self._shard = shard
        self._keys = [key for key, owner in enumerate(owners) if owner == number]
        self._tensors = [ServedTensor(*named[key], optimizer_of, needed) for key in self._keys]
        self._recorder: MessageRecorder | None = None
        self._workers, self._needed, self._window = workers, needed, window_bytes
        self._present = workers
        self._lock = Lock()
        #: What became of workers that did not say that they leave.
        self.lost: list[str] = []
        self._failure: str | None = None
        self._came: dict[socket.socket, tuple[str, int | None]] = {}  # where from, and its rank
        self._listener = socket.create_server(address, backlog=workers)

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, port = self._listener.getsockname()[:2]
        return host, port

    @property
    def dropped(self) -> int:
        """How many gradients came too late."""
        return sum(tensor.dropped for tensor in self._tensors)

    def record_messages(self) -> MessageRecorder:
        """Keep each message of what is served from now on; its workers must say their ranks."""
        number, servers = self._shard
        self._recorder = MessageRecorder(number, self._workers, servers, is_server=True)
        return self._recorder

    def serve(self, timeout_s: float | None = None) -> None:
        """Wait for all workers, and serve them until the last has left.

        A worker that is lost is noted in :attr:`lost`, and the others go on while enough are left.

        Parameters
        ----------
        timeout_s
            How long it waits until all workers have come [s]; None: for ever.

        Raises
        ------
        ServingFailed
            When a worker waits for an update that can never be made, all workers are lost, or one
            has not come in time: those that have are told, and who is missing is named, by its rank
            where all say theirs.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        threads: list[Thread] = []
        with self._listener:
            for _ in range(self._workers):
                if until is not None:
                    self._listener.settimeout(max(until - time.monotonic(), _LEAST_WAIT_S))
                try:
                    connection, (host, port, *_) = self._listener.accept()
                except TimeoutError as error:
                    raise self._give_up(threads, timeout_s or 0.0) from error
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._lock:
                    self._came[connection] = (f"{host}:{port}", None)
                threads.append(Thread(target=self._serve, args=[connection], daemon=True))
                threads[-1].start()
        for thread in threads:
            thread.join()
        if len(self.lost) == self._workers:
            self._failure = self._failure or self.lost[0]
        if self._failure:
            raise ServingFailed(self._failure)

    def _give_up(self, threads: Iterable[Thread], waited_s: float) -> ServingFailed:
        """Tell those who have come that others have not, and return that."""
        with self._lock:
            came = dict(self._came)
        self._failure = absent_said(self._workers, list(came.values()), waited_s)
        for tensor in self._tensors:
            tensor.fail(self._failure)
        for connection in came:
            with suppress(OSError):  # it has left already
                connection.shutdown(socket.SHUT_RD)
        until = time.monotonic() + _TELL_S
        for thread in threads:
            thread.join(max(until - time.monotonic(), 0.0))
        return ServingFailed(self._failure)

    def _serve(self, connection: socket.socket) -> None:
        """Serve one worker."""
        sender = FrameSender(connection, self._window)
        try:
            rank = self._greet(connection, sender)
            self._answer(connection, sender, rank)
        except OSError as error:  # a failure to serve is one, too
            self.lost.append(f"A worker is lost: {error}")
            sender.put_json(ERROR, self._failure or str(error))
        self._leave()
        sender.close()
        connection.close()

    def _greet(self, connection: socket.socket, sender: FrameSender) -> int:
        """See that both sides have the same tensors; return the worker's rank, -1 if not said."""
        hello = read_json(connection, read_frame(connection))
        theirs = hello["tensors"]
        with self._lock:
            where, _ = self._came[connection]
            self._came[connection] = where, hello["rank"]
        ours = [[tensor.name, tensor.size] for tensor in self._tensors]
        if theirs != ours:
            unlike = [a for a in ours if a not in theirs] + [b for b in theirs if b not in ours]
            named = ", ".join(f"{name} of {size} bytes" for name, size in unlike[:5])
            detail = f"Worker and server have different tensors: {named or 'in another order'}."
            raise ServingFailed(detail)
        rank = -1 if hello["rank"] is None else int(hello["rank"])
        if self._recorder is not None and not 0 <= rank < self._workers:
            raise ServingFailed(
                f"This server records messages: give each ServedModel its rank, 0 to "
                f"{self._workers - 1}, got {hello['rank']}."
            )
        said = {"is_synchronous": self._needed is not None, "workers": self._workers}
        sender.put_json(HELLO, said)
        return rank

    def _answer(self, connection: socket.socket, sender: FrameSender, rank: int) -> None:
        """Send what is pulled, and take what is pushed, until the worker leaves."""
        sizes = [tensor.size for tensor in self._tensors]
        messages = MessagesWithWorker(self._recorder, self._keys, sizes, rank)
        gradients = [tensor.blank() for tensor in self._tensors]
        sent = [0] * len(self._tensors)  # the version that the worker has, so of its gradient
        arrived = [0] * len(self._tensors)  # bytes of its gradient
        while (frame := read_frame(connection)).kind != BYE:
            i = frame.tensor
            if frame.kind == PULL:
                messages.pulled()
                for k in range(len(self._tensors)):
                    self._send(sender, k, sent, messages)
                continue
            if frame.kind != PART or i >= len(gradients):
                raise ServingFailed(f"{frame} is none of this protocol's.")
            memory = bytes_of(gradients[i])
            if frame.offset + frame.length > len(memory):
                raise ServingFailed(f"{self._tensors[i].name}: a gradient of another size.")
            read_into(connection, memory[frame.offset : frame.offset + frame.length])
            arrived[i] += frame.length
            if arrived[i] == len(memory):
                arrived[i], began = 0, time.perf_counter_ns()
                messages.note(i, PUSH)
                self._tensors[i].take(gradients[i], sent[i])
                messages.note(i, CONFIRMATION)
                sender.put(Frame(DONE, i, offset=time.perf_counter_ns() - began))

    def _send(
        self, sender: FrameSender, tensor: int, sent: list[int], messages: MessagesWithWorker
    ) -> None:
        """Queue a parameter, as it is when its turn comes."""

        def content() -> memoryview:
            try:
                copy, sent[tensor] = self._tensors[tensor].snapshot(sent[tensor])
            except ServingFailed as error:
                self._failure = str(error)
                raise
            messages.note(tensor, PARAMETER)
            return bytes_of(copy)

        sender.put(Frame(PART, tensor), content)

    def _leave(self) -> None:
        """Count a worker that is no more; where no update can be made now, nobody waits for one."""
        with self._lock:
            self._present -= 1
            if self._needed is None or self._present >= self._needed:
                return
            reason = (
                f"{self._needed} workers are needed for an update, {self._present} are left. "
                + " ".join(self.lost)
            )
        for tensor in self._tensors:
            tensor.fail(reason.strip())
