"""Who may call: each request's API key, what it is good for, and how often it may ask.

A request is looked at before anything else is done for it, its body included. Nothing is open but
what :func:`scope_of` says: a new route needs a key from its first day.
"""

import asyncio
import hashlib
import logging
import math
import time
from dataclasses import replace
from http import HTTPStatus

from anyio import CapacityLimiter, to_thread
from cachetools import LRUCache, TTLCache
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from app.errors import Forbidden, RateLimited, Refusal, StorageUnavailable, Unauthenticated
from app.http.middleware import address_of
from app.http.problems import on_refusal
from app.operations.callers import NOBODY, Caller, Quotas, Scope
from app.storage import audit, keys
from app.storage.database import Store

#: A key is looked up again after so long: by then one that was revoked lets nobody in [s].
REVOKED_WITHIN_S = 1.0


#: A key that is none is refused so long without another look [s].
UNKNOWN_FOR_S = 5.0


#: When a key was used last is kept so often [s].
USE_NOTED_S = 60.0


#: So many keys are known at a time, and as many texts that are none; so many are looked up at once.
_KNOWN, _LOOKERS = 10_000, 2


#: What needs no key: whether the service is well, and how to ask it.
OPEN = frozenset(
    {
        *("/", "/docs", "/openapi.json", "/healthz", "/readyz", "/version"),
        *("/compare", "/runs", "/help", "/shapes", "/allocations", "/mixes"),
    }
)


#: Scripts, styles, and the pages, which hold nothing of anybody: what they show, they ask for.
_OPEN_BELOW = (
    "/swagger/",
    "/static/",
    "/assets/",
    "/one-file/",
    "/plans/",
    "/simulations/",
    "/sweeps/",
    "/imports/",
    "/graphs/",
    "/cost-models/",
    "/predictions/",
    "/shapes/rankings/",
    "/runs/",
    "/help/",
)


#: What changes nothing.
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


_LOG = logging.getLogger("interlace.audit")


def scope_of(method: str, path: str) -> Scope | None:
    """Return what a key must be good for to call something; None when none is needed."""
    if path in OPEN or path.startswith(_OPEN_BELOW):
        return None
    return "read" if method in _SAFE else "submit"


class Keys:
    """Lets in whoever has a key, and says who that is: ``request.state.caller``.

    Where keys are not required that is None, and a key that is sent is not looked at.
    """

    def __init__(self, app: ASGIApp, store: Store, quotas: Quotas, *, required: bool) -> None:
        self._app, self._store, self._quotas, self._required = app, store, quotas, required
        self._verified: TTLCache[bytes, Caller] = TTLCache(_KNOWN, REVOKED_WITHIN_S)
        self._unknown: TTLCache[bytes, bool] = TTLCache(_KNOWN, UNKNOWN_FOR_S)
        self._once: LRUCache[bytes, bool] = LRUCache(_KNOWN)
        self._asked: dict[bytes, asyncio.Task[Caller | None]] = {}
        self._rates: LRUCache[str, _TokenBucket] = LRUCache(_KNOWN)
        self._noted: LRUCache[str, float] = LRUCache(_KNOWN)
        self._lookers = CapacityLimiter(_LOOKERS)

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """Answer, or say which key would do."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        needed = scope_of(scope["method"], scope["path"])
        if not self._required or needed is None:
            state["caller"] = NOBODY if self._required else None
            await self._app(scope, receive, send)
            return
        try:
            text = _key_in(scope)
            address = address_of(scope)
            known = await self._verify(text)
            caller = replace(known, address=address, request_id=state.get("request_id", ""))
            self._pace(caller)
            if not caller.may(needed):
                await self._refuse(caller, needed, scope)
        except Refusal as error:
            await on_refusal(Request(scope), error)(scope, receive, send)
            return
        state["caller"] = caller
        stream = _Stream(self, text, send)
        try:
            await self._app(scope, receive, stream.send)
        except _Revoked:
            pass
        except Exception:
            if not stream.is_over:
                raise
        await self._note_use(caller)

    def is_known(self, scope: Connection) -> bool:
        """Tell whether a request has a key that was one at the last look, or none are required."""
        if not self._required:
            return True
        try:
            return _digest(_key_in(scope)) in self._once
        except Unauthenticated:
            return False

    async def _verify(self, text: str) -> Caller:
        """Return whose key a text is, or raise Unauthenticated; the same one is looked up once.

        What cannot be a key is not looked up, nor is what was none a moment ago.
        """
        digest = _digest(text)
        caller = self._verified.get(digest)
        is_known_as_none = digest in self._unknown or not keys.is_formed(text)
        if caller is None and not is_known_as_none:
            task = self._asked.get(digest)
            if task is None:
                task = asyncio.create_task(self._look_up(digest, text))
                self._asked[digest] = task
                task.add_done_callback(lambda _: self._asked.pop(digest, None))
            caller = await asyncio.shield(task)
        if caller is None:
            error = Unauthenticated("This API key is unknown, has expired or was revoked.")
            error.challenge = 'Bearer realm="interlace", error="invalid_token"'
            raise error
        return caller

    async def _look_up(self, digest: bytes, text: str) -> Caller | None:
        key = await to_thread.run_sync(keys.of_text, self._store, text, limiter=self._lookers)
        if key is None:
            self._unknown[digest] = True
            self._once.pop(digest, None)
            return None
        self._once[digest] = True
        caller = self._verified[digest] = keys.caller_of(key, self._quotas)
        return caller

    def _pace(self, caller: Caller) -> None:
        """Raise RateLimited when a key asks more often than it may."""
        rate = caller.quotas.requests_per_s
        if rate is None:
            return
        assert caller.key_id is not None, "it was found"
        bucket = self._rates.get(caller.key_id)
        if bucket is None or bucket.rate != rate:
            bucket = self._rates[caller.key_id] = _TokenBucket(rate)
        bucket.take()

    async def _refuse(self, caller: Caller, needed: Scope, scope: Connection) -> None:
        """Raise Forbidden; an attempt to change something is kept."""
        method, path = scope["method"], scope["path"]

        def note() -> None:
            with self._store.writing() as connection:
                audit.note(connection, caller, method, "call", path[:64], HTTPStatus.FORBIDDEN)

        if method not in _SAFE:
            await to_thread.run_sync(note, limiter=self._lookers)
        error = Forbidden(f"This API key is not good for this: it has no scope {needed!r}.")
        error.challenge = f'Bearer realm="interlace", error="insufficient_scope", scope="{needed}"'
        raise error

    async def _note_use(self, caller: Caller) -> None:
        """Keep when a key was used last; the client has its answer by now."""
        key_id, now = caller.key_id, time.monotonic()
        assert key_id is not None, "it was found"
        if now - self._noted.get(key_id, -math.inf) < USE_NOTED_S:
            return
        self._noted[key_id] = now
        try:
            await to_thread.run_sync(keys.note_use, self._store, key_id, limiter=self._lookers)
        except StorageUnavailable as error:
            _LOG.warning("The use of a key was not noted: %s", error, extra={"key": key_id})

    async def is_active(self, text: str) -> bool:
        """Tell whether a key still lets its bearer in; while nobody knows, it does."""
        try:
            await self._verify(text)
        except Unauthenticated:
            return False
        except StorageUnavailable:
            return True
        return True


class _Revoked(Exception):
    """The key of an answer that goes on for long is not active any more."""


class _Stream:
    """An answer: one that comes in many pieces ends when its key does."""

    def __init__(self, keys: Keys, text: str, send: Send) -> None:
        self._keys, self._text, self._send = keys, text, send
        self.is_over = False

    async def send(self, message: Message) -> None:
        """Send a piece."""
        if message.get("more_body") and not await self._keys.is_active(self._text):
            self.is_over = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise _Revoked
        await self._send(message)


class _TokenBucket:
    """Tokens of one key, of which a request takes one: a second's worth at most."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._most = max(1.0, rate)
        self._left, self._at = self._most, time.monotonic()

    def take(self) -> None:
        """Take a token, or raise RateLimited."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1:
            error = RateLimited(
                f"Quota requests a second: at most {self.rate:g} with this key, now all used."
            )
            error.retry_after_s = math.ceil((1 - self._left) / self.rate)
            raise error
        self._left -= 1


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _key_in(scope: Connection) -> str:
    """Return the key that a request has, or raise Unauthenticated."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, text = value.decode("latin-1").partition(" ")
            if scheme.lower() == "bearer":
                return str(text.strip())
    raise Unauthenticated("Send an API key: the header 'Authorization: Bearer ilk_...'.")
