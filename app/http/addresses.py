"""What an address may ask before anybody knows who asks: so much at once, and more as time passes.

What it asks beyond that waits for its turn: a connection that it opens, unread, and a request
without a key that is known. Turns are given by virtual scheduling [1]_, one number for each
address: when all that it has asked would be done at its rate. Requests of callers who are known,
and addresses that ask little, wait for nothing.

References
----------
.. [1] ITU-T I.371, Traffic control and congestion control in B-ISDN, annex A: the generic cell rate
       algorithm.
"""

from asyncio import sleep
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from time import monotonic
from typing import Any

from cachetools import LRUCache
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import RateLimited
from app.http.middleware import address_of
from app.http.problems import on_refusal
from app.operations.callers import NOBODY

#: What an address asks for so long may come at once, and what is beyond waits so long at most [s].
AHEAD_S, MAX_WAIT_S = 10.0, 10.0


#: So many addresses are remembered.
_KNOWN = 10_000


class Addresses:
    """What addresses have asked, for one event loop.

    Parameters
    ----------
    per_s
        Requests a second that an address may send; 0 is no limit.
    connections
        Connections that it may have open; 0 is no limit.
    proxies
        Networks of those who are trusted to say who asks: what comes from there is of many clients,
        and none pays for another.
    """

    def __init__(self, per_s: float, connections: int, proxies: Sequence[str] = ()) -> None:
        self.per_s, self._most = per_s, connections
        self._proxies = [ip_network(each) for each in proxies]
        self._apart_s = 1 / per_s if per_s else 0.0
        self._done_at: LRUCache[str, float] = LRUCache(_KNOWN)
        self._open: Counter[str] = Counter()

    def is_of_many(self, address: str) -> bool:
        """Tell whether an address is a trusted proxy's."""
        try:
            found = ip_address(address)
        except ValueError:  # none is known
            return False
        return any(found in each for each in self._proxies)

    def is_ahead(self, address: str) -> bool:
        """Tell whether an address, of one client, has asked as much as it may."""
        if self.is_of_many(address):
            return False
        return self._done_at.get(_place(address), 0.0) - monotonic() + self._apart_s > AHEAD_S

    def take(self, address: str) -> float | None:
        """Take a turn; return how long it is until then [s], None when that is too long."""
        if not self._apart_s:
            return 0.0
        place, now = _place(address), monotonic()
        done_at = max(now, self._done_at.get(place, now)) + self._apart_s
        wait_s = done_at - now - AHEAD_S
        if wait_s > MAX_WAIT_S:
            return None
        self._done_at[place] = done_at
        return max(0.0, wait_s)

    def settle(self, address: str, state: Mapping[str, Any]) -> bool:
        """Forget a turn, and tell so, once it is that of a caller who is let in."""
        is_let_in = state.get("caller", NOBODY) is not NOBODY
        if is_let_in:
            self.give_back(address)
        return is_let_in

    def give_back(self, address: str) -> None:
        """Forget a turn."""
        place = _place(address)
        if place in self._done_at:
            self._done_at[place] -= self._apart_s

    def connect(self, address: str) -> bool:
        """Count a connection that opens, and tell whether it may."""
        place = _place(address)
        self._open[place] += 1
        return not self._most or self._open[place] <= self._most

    def disconnect(self, address: str) -> None:
        """Forget a connection that was counted."""
        place = _place(address)
        self._open[place] -= 1
        if not self._open[place]:
            del self._open[place]


class Paced:
    """Lets each address ask in its turn, where nothing else tells who asks.

    Parameters
    ----------
    app
        What answers.
    addresses
        Whose turn it is.
    is_known
        Whether a request has a key that was good lately, or needs none.
    """

    def __init__(
        self, app: ASGIApp, addresses: Addresses, is_known: Callable[[Scope], bool]
    ) -> None:
        self._app, self._addresses, self._is_known = app, addresses, is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, in the turn of the address."""
        if scope["type"] != "http" or self._is_known(scope):
            await self._app(scope, receive, send)
            return
        address = address_of(scope) or ""
        wait_s = self._addresses.take(address)
        if wait_s is None:
            error = RateLimited(
                f"This address asks too much without a key that is known: at most "
                f"{self._addresses.per_s:g} requests a second; try again later."
            )
            error.retry_after_s, error.closes = int(MAX_WAIT_S), True
            await on_refusal(Request(scope), error)(scope, receive, send)
            return
        if wait_s:
            await sleep(wait_s)

        is_settled = False

        def settle() -> None:
            nonlocal is_settled
            is_settled = is_settled or self._addresses.settle(address, scope["state"])

        async def receive_and_settle() -> Message:
            settle()  # an answer may take long
            return await receive()

        async def send_and_settle(message: Message) -> None:
            settle()
            await send(message)

        await self._app(scope, receive_and_settle, send_and_settle)


def _place(address: str) -> str:
    """Return what counts as one address: of IPv6 a network, which may be of one host [64 bits]."""
    if ":" not in address:
        return address
    try:
        found = IPv6Address(address)
    except ValueError:  # whatever a proxy said
        return address
    return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))
