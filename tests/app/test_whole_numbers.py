"""Numbers without a fraction are whole however JSON writes them; others are refused as before."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.errors import InvalidRequest
from app.reading.parsing import read_json
from app.reading.requests import read_body
from app.schemas.plans import PlanRequest
from solver.errors import InvalidTrace
from solver.traces.horovod.layers import read_layers
from tests.app.here import here
from tests.app.service import Json, faults, two_layers

TEXT = json.dumps(two_layers())


def read(old: str, new: str) -> Any:
    assert old in TEXT
    graph, request = read_body(TEXT.replace(old, new, 1).encode(), PlanRequest)
    return graph, request.cluster, request.options


@given(st.integers(1, 2**53), st.integers(0, 3))
@example(2**53, 0)
def test_bytes_with_a_point_are_those_without(size: int, zeros: int) -> None:
    plain = read('"bytes": 4000000', f'"bytes": {size}')
    pointed = read('"bytes": 4000000', f'"bytes": {size}.0{"0" * zeros}')
    assert pointed == plain
    (op,) = (op for op in pointed[0].ops if op.id == "g2")
    assert (op.bytes, type(op.bytes)) == (size, int)


@given(st.floats(1, 2**50).filter(lambda value: not value.is_integer()))
def test_a_fraction_is_refused(size: float) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read('"bytes": 4000000', f'"bytes": {size!r}')
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/graph/ops/1/bytes", "wrong_type")
    assert fault.detail == f"Tensor 'g2': bytes must be an integer, got {size!r}."


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_stays_what_it_is(value: float) -> None:
    found = read_json(json.dumps(value).encode())
    assert found == value
    assert repr(float(found)) == repr(value)  # also -0
    if abs(value) <= 2**63 and value:
        assert isinstance(found, int) == value.is_integer()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"bytes": 4000000', '"bytes": 4e6'),
        ('"workers": 8', '"workers": 8.0'),
        ('"seed": 0', '"seed": 0.0'),
        ('"duration_us": 800', '"duration_us": 800.0'),
    ],
)
def test_everywhere_in_a_body(old: str, new: str) -> None:
    assert read(old, new) == read(old, old)


def layers(size: str) -> bytes:
    layer = f'{{"name": "a", "forward_us": 1, "backward_us": 2, "gradients": [["a.w", {size}]]}}'
    return f'{{"layers": [{layer}]}}'.encode()


def test_layers_of_a_trace() -> None:
    assert read_layers(layers("4000.0"), "") == read_layers(layers("4000"), "")
    with pytest.raises(InvalidTrace, match=r"Gradient 'a.w': bytes must be an integer, got 4.5"):
        read_layers(layers("4.5"), "")


def posted(data_dir: Path, **headers: str) -> Json:
    with here(data_dir) as client:
        client.headers.pop("x-interlace-request", None)
        answer = client.post("/v1/plans", content=TEXT.encode(), headers=headers)
        return {**answer.json(), "status": answer.status_code}


def test_a_body_without_a_content_type_is_json(tmp_path: Path) -> None:
    assert posted(tmp_path, **{"x-interlace-request": "1"})["status"] == 202
    refused = posted(tmp_path)
    assert (refused["status"], refused["code"]) == (403, "request_header_missing")
    assert refused["detail"].startswith("Say of a JSON body Content-Type: application/json")


def test_another_content_type_is_named(tmp_path: Path) -> None:
    kind = {"content-type": "text/csv", "x-interlace-request": "1"}
    refused = posted(tmp_path, **kind)
    assert refused["detail"] == "The body must be sent as application/json, not text/csv."


def test_the_fault_of_a_fraction_over_http(tmp_path: Path) -> None:
    with here(tmp_path) as client:
        body = TEXT.replace('"bytes": 4000000', '"bytes": 4.5')
        answer = client.post("/v1/plans", content=body, headers={"content-type": "text/json"})
        assert answer.status_code == 415
        kind = {"content-type": "application/json"}
        answer = client.post("/v1/plans", content=body, headers=kind)
        assert faults(answer) == {("/graph/ops/1/bytes", "wrong_type")}
