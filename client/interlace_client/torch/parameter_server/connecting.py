"""A worker finds its servers, which may start after it."""

from __future__ import annotations

import socket
import time
from typing import Any

from interlace_client.torch.parameter_server.frames import (
    HELLO,
    FrameSender,
    ServingFailed,
    read_frame,
    read_json,
)

#: How long a worker waits before it asks again [s]: twice as long each time, up to the most.
_FIRST_WAIT_S, _MOST_WAIT_S = 0.05, 1.0


def connect(address: tuple[str, int], until: float) -> socket.socket:
    """Connect to a server, again and again until it listens.

    A name that is not known yet, as of a container that is to start, is asked for again, too.

    Parameters
    ----------
    address
        Of the server.
    until
        Of ``time.monotonic()``: when to give up [s]; it is asked once in any case.

    Raises
    ------
    ServingFailed
        When it has not listened by then; with what the last attempt came to.
    """
    began, wait_s = time.monotonic(), _FIRST_WAIT_S
    while True:
        try:
            left_s = until - time.monotonic()
            connection = socket.create_connection(address, max(left_s, _FIRST_WAIT_S))
            if connection.getsockname() == connection.getpeername():  # a free port of this host
                connection.close()
                raise ConnectionRefusedError("nobody listens there")
        except OSError as error:  # noqa: PERF203 - it waits
            left_s = until - time.monotonic()
            if left_s <= 0:
                host, port = address
                tried_s = time.monotonic() - began
                detail = f"No server at {host}:{port} in {tried_s:.3g} s: {error}."
                raise ServingFailed(detail) from error
            time.sleep(min(wait_s, left_s))
            wait_s = min(2 * wait_s, _MOST_WAIT_S)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def greet(connection: socket.socket, sender: FrameSender, hello: Any, until: float) -> Any:
    """Say hello to a server, and return what it answers.

    Raises
    ------
    ServingFailed
        When it refuses, or has not answered by ``until``, as what does not serve yet.
    """
    host, port = connection.getpeername()[:2]
    connection.settimeout(max(until - time.monotonic(), _FIRST_WAIT_S))
    sender.put_json(HELLO, hello)
    try:
        answer = read_json(connection, read_frame(connection))
    except TimeoutError as error:
        detail = f"What listens at {host}:{port} has not answered: does it serve()?"
        raise ServingFailed(detail) from error
    connection.settimeout(None)
    return answer
