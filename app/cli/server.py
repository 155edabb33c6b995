"""Bind, say where, serve."""

import errno
import ipaddress
import logging
import os
import resource
import socket
from collections.abc import Sequence

import typer
import uvicorn
from fastapi import FastAPI
from sqlalchemy.exc import ArgumentError

from app.cli import environment
from app.cli.failures import MISUSED, CommandFailure
from app.cli.interrupts import INTERRUPTED, interruptible
from app.errors import StorageUnavailable
from app.http.protocol import Protocol
from app.operations import logs
from app.operations.memory import return_large_blocks
from app.operations.settings import unknown_variables
from app.service import create_app
from app.storage.database import Store
from app.storage.keys import is_any_usable
from app.storage.place import UnusablePlace, check_sockets

#: What is at work when the server is told to leave may go on for so long [s].
_GRACE_S = 5


#: So many files are open at once, where the system allows it; of connections each is one.
_FILES = 10_240


#: What the service makes is for its own user alone.
_UMASK = 0o077


_LOG = logging.getLogger("interlace.settings")


def serve(host: str, port: int, *, allow_remote: bool) -> None:
    """Serve until stopped; port 0 takes a free one.

    Raises
    ------
    Failure
        When the host is not loopback and ``allow_remote`` is false, when the address is unknown or
        taken, when a setting is wrong, when nothing can be kept where the settings say, or when
        keys are required and nobody has one.
    """
    family, address = _resolve(host, port)
    if not (allow_remote or ipaddress.ip_address(address[0].split("%")[0]).is_loopback):
        raise CommandFailure(
            f"{host} is not loopback; use --allow-remote to let others in, who then need API keys.",
            code=MISUSED,
        )
    settings = environment.settings()
    if allow_remote:
        settings = settings.model_copy(update={"require_keys": True})
    return_large_blocks()
    _allow_connections()
    os.umask(_UMASK)
    try:
        app = create_app(settings, host)
        app.state.store.prepare()
        check_sockets()
    except UnusablePlace as error:
        raise CommandFailure(str(error)) from None
    except ArgumentError as error:
        lines = str(error).splitlines()
        raise CommandFailure(f"INTERLACE_DATABASE_URL: {lines[0]}", code=MISUSED) from None
    # with the protocol named, asyncio sends small answers at once (TCP_NODELAY)
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen()  # a client that reads the line below can connect at once
        except OSError as error:
            why = "is in use" if error.errno == errno.EADDRINUSE else f"fails: {error.strerror}"
            raise CommandFailure(f"Port {port} on {host} {why}.") from None
        if settings.require_keys:
            _check_keys(app.state.store)
        logs.install(settings.log_format, settings.log_level)
        for sentence in unknown_variables(os.environ):
            _LOG.warning(sentence)
        shown = f"[{address[0]}]" if family == socket.AF_INET6 else address[0]
        typer.echo(f"Serving on http://{shown}:{listener.getsockname()[1]}")
        with interruptible():
            try:
                _Server(app, settings.trusted_proxies).run(sockets=[listener])
            except KeyboardInterrupt:  # raised again when all is in order, and logged
                raise CommandFailure(code=INTERRUPTED) from None


def _allow_connections() -> None:
    """Let as many be open as the system lets this process, a file each: often 1,024 at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _check_keys(store: Store) -> None:
    """Raise Failure when nobody could call a server that requires keys."""
    try:
        found = is_any_usable(store)
    except StorageUnavailable as error:
        raise CommandFailure(f"The keys cannot be read: {error}") from None
    if not found:
        raise CommandFailure(
            "Nobody could call the service: it requires API keys and no usable one exists; "
            "make one with 'interlace keys make NAME --owner OWNER'."
        )


class _Server(uvicorn.Server):
    """Lets the app know when it leaves, before it waits for what is at work."""

    def __init__(self, app: FastAPI, proxies: Sequence[str]) -> None:
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            log_config=None,
            access_log=False,
            forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=_GRACE_S,
        )
        super().__init__(config)
        self._pool = app.state.pool

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Leave."""
        self._pool.leave()
        await super().shutdown(sockets)


def _resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple[str, int]]:
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise CommandFailure(f"Host {host!r} is unknown.") from None
    family, _, _, _, address = addresses[0]
    return family, (str(address[0]), port)
