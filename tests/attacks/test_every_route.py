"""Every route of the service, with what nobody means: refused, soon, and never a failure inside."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.app.service import ROOT, Service, running

DOCUMENT: dict[str, Any] = json.loads(Path(ROOT, "openapi/openapi.json").read_text())
ROUTES = [
    (method, path)
    for path, operations in sorted(DOCUMENT["paths"].items())
    for method in sorted(operations)
]
POSTS = [path for method, path in ROUTES if method == "post"]
#: No answer may take longer, beside other work [s].
SOON_S = 60.0
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


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("walked")) as found:
        yield found
        assert "Traceback" not in found.log.read_text(), "the server failed inside"


def named(path: str, name: str) -> str:
    """Put a name in the place of each of a path's parameters."""
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + name + rest.partition("}")[2]
    return path


def refused(answer: httpx2.Response, began: float) -> None:
    assert 400 <= answer.status_code < 500, answer.text[:500]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"]
    assert time.monotonic() - began < SOON_S


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
@pytest.mark.parametrize("path", POSTS)
def test_a_junk_body(walked: Service, path: str, junk: bytes) -> None:
    began = time.monotonic()
    headers = {"content-type": "application/json"}
    url = named(path, "0" * 16)
    refused(walked.client.post(url, content=junk, headers=headers), began)


@pytest.mark.parametrize(
    "kind",
    [
        "text/html",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "application/json; charset=utf-7",
        '"',
        "application/octet-stream",
    ],
)
@pytest.mark.parametrize("path", POSTS)
def test_a_junk_type(walked: Service, path: str, kind: str) -> None:
    began = time.monotonic()
    url = named(path, "0" * 16)
    refused(walked.client.post(url, content=b"--\r\n\0", headers={"content-type": kind}), began)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(("method", "path"), [each for each in ROUTES if "{" in each[1]])
def test_a_junk_id(walked: Service, method: str, path: str, name: str) -> None:
    began = time.monotonic()
    headers = {"content-type": "application/json"}
    refused(walked.client.request(method, named(path, name), headers=headers), began)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_junk_query(walked: Service, method: str, path: str, query: str) -> None:
    """Where nothing is asked with a query it is passed over."""
    began = time.monotonic()
    url = f"{named(path, '0' * 16)}?{query}"
    answer = walked.client.request(method, url, headers={"content-type": "application/json"})
    if answer.status_code >= 300:
        refused(answer, began)
    assert time.monotonic() - began < SOON_S
