"""Names in a query: a typo is refused, where it would change the answer in silence."""

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
