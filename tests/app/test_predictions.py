"""POST /v1/predictions/scaling: rows, warnings, and what is refused."""

import copy
from dataclasses import asdict, replace
from typing import Any

import pytest

from app.errors import InvalidRequest
from app.routers.predictions import EXAMPLE
from app.schemas.predictions import PredictionAnswer, PredictionRequest
from app.schemas.problem import graph_json
from app.services.predictions import answer_of
from solver.graph import build
from solver.models.layers import Layer, iteration
from solver.prediction.scaling import graph_of
from tests.app.service import Json, Service, faults, two_layers

PATH = "/v1/predictions/scaling"
SPEED = {"batch_size": 32, "peak_flops": 10e12, "utilisation": 0.5}


def body(**fields: Any) -> Json:
    """Return the example with other fields; None leaves one out."""
    found = copy.deepcopy(EXAMPLE) | fields
    return {key: value for key, value in found.items() if value is not None}


def ask(raw: Json) -> PredictionAnswer:
    """Predict without a server, as the door and the router do."""
    request = PredictionRequest.model_validate(raw)
    if found := request.own_faults():
        raise InvalidRequest(found)
    graph = build(request.graph.name, request.graph.ops_of()) if request.graph else None
    return answer_of(graph, request)


def refused(raw: Json) -> list[tuple[str, str]]:
    """Return pointer and code of each fault."""
    with pytest.raises(InvalidRequest) as error:
        ask(raw)
    return [(fault.pointer, fault.code) for fault in error.value.faults]


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-6)


def test_by_hand() -> None:
    # 8 workers: 14/8 S/1250 + 50 us are 5650 and 1450; layer 1 is ready at 900
    rows = ask(body(workers=[8])).rows
    (row,) = rows
    figures = asdict(row)
    del figures["osf_fusion"], figures["ada_fusion"]
    assert figures == {
        "workers": 8,
        "csf": near(2550 / (2550 + 7050)),
        "osf": near(2550 / 8750),
        "ddp": near(2550 / 8750),
        "horovod": near(2550 / 9100),  # ticks at 2000 and 7650, counted from the forward pass
        "mg_wfbp": near(2550 / 8750),
        "plan": near(2550 / 8750),  # layer 2 cannot start sooner
        "bound": near(2550 / 8750),
        "iteration_time_us": near(8750),
        "t_comp_us": 2550,
        "t_update_us": near(7100),
        "t_overlap_us": 900,
        "cut": None,
    }


def test_every_factor_of_a_row() -> None:
    found = ask(body(workers=[8, 32, 1], buffers_bytes=[0, 10**9], timeout_us=1e6))
    assert [row.workers for row in found.rows] == [8, 32, 1]
    assert found.rows[0].osf > found.rows[1].osf
    for row in found.rows:
        assert [fused.buffer_bytes for fused in row.osf_fusion] == [0, 10**9]
        assert row.osf_fusion[0].factor == row.osf
        assert row.osf_fusion[1].factor == pytest.approx(row.csf)
        factors = (row.osf, row.mg_wfbp, row.ada_fusion.factor)
        assert max(factors) <= row.plan * (1 + 1e-7) <= row.bound * (1 + 2e-7)
    assert found.rows[2].osf == found.rows[2].csf == found.rows[2].plan == 1
    assert found.rows[2].ada_fusion.buckets == 2
    assert found.warnings == []


def test_defaults() -> None:
    found = ask(body(workers=None, buffers_bytes=None, timeout_us=None))
    asked = found.request
    assert (asked.workers, asked.buffers_bytes, asked.timeout_us) == ([8], [0, 104857600], 5000)
    assert (asked.paper_eq15, asked.batch_size, asked.time_limit_s) == (False, None, 60)
    assert [row.workers for row in found.rows] == [8]


def test_paper_eq15() -> None:
    layers = [{"bytes": 100_000, "forward_us": 0, "backward_us": 150} for _ in range(9)]
    asked = body(layers=layers, buffers_bytes=[150_000], timeout_us=1e6)
    ours, theirs = (ask(asked | {"paper_eq15": printed}) for printed in (False, True))
    assert theirs.rows[0].osf_fusion[0].factor < ours.rows[0].osf_fusion[0].factor
    assert theirs.rows[0].osf == ours.rows[0].osf


def test_times_from_flops() -> None:
    times = [{"bytes": 10**6, "forward_us": 64_000, "backward_us": 128_000}]
    flops = [{"bytes": 10**6, "flops": 10e9}]
    given, computed = ask(body(layers=times)), ask(body(layers=flops, **SPEED))
    assert given.rows == computed.rows
    assert given.request.graph_sha256 == computed.request.graph_sha256


def test_a_graph_instead_of_layers() -> None:
    layers = [Layer("1", 400.0, 900.0, (("1", 10**6),)), Layer("2", 450, 800, (("2", 4 * 10**6),))]
    of_layers = ask(body())
    for graph in (iteration("layers", layers), graph_of("layers", layers)):
        rows = ask(body(layers=None, graph=graph_json(graph))).rows
        for row, expected in zip(rows, of_layers.rows, strict=True):  # Horovod's cycles begin at 0
            assert replace(row, horovod=expected.horovod) == expected
    same = ask(body(layers=None, graph=graph_json(graph_of("layers", layers))))
    assert same == of_layers


def test_layers_without_bytes_take_time() -> None:
    relu = {"bytes": 0, "forward_us": 10, "backward_us": 30}
    (row,) = ask(body(layers=[relu, *EXAMPLE["layers"], relu], workers=[8])).rows
    assert (row.t_comp_us, row.t_overlap_us) == (2550 + 80, 900 + 800 + 30)
    # the updates begin 800 after the relu behind them, whose backward pass comes first
    assert row.t_update_us == near(800 + 5650 + 1450)


def test_same_question_same_bytes() -> None:
    assert ask(body()).model_dump_json() == ask(body()).model_dump_json()


TABLE = {"workers": 8, "algorithm": "table", "table": [[10**6, 100.0], [4 * 10**6, 300.0]]}


def test_warnings() -> None:
    found = ask(body(cluster=TABLE, workers=[8, 32]))
    assert [(w.pointer, w.code) for w in found.warnings] == [
        ("/cluster/table", "outside_measured_range"),
        ("/cluster/table", "workers_unknown"),
    ]
    assert found.rows[0].osf == found.rows[1].osf
    once = ask(body(cluster=TABLE, workers=[8]))
    assert [w.code for w in once.warnings] == ["outside_measured_range"]


def test_milliseconds_are_asked_about() -> None:
    layers = [
        {**layer, **{k: v / 1e4 for k, v in layer.items() if k.endswith("_us")}}
        for layer in EXAMPLE["layers"]
    ]
    found = ask(body(layers=layers, workers=[8]))
    assert [(w.pointer, w.code) for w in found.warnings] == [("/layers", "units_in_doubt")]
    assert not ask(body(workers=[8])).warnings


def with_layer(**fields: Any) -> Json:
    """Return the example with another second layer."""
    return body(layers=[EXAMPLE["layers"][0], fields])


CHAIN = two_layers()["graph"]
REFUSED = [
    (body(layers=None), [("/layers", "missing_field")]),
    (body(graph=CHAIN), [("/graph", "extra_field")]),
    (
        with_layer(bytes=1),
        [(f"/layers/1/{f}_us", "missing_field") for f in ("forward", "backward")],
    ),
    (with_layer(bytes=1, forward_us=1), [("/layers/1/backward_us", "missing_field")]),
    (with_layer(bytes=1, flops=1), [(f"/{f}", "missing_field") for f in SPEED]),
    (
        {**with_layer(bytes=1, flops=1, forward_us=1), **SPEED},
        [("/layers/1/flops", "extra_field")],
    ),
    (body(**SPEED), [(f"/{f}", "extra_field") for f in SPEED]),  # count with flops alone
    (body(layers=None, graph=CHAIN, batch_size=8), [("/batch_size", "extra_field")]),
    (body(workers=[8, 2, 8]), [("/workers/2", "out_of_range")]),
    (body(buffers_bytes=[1, 1]), [("/buffers_bytes/1", "out_of_range")]),
    (
        body(layers=[{"bytes": 0, "forward_us": 1, "backward_us": 1}]),
        [("/layers", "no_collective")],
    ),
    (
        body(layers=[{"bytes": 1, "forward_us": 1, "backward_us": 1}] * 3_001),
        [("/layers", "out_of_range")],
    ),
    (
        body(layers=[{"bytes": 2**60, "forward_us": 1, "backward_us": 1}] * 2),
        [("/layers", "out_of_range")],
    ),
    (
        body(layers=[{"bytes": 1, "forward_us": 5e12, "backward_us": 5e12}]),
        [("/layers", "out_of_range")],
    ),
    (  # 1e24 FLOPs at a FLOP a second
        body(layers=[{"bytes": 1, "flops": 1e24}], batch_size=1, peak_flops=1, utilisation=1),
        [("/layers", "out_of_range")],
    ),
    (  # all at once
        {**with_layer(bytes=0, flops=1, backward_us=1), "workers": [1, 1], "batch_size": 1},
        [
            ("/peak_flops", "missing_field"),
            ("/utilisation", "missing_field"),
            ("/workers/1", "out_of_range"),
            ("/layers/1/flops", "extra_field"),
        ],
    ),
]


@pytest.mark.parametrize(("raw", "expected"), REFUSED)
def test_refused(raw: Json, expected: list[tuple[str, str]]) -> None:
    assert refused(raw) == expected


def test_a_cluster_without_cost() -> None:
    cluster = {"workers": 8, "bandwidth_gbps": 10, "algorithm": "hierarchical", "node_workers": 8}
    cluster["node_bandwidth_gbps"] = 100
    found = refused(body(layers=None, graph=CHAIN, cluster=cluster, workers=[16, 12, 9]))
    assert found  # 8 divides neither 12 nor 9
    assert all(pointer.startswith(("/cluster/", "/workers/")) for pointer, _ in found)


def test_a_graph_that_is_no_chain() -> None:
    graph = copy.deepcopy(CHAIN)
    graph["ops"][3]["after"] = ["b1", "g2"]  # g1 waits for g2
    answer = ask(body(layers=None, graph=graph, workers=[8], buffers_bytes=[0, 10]))
    assert answer.why_no_osf == (
        "OSF needs collectives that do not wait for others; 'g1' waits for 'g2'."
    )
    (row,) = answer.rows
    assert (row.csf, row.osf, row.iteration_time_us) == (None, None, None)
    assert (row.t_update_us, row.t_overlap_us, row.t_comp_us) == (None, None, 2550)
    assert [(f.buffer_bytes, f.factor) for f in row.osf_fusion] == [(0, None), (10, None)]
    # b2 800, g2 5650 beside b1, g1 1450, then both layers' forward pass 850
    for factor in (row.ddp, row.mg_wfbp, row.plan, row.bound):
        assert factor == near(2550 / (800 + 5650 + 1450 + 850))
    assert row.horovod < row.plan


def fsdp(**cluster: Any) -> Json:
    """Return a graph that gathers on nvlink and sums on the network."""
    ops: list[Json] = [
        {
            "id": "gather",
            "kind": "all_gather",
            "bytes": 8_000_000,
            "after": [],
            "channel": "nvlink",
        },
        {"id": "back", "kind": "compute", "duration_us": 1000, "after": ["gather"]},
        {"id": "sum", "kind": "all_reduce", "bytes": 1_000_000, "after": ["back"]},
    ]
    network = {"workers": 2, "bandwidth_gbps": 8, "startup_us": 100}
    channels = {"nvlink": {"bandwidth_gbps": 80, "startup_us": 10, **cluster}}
    graph = {"name": "fsdp", "ops": ops}
    return body(layers=None, graph=graph, cluster=network | {"channels": channels}, workers=[2, 4])


def test_groups_with_workers_of_their_own_stay() -> None:
    answer = ask(fsdp(workers=8))
    # gather 10 + 7/8 800 whatever the workers; sum 100 + 2(n-1)/n 1000
    assert [row.plan for row in answer.rows] == [
        near(1000 / (710 + 1000 + 1100)),
        near(1000 / (710 + 1000 + 1600)),
    ]
    assert answer.notes == [
        "The worker counts are those of network.",
        "nvlink keeps its groups of 8 workers.",
        "Bytes of the whole tensors and compute times are the same with any number of workers.",
    ]


def test_channels_without_workers_of_their_own_follow() -> None:
    answer = ask(fsdp())
    assert [row.plan for row in answer.rows] == [
        near(1000 / (410 + 1000 + 1100)),
        near(1000 / (610 + 1000 + 1600)),
    ]
    assert answer.notes[0] == "The worker counts are those of nvlink and network."
    one = ask(fsdp(workers=8) | {"workers": [1]})
    assert one.rows[0].ddp == near(1000 / 1710)  # the groups are there with one worker too
    assert one.notes == []


def test_over_the_wire(service: Service) -> None:
    answer = service.client.post(PATH, json=EXAMPLE)
    assert answer.status_code == 200
    assert answer.json() == ask(EXAMPLE).model_dump(mode="json")
    both = service.client.post(PATH, json=body(graph=CHAIN))
    assert both.status_code == 422
    assert faults(both) == {("/graph", "extra_field")}
    bad = with_layer(bytes=-1, forward_us=1, backward_us=1, shape=3)
    assert faults(service.client.post(PATH, json=bad)) == {
        ("/layers/1/bytes", "out_of_range"),
        ("/layers/1/shape", "extra_field"),
    }


def test_a_channel_with_workers_of_its_own() -> None:
    layers = [Layer("1", 400.0, 900.0, (("1", 10**6),))]
    graph = graph_json(graph_of("layers", layers))
    graph["ops"][-1]["channel"] = "x"
    points = [[1, 10.0], [1_000, 20.0]]
    cluster: Json = {"workers": 8, "bandwidth_gbps": 1, "channels": {"x": {"bandwidth_gbps": 10}}}
    asked = body(layers=None, graph=graph, cluster=cluster)
    assert len(ask(asked).rows) == 2
    cluster["channels"] = {"x": {"algorithm": "table", "table": points}}
    pointers = [warning.pointer for warning in ask(asked).warnings]
    assert set(pointers) == {"/cluster/channels/x/table"}
    cluster["channels"]["x"]["workers"] = 8
    with pytest.raises(InvalidRequest, match="has workers of its own"):
        ask(asked)
