"""What travels between workers and servers: frames on a socket, tensors in one part or two."""

from __future__ import annotations

import json
import struct
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Condition, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

if TYPE_CHECKING:
    import socket

#: Kind, tensor, offset and length of what follows [bytes].
_HEADER = struct.Struct("!BIQQ")
#: HELLO and ERROR carry JSON; PULL asks for parameters; PART is bytes of a tensor; DONE says that
#: a gradient was taken, its offset how long that took [ns]; BYE is a worker's last.
HELLO, PULL, PART, DONE, BYE, ERROR = range(6)
#: Most bytes of JSON that are read.
_MAX_TEXT = 64 * 1024 * 1024


class ServingFailed(ConnectionError):
    """Training through servers cannot go on; the message says why."""


class Frame(NamedTuple):
    """A frame's header.

    Attributes
    ----------
    kind
        One of the numbers above.
    tensor
        Position in the list of the hello.
    offset, length
        Which of its bytes follow.
    """

    kind: int
    tensor: int = 0
    offset: int = 0
    length: int = 0


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """Return the memory of a contiguous tensor on the CPU."""
    return memoryview(tensor.detach().reshape(-1).view(torch.uint8).numpy())


def read_frame(connection: socket.socket) -> Frame:
    """Wait for a header.

    Raises
    ------
    ServingFailed
        When the other side has gone, or says what is wrong.
    """
    header = memoryview(bytearray(_HEADER.size))
    read_into(connection, header)
    frame = Frame(*_HEADER.unpack(header))
    if frame.kind == ERROR:
        raise ServingFailed(str(read_json(connection, frame)))
    return frame


def read_into(connection: socket.socket, memory: memoryview) -> None:
    """Fill memory."""
    while memory:
        count = connection.recv_into(memory)
        if not count:
            raise ServingFailed("The other side has closed the connection.")
        memory = memory[count:]


def read_json(connection: socket.socket, frame: Frame) -> Any:
    """Read what a frame carries as JSON."""
    if frame.length > _MAX_TEXT:
        raise ServingFailed(f"A text of {frame.length} bytes: that is none of this protocol's.")
    memory = memoryview(bytearray(frame.length))
    read_into(connection, memory)
    return json.loads(bytes(memory))


class _Outgoing(NamedTuple):
    frame: Frame
    content: Callable[[], memoryview]


class FrameSender:
    """Sends messages over a connection in a thread, one after the other.

    Parameters
    ----------
    connection
        That it alone writes to.
    window_bytes
        Most bytes of a tensor that are sent at first; the rest goes to the end of the queue and is
        sent whole, as HTTP/2's flow control does. None: each is sent whole.
    """

    def __init__(self, connection: socket.socket, window_bytes: int | None) -> None:
        self._connection = connection
        self._window = window_bytes
        self._queue: deque[_Outgoing | None] = deque()
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="parameter-server-sender", daemon=True)
        self._thread.start()

    def put(
        self, frame: Frame, content: Callable[[], memoryview] = lambda: memoryview(b"")
    ) -> None:
        """Queue a message; what it carries is asked for when its turn comes."""
        self._queue_up(_Outgoing(frame, content))

    def put_json(self, kind: int, value: Any) -> None:
        """Queue JSON."""
        text = memoryview(json.dumps(value).encode())
        self.put(Frame(kind), lambda: text)

    def close(self) -> None:
        """Send what is queued, and end."""
        self._queue_up(None)
        self._thread.join()

    def _queue_up(self, message: _Outgoing | None) -> None:
        with self._changed:
            self._queue.append(message)
            self._changed.notify()

    def _run(self) -> None:
        with suppress(OSError):  # the reader says that the connection is lost
            while (message := self._next()) is not None:
                self._send_or_tell(message)

    def _send_or_tell(self, message: _Outgoing) -> None:
        try:
            self._send(message)
        except ServingFailed as error:  # what was to be sent will never be
            text = memoryview(json.dumps(str(error)).encode())
            self._send(_Outgoing(Frame(ERROR), lambda: text))

    def _next(self) -> _Outgoing | None:
        with self._changed:
            self._changed.wait_for(lambda: self._queue)
            return self._queue.popleft()

    def _send(self, message: _Outgoing) -> None:
        frame, content = message.frame, message.content()
        window = len(content)
        if frame.kind == PART and not frame.offset and self._window is not None:
            window = self._window
        now = content[:window]
        self._send_together(_HEADER.pack(*frame._replace(length=len(now))), now)
        if len(now) < len(content):
            rest = content[window:]
            self.put(frame._replace(offset=window), lambda: rest)

    def _send_together(self, *parts: bytes | memoryview) -> None:
        """Send parts in one call: each call is a packet of its own, which hosts pay for."""
        sent = self._connection.sendmsg(parts)
        for part in parts:
            if sent < len(part):
                self._connection.sendall(part[sent:])
            sent = max(0, sent - len(part))
