"""What is read in one pass is what the slow way reads, and nothing else is read in one pass."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from app.reading.fast import read_fast
from app.reading.parsing import read_json
from app.reading.schema_faults import fitting
from app.schemas.plans import PlanRequest
from app.schemas.problem import graph_json, graph_text
from app.services.examples import TWO_LAYERS, example, names
from solver.graph import COLLECTIVES, Op, build
from tests.app.service import Json

Change = Callable[[Json], Any]


def ops(body: Json) -> Any:
    return body["graph"]["ops"]


def slowly(body: bytes) -> tuple[PlanRequest, list[Op]] | None:
    """Read a body as the schema says, and set its ops apart."""
    request = fitting(read_json(body), PlanRequest)
    if request is None:
        return None
    found = request.graph.ops_of()
    bare = request.graph.model_copy(update={"ops": []})
    return request.model_copy(update={"graph": bare}), found


def fast(body: bytes) -> tuple[PlanRequest, list[Op]] | None:
    return read_fast(body, PlanRequest, lambda _: None)


def changed(change: Change) -> bytes:
    body = copy.deepcopy(TWO_LAYERS)
    change(body)
    return json.dumps(body).encode()


def raw(old: str, new: str) -> bytes:
    text = json.dumps(TWO_LAYERS)
    assert old in text
    return text.replace(old, new, 1).encode()


def every_kind(body: Json) -> None:
    ops(body).extend({"id": kind, "kind": kind, "bytes": 1, "channel": "a"} for kind in COLLECTIVES)
    body["cluster"]["channels"] = {"a": {"bandwidth_gbps": 1, "tables": {"broadcast": [[1, 2.0]]}}}


def two_sorts(body: Json) -> None:
    sizes = [op for op in ops(body) if "bytes" in op]
    sizes[0].update(element_bytes=4, fuse_key="é\u2028")
    sizes[1].update(element_bytes=1, fuse_key=None)  # the defaults


def slowed(body: Json) -> None:
    computes = [op for op in ops(body) if "duration_us" in op]
    computes[0].update(slowdown={"network": 1.19})
    computes[1].update(slowdown={"network": 2, "a": 1})
    computes[2].update(slowdown={})
    computes[3].update(slowdown=None)  # the default
    every_kind(body)
    body["cluster"].update(shares="nic0")
    body["cluster"]["channels"]["a"].update(shares="nic0")


GOOD = [
    *(example(each.name).model_dump_json().encode() for each in names().examples),
    changed(every_kind),
    changed(two_sorts),
    changed(slowed),
    changed(lambda body: ops(body)[0].update(stream="gpu0")),
    changed(lambda body: ops(body)[0].update(stream=None)),  # null is the default
    changed(lambda body: ops(body)[0].pop("after")),
    changed(lambda body: body.pop("options")),
    changed(lambda body: ops(body)[5].update(id="é\U0001f600")),  # written as escapes
    json.dumps(TWO_LAYERS, ensure_ascii=False).replace("two layers", "é\U0001f600").encode(),
    changed(lambda body: ops(body)[5].update(id='"\\/')),  # a backslash is no control character
    changed(lambda body: ops(body)[5].update(id="x" * 512)),
    changed(lambda body: body["options"].update(baselines=[{"policy": "ddp"}, "p3"])),
    raw('"duration_us": 800', '"duration_us": 8e2'),
    raw('"duration_us": 800', '"duration_us": 0.1e-5'),
    raw('"duration_us": 800', '"duration_us": 1e-400'),  # 0
    raw('"duration_us": 800', '"duration_us": -0.0'),
    raw('"duration_us": 800', '"duration_us": -0'),
    raw('"duration_us": 800', '"duration_us": 123456789012.12345678901234567890'),
    raw('"bytes": 4000000', '"bytes": 1152921504606000000'),
    raw('"id": "f2"', r'"i\u0064": "f\u0032"'),
    raw("{", " \t\r\n{"),
]


@pytest.mark.parametrize("body", GOOD, ids=range(len(GOOD)))
def test_same_as_the_slow_way(body: bytes) -> None:
    slow, quick = slowly(body), fast(body)
    assert slow is not None
    if quick is not None:
        assert quick == slow
        assert [repr(op) for op in quick[1]] == [repr(op) for op in slow[1]]  # 1 is not 1.0


def test_what_is_written_plainly_is_read_fast() -> None:
    missed = [body for body in GOOD if fast(body) is None]
    assert missed == []


LEFT = [
    b"",
    b"[]",
    b"{}",
    b"[" * 100_000,
    b"\xff",
    b'{"graph": 7}',
    raw('"duration_us": 800', '"duration_us": NaN'),
    raw('"duration_us": 800', '"duration_us": 1e999'),
    raw('"duration_us": 800', '"duration_us": "800"'),
    raw('"duration_us": 800', '"duration_us": true'),
    raw('"duration_us": 800', '"duration_us": null'),
    raw('"duration_us": 800', '"bytes": 800'),
    raw('"duration_us": 800', '"duration_us": 800, "bytes": 1'),
    raw('"duration_us": 800', '"duration_us": 800, "bytes": null'),
    raw('"duration_us": 800', '"duration_us": 800, "channel": "network"'),
    raw('"duration_us": 800', '"duration_us": 800, "element_bytes": 1'),
    raw('"duration_us": 800', '"duration_us": 800, "fuse_key": null'),
    raw('"bytes": 4000000', '"bytes": 4000000, "element_bytes": 0'),
    raw('"bytes": 4000000', '"bytes": 4000000, "element_bytes": 4.0'),
    raw('"bytes": 4000000', '"bytes": 4000000, "element_bytes": null'),
    raw('"bytes": 4000000', '"bytes": 4000000, "fuse_key": ""'),
    raw('"bytes": 4000000', r'"bytes": 4000000, "fuse_key": "\n"'),
    raw('"duration_us": 800', '"duration_us": 800, "slowdown": {"network": 0.5}'),
    raw('"duration_us": 800', '"duration_us": 800, "slowdown": {"network": 101}'),
    raw('"duration_us": 800', '"duration_us": 800, "slowdown": {"network": true}'),
    raw('"duration_us": 800', '"duration_us": 800, "slowdown": {"": 2}'),
    raw('"duration_us": 800', r'"duration_us": 800, "slowdown": {"\n": 2}'),
    raw('"duration_us": 800', '"duration_us": 800, "slowdown": 2'),
    raw('"duration_us": 800', '"duration_us": 800, "slowdown": {"a": 2, "a": 2}'),
    changed(lambda body: ops(body)[0].update(slowdown={f"c{i}": 2 for i in range(4_098)})),
    raw('"bytes": 4000000', '"bytes": 4000000, "slowdown": null'),
    raw('"duration_us": 800', '"duration_us": -1'),
    raw('"bytes": 4000000', '"bytes": 4e6'),
    raw('"bytes": 4000000', '"bytes": 4000000.0'),
    raw('"bytes": 4000000', '"bytes": 0'),
    raw('"bytes": 4000000', '"bytes": ' + "9" * 400),
    raw('"bytes": 4000000', '"duration_us": 1'),
    raw('"bytes": 4000000', '"bytes": 4000000, "stream": null'),
    raw('"bytes": 4000000', '"bytes": 4000000, "channel": null'),
    raw('"bytes": 4000000', '"bytes": 4000000, "channel": ""'),
    raw('"bytes": 4000000', '"bytes": 4000000, "x": 1'),
    raw('"kind": "compute"', '"kind": "send"'),
    raw('"kind": "compute"', '"kind": null'),
    raw('"after": ["b2"]', '"after": null'),
    raw('"after": ["b2"]', '"after": "b2"'),
    raw('"after": ["b2"]', '"after": [""]'),
    raw('"id": "f2"', '"id": ""'),
    raw('"id": "f2"', r'"id": "\u0000"'),
    raw('"id": "f2"', r'"id": "f2\n"'),  # at the very end, too
    raw('"id": "f2"', r'"id": "\ud800"'),
    raw('"id": "f2"', '"id": "\x7f"'),
    raw('"id": "f2"', f'"id": "{"x" * 513}"'),
    raw('"after": ["b2"]', r'"after": ["\t"]'),
    raw('"name": "two layers"', r'"name": "\t"'),
    raw('"name": "two layers"', '"name": 7'),
    raw('"workers": 8', '"workers": 8, "x": 1'),
    raw('"workers": 8', '"workers": 8.0'),
    raw('"workers": 8', '"workers": 0, "workers": 8'),  # a key may stand once
    raw('"id": "f2"', '"id": 5, "id": "f2"'),
    raw('"kind": "compute"', '"kind": "all_reduce", "kind": "compute"'),
    raw('"workers": 8', '"workers": ' + "9" * 100_000),
    changed(lambda body: body.update(extra=1)),
    changed(lambda body: body["cluster"].update({f"x{i}": 0 for i in range(99)})),
    changed(lambda body: body["graph"].pop("ops")),
    json.dumps(TWO_LAYERS).encode() + b" 1",
]


@pytest.mark.parametrize("body", LEFT, ids=range(len(LEFT)))
def test_what_does_not_fit_is_left_to_the_slow_way(body: bytes) -> None:
    assert fast(body) is None


def test_text_of_a_graph_is_its_json() -> None:
    found = [
        Op('b"\\é\U0001f600', "compute", 1e-7, stream="gpu 0"),
        *(Op(f"c{k}", "compute", x) for k, x in enumerate((0, 1, 0.1, 8.64e12, -0.0))),
        Op("s", "compute", 1.0, slowdown=(("nv\u2028link", 2), ("network", 1.19)), stream="x"),
        Op("t", "compute", 1.0, slowdown=()),
        Op("g", "all_reduce", None, 2**59 + 1, ("c0", "c1")),
        Op("h", "broadcast", None, 1, ("c0",), "nv\u2028link"),
        Op("k", "all_reduce", None, 8, element_bytes=4, fuse_key='"b\u2028'),
    ]
    graph = build("é", found)
    expected = json.dumps(graph_json(graph), sort_keys=True, separators=(",", ":"))
    assert graph_text(graph) == expected
