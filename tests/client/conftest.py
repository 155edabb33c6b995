"""Both clients, asked alike; and the time of a service that is not there."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from interlace_client import AsyncClient, Client, sending, waiting
from tests.app.service import Service
from tests.client.fake import FakeService

Ask = Callable[..., Any]


@dataclass
class Clock:
    """How much later it is for the clients than for others [s]."""

    ahead_s: float = 0.0


def asked(kind: type, base_url: str, method: str, *args: Any, client: Any, **named: Any) -> Any:
    """Call a method of either client, made for this call."""
    if kind is Client:
        with Client(base_url, **client) as blocking:
            return getattr(blocking, method)(*args, **named)

    async def call() -> Any:
        async with AsyncClient(base_url, **client) as other:
            return await getattr(other, method)(*args, **named)

    with ThreadPoolExecutor(1) as aside:  # a browser may have an event loop in this thread
        return aside.submit(asyncio.run, call()).result()


@pytest.fixture(params=[Client, AsyncClient])
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask a fake service, on its clock."""

    def call(service: FakeService, method: str, *args: Any, retries: int = 3, **named: Any) -> Any:
        async def sleep(seconds: float) -> None:
            service.sleep(seconds)

        for module in (sending, waiting):
            monkeypatch.setattr(module, "monotonic", lambda: service.now)
        monkeypatch.setattr("interlace_client.client.time.sleep", service.sleep)
        monkeypatch.setattr("interlace_client.async_client.asyncio.sleep", sleep)
        client = {"transport": service.transport, "retries": retries}
        return asked(request.param, "http://fake/under", method, *args, client=client, **named)

    return call


@pytest.fixture(params=[Client, AsyncClient])
def ask_server(request: pytest.FixtureRequest, service: Service) -> Ask:
    """Ask the real service."""

    def call(method: str, *args: Any, **named: Any) -> Any:
        url = str(service.client.base_url)
        return asked(request.param, url, method, *args, client={"timeout": 3_600}, **named)

    return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clients' clock, which a test may put forward; a job is cancelled without haste."""
    found, real = Clock(), vars(sending)["monotonic"]
    for module in (sending, waiting):
        monkeypatch.setattr(module, "monotonic", lambda: real() + found.ahead_s)
    monkeypatch.setattr(waiting, "_CANCEL_S", 3_600.0)
    return found
