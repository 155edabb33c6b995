"""Pages of somebody else that have their reader's browser ask the service."""

import json
import socket
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.http.hosts import Guard
from tests.app.service import Json, Service, two_layers
from tests.app.test_bad_input import connected
from tests.attacks.inside import inside
from tests.waiting import until

EVIL = "http://evil.example"
SIMPLE = ("", "text/plain", "text/plain;x=application/json", "multipart/form-data; boundary=x")


def sent(service: Service, method: str, path: str, body: bytes = b"", /, **headers: str) -> Json:
    """Send as a browser would, with these headers and no other; return the answer's problem."""
    lines = [f"{method} {path} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}"]
    named = {"host": "localhost", **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
    with connected(service) as client:
        client.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        with client.makefile("rb") as stream:
            found = stream.read()
    head, _, content = found.partition(b"\r\n\r\n")
    return {"status": int(head.split()[1]), "head": head.decode().lower(), "content": content}


def code(answer: Json) -> str:
    found: str = json.loads(answer["content"])["code"]
    return found


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("10.0.0.1", "[2001:db8::1]", "localhost@evil.example", "127.0.0.1:80:80", "2130706433"),
    ],
)
def test_a_name_that_resolves_to_loopback(service: Service, host: str) -> None:
    """DNS rebinding: the browser takes the page and the service for one origin."""
    answer = sent(service, "GET", "/v1/plans", host=host)
    assert (answer["status"], code(answer)) == (421, "host_not_allowed")
    assert "x-request-id" in answer["head"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "localhost.", "127.0.0.1:1", "127.1.2.3", "[::1]:8000"]
)
def test_the_names_of_loopback(service: Service, host: str) -> None:
    assert sent(service, "GET", "/v1/plans", host=host)["status"] == 200


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:1", "https://localhost.evil"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_page_of_another_origin(service: Service, method: str, origin: str) -> None:
    body = json.dumps(two_layers()).encode()
    path = "/v1/plans/0123456789abcdef" if method == "DELETE" else "/v1/plans"
    kind = "application/json"
    answer = sent(service, method, path, body, origin=origin, content_type=kind)
    assert (answer["status"], code(answer)) == (403, "origin_not_allowed")


def test_its_own_page(service: Service) -> None:
    own = sent(service, "GET", "/v1/plans", host="localhost:8000", origin="http://localhost:8000")
    assert own["status"] == 200
    assert "access-control-allow-origin" not in own["head"]


@pytest.mark.parametrize("kind", SIMPLE)
@pytest.mark.parametrize("path", ["/v1/graphs", "/v1/plans", "/v1/plans/0123456789abcdef/cancel"])
def test_what_a_form_can_send(service: Service, path: str, kind: str) -> None:
    """Browsers ask nobody before they send such a POST across origins."""
    headers: Json = {"content_type": kind} if kind else {}
    answer = sent(service, "POST", path, json.dumps(two_layers()).encode(), **headers)
    assert (answer["status"], code(answer)) == (403, "request_header_missing")
    marked = sent(service, "POST", path, b"x", **headers, x_interlace_request="1")
    assert marked["status"] != 403


def test_a_cancel_across_origins_cancels_nothing(service: Service) -> None:
    job = service.client.post("/v1/plans", json=two_layers(), params={"wait": 0}).json()
    path = f"/v1/plans/{job['id']}/cancel"
    for headers in ({"content_type": "text/plain"}, {"origin": EVIL, "x_interlace_request": "1"}):
        assert sent(service, "POST", path, **headers)["status"] == 403
    place = f"/v1/plans/{job['id']}"
    until(lambda: service.client.get(place, params={"wait": 50}).json()["finished_at"])
    assert service.client.get(place).json()["state"] == "succeeded"


@pytest.mark.parametrize("path", ["/docs", "/", "/healthz", "/static/docs.js", "/nothing"])
def test_no_page_shows_it_in_a_frame(service: Service, path: str) -> None:
    answer = service.client.get(path)
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.fixture
def open_to_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("INTERLACE_ALLOWED_HOSTS", "plans.example, *.inside.example")
    monkeypatch.setenv("INTERLACE_ALLOWED_ORIGINS", "https://page.example/")
    return inside(tmp_path)


def test_names_that_are_allowed(open_to_some: TestClient) -> None:
    for host in ("plans.example", "Plans.Example:443", "a.inside.example", "localhost"):
        assert open_to_some.get("/healthz", headers={"host": host}).status_code == 200
    for host in ("inside.example", "x.plans.example", "evilinside.example"):
        assert open_to_some.get("/healthz", headers={"host": host}).status_code == 421


@pytest.mark.live  # a body is read by a child
def test_a_page_that_is_allowed(open_to_some: TestClient) -> None:
    """Its browser asks first, is told so, and shows the page the answer."""
    allowed = {"origin": "https://page.example"}
    asked = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-interlace-request",
    }
    first = open_to_some.options("/v1/plans", headers=allowed | asked)
    answer = open_to_some.post("/v1/plans", json={}, headers=allowed)
    assert (first.status_code, answer.status_code) == (200, 422)
    for each in (first, answer):
        assert each.headers["access-control-allow-origin"] == allowed["origin"]
    assert open_to_some.get("/healthz", headers={"origin": EVIL}).status_code == 403


def test_an_address_of_all() -> None:
    """Of a server on all addresses any of them is a name: no address can be rebound."""

    async def app(scope: object, receive: object, send: object) -> None:
        """Never called."""

    guard = Guard(app, "0.0.0.0", (), ())
    assert guard._refused("GET", {"host": "10.0.0.1:8000"}) is None
    assert guard._refused("GET", {"host": "evil.example"})[0] == "host_not_allowed"
    assert guard._refused("GET", {"host": f"{socket.gethostname()}:8000"}) is None
    assert Guard(app, "10.0.0.1", (), ())._refused("GET", {"host": "10.0.0.1"}) is None
    assert Guard(app, "10.0.0.1", (), ())._refused("GET", {"host": "10.0.0.2"})
    assert Guard(app, "planner", (), ())._refused("GET", {"host": "planner:80"}) is None
