"""HTTP/1.1 as uvicorn speaks it, with problem details for what is no request, and deadlines.

A client is left alone while the service works for it. It must send a request's head, and what it
still has to send once it was answered, in time; and it must read. uvicorn's own settings bound the
length of a head that is not whole, the pause between requests and the number of connections, none
of these; so this works on its H11Protocol, for attacks that were measured (tests/attacks/,
tests/app/test_bad_input.py):

- heads that never end: the connections stay, and with them a file each (``_watch``);
- bodies that never end behind an answer that was sent long ago (``_watch``);
- answers that nobody reads: 30 clients of 24 MiB each held all 720 MiB (``pause_writing``);
- what is no HTTP: uvicorn answers it with plain text, no problem (``send_400_response``);
- heads that come whole at once are of any length, and a body may have two lengths, of which a proxy
  takes the other one (``_Heads``).
"""

import asyncio
import logging
import sys
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.codes import RefusalCode, TemporaryCode
from app.errors import title_of, without_faults
from app.http.middleware import HEADER, HEADERS, new
from app.http.problems import answer
from app.limits import (
    MAX_HEAD_BYTES,
    MAX_HEAD_S,
    MAX_REST_S,
    MAX_UNREAD_BYTES,
    MIN_READ_BYTES,
    READ_PERIOD_S,
)

#: What is no request, by status.
_REFUSALS = {
    code.status: (code, detail)
    for code, detail in (
        (RefusalCode.NOT_HTTP, "This is not an HTTP/1.1 request."),
        (TemporaryCode.REQUEST_TIMEOUT, f"The head took more than {MAX_HEAD_S:g} s."),
        (RefusalCode.HEADERS_TOO_LARGE, "The head of the request is longer than 64 KiB."),
        (RefusalCode.UNKNOWN_TRANSFER_ENCODING, "Of transfer encodings only chunked is known."),
    )
}


_LOG = logging.getLogger("interlace.access")


class _Heads(h11.Connection):
    """Refuses heads that h11 lets pass: too long ones that come whole, and those of two lengths."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what comes next, as h11 does."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            fields = sum(len(name) + len(value) + _FIELD for name, value in event.headers)
            if len(event.method) + len(event.target) + _LINE + fields > MAX_HEAD_BYTES:
                raise h11.RemoteProtocolError("too long", 431)
            if {name for name, _ in event.headers} >= _TWO_LENGTHS:
                raise h11.RemoteProtocolError("two lengths", 400)
        return event


#: What stands in a head besides names and values, and besides method and target.
_FIELD, _LINE = len(": \r\n"), len("  HTTP/1.1\r\n\r\n")


_TWO_LENGTHS = {b"content-length", b"transfer-encoding"}


class Protocol(H11Protocol):
    """One connection."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.conn = _Heads(h11.SERVER, MAX_HEAD_BYTES)

    _awaited: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    #: Since when the client has had something to read, and how much that was.
    paused: tuple[float, int] | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a head."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # any byte that is not read starts the clock
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take what the client sends."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Go on to what comes after an answer."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clocks."""
        for clock in (self._timer, self._reader):
            if clock is not None:
                clock.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Give the client a deadline when it begins to owe something."""
        awaited = None
        if self.conn.our_state is h11.IDLE:
            awaited = "head"
        elif self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY:
            awaited = "rest"
        if awaited == self._awaited:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._awaited, self._timer = awaited, None
        if awaited is not None:
            seconds = MAX_HEAD_S if awaited == "head" else MAX_REST_S
            self._timer = self.loop.call_later(seconds, self._on_late)

    def _on_late(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()  # once the client has read its answer, or is dropped for that

    def pause_writing(self) -> None:
        """Watch how fast a client reads what could not be sent at once."""
        super().pause_writing()
        self.paused = (self.loop.time(), self.transport.get_write_buffer_size())
        self._expect_reading()
        readers = [each for each in self.connections if isinstance(each, Protocol) and each.paused]
        if sum(each.transport.get_write_buffer_size() for each in readers) > MAX_UNREAD_BYTES:
            others = [each for each in readers if each is not self]  # it had no time to read
            slowest = min(others or readers, key=Protocol.speed)
            slowest.drop("others' answers need its memory")

    def resume_writing(self) -> None:
        """Stop watching: all is sent."""
        super().resume_writing()
        self.paused = None
        if self._reader is not None:
            self._reader.cancel()

    def _expect_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._reader = self.loop.call_later(READ_PERIOD_S, self._check_reading, unread)

    def _check_reading(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < MIN_READ_BYTES:
            self.drop("it reads too slowly")
        else:
            self._expect_reading()

    def speed(self) -> tuple[float, float]:
        """Return how fast the answer is read [bytes/s], and since when."""
        assert self.paused is not None, "only readers are compared"
        since, unread = self.paused
        taken = unread - self.transport.get_write_buffer_size()
        return taken / (1 + self.loop.time() - since), since

    def drop(self, why: str) -> None:
        """Let go of the client, and of what it did not read."""
        _LOG.warning("A client was dropped: %s", why)
        self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request; called while h11's error is handled."""
        error = sys.exception()
        assert isinstance(error, h11.RemoteProtocolError), "nothing else is refused"
        hint = error.error_status_hint
        self._refuse(hint if hint in _REFUSALS else HTTPStatus.BAD_REQUEST)

    def _refuse(self, status: int) -> None:
        """Answer with a problem, if no answer was begun, and close."""
        if self.cycle is not None:  # whoever works on the request learns that its client has left
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            code, detail = _REFUSALS[HTTPStatus(status)]
            is_at_work = self.cycle is not None and not self.cycle.response_complete
            path = self.scope["path"] if is_at_work else ""
            name = new()
            found = answer(
                without_faults(code, detail), path, {**HEADERS, HEADER: name, "Connection": "close"}
            )
            reason = title_of(status).encode()
            begun = h11.Response(status_code=status, headers=found.raw_headers, reason=reason)
            for part in (begun, h11.Data(data=bytes(found.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(part))
            _LOG.info("Refused: %s", detail, extra={"request_id": name, "status": int(status)})
        self.transport.close()
