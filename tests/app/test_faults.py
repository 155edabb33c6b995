"""What the service refuses: each rule, every fault of a request at once, never a 500."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.app.service import Json, Service, faults, two_layers

Change = Callable[[Json], Any]
OPS = "/graph/ops"


def ops(body: Json) -> Any:
    return body["graph"]["ops"]


def put(path: str, value: Any) -> Change:
    def change(body: Json) -> None:
        *steps, last = path.strip("/").split("/")
        node: Any = body
        for step in steps:
            node = node[int(step) if isinstance(node, list) else step]
        node[int(last) if isinstance(node, list) else last] = value

    return change


def drop(path: str) -> Change:
    def change(body: Json) -> None:
        *steps, last = path.strip("/").split("/")
        node: Any = body
        for step in steps:
            node = node[int(step) if isinstance(node, list) else step]
        del node[int(last) if isinstance(node, list) else last]

    return change


OUT = "out_of_range"
TABLE = [[1, 2.0], [2, 3.0]]


def table(**fields: Any) -> Change:
    """Measure the cluster instead of describing a ring."""
    return lambda body: body["cluster"].update({"algorithm": "table", "table": TABLE, **fields})


REFUSED = [
    # structure
    ([put("graph/ops/0/after", ["f2"])], {(f"{OPS}/0", "cycle")}),  # f2 waits for b2
    ([put("graph/ops/2/after/0", "b3")], {(f"{OPS}/2/after/0", "unknown_op")}),  # no b3
    (
        [put("graph/ops/3/id", "g2")],
        {(f"{OPS}/3/id", "duplicate_id"), (f"{OPS}/4/after/1", "unknown_op")},
    ),
    ([put("graph/ops/0/after", ["b2"])], {(f"{OPS}/0/after/0", "self_loop")}),  # waits for itself
    (
        [put("graph/ops", [{"id": "a", "kind": "all_reduce", "bytes": 1}])],
        {(OPS, "no_compute")},
    ),  # sends only
    (
        [put("graph/ops", [{"id": "a", "kind": "compute", "duration_us": 1}])],
        {(OPS, "no_collective")},
    ),  # computes only
    ([put("graph/ops", [])], {(OPS, "no_compute"), (OPS, "no_collective")}),  # nothing at all
    # fields that are not there, or not known
    ([drop("graph")], {("/graph", "missing_field")}),
    ([drop("cluster")], {("/cluster", "missing_field")}),
    ([drop("graph/ops/0/duration_us")], {(f"{OPS}/0/duration_us", "missing_field")}),
    ([drop("graph/ops/1/bytes")], {(f"{OPS}/1/bytes", "missing_field")}),
    ([drop("graph/ops/0/kind")], {(f"{OPS}/0/kind", "missing_field")}),
    ([drop("cluster/bandwidth_gbps")], {("/cluster/bandwidth_gbps", "missing_field")}),  # a ring's
    ([put("extra", 1)], {("/extra", "extra_field")}),
    ([put("graph/ops/0/bytes", 1)], {(f"{OPS}/0/bytes", "extra_field")}),  # of a compute op
    ([lambda b: b.update({"a/b~c": 1})], {("/a~1b~0c", "extra_field")}),  # pointer escapes
    # a wrong type is never coerced
    ([put("graph/ops/1/bytes", "4000000")], {(f"{OPS}/1/bytes", "wrong_type")}),  # text
    ([put("graph/ops/1/bytes", True)], {(f"{OPS}/1/bytes", "wrong_type")}),  # a bool is no int
    ([put("graph/ops/1/bytes", 1.5)], {(f"{OPS}/1/bytes", "wrong_type")}),  # half a byte
    ([put("graph/ops/0/duration_us", False)], {(f"{OPS}/0/duration_us", "wrong_type")}),
    ([put("graph/ops/0/duration_us", None)], {(f"{OPS}/0/duration_us", "wrong_type")}),
    ([put("graph/ops/0/id", 7)], {(f"{OPS}/0/id", "wrong_type")}),
    ([put("graph/ops/0/kind", 7)], {(f"{OPS}/0/kind", "wrong_type")}),
    ([put("graph/ops/0/after", "b2")], {(f"{OPS}/0/after", "wrong_type")}),  # text is no list
    ([put("graph/ops/0", 7)], {(f"{OPS}/0", "wrong_type")}),
    ([put("graph/ops", {})], {(OPS, "wrong_type")}),
    ([put("graph", None)], {("/graph", "wrong_type")}),
    ([put("cluster/table", [5])], {("/cluster/table/0", "wrong_type")}),  # not a pair
    ([put("options/fusion", 7)], {("/options/fusion", "wrong_type")}),
    # ranges
    ([put("graph/ops/1/bytes", 0)], {(f"{OPS}/1/bytes", "out_of_range")}),
    ([put("graph/ops/1/bytes", -1)], {(f"{OPS}/1/bytes", "out_of_range")}),
    ([put("graph/ops/1/bytes", 2**60 + 1)], {(f"{OPS}/1/bytes", "out_of_range")}),
    ([put("graph/ops/1/bytes", 2**60)], {(OPS, "out_of_range")}),  # with g1, over 2^60 together
    ([put("graph/ops/0/duration_us", -1)], {(f"{OPS}/0/duration_us", "out_of_range")}),
    ([put("graph/ops/0/duration_us", 1e13)], {(f"{OPS}/0/duration_us", "out_of_range")}),
    ([put("graph/ops/0/duration_us", 10**299)], {(f"{OPS}/0/duration_us", "out_of_range")}),
    (
        [put("graph/ops/0/id", "")],
        {
            (f"{OPS}/0/id", "out_of_range"),
            (f"{OPS}/1/after/0", "unknown_op"),
            (f"{OPS}/2/after/0", "unknown_op"),
        },
    ),
    ([put("graph/ops/5/id", "x" * 513)], {(f"{OPS}/5/id", "out_of_range")}),
    ([put("graph/ops/5/id", "x\0")], {(f"{OPS}/5/id", "out_of_range")}),  # control characters
    ([put("graph/name", "\n")], {("/graph/name", "out_of_range")}),
    ([put("graph/ops/0/kind", "comp")], {(f"{OPS}/0/kind", "out_of_range")}),
    ([put("cluster/workers", 0)], {("/cluster/workers", "out_of_range")}),
    ([put("cluster/bandwidth_gbps", 0)], {("/cluster/bandwidth_gbps", "out_of_range")}),
    ([put("cluster/bandwidth_gbps", 1e-300)], {("/cluster/bandwidth_gbps", "out_of_range")}),
    ([put("cluster/algorithm", "star")], {("/cluster/algorithm", "out_of_range")}),
    ([put("cluster/algorithm", "table")], {("/cluster/table", "out_of_range")}),  # of no points
    (
        [put("cluster/table", [[1, 2, 3]])],
        {("/cluster/table/0", "out_of_range")},
    ),  # three of a pair
    ([put("options/slot_us", 0)], {("/options/slot_us", "out_of_range")}),
    ([put("options/baselines", ["nobody"])], {("/options/baselines/0", "out_of_range")}),
    # baselines, by name or with parameters
    *(
        ([put("options/baselines", ["wfbp", baseline])], {(f"/options/baselines/1{place}", code)})
        for baseline, place, code in (
            (7, "", "wrong_type"),  # neither a name nor an object
            ({}, "/policy", "missing_field"),
            ({"policy": "nobody"}, "/policy", "out_of_range"),
            ({"policy": 7}, "/policy", "wrong_type"),
            ({"policy": "ddp", "slice_bytes": 1}, "/slice_bytes", "extra_field"),  # another's
            ({"policy": "ddp", "bucket_cap_mb": 0}, "/bucket_cap_mb", "out_of_range"),
            ({"policy": "ddp", "bucket_cap_mb": "25"}, "/bucket_cap_mb", "wrong_type"),
            ({"policy": "ddp", "barrier": 1}, "/barrier", "wrong_type"),
            ({"policy": "horovod", "cycle_time_us": 1e10}, "/cycle_time_us", "out_of_range"),
            ({"policy": "p3", "slice_bytes": 0.5}, "/slice_bytes", "wrong_type"),
            ({"policy": "bytescheduler", "credit_bytes": 0}, "/credit_bytes", "out_of_range"),
            ({"policy": "bytescheduler", "credit_bytes": "x"}, "/credit_bytes", "wrong_type"),
            ({"policy": "p3", "slice_bytes": 4}, "/slice_bytes", "out_of_range"),  # 1,250,000
        )
    ),
    (
        [put("options/baselines", ["p3"]), put("graph/ops/1/bytes", 2**40)],
        {("/options/baselines/0", "out_of_range")},
    ),  # 5,497,559 launches by default
    ([put("options/barrier", "yes")], {("/options/barrier", "wrong_type")}),
    ([put("options/schedule", "fifo")], {("/options/schedule", "out_of_range")}),
    # options that this graph cannot meet
    ([put("options/slot_us", 0.1)], {("/options/slot_us", "slot_too_small")}),  # 83,500 slots
    ([put("options/slot_us", 1e-6)], {("/options/slot_us", "slot_too_small")}),  # 8e9 slots
    ([put("options/slot_us", 9e-7)], {("/options/slot_us", "out_of_range")}),
    ([put("options/slot_us", 5e-324)], {("/options/slot_us", "out_of_range")}),
    # an op that does not say what it is, is taken for what it looks like
    (
        [put("graph/ops/1/kind", "send"), put("graph/ops/1/bytes", 0)],
        {(f"{OPS}/1/kind", "out_of_range"), (f"{OPS}/1/bytes", "out_of_range")},
    ),
    (
        [drop("graph/ops/1/kind"), put("graph/ops/1/x", 0), drop("graph/ops/1/id")],
        {
            (f"{OPS}/1/kind", "missing_field"),
            (f"{OPS}/1/x", "extra_field"),
            (f"{OPS}/1/id", "missing_field"),
        },
    ),
    (
        [put("graph/ops/0/kind", []), drop("graph/ops/0/duration_us")],
        {(f"{OPS}/0/kind", "wrong_type"), (f"{OPS}/0/duration_us", "missing_field")},
    ),
    # faults of the whole graph beside those of its parts
    (
        [put("graph/ops", [{"id": "a", "kind": "all_reduce", "bytes": 0}])],
        {(f"{OPS}/0/bytes", "out_of_range"), (OPS, "no_compute")},
    ),
    (
        [put("graph/ops", [{"id": "a", "duration_us": -1}]), put("cluster/workers", 0)],
        {
            (f"{OPS}/0/kind", "missing_field"),
            (f"{OPS}/0/duration_us", "out_of_range"),
            (OPS, "no_collective"),
            ("/cluster/workers", "out_of_range"),
        },
    ),
    (
        [put("graph/name", 7), put("graph/ops/3/after", ["g2"]), put("graph/ops/5/after", ["f2"])],
        {
            ("/graph/name", "wrong_type"),
            (f"{OPS}/5/after/0", "self_loop"),
        },
    ),
    ([put("graph/ops", [7])], {(f"{OPS}/0", "wrong_type")}),  # it could be anything
    (
        [put("graph/ops/1/bytes", 2**60), put("graph/ops/0/duration_us", -1)],
        {(OPS, "out_of_range"), (f"{OPS}/0/duration_us", "out_of_range")},
    ),
    # more fields than are looked at
    (
        [lambda b: b["cluster"].update({f"x{i}": 0 for i in range(99)} | {"workers": 0})],
        {("/cluster", "extra_field"), ("/cluster/workers", "out_of_range")},
    ),
    ([lambda b: b.update({f"x{i}": 0 for i in range(99)})], {("", "extra_field")}),
    # fields that the algorithm does not use
    ([put("cluster/table", [[1, 2.0], [2, 3.0]])], {("/cluster/table", "extra_field")}),
    *(
        (
            [
                put("cluster/algorithm", "table"),
                put("cluster/table", [[1, 2.0], [2, 3.0]]),
                put(f"cluster/{field}", 1),
            ],
            {(f"/cluster/{field}", "extra_field")},
        )
        for field in ("hop_us", "reduction_gbps", "negotiation_us_per_worker")
    ),
    # streams are of compute ops, and put them in order
    ([put("graph/ops/1/stream", "gpu0")], {(f"{OPS}/1/stream", "extra_field")}),  # of a tensor
    ([put("graph/ops/0/stream", "")], {(f"{OPS}/0/stream", "out_of_range")}),
    ([put("graph/ops/0/stream", 7)], {(f"{OPS}/0/stream", "wrong_type")}),
    (
        [
            put("graph/ops/0/stream", "s"),
            put("graph/ops/5/stream", "s"),
            lambda b: ops(b).reverse(),
        ],
        {(f"{OPS}/0", "cycle")},
    ),  # f2 stands before b2 in the stream, and waits for it
    # channels of ops
    ([put("graph/ops/1/channel", "nvlink")], {(f"{OPS}/1/channel", "unknown_channel")}),
    ([put("graph/ops/1/channel", "")], {(f"{OPS}/1/channel", "out_of_range")}),  # a name, not two
    ([put("graph/ops/1/channel", None)], {(f"{OPS}/1/channel", "wrong_type")}),
    ([put("graph/ops/0/channel", "network")], {(f"{OPS}/0/channel", "extra_field")}),  # computes
    (
        [put("graph/ops/1/channel", "b"), put("graph/ops/1/bytes", 0), put("cluster/channels", {})],
        {(f"{OPS}/1/channel", "unknown_channel"), (f"{OPS}/1/bytes", "out_of_range")},
    ),
    (
        [put("graph/ops/1/channel", "b"), put("cluster/workers", 0)],
        {("/cluster/workers", "out_of_range")},
    ),  # the channels are not known while the cluster is wrong
    # channels of the cluster
    ([put("cluster/channels", [])], {("/cluster/channels", "wrong_type")}),
    ([put("cluster/channels", {"a/b": 7})], {("/cluster/channels/a~1b", "wrong_type")}),
    ([put("cluster/channels", {"": {}})], {("/cluster/channels/", "out_of_range")}),
    ([put("cluster/channels", {"a\n": {}})], {("/cluster/channels/a\n", "out_of_range")}),
    ([put("cluster/channels", {"network": {}})], {("/cluster/channels/network", "extra_field")}),
    (
        [put("cluster/channels", {f"c{i}": {} for i in range(4_098)})],
        {("/cluster/channels", "out_of_range")},
    ),
    (
        [put("cluster/channels", {f"c{i}": {} for i in range(9_999)})],
        {("/cluster/channels", "out_of_range")},
    ),  # not even looked at
    (
        [put("cluster/channels", {"a": {"channels": {}}, "b": {"workers": 0}})],
        {
            ("/cluster/channels/a/channels", "extra_field"),
            ("/cluster/channels/b/workers", "out_of_range"),
        },
    ),
    (
        [put("cluster/channels", {"a": {f"x{i}": 0 for i in range(99)}})],
        {("/cluster/channels/a", "extra_field")},
    ),
    # a channel in use has a cost, one that is not need not have one
    (
        [put("cluster/channels", {"a/b": {}, "c": {}}), put("graph/ops/1/channel", "a/b")],
        {("/cluster/channels/a~1b/bandwidth_gbps", "missing_field")},
    ),
    (
        [
            put("cluster/channels", {"a": {"algorithm": "table", "table": TABLE, "hop_us": 1}}),
            put("graph/ops/1/channel", "a"),
            put("graph/ops/1/kind", "broadcast"),
        ],
        {
            ("/cluster/channels/a/hop_us", "extra_field"),
            ("/cluster/channels/a/tables/broadcast", "missing_field"),
        },
    ),
    # measured tables of the other kinds
    (
        [table(), put("graph/ops/1/kind", "all_gather"), put("graph/ops/3/kind", "all_to_all")],
        {
            ("/cluster/tables/all_gather", "missing_field"),
            ("/cluster/tables/all_to_all", "missing_field"),
        },
    ),
    (
        [table(tables={"all_gather": [[1, 2.0]]}), put("graph/ops/1/kind", "all_gather")],
        {("/cluster/tables/all_gather", "out_of_range")},
    ),  # of one size
    ([put("cluster/tables", {"all_gather": TABLE})], {("/cluster/tables", "extra_field")}),  # ring
    ([table(tables={"all_reduce": TABLE})], {("/cluster/tables/all_reduce", "extra_field")}),
    ([table(tables={"all_gather": [[0, 1.0]]})], {("/cluster/tables/all_gather/0/0", OUT)}),
    ([table(tables=7)], {("/cluster/tables", "wrong_type")}),
    (
        [table(tables={f"x{i}": [] for i in range(99)})],
        {("/cluster/tables", "extra_field")},
    ),
    # options for graphs where no collective comes after another
    *(
        (
            [put("graph/ops/3/after", ["b1", "g2"]), put(f"options/{field}", value)],
            {(f"/options/{field}", "not_layered")},
        )
        for field, value in (("fusion", "maxmin"), ("schedule", "lp"), ("slot_us", 50))
    ),
    # the search for the best plan
    ([put("options/time_limit_s", 0)], {("/options/time_limit_s", "out_of_range")}),
    ([put("options/time_limit_s", 601)], {("/options/time_limit_s", "out_of_range")}),
    ([put("options/time_limit_s", "1")], {("/options/time_limit_s", "wrong_type")}),
    # launches of all baselines together: 1,000,000 each, and none by one that is refused alone
    (
        [put("options/baselines", [{"policy": "p3", "slice_bytes": 5}] * 2 + ["wfbp"])],
        {("/options/baselines/2", "out_of_range")},
    ),
    (
        [
            put("options/baselines", [{"policy": "p3", "slice_bytes": 5}] * 2),
            lambda b: b["options"]["baselines"].append({"policy": "p3", "slice_bytes": 4}),
        ],
        {("/options/baselines/2/slice_bytes", "out_of_range")},
    ),
    (
        [
            put(
                "options/baselines",
                [{"policy": "bytescheduler", "partition_bytes": 6, "credit_bytes": "auto"}],
            )
        ],
        {("/options/baselines/0", "out_of_range")},
    ),  # 833,334 launches, four times
    # all at once: shape, structure, cluster and options
    (
        [
            put("graph/ops/1/bytes", 0),
            put("graph/ops/2/after", [5, "b9", "b1"]),
            drop("cluster/bandwidth_gbps"),
            put("options/seed", -1),
        ],
        {
            (f"{OPS}/1/bytes", "out_of_range"),
            (f"{OPS}/2/after/0", "wrong_type"),
            (f"{OPS}/2/after/1", "unknown_op"),
            (f"{OPS}/2/after/2", "self_loop"),
            ("/cluster/bandwidth_gbps", "missing_field"),
            ("/options/seed", "out_of_range"),
        },
    ),
]


@pytest.mark.parametrize(("changes", "expected"), REFUSED)
def test_refused(service: Service, changes: list[Change], expected: set[tuple[str, str]]) -> None:
    body = two_layers()
    for change in changes:
        change(body)
    answer = service.post(body)
    assert faults(answer) == expected
    assert answer.status_code == 422
    assert answer.json()["code"] in {code for _, code in expected}


def test_message_names_thing_and_rule(service: Service) -> None:
    body = two_layers()
    put("graph/ops/3/bytes", 0)(body)
    assert service.post(body).json()["detail"] == "Tensor 'g1': bytes must be 1 to 2^60, got 0."


@pytest.mark.parametrize(
    ("baseline", "detail"),
    [
        (
            {"policy": "ddp", "bucket_cap_mb": 0},
            "Options: baselines/0/bucket_cap_mb must be 1e-06 to 1e+12, got 0.",
        ),
        (
            {"policy": "bytescheduler", "credit_bytes": "all"},
            'Options: baselines/0/credit_bytes must be an integer or "auto", got "all".',
        ),
        (
            {"policy": "p3", "slice_bytes": 4},
            "p3: slice_bytes 4 makes 1,250,000 launches of this graph; at most 1,000,000 are "
            "simulated.",
        ),
    ],
)
def test_message_names_the_parameter(service: Service, baseline: Json, detail: str) -> None:
    assert service.post(two_layers(baselines=[baseline])).json()["detail"] == detail


def test_cycle_is_named_and_short(service: Service) -> None:
    body = two_layers()
    ring = [
        {"id": f"c{i}", "kind": "compute", "duration_us": 1, "after": [f"c{(i + 1) % 5000}"]}
        for i in range(5000)
    ]
    ring[7]["after"] = ["c8", "c6"]
    ops(body).extend(ring)
    detail = service.post(body).json()["detail"]
    assert "cycle" in detail
    assert len(detail) < 300


def test_many_faults_are_capped(service: Service) -> None:
    body = two_layers()
    ops(body).extend({"id": f"x{i}", "kind": "all_reduce", "bytes": 0} for i in range(250))
    problem = service.post(body).json()
    assert len(problem["errors"]) == 100
    assert problem["detail"].startswith("250 faults, of which 100 are listed")


def test_unknown_channels_are_named_beside_the_known(service: Service) -> None:
    body = two_layers()
    body["cluster"]["channels"] = {"nvlink": {}}
    body["graph"]["ops"][1]["channel"] = "nvlnk"
    assert service.post(body).json()["detail"] == (
        "Tensor 'g2': the cluster has no channel 'nvlnk'; it has 'network', 'nvlink'."
    )


def test_too_many_collectives(service: Service) -> None:
    body = two_layers()
    ops(body).extend(
        {"id": f"x{i}", "kind": "all_reduce", "bytes": 1, "after": []} for i in range(2999)
    )
    answer = service.post(body)
    assert faults(answer) == {(OPS, "out_of_range")}
    assert "3,000 collectives" in answer.json()["detail"]


def text(path: str, literal: str) -> bytes:
    """Return the example with a literal of JSON in a place."""
    import json  # noqa: PLC0415

    body = two_layers()
    put(path, "@@")(body)
    return json.dumps(body).replace('"@@"', literal).encode()


NUMBERS = [
    ("NaN", "out_of_range"),
    ("Infinity", "out_of_range"),
    ("-Infinity", "out_of_range"),
    ("1e999", "out_of_range"),
    ("9" * 400, "out_of_range"),  # more digits than a float holds
    ("-" + "9" * 100_000, "out_of_range"),  # more than Python turns into an int
]


@pytest.mark.parametrize(("literal", "code"), NUMBERS)
@pytest.mark.parametrize(
    "path",
    [
        "graph/ops/0/duration_us",
        "graph/ops/1/bytes",
        "cluster/workers",
        "cluster/startup_us",
        "cluster/bandwidth_gbps",
        "cluster/reduction_gbps",
        "options/slot_us",
        "options/seed",
    ],
)
def test_absurd_number(service: Service, path: str, literal: str, code: str) -> None:
    answer = service.post_raw(text(path, literal))
    assert faults(answer) == {(f"/{path}", code)}
    assert answer.status_code == 422


HOSTILE = [
    (b"", "not_json"),  # empty
    (b"{", "not_json"),  # cut short
    (b"\xff\xfe{}", "not_json"),  # not UTF-8
    (b'{"graph": "\xc3"}', "not_json"),  # half a character
    (b"[" * 200_000, "not_json"),  # too deep to parse
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "not_json"),  # deep, and well-formed
    (b"[" * 900 + b"]" * 900, "wrong_type"),  # deep, and parsed
    (b"null", "wrong_type"),
    (b"[]", "wrong_type"),
    (b"7", "wrong_type"),
    (b'"text"', "wrong_type"),
    (b"NaN", "wrong_type"),
    (text("graph/ops/0/id", r'"\ud800"'), "not_json"),  # half a surrogate pair in an id
    (text("graph/name", r'"\udfff"'), "not_json"),  # in a name
    (text("graph/ops/2/after/0", r'"\ud800x"'), "not_json"),  # in an edge
    (b'{"\\ud800": 1}', "not_json"),  # in a key
    (b"{}", "missing_field"),
    (b"\x00", "not_json"),
    (b"\xef\xbb\xbf{}", "missing_field"),  # a byte order mark is passed over
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", "not_json"),  # one of them
]


@pytest.mark.parametrize(("content", "code"), HOSTILE)
def test_hostile_body(service: Service, content: bytes, code: str) -> None:
    answer = service.post_raw(content)
    faults(answer)
    assert answer.json()["code"] == code
    assert answer.status_code == (400 if code == "not_json" else 422)


def test_pair_of_surrogates_is_a_character(service: Service) -> None:
    answer = service.post_raw(text("graph/name", r'"\ud83d\ude00"'))
    assert answer.status_code == 201
    assert answer.json()["fused_graph"]["name"] == "\U0001f600"


def test_a_key_may_stand_once(service: Service) -> None:
    answer = service.post_raw(text("cluster/workers", '0, "workers": 8'))
    faults(answer)
    assert (answer.status_code, answer.json()["code"]) == (400, "duplicate_key")


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/jsonx",
        "nonsense",
        "application/json; charset=latin-1",
        'application/json; charset="UTF-16"',
        "application/json; x=y; charset=",
    ],
)
def test_wrong_media_type(service: Service, media_type: str) -> None:
    answer = service.post_raw(b"{}", media_type)
    faults(answer)
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    "media_type",
    [
        "application/json; charset=utf-8",
        'Application/JSON;Charset="UTF-8"',
        "application/x+json",
    ],
)
def test_json_media_type(service: Service, media_type: str) -> None:
    assert service.post_raw(b"{}", media_type).status_code == 422


def chunks() -> Iterator[bytes]:
    for _ in range(4):
        yield b" " * 1_000_000


@pytest.mark.parametrize(
    "content",
    [
        b" " * 3_000_001,  # one byte too many
        b" " * 7_000_000,  # more than is even read
        chunks(),  # no Content-Length
    ],
)
def test_too_large(service: Service, content: bytes | Iterator[bytes]) -> None:
    answer = service.post_raw(content)
    faults(answer)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_longest_body_is_read(service: Service) -> None:
    assert service.post_raw(b" " * 2_999_998 + b"{}").status_code == 422


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/v1/plans/0000", 404, "not_found"),
        ("GET", "/v1/plans/%00", 404, "not_found"),
        ("GET", "/v1/plans/%ff", 404, "not_found"),
        ("GET", "/v1/plans/0000/timeline.json", 404, "not_found"),
        ("GET", "/v1/examples/nothing", 404, "not_found"),
        ("GET", "/swagger/nothing.js", 404, "not_found"),
        ("DELETE", "/v1/plans", 405, "method_not_allowed"),
        ("GET", "/v1/plans?limit=0", 422, "out_of_range"),
        ("GET", "/v1/plans?limit=201", 422, "out_of_range"),
        ("GET", "/v1/plans?limit=x", 422, "wrong_type"),
        ("GET", "/v1/plans?limit=" + "9" * 5000, 422, "out_of_range"),
    ],
)
def test_refused_route(service: Service, method: str, path: str, status: int, code: str) -> None:
    answer = service.client.request(method, path)
    faults(answer)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
