"""Whom a request is addressed to, and which page sends it: what a browser cannot be made to do.

A page of anybody can have its reader's browser send requests to a service on loopback: by a name of
its own that resolves to 127.0.0.1 (DNS rebinding: then it may read the answers too), or across
origins, with what needs no leave: POSTs of the content types of forms. So the name must be one of
the service's, the page must be its own or an allowed one, and what changes anything must say what
no form can.
"""

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.codes import RefusalCode, StatusCode
from app.errors import without_faults
from app.http.problems import answer

#: Any value of it says that no form sent the request.
HEADER = "X-Interlace-Request"


#: What a browser sends across origins without asking; no content type is one of them.
_SIMPLE = {"", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded"}


#: What an allowed page may send besides.
_HEADERS = (
    "Authorization",
    "Cache-Control",
    "Content-Type",
    "Idempotency-Key",
    "If-None-Match",
    "Last-Event-ID",
    "Prefer",
    HEADER,
    "X-Request-ID",
)


_SAFE = {"GET", "HEAD", "OPTIONS"}


class Guard:
    """Refuses what a page of somebody else can make a browser send.

    Parameters
    ----------
    app
        What answers the rest.
    bound
        The address or name that the server listens on; None where that is not known.
    hosts
        Names by which it is called besides; ``*.example.org`` is any name below one, ``*`` any.
    origins
        Pages of others that may use it, as ``https://example.org``.
    """

    def __init__(
        self, app: ASGIApp, bound: str | None, hosts: tuple[str, ...], origins: tuple[str, ...]
    ) -> None:
        self._app = app
        self._is_everywhere = bound is not None and _is_unspecified(bound)
        own = socket.gethostname() if self._is_everywhere else bound
        self._hosts = {_bare(name) for name in (*hosts, *([own] if own else []))}
        self._origins = {origin.lower().rstrip("/") for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] == "http":
            refused = self._refused(scope["method"], Headers(scope=scope))
            if refused is not None:
                found = answer(without_faults(*refused), scope["path"])
                await found(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refused(self, method: str, headers: Mapping[str, str]) -> tuple[StatusCode, str] | None:
        host = headers.get("host", "")
        if host and not self._is_ours(_bare(host)):
            detail = "The service is not called by this name; INTERLACE_ALLOWED_HOSTS allows more."
            return RefusalCode.HOST_NOT_ALLOWED, detail
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin.lower(), host.lower()):
            detail = "Pages of this origin may not use it; INTERLACE_ALLOWED_ORIGINS allows more."
            return RefusalCode.ORIGIN_NOT_ALLOWED, detail
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        is_marked = kind not in _SIMPLE or HEADER in headers or method == "DELETE"
        if method not in _SAFE and not is_marked:
            detail = (
                "Say of a JSON body Content-Type: application/json, or add the header "
                f"{HEADER}: 1: a form on any page could have sent this."
            )
            return RefusalCode.REQUEST_HEADER_MISSING, detail
        return None

    def _is_ours(self, host: str) -> bool:
        if host in self._hosts or "*" in self._hosts or host == "localhost":
            return True
        if any(name.startswith("*.") and host.endswith(name[1:]) for name in self._hosts):
            return True
        try:
            address = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return False
        return address.is_loopback or self._is_everywhere  # an address cannot be rebound

    def _is_allowed(self, origin: str, host: str) -> bool:
        return origin in self._origins or (bool(host) and urlsplit(origin).netloc == host)


def with_cors(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Let browsers hand the answers to pages of these origins."""
    return CORSMiddleware(
        app,
        allow_origins=[origin.lower().rstrip("/") for origin in origins],
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=_HEADERS,
        expose_headers=["Location", "ETag", "Retry-After", "X-Request-ID"],
    )


def _bare(host: str) -> str:
    """Return a name or an address without its port."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    name, colon, rest = host.rpartition(":")
    is_port = bool(colon) and ":" not in name and rest.isdecimal()
    return (name if is_port else host).rstrip(".")


def _is_unspecified(host: str) -> bool:
    """Tell whether an address stands for all of a machine's."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_unspecified
    except ValueError:
        return False
