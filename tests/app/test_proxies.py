"""Who calls from behind a proxy: audit and log have the client's address, where it is trusted."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from app.operations.settings import Settings
from app.storage import audit
from tests.app.keyed import Keyed, keyed
from tests.app.service import two_layers
from tests.waiting import until

#: What a client invents, what the outer proxy saw, and the inner one.
HEADER = "6.6.6.6, 203.0.113.7, 10.1.2.3"


def noted(server: Keyed, header: str) -> str | None:
    """Return the address that the audit log has of a call, which the other log has as well."""
    with server.of("alice") as client:
        made = client.post("/v1/plans", json=two_layers())
        headers = {"x-forwarded-for": header, "x-request-id": f"of-{len(header)}"}
        assert client.delete(made.headers["location"], headers=headers).status_code == 204
    with server.store.reading() as connection:
        found = audit.listed(connection, limit=1)[0]
    assert (found.action, found.request_id) == ("delete", headers["x-request-id"])

    def told() -> list[str]:
        mine = (line for line in server.log() if line.get("request_id") == found.request_id)
        return [line["client"] for line in mine if line["logger"] == "interlace.access"]

    until(told)
    assert told() == [found.address]
    return found.address


@pytest.mark.live
def test_a_trusted_proxy_says_who_calls(tmp_path: Path) -> None:
    with keyed(tmp_path, INTERLACE_TRUSTED_PROXIES="127.0.0.1, 10.0.0.0/8") as server:
        assert noted(server, HEADER) == "203.0.113.7"
        assert noted(server, "2001:db8::7") == "2001:db8::7"
        assert noted(server, "x" * 1_000) == "x" * 64, "no more than a row takes"


@pytest.mark.live
def test_no_other_says_who_calls(tmp_path: Path) -> None:
    with keyed(tmp_path, INTERLACE_TRUSTED_PROXIES="10.0.0.0/8") as server:
        assert noted(server, HEADER) == "127.0.0.1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("proxy.example", "does not appear to be an IPv4 or IPv6 network"),
        ("10.0.0.1/8", "has host bits set"),
        ("*", "does not appear to be"),  # would let everyone say anything
    ],
)
def test_what_is_no_network_is_refused(
    text: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_TRUSTED_PROXIES", f"127.0.0.1,{text}")
    with pytest.raises(ValidationError, match=why):
        Settings()
