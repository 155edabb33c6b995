"""Names in a query: a typo is refused, where it would change the answer in silence."""

import json
import re
from pathlib import Path

import pytest

from tests.app.here import here
from tests.app.service import faults


@pytest.mark.parametrize(
    ("place", "pointer", "said"),
    [
        ("/v1/jobs?tags=a", "/query/tags", "Did you mean tag?"),
        ("/v1/plans?limt=1&tag=a", "/query/limt", "Did you mean limit?"),
        ("/v1/graphs?x=1", "/query/x", "It has limit"),
        ("/v1/limits?x=1", "/query/x", "It has none"),
    ],
)
def test_an_unknown_name_is_refused(tmp_path: Path, place: str, pointer: str, said: str) -> None:
    with here(tmp_path) as client:
        answer = client.get(place)
        assert answer.status_code == 422
        assert faults(answer) == {(pointer, "extra_field")}
        assert said in answer.text


def test_all_unknown_names_at_once_and_none_elsewhere(tmp_path: Path) -> None:
    with here(tmp_path) as client:
        assert {p for p, _ in faults(client.get("/v1/jobs?a=1&a=2&b="))} == {"/query/a", "/query/b"}
        assert client.get("/v1/jobs?tag=a&limit=1").status_code == 200
        assert client.get("/healthz?cache=no").status_code == 200
        assert client.get("/?tag=a").status_code == 200


#: Calls whose query is anybody's: probes add what they like.
ANY_QUERY = {"/healthz", "/readyz", "/version", "/metrics", "/openapi.json", "/docs"}
API = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text())


def test_every_call_refuses_an_unknown_name(tmp_path: Path) -> None:
    """Of the document's calls, with a name that none has, each says which it has."""
    with here(tmp_path) as client:
        tried = 0
        for path, calls in API["paths"].items():
            if path in ANY_QUERY:
                continue
            place = re.sub("{[^}]*}", "0123456789abcdef", path)
            for method in calls.keys() & {"get", "post", "delete"}:
                answer = client.request(method, f"{place}?xyzzy=1")
                assert answer.status_code == 422, (method, path, answer.text)
                assert faults(answer) == {("/query/xyzzy", "extra_field")}
                tried += 1
        assert tried > 40


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("/v1/jobs?state=runing", 'got \\"runing\\". Did you mean running?'),
        ("/v1/jobs?kind=plam", "Did you mean plan?"),
        ("/v1/plans/x/export?format=dpp", "format must be one of chrome, chakra, csv, ddp"),
        ("/v1/plans/x/export?format=dpp", "Did you mean ddp?"),
        ("/v1/plans/x/timeline.json?beside=ddpp", "Did you mean ddp?"),
        ("/v1/jobs?limit=x", 'Query parameter limit must be an integer, got \\"x\\".'),
        ("/v1/examples/vgg61", "No example has this name. Did you mean vgg16?"),
    ],
)
def test_what_a_word_of_a_query_may_have_meant(tmp_path: Path, place: str, said: str) -> None:
    with here(tmp_path) as client:
        assert said in client.get(place).text
