"""Every route of the service, with what nobody means: refused, and never a failure inside."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.app.service import ROOT, Service

DOCUMENT: dict[str, Any] = json.loads(Path(ROOT, "openapi/openapi.json").read_text())
ROUTES = [
    (method, path)
    for path, operations in sorted(DOCUMENT["paths"].items())
    for method in sorted(operations)
]
POSTS = [path for method, path in ROUTES if method == "post"]
IDS = ("0" * 16, "%00", "..%2f..%2fetc", "1" * 10_000, "%ff%fe", "%F0%9F%92%A9", "'--", "0%0a")
QUERIES = (
    "limit=-1&cursor=x&state=x&wait=nan",
    "limit=" + "9" * 400,
    "cursor=" + "9" * 18,
    "cursor=0&from_step=-1&steps=1e9&workers=x&bandwidth_gbps=inf&startup_us=nan&format=%00",
    "%00=%00&tag=" + "%F0%9F%92%A9" * 40,
    "&&&===;;;%",
)
FIELDS = ("graph", "cluster", "options", "layers", "steps", "rows", "samples", "plan", "why")
JUNK: dict[str, bytes] = {
    "empty": b"",
    "null": b"null",
    "a text": b'"x"',
    "a list": b"[[[[[]]]]]",
    "an object": b"{}",
    "no JSON": b"\x00\xff\xfe{",
    "deep": b"[" * 50_000,
    "deep objects": b'{"graph":' * 50_000,
    "not finite": b'{"graph": {"ops": [{"id": "a", "kind": "compute", "duration_us": NaN}]}}',
    "huge numbers": b'{"cluster": {"workers": ' + b"9" * 5_000 + b'}, "layers": [1e999]}',
    "wrong types": json.dumps(
        {name: [{"x": [1, None, "y"]}, -1, "\u0000", {"": {}}] for name in FIELDS}
    ).encode(),
    "many fields": json.dumps({f"f{i}": i for i in range(5_000)}).encode(),
    "many ops": json.dumps({"graph": {"ops": [{}] * 5_000}, "cluster": {}}).encode(),
    "an op": b'{"graph": {"ops": [{}]}}',
    "a graph that is none": b'{"graph_id": "../x", "plan_id": "%00", "cluster": {"workers": 2}}',
    "a surrogate": b'{"name": "\\ud800", "graph": {"name": "\\ud800", "ops": []}}',
}


KINDS = (
    "text/html",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "multipart/form-data; boundary=",
    "application/json; charset=utf-7",
    '"',
    "application/octet-stream",
)
JSON = {"content-type": "application/json"}


def named(path: str, name: str) -> str:
    """Put a name in the place of each of a path's parameters."""
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + name + rest.partition("}")[2]
    return path


def refused(answer: httpx2.Response, why: str) -> None:
    assert 400 <= answer.status_code < 500, (why[:100], answer.text[:500])
    assert answer.headers["content-type"] == "application/problem+json", why[:100]
    assert answer.json()["code"], why[:100]


@pytest.mark.parametrize("path", POSTS)
def test_a_junk_body(service: Service, path: str) -> None:
    url = named(path, "0" * 16)
    for why, junk in JUNK.items():
        refused(service.client.post(url, content=junk, headers=JSON), why)


@pytest.mark.parametrize("path", POSTS)
def test_a_junk_type(service: Service, path: str) -> None:
    url = named(path, "0" * 16)
    for kind in KINDS:
        headers = {"content-type": kind}
        refused(service.client.post(url, content=b"--\r\n\0", headers=headers), kind)


@pytest.mark.parametrize(("method", "path"), [each for each in ROUTES if "{" in each[1]])
def test_a_junk_id(service: Service, method: str, path: str) -> None:
    for name in IDS:
        refused(service.client.request(method, named(path, name), headers=JSON), name)


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_junk_query(service: Service, method: str, path: str) -> None:
    """Where nothing is asked with a query it is passed over."""
    for query in QUERIES:
        answer = service.client.request(method, f"{named(path, '0' * 16)}?{query}", headers=JSON)
        if answer.status_code >= 300:
            refused(answer, query)
