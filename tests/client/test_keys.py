"""A client with a key, beside one that has none."""

from collections.abc import Iterator
from typing import Any

import pytest

from interlace_client import IMPORTS, PLANS, AsyncClient, Client
from interlace_client.problems import Forbidden, NotFound, QuotaUsedUp, Unauthenticated
from interlace_client.wire import headers_of
from tests.app.keyed import Keyed, keyed
from tests.app.service import two_layers
from tests.client.conftest import asked

KINDS = pytest.mark.parametrize("kind", [Client, AsyncClient])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyed]:
    with keyed(tmp_path_factory.mktemp("client")) as found:
        yield found


def ask(kind: type, server: Keyed, key: str | None, method: str, *args: Any, **named: Any) -> Any:
    url = str(server.service.client.base_url)
    return asked(kind, url, method, *args, client={"api_key": key, "retries": 0}, **named)


@KINDS
def test_a_key_is_sent_with_every_call(server: Keyed, kind: type) -> None:
    alice, bob = server.key("alice"), server.key("bob")
    plan = ask(kind, server, alice, "run", PLANS, two_layers())
    assert ask(kind, server, alice, "list", PLANS).jobs[0].id == plan.id
    with pytest.raises(NotFound):
        ask(kind, server, bob, "get", PLANS, plan.id)
    with pytest.raises(Forbidden):
        ask(kind, server, server.key("bob", "read"), "run", PLANS, two_layers())
    with pytest.raises(Unauthenticated):
        ask(kind, server, None, "list", IMPORTS)


@KINDS
def test_the_key_comes_from_the_environment(
    server: Keyed, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_API_KEY", f" {server.key('carol')}\n")
    assert ask(kind, server, None, "list", PLANS).jobs == ()
    with pytest.raises(Unauthenticated):  # what is said wins
        ask(kind, server, "ilk_0", "list", PLANS)


@KINDS
def test_a_quota_that_is_used_up_is_not_waited_for(server: Keyed, kind: type) -> None:
    key = server.key("dave", stored_bytes=10)
    url = str(server.service.client.base_url)
    client = {"api_key": key, "retries": 5}
    with pytest.raises(QuotaUsedUp, match="bytes stored: at most 10"):
        asked(kind, url, "run", PLANS, two_layers(), client=client)


@pytest.mark.parametrize("key", ["two words", "naïve", "a\nb"])
def test_what_no_header_can_hold_is_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="API key") as refused:
        headers_of(key)
    assert key not in str(refused.value)
