"""POST /v1/graphs: files of other tools, and graphs by id."""

import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.reading.unpacking import unpacked_files
from solver.errors import InvalidTrace
from tests.app.service import ROOT, Json, Service, faults, two_layers

PATH = "/v1/graphs"
PROFILE = b"""\
node1 -- Conv2d -- forward_compute_time=1, backward_compute_time=2, parameter_size=4000000
node2 -- Linear -- forward_compute_time=1, backward_compute_time=2, parameter_size=8000000
\tnode1 -- node2
"""


def post(service: Service, content: bytes, **query: Any) -> httpx2.Response:
    return service.client.post(PATH, content=content, params=query)


def test_a_profile_is_read_and_named_by_its_content(service: Service) -> None:
    first = post(service, PROFILE, name="two")
    assert first.status_code == 201
    found = first.json()
    assert first.headers["location"] == f"{PATH}/{found['id']}"
    assert found["report"]["format"] == "pipedream"
    assert found["report"]["collectives"] == {"all_reduce": {"count": 2, "bytes": 12_000_000}}
    assert found["graph"]["name"] == "two"
    zipped = post(service, gzip.compress(PROFILE), name="two", format="pipedream")
    assert zipped.json() == found
    assert service.client.get(f"{PATH}/{found['id']}").json() == found
    listed = service.client.get(PATH).json()["graphs"]
    assert [graph["id"] for graph in listed].count(found["id"]) == 1
    assert listed[0] | {"created_at": ""} == {
        "id": found["id"], "created_at": "", "name": "two", "format": "pipedream", "ops": 6,
    }  # fmt: skip
    assert post(service, PROFILE, name="other").json()["id"] != found["id"]


@pytest.mark.parametrize("whole", [True, False])
def test_a_graph_of_ours_is_stored_as_it_is(service: Service, whole: bool) -> None:
    body = two_layers()
    found = post(service, json.dumps(body if whole else body["graph"]).encode())
    assert found.status_code == 201
    assert found.json()["report"]["format"] == "interlace"
    by_id = service.post({"graph_id": found.json()["id"], "cluster": body["cluster"]})
    assert by_id.json()["iteration_time_us"] == service.post(body).json()["iteration_time_us"]
    body["graph"]["ops"][0]["after"] = ["nobody"]
    body["graph"]["ops"][1]["bytes"] = 0
    wrong = post(service, json.dumps(body["graph"]).encode())
    assert faults(wrong) == {("/graph/ops/1/bytes", "out_of_range")}
    body["graph"]["ops"][1]["bytes"] = 1
    wrong = post(service, json.dumps(body["graph"]).encode())
    assert faults(wrong) == {("/graph/ops/0/after/0", "unknown_op")}


def test_an_id_stands_for_its_graph(service: Service) -> None:
    found = post(service, PROFILE).json()
    cluster = {"workers": 8, "bandwidth_gbps": 10, "startup_us": 50}
    for path, more, key in (
        ("/v1/plans", {"options": {"baselines": []}}, "iteration_time_us"),
        ("/v1/simulations", {"policy": "ddp"}, "iteration_time_us"),
        ("/v1/predictions/scaling", {"workers": [8]}, "rows"),
        ("/v1/sweeps", {"policies": ["ddp"]}, "cells"),
    ):
        body = {"cluster": cluster, **more}
        by_id = service.client.post(path, json=body | {"graph_id": found["id"]})
        itself = service.client.post(path, json=body | {"graph": found["graph"]})
        assert by_id.status_code in {200, 201}, by_id.text
        assert by_id.json()[key] == itself.json()[key]


def test_wrong_ids(service: Service) -> None:
    body = two_layers()
    graph = body.pop("graph")
    assert faults(service.post(body)) == {("/graph", "missing_field")}
    unknown = service.post(body | {"graph_id": "no such", "cluster": {"workers": 0}})
    assert faults(unknown) == {
        ("/graph_id", "unknown_graph"),
        ("/cluster/workers", "out_of_range"),
    }
    assert faults(service.post(body | {"graph_id": "no such"})) == {("/graph_id", "unknown_graph")}
    both = service.post(body | {"graph_id": "no such", "graph": graph})
    assert faults(both) == {("/graph_id", "extra_field")}
    assert faults(service.post(body | {"graph_id": 7})) == {
        ("/graph", "missing_field"),
        ("/graph_id", "wrong_type"),
    }


def test_a_form_of_files(service: Service) -> None:
    form = {"files": ("graph.txt", PROFILE)}
    found = service.client.post(PATH, files=form, data={"parameters": '[["a", 4]]'})
    assert found.status_code == 201
    assert found.json()["graph"] == post(service, PROFILE).json()["graph"]
    two = [("files", ("a", PROFILE)), ("files", ("b", PROFILE + b"\n"))]
    same = service.client.post(PATH, files=[two[0], two[0]])
    assert same.status_code == 201
    assert same.json()["report"]["repaired"] == ["A file was given twice, and counts once."]
    assert faults(service.client.post(PATH, files=two)) == {("", "too_many_files")}
    none = service.client.post(PATH, files={"parameters": (None, "[]")})
    assert faults(none) == {("", "empty")}


BOMB = gzip.compress(bytes(2**29 + 1), 6, mtime=0)
REFUSED: list[tuple[bytes, Json, set[tuple[str, str]]]] = [
    (b"", {}, {("", "empty")}),
    (b"hello", {}, {("", "wrong_format")}),
    (b"PK\x03\x04 and more", {}, {("", "truncated")}),
    (gzip.compress(PROFILE, mtime=0)[:-9], {}, {("", "truncated")}),
    (b"\x1f\x8b nothing of the kind", {}, {("", "not_gzip")}),
    (BOMB, {}, {("", "too_large")}),
    (PROFILE, {"format": "zip"}, {("/query/format", "out_of_range")}),
    (PROFILE, {"step": -1}, {("/query/step", "out_of_range")}),
    (PROFILE, {"rank": -1}, {("/query/rank", "out_of_range")}),
    (PROFILE, {"rank": "slowest"}, {("/query/rank", "wrong_type")}),
    (PROFILE, {"parameters": "{"}, {("/query/parameters", "wrong_type")}),
    (PROFILE, {"parameters": "[[1, 2]]"}, {("/query/parameters", "wrong_type")}),
    (PROFILE, {"parameters": "7"}, {("/query/parameters", "wrong_type")}),
    (
        PROFILE.replace(b"=1,", b"=x,"),
        {},
        {("/1", "out_of_range"), ("/2", "out_of_range")},
    ),
]


@pytest.mark.parametrize(
    ("content", "query", "expected"), REFUSED, ids=[str(i) for i in range(len(REFUSED))]
)
def test_refused_files(
    service: Service, content: bytes, query: Json, expected: set[tuple[str, str]]
) -> None:
    answer = post(service, content, **query)
    assert answer.status_code == 422
    assert faults(answer) == expected


def test_a_broken_form(service: Service) -> None:
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x"):
        answer = service.client.post(PATH, content=b"--y", headers={"content-type": kind})
        assert (answer.status_code, answer.json()["code"]) == (400, "not_multipart")


def test_unpacking_members_and_padding() -> None:
    twice = gzip.compress(b"one ") + gzip.compress(b"two") + bytes(8)
    assert unpacked_files([twice], 7).contents == [b"one two"]
    assert unpacked_files([b"plain"], 0).contents == [b"plain"]
    with pytest.raises(InvalidTrace, match="more than 6 bytes"):
        unpacked_files([twice], 6)


def test_small_files_of_much_work_are_refused_early(service: Service) -> None:
    lines = b"DATA\n5\n" + b"\n" * 1_100_000
    members = gzip.compress(b"") * 100_001
    values = b'{"traceEvents":[{"ph":"X"}' + b",{}" * 10_100_000 + b"]}"
    events = b"[" + values.partition(b"[")[2]
    rows = (ROOT / "tests" / "data" / "dlc_w0.txt").read_bytes() + b"\n" * 4_000_000
    for content, form in (
        (lines, "astra_text"),
        (rows, "dlc"),
        (members, None),
        (values, "kineto"),
        (events[:-1], "horovod"),
        (values, "tensorflow"),
        (values, "xla"),
    ):
        query = {"format": form} if form else {}
        packed = gzip.compress(content, 1) if form else content
        assert faults(post(service, packed, **query)) == {("", "too_large")}
    zeros = b"\x02\x0a\x00" + bytes(2**20)  # a million empty messages: none is read
    assert faults(post(service, zeros, format="chakra")) == {("", "too_large")}


def test_names_that_no_request_takes(service: Service) -> None:
    assert faults(post(service, PROFILE, name="a\x00")) == {("/query/name", "out_of_range")}


def test_a_form_that_lost_its_end(service: Service) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    whole = service.client.post(PATH, content=head + PROFILE + b"\r\n--x--\r\n", headers=kind)
    assert whole.status_code == 201
    cut = service.client.post(PATH, content=head + PROFILE, headers=kind)
    assert (cut.status_code, cut.json()["code"]) == (400, "not_multipart")


def test_parameters_as_a_file_of_the_form(service: Service) -> None:
    data = ROOT / "tests" / "data"
    files = [
        ("files", ("0", (data / "kineto_gloo_0.json.gz").read_bytes())),
        ("parameters", ("parameters.json", (data / "kineto_parameters.json").read_bytes())),
    ]
    found = service.client.post(PATH, files=files).json()
    names = json.loads((data / "kineto_parameters.json").read_text())
    assert kinds(found["report"])["all_reduce"]["count"] == len(names)


def test_the_stored_text_is_a_graph(service: Service) -> None:
    found = post(service, PROFILE, name='\u00fcber "quoted"').json()
    assert json.loads(service.client.get(f"{PATH}/{found['id']}").content) == found


def kinds(report: Json) -> dict[str, Any]:
    found: dict[str, Any] = report["collectives"]
    return found


def test_what_pytorch_recorded_is_read_planned_and_exported(service: Service) -> None:
    """Two ranks' profiles, as a form, to buckets for DDP."""
    data = ROOT / "tests" / "data"
    files = [("files", (f"{i}", (data / f"kineto_gloo_{i}.json.gz").read_bytes())) for i in (0, 1)]
    names = (data / "kineto_parameters.json").read_text()
    made = service.client.post(PATH, files=files, data={"parameters": names})
    assert made.status_code == 201, made.text
    found = made.json()
    assert found["report"]["format"] == "kineto"
    sizes = dict(json.loads(names))
    assert kinds(found["report"])["all_reduce"] == {
        "count": len(sizes), "bytes": sum(sizes.values()),
    }  # fmt: skip
    body = {"graph_id": found["id"], "cluster": {"workers": 2, "bandwidth_gbps": 1}}
    plan = service.client.post("/v1/plans", json=body).json()
    url = f"/v1/plans/{plan['id']}/export"
    text = service.client.get(url, params={"format": "ddp", "file": "buckets.json"}).text
    assert all(name in text for name in sizes)


def test_an_execution_trace_alone_has_no_graph(service: Service) -> None:
    content = (ROOT / "tests" / "data" / "et_gloo.json.gz").read_bytes()
    alone = post(service, content)
    assert alone.status_code == 200
    found = alone.json()
    assert (found["id"], found["graph"]) == (None, None)
    assert found["report"]["format"] == "pytorch_et"
    assert kinds(found["report"])["all_reduce"]["count"] > 0
    assert found["report"]["warnings"]
    assert "location" not in alone.headers


RESNET = {
    "kineto": "kineto/facebookresearch+HolisticTraceAnalysis/nccl_data.json.gz",
    "pytorch_et": "pytorch_et/facebookresearch+param/resnet_2gpu_et.json.gz",
    "chakra": "chakra/mlcommons+chakra/feeder_tests_trace_2024-06-13.tar.gz",
    "pipedream": "pipedream_graph/msr-fiddle+pipedream/resnet50.graph.txt",
}


@pytest.mark.parametrize("form", RESNET)
def test_resnets_gradients_are_the_same_in_every_format(
    service: Service, shared: Path, form: str
) -> None:
    content = (shared / RESNET[form]).read_bytes()
    if RESNET[form].endswith(".tar.gz"):
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            member = archive.extractfile("tests/data/chakra.0.et")
            assert member is not None
            content = member.read()
    answer = post(service, content)
    report = answer.json()["report"]
    assert report["format"] == form
    assert kinds(report)["all_reduce"]["bytes"] == 102_228_128
    if form == "kineto":
        sizes = [op["bytes"] for op in answer.json()["graph"]["ops"] if op["kind"] == "all_reduce"]
        assert sizes == [8_196_000, 31_502_336, 26_255_360, 26_550_272, 9_724_160]
