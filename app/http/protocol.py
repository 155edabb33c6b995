"""HTTP/1.1 as uvicorn speaks it, with problem details for what is no request, and deadlines.

A client is left alone while the service works for it. It must send a request's head, and what it
still has to send once it was answered, in time; and it must read. uvicorn's own settings bound the
pause between requests and the number of connections, none of these; so this works on its protocol
for httptools, for attacks that were measured (tests/attacks/, tests/app/test_bad_input.py):

- bodies of one-byte chunks, and many requests in one read: a read is parsed in slices, and others
  have their turn after each millisecond of it (``_parse``); such a body (``on_chunk_header``);
- heads and bodies that come byte by byte: what comes is gathered (``data_received``);
- heads that never end: the connections stay, and with them a file each (``_watch``);
- heads, trailers and extensions of chunks that are long (``_feed``);
- bodies that go on behind their answer: nobody looks at them any more (``close``);
- answers that nobody reads: 30 clients of 24 MiB each held all 720 MiB (``pause_writing``);
- long answers: a piece is sent when the one before has left, others have their turn (``_sent``);
- clients that connect again and again: who sent much that was refused waits (``connection_made``);
- what is no HTTP: uvicorn answers it with plain text, no problem (``_refuse``);
- heads that a proxy may read differently, of two lengths or hosts (``on_headers_complete``).
"""

import asyncio
import logging
import struct
from asyncio import sleep
from contextlib import suppress
from http import HTTPStatus
from socket import SO_LINGER, SOL_SOCKET
from typing import TYPE_CHECKING, Any, NoReturn

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.codes import RefusalCode, TemporaryCode
from app.errors import title_of, without_faults
from app.http.middleware import HEADER, HEADERS, new
from app.http.problems import answer
from app.limits import (
    MAX_HEAD_BYTES,
    MAX_HEAD_S,
    MAX_HEADERS,
    MAX_REST_S,
    MAX_TINY_CHUNKS,
    MAX_UNREAD_BYTES,
    MIN_CHUNK_BYTES,
    MIN_READ_BYTES,
    READ_PERIOD_S,
)

if TYPE_CHECKING:
    from app.http.addresses import Addresses

#: So much is parsed at once [bytes], and so much told (headers, pieces of bodies) until others have
#: their turn; a message counts as much as ten of them.
SLICE_BYTES, MAX_TOLD, _MESSAGE = 2**12, 500, 10
#: After so many reads below so many bytes within a message, a client is read that seldom [s].
MAX_SMALL_READS, SMALL_READ_BYTES, GATHER_S = 100, 2**10, 0.01
#: What nobody looks at is read that seldom, 256 KiB at most each time [s].
REST_PERIOD_S = 0.02
#: So much of an answer is handed to the system at once [bytes].
PIECE_BYTES = 2**18

#: What is no request, by status.
_REFUSALS = {
    code.status: (code, detail)
    for code, detail in (
        (RefusalCode.NOT_HTTP, "This is not an HTTP/1.1 request."),
        (TemporaryCode.REQUEST_TIMEOUT, f"The head took more than {MAX_HEAD_S:g} s."),
        (
            RefusalCode.HEADERS_TOO_LARGE,
            f"The head has more than 64 KiB, or {MAX_HEADERS} headers.",
        ),
        (
            RefusalCode.TOO_LARGE,
            f"More than {MAX_TINY_CHUNKS:,} chunks must have {MIN_CHUNK_BYTES} bytes on average.",
        ),
        (RefusalCode.UNKNOWN_TRANSFER_ENCODING, "Of transfer encodings only chunked is known."),
    )
}


_LOG = logging.getLogger("interlace.access")


#: What stands in a head besides names and values, and besides method and target.
_FIELD, _LINE = len(": \r\n"), len("  HTTP/1.1\r\n\r\n")


class _Unfit(Exception):
    """What comes is refused."""


class _Flow(FlowControl):
    """Reads nothing while what was read waits to be parsed, whoever would go on."""

    is_held = False

    def resume_reading(self) -> None:
        """Go on, unless it is held."""
        if not self.is_held:
            super().resume_reading()


class Protocol(HttpToolsProtocol):
    """One connection; to its answers it is the transport, too, which it closes with patience."""

    _awaited: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None
    #: Since when the client has had something to read, and how much that was; what an answer has
    #: besides that was not handed on yet [bytes].
    paused: tuple[float, int] | None = None
    _later_bytes = 0
    #: When what waits is parsed next, and how much the parser told this time.
    _next: asyncio.Handle | None = None
    _told = 0
    #: Whether a head has begun and not ended; bytes of the message in its head and after it, those
    #: of them that are its body, how many chunks that came in, and how many small reads all did.
    _is_in_head = False
    _head_bytes = _rest_bytes = _body_bytes = _chunks = _small_reads = 0
    #: What was wrong with something that is refused in its turn.
    _fault: int | None = None
    #: Whether nothing that comes is looked at any more.
    is_over = False
    #: Whether it took a turn of its address.
    _has_turn = False

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a head."""
        super().connection_made(transport)
        self.flow = self._flow = _Flow(transport)
        self._waiting = bytearray()
        transport.set_write_buffer_limits(high=0)  # any byte that is not read starts the clock
        self._watch()
        self._addresses: Addresses = vars(self.config.app)["state"].addresses
        self._address = self.client[0] if self.client else ""
        if not self._addresses.connect(self._address):
            self.drop("its address has many connections")
        elif self._addresses.is_ahead(self._address):
            wait_s = self._addresses.take(self._address)
            if wait_s is None:
                transport.abort()
            else:
                self._has_turn = True
                self._hold(self.loop.call_later(wait_s, self._parse))

    def data_received(self, data: bytes) -> None:
        """Take what the client sends, and parse it a slice at a time."""
        if self.is_over:  # forgotten, and no faster than this
            self.transport.pause_reading()
            self.loop.call_later(REST_PERIOD_S, self.transport.resume_reading)
            return
        self._unset_keepalive_if_required()
        self._waiting += data
        self._small_reads += len(data) < SMALL_READ_BYTES
        if self._small_reads <= MAX_SMALL_READS:
            self._parse()
        else:  # more may come meanwhile
            self._hold(self.loop.call_later(GATHER_S, self._parse))

    def _hold(self, until: asyncio.Handle | None) -> None:
        self._next, self._flow.is_held = until, True
        self._flow.pause_reading()

    def _parse(self) -> None:
        """Parse what waits, for about a millisecond; then it is others' turn."""
        self._next, self._told = None, 0
        while self._waiting and self._told < MAX_TOLD and not self._is_due():
            if self.parser is None or self.is_over or self._fault:
                break
            part = bytes(self._waiting[:SLICE_BYTES])
            del self._waiting[:SLICE_BYTES]
            self._feed(part)
        if self.parser is None or self.is_over:
            return
        if self._fault and not self._is_due():
            self._refuse(self._fault)
            return
        if self._waiting or self._fault:
            is_next = not (self._fault or self._is_due())
            self._hold(self.loop.call_soon(self._parse) if is_next else None)
        else:
            self._flow.is_held = False
            if self.cycle is None or len(self.cycle.body) <= HIGH_WATER_LIMIT:
                self._flow.resume_reading()
        self._watch()

    def _feed(self, part: bytes) -> None:
        self._told += 1
        try:
            self.parser.feed_data(part)
        except httptools.HttpParserUpgrade as upgrade:  # to nothing that is known: it goes on
            self._waiting[:0] = part[upgrade.args[0] :]
        except httptools.HttpParserError:
            self._fault = self._fault or HTTPStatus.BAD_REQUEST
        if self._is_in_head:
            self._head_bytes += len(part)
            if self._head_bytes > MAX_HEAD_BYTES + SLICE_BYTES:
                self._fault = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        elif self.cycle is not None and self.cycle.more_body:
            self._rest_bytes += len(part)  # with the lengths of chunks, extensions and trailers
            if self._rest_bytes - 2 * self._body_bytes > MAX_HEAD_BYTES:
                self._fault = self._fault or HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE

    def _is_due(self) -> bool:
        """Tell whether a whole request is to be answered before more is looked at."""
        cycle = self.cycle
        return bool(self.pipeline) or not (
            cycle is None or cycle.response_complete or cycle.more_body
        )

    def on_message_begin(self) -> None:
        """Begin with a head."""
        super().on_message_begin()
        self._is_in_head = True
        self._told += _MESSAGE
        self._head_bytes = self._rest_bytes = self._body_bytes = self._chunks = 0
        self._small_reads = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers are of no use."""
        self._told += 1
        if self._is_in_head:
            super().on_header(name, value)
            if len(self.headers) > MAX_HEADERS:
                self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Begin to answer, unless a proxy might read the head differently."""
        self._is_in_head = False
        fields = sum(len(name) + len(value) + _FIELD for name, value in self.headers)
        if len(self.parser.get_method()) + len(self.url) + _LINE + fields > MAX_HEAD_BYTES:
            self._stop(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        version, names = self.parser.get_http_version(), [name for name, _ in self.headers]
        codings = [value for name, value in self.headers if name == b"transfer-encoding"]
        hosts = names.count(b"host")
        if version not in {"1.0", "1.1"} or hosts > 1 or (version == "1.1" and not hosts):
            self._stop(HTTPStatus.BAD_REQUEST)
        if codings and (b"content-length" in names or version == "1.0"):
            self._stop(HTTPStatus.BAD_REQUEST)
        if codings and [each.lower() for each in codings] != [b"chunked"]:
            self._stop(HTTPStatus.NOT_IMPLEMENTED)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._told += 1
        self._body_bytes += len(body)
        super().on_body(body)

    def on_chunk_header(self) -> None:
        """Go on to a chunk, unless those before it were tiny."""
        if self._chunks > MAX_TINY_CHUNKS and self._body_bytes < MIN_CHUNK_BYTES * self._chunks:
            self._stop(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self._chunks += 1

    def _stop(self, status: int) -> NoReturn:
        self._fault = status
        raise _Unfit

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Answer; when that is before the request has come whole, the connection ends with it."""
        cycle.transport = self  # type: ignore[assignment]
        is_old = (
            cycle.scope["http_version"] == "1.0"
        )  # it knows no chunks: its answer ends at the end

        async def ending(scope: Any, receive: Any, send: Any) -> None:
            async def send_ending(message: Any) -> None:
                if message["type"] == "http.response.start":
                    if self._has_turn and self._addresses.settle(self._address, scope["state"]):
                        self._has_turn = False
                    cycle.keep_alive = cycle.keep_alive and not cycle.more_body
                    if is_old:
                        cycle.chunked_encoding = False
                elif is_old:
                    cycle.expected_content_length = len(message.get("body", b""))
                await self._sent(message, send)

            await app(scope, receive, send_ending)

        super()._start_asgi_task(cycle, ending)

    async def _sent(self, message: Any, send: Any) -> None:
        """Send a message; a long body in pieces, each when the system has room for more."""
        body = memoryview(message.get("body", b""))
        if len(body) <= PIECE_BYTES:
            await send(message)
            return
        try:
            for end in range(PIECE_BYTES, len(body) + PIECE_BYTES, PIECE_BYTES):
                piece, left = body[end - PIECE_BYTES : end], max(0, len(body) - end)
                self._later_bytes = 0 if self.transport.is_closing() else left
                more = left > 0 or message.get("more_body", False)
                await send({**message, "body": piece, "more_body": more})
                if left:
                    await sleep(0)
                    await self.flow.drain()
        finally:
            self._later_bytes = 0
            if not self.unread():
                self._forget_reader()

    def on_response_complete(self) -> None:
        """Go on to what comes after an answer."""
        super().on_response_complete()
        if self.is_over or self.transport.is_closing():
            return
        if self._waiting or self._fault:
            self._unset_keepalive_if_required()
            self._parse()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clocks."""
        self._addresses.disconnect(self._address)
        for clock in (self._timer, self._reader, self._next):
            if clock is not None:
                clock.cancel()
        super().connection_lost(exc)

    def write(self, data: bytes) -> None:
        """Send, as a transport does."""
        if not self.is_over:
            self.transport.write(data)

    def is_closing(self) -> bool:
        """Tell whether nothing more is sent."""
        return self.is_over or self.transport.is_closing()

    def close(self) -> None:
        """End, and if more is coming, let the client hear the answer first.

        A connection that is closed with something unread is reset: the client may not see what was
        sent. So it is told that all was sent, and what comes is forgotten for a while.
        """
        if self.is_closing():
            return
        is_coming = self.cycle is not None and self.cycle.more_body
        if not (self._waiting or self._fault or self.pipeline or is_coming):
            self.transport.close()
            return
        self.is_over = True
        self._waiting.clear()
        self.pipeline.clear()
        self._unset_keepalive_if_required()
        with suppress(OSError):  # the client may have left meanwhile
            self.transport.write_eof()
        self._flow.is_held = False
        self._flow.resume_reading()
        self._watch()

    def shutdown(self) -> None:
        """End with the server."""
        if self.is_over:
            self.transport.close()
        else:
            super().shutdown()

    def _watch(self) -> None:
        """Give the client a deadline when it begins to owe something."""
        awaited = None
        if self.is_over:
            awaited = "rest"
        elif self.cycle is None or (self.cycle.response_complete and not self.pipeline):
            awaited = "head"
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
        if self._is_in_head and not self.is_over:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.transport.close()  # once the client has read its answer, or is dropped for that

    def pause_writing(self) -> None:
        """Watch how fast a client reads what could not be sent at once."""
        super().pause_writing()
        if self.paused is not None:
            return
        self.paused = (self.loop.time(), self.unread())
        self._expect_reading()
        readers = [each for each in self.connections if isinstance(each, Protocol) and each.paused]
        if sum(each.unread() for each in readers) > MAX_UNREAD_BYTES:
            others = [each for each in readers if each is not self]  # it had no time to read
            slowest = min(others or readers, key=Protocol.speed)
            slowest.drop("others' answers need its memory")

    def resume_writing(self) -> None:
        """Go on; when all is sent, stop watching."""
        super().resume_writing()
        if not self.unread():
            self._forget_reader()

    def unread(self) -> int:
        """Return how much of an answer the system has not taken yet [bytes]."""
        return self.transport.get_write_buffer_size() + self._later_bytes

    def _forget_reader(self) -> None:
        self.paused = None
        if self._reader is not None:
            self._reader.cancel()

    def _expect_reading(self) -> None:
        self._reader = self.loop.call_later(READ_PERIOD_S, self._check_reading, self.unread())

    def _check_reading(self, before: int) -> None:
        if before - self.unread() < MIN_READ_BYTES:
            self.drop("it reads too slowly")
        else:
            self._expect_reading()

    def speed(self) -> tuple[float, float]:
        """Return how fast the answer is read [bytes/s], and since when."""
        assert self.paused is not None, "only readers are compared"
        since, unread = self.paused
        taken = unread - self.unread()
        return taken / (1 + self.loop.time() - since), since

    def drop(self, why: str) -> None:
        """Let go of the client, and of what it did not read.

        With an answer unread the connection is reset: else the system goes on to send what it holds
        of it, up to 4 MiB for each connection, as slowly as the client reads, and that to no end.
        """
        _LOG.warning("A client was dropped: %s", why)
        if self.unread():
            at_once = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, at_once)
        self._later_bytes = 0
        self._forget_reader()  # others count it no more
        self.transport.abort()

    def _refuse(self, status: int) -> None:
        """Answer with a problem, if no answer was begun, and end."""
        self._fault, cycle = status, self.cycle
        is_at_work = cycle is not None and not cycle.response_complete
        if is_at_work:  # whoever works on the request learns that its client has left
            cycle.disconnected = True
            cycle.message_event.set()
        client = cycle.scope["client"] if is_at_work else self.client
        address = client[0] if client else ""
        if not self._addresses.is_of_many(address):
            self._addresses.take(address)
        if not (is_at_work and cycle.response_started):
            code, detail = _REFUSALS[HTTPStatus(status)]
            path = cycle.scope["path"] if is_at_work else ""
            name = new()
            found = answer(
                without_faults(code, detail), path, {**HEADERS, HEADER: name, "Connection": "close"}
            )
            line = f"HTTP/1.1 {int(status)} {title_of(status)}\r\n".encode()
            head = b"".join(b"%b: %b\r\n" % field for field in found.raw_headers)
            self.transport.write(b"%b%b\r\n%b" % (line, head, bytes(found.body)))
            _LOG.info("Refused: %s", detail, extra={"request_id": name, "status": int(status)})
        self.close()
