"""Between the steps and httpx: a request as it is sent, and what came of it.

What the client for asyncio does otherwise than the one that blocks is here, the two side by side.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from typing import TYPE_CHECKING

import httpx

from interlace_client.sending import Answer, Lost, Send, Tell

if TYPE_CHECKING:
    from typing import Union

    Http = Union[httpx.Client, httpx.AsyncClient]

#: Where the key is, if nobody says it.
_KEY = "INTERLACE_API_KEY"


#: Says that no form of a page in a browser sent a request: files are sent as a form.
_OURS = {"X-Interlace-Request": "1"}


def checked(base_url: str) -> str:
    """Return the URL of a service.

    Raises
    ------
    ValueError
        When it is none of http or https.
    """
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{base_url!r} is no URL: {error}") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(f"{base_url!r} is no URL of http or https.")
    return base_url


def headers_of(api_key: str | None) -> dict[str, str]:
    """Return what every request says: which key it has, if there is one.

    Raises
    ------
    ValueError
        When the key holds what no header can; the message does not show it.
    """
    key = os.environ.get(_KEY, "").strip() if api_key is None else api_key
    if not key:
        return {}
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise ValueError("The API key is none: it holds spaces or characters beyond ASCII.")
    return {"Authorization": f"Bearer {key}"}


def exchange(http: httpx.Client, todo: Send) -> Answer | Lost:
    """Send a request; return what came of it."""
    request = _request(http, todo)
    try:
        return _answer(http.send(request))
    except httpx.RequestError as error:
        return _lost(request, error)


async def async_exchange(http: httpx.AsyncClient, todo: Send) -> Answer | Lost:
    """Send a request, and give up when all of it takes too long; return what came of it."""
    request = _request(http, todo)
    try:
        return _answer(await asyncio.wait_for(http.send(request), todo.whole_s))
    except (httpx.RequestError, asyncio.TimeoutError) as error:
        return _lost(request, error)


def tell(todo: Tell) -> None:
    """Call back."""
    todo.to(todo.progress)


async def async_tell(todo: Tell) -> None:
    """Call back, and wait for what is a coroutine."""
    heard = todo.to(todo.progress)
    if inspect.isawaitable(heard):
        await heard


def _request(http: Http, todo: Send) -> httpx.Request:
    """Return the request to send, with a timeout for each of its phases."""
    call = todo.call
    return http.build_request(
        call.method,
        call.path,
        params=call.params or None,
        headers={**call.headers, **_OURS},
        content=call.content,
        timeout=todo.phase_s,
    )


def _answer(response: httpx.Response) -> Answer:
    """Return what came."""
    return Answer(response.status_code, response.headers, response.content)


def _lost(request: httpx.Request, error: Exception) -> Lost:
    """Say where nothing came from, and why; a password or a token in the URL is not for logs."""
    url = request.url.copy_with(userinfo=b"", query=None, fragment=None)
    return Lost(str(url), _reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, httpx.ConnectTimeout):
        return "no connection in time"
    if isinstance(error, httpx.NetworkError):
        return str(error) or "the connection was lost"
    return str(error) or "no answer in time"
