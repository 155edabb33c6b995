"""The same bad input by Python, the reader, HTTP and the command: the same faults, all at once."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import interlace
from app.errors import InvalidRequest
from app.reading.requests import read_body, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.simulations import SimulationRequest
from app.schemas.solver_objects import cluster_json
from app.schemas.sweeps import SweepRequest
from solver.costs import cost_of
from solver.costs.checks import cluster_faults
from tests.app.command import Run
from tests.app.here import Here, here
from tests.app.service import Json, two_layers

Said = set[tuple[str, str, str]]
Change = Callable[[Json], object]


def put(path: str, value: Any) -> Change:
    """Return what puts a value at a path of a request."""
    *above, last = path.split(".")

    def change(raw: Any) -> None:
        for step in above:
            raw = raw[int(step)] if isinstance(raw, list) else raw.setdefault(step, {})
        raw[int(last) if isinstance(raw, list) else last] = value

    return change


def out(path: str) -> Change:
    """Return what takes the value at a path out of a request."""
    *above, last = path.split(".")

    def change(raw: Any) -> None:
        for step in above:
            raw = raw[int(step)] if isinstance(raw, list) else raw[step]
        del raw[last]

    return change


def op(**fields: Any) -> Json:
    return {"id": "x", "kind": "compute", "duration_us": 1, "after": [], **fields}


#: What is changed of a request for two layers, and one code that is found then.
BAD: dict[str, tuple[list[Change], str]] = {
    # the cluster's figures
    "no workers": ([put("cluster.workers", 0)], "out_of_range"),
    "a part of a worker": ([put("cluster.workers", 2.5)], "wrong_type"),
    "workers as a text": ([put("cluster.workers", "8")], "wrong_type"),
    "workers as a word": ([put("cluster.workers", True)], "wrong_type"),
    "too many workers": ([put("cluster.workers", 10**7)], "out_of_range"),
    "bandwidth below 0": ([put("cluster.bandwidth_gbps", -10)], "out_of_range"),
    "bandwidth of 0": ([put("cluster.bandwidth_gbps", 0)], "out_of_range"),
    "endless bandwidth": ([put("cluster.bandwidth_gbps", float("inf"))], "out_of_range"),
    "bandwidth of nobody": ([put("cluster.bandwidth_gbps", None)], "missing_field"),
    "start-up below 0": ([put("cluster.startup_us", -1)], "out_of_range"),
    "no start-up": ([put("cluster.startup_us", float("nan"))], "out_of_range"),
    "compute that speeds up": ([put("cluster.compute_slowdown", 0.5)], "out_of_range"),
    # names
    "an algorithm": ([put("cluster.algorithm", "rng")], "out_of_range"),
    "a number for a name": ([put("cluster.algorithm", 3)], "wrong_type"),
    "a placement": (
        [put("cluster.algorithm", "parameter_server"), put("cluster.placement", "sc")],
        "out_of_range",
    ),
    "a field": ([put("cluster.start_up_us", 3)], "extra_field"),
    "a field of elsewhere": ([put("cluster.seed", 3)], "extra_field"),
    "an idle field": ([put("cluster.node_workers", 2)], "extra_field"),
    "a channel's figure": (
        [put("cluster.channels", {"ib": {"bandwidth_gbps": 10, "hop_us": -1}})],
        "out_of_range",
    ),
    "a channel's field": ([put("cluster.channels", {"ib": {"hops": 1}})], "extra_field"),
    "the network as a channel": ([put("cluster.channels", {"network": {}})], "extra_field"),
    "no cluster": ([put("cluster", 7)], "wrong_type"),
    # ops
    "a duration below 0": ([put("graph.ops.0.duration_us", -1)], "out_of_range"),
    "a duration as a text": ([put("graph.ops.0.duration_us", "8")], "wrong_type"),
    "no duration": ([out("graph.ops.0.duration_us")], "missing_field"),
    "a field of an op": ([put("graph.ops.0.duration", 3)], "extra_field"),
    "half a byte": ([put("graph.ops.1.bytes", 4.5)], "wrong_type"),
    "no bytes": ([put("graph.ops.1.bytes", 0)], "out_of_range"),
    "parts of elements": ([put("graph.ops.1.element_bytes", 3)], "out_of_range"),
    "a kind": ([put("graph.ops.1.kind", "all_reduc")], "out_of_range"),
    "an op that is none": ([put("graph.ops.0.after", ["b3"])], "unknown_op"),
    "an op twice": ([put("graph.ops.0.id", "b1")], "duplicate_id"),
    "an op after itself": ([put("graph.ops.0.after", ["b2"])], "self_loop"),
    "a circle": ([put("graph.ops.0.after", ["f2"])], "cycle"),
    "a name for a list": ([put("graph.ops.1.after", "b2")], "wrong_type"),
    "a channel that is none": ([put("graph.ops.1.channel", "nvlink")], "unknown_channel"),
    "nothing to send": ([put("graph.ops", [op()])], "no_collective"),
    "nothing at all": ([put("graph.ops", [])], "no_compute"),
    "slowed by nothing": ([put("graph.ops.0.slowdown", {"ib": 2})], "unknown_channel"),
    # options
    "a fusion": ([put("options.fusion", "joynt")], "out_of_range"),
    "an option": ([put("options.time_limit", 3)], "extra_field"),
    "a seed": ([put("options.seed", -1)], "out_of_range"),
    "no time": ([put("options.time_limit_s", 0)], "out_of_range"),
    "a policy": ([put("options.baselines", ["wfbp", "dpd"])], "out_of_range"),
    "a parameter": (
        [put("options.baselines", [{"policy": "ddp", "bucket_cap": 3}])],
        "extra_field",
    ),
    "a parameter's value": (
        [put("options.baselines", [{"policy": "ddp", "bucket_cap_mb": -3}])],
        "out_of_range",
    ),
    # of all at once
    "all of it": (
        [
            put("cluster.workers", 0),
            put("cluster.startup", 1),
            put("graph.ops.0.after", ["b3"]),
            put("graph.ops.1.bytes", "1"),
            put("options.schedule", "jakson"),
        ],
        "unknown_op",
    ),
}


def bad(name: str) -> Json:
    raw = deepcopy(two_layers())
    for change in BAD[name][0]:
        change(raw)
    return raw


def said(error: interlace.InterlaceError) -> Said:
    return {(fault.pointer, str(fault.code), fault.detail) for fault in error.faults}


def read(raw: Json) -> Said:
    """Read a body as the service does."""
    with pytest.raises(InvalidRequest) as caught:
        read_body(json.dumps(raw).encode(), PlanRequest)
    return said(caught.value)


def planned(graph: Any, cluster: Any, options: Any) -> Said:
    with pytest.raises(interlace.InterlaceError) as caught:
        interlace.plan(graph, cluster, options)
    return said(caught.value)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    with here(tmp_path_factory.mktemp("same")) as client:
        yield client


@pytest.mark.parametrize("name", BAD)
def test_python_as_the_reader(name: str) -> None:
    raw, code = bad(name), BAD[name][1]
    faults = read(raw)
    assert code in {fault[1] for fault in faults}
    assert planned(raw["graph"], raw["cluster"], raw["options"]) == faults
    with pytest.raises(interlace.InterlaceError) as caught:  # as a whole
        interlace.plan(raw)
    assert said(caught.value) == faults
    sections = {fault[0].split("/")[1] for fault in faults}
    kinds = {
        "graph": interlace.InvalidGraph,
        "cluster": interlace.InvalidCluster,
        "options": interlace.InvalidOptions,
    }
    kind = kinds[sections.pop()] if len(sections) == 1 else InvalidRequest
    assert type(caught.value) is kind


@pytest.mark.parametrize("name", BAD)
def test_http_as_the_reader(name: str, client: Here) -> None:
    raw = bad(name)
    kind = {"content-type": "application/json"}
    answer = client.post("/v1/plans", content=json.dumps(raw), headers=kind)
    found = {(each["pointer"], each["code"], each["detail"]) for each in answer.json()["errors"]}
    assert (answer.status_code, found) == (422, read(raw))


@pytest.mark.parametrize("name", BAD)
def test_the_command_as_the_reader(name: str, tmp_path: Path, run: Run) -> None:
    raw = bad(name)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps(raw))
    done = run("plan", str(file))
    lines = {f"{file} {pointer}: {detail}" for pointer, _, detail in read(raw)}
    assert {line.removeprefix("interlace: ") for line in done.stderr.splitlines()} == lines
    with pytest.raises(interlace.InterlaceError) as caught:
        interlace.plan(file)
    assert said(caught.value) == read(raw)


#: Policies that are none, as people give them.
POLICIES: list[Any] = [
    "dpd",
    "",
    3,
    {},
    {"policy": "dpd"},
    {"policy": "ddp", "bucket_cap": 3},
    {"policy": "ddp", "bucket_cap_mb": -3},
    {"policy": "bytescheduler", "partition_bytes": "autos"},
]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_policies_of_simulations_and_sweeps(policy: Any) -> None:
    raw = two_layers()
    about = {"graph": raw["graph"], "cluster": raw["cluster"]}
    with pytest.raises(InvalidRequest) as simulated:
        read_body(json.dumps({**about, "policy": policy}).encode(), SimulationRequest)
    with pytest.raises(interlace.InvalidOptions) as caught:
        interlace.simulate(about["graph"], about["cluster"], policy)
    assert said(caught.value) == said(simulated.value)
    with pytest.raises(InvalidRequest) as swept:
        read_body(json.dumps({**about, "policies": ["ddp", policy]}).encode(), SweepRequest)
    with pytest.raises(interlace.InvalidOptions) as caught:
        interlace.sweep(about["graph"], [about["cluster"]], ["ddp", policy])
    assert said(caught.value) == said(swept.value)


@pytest.mark.parametrize(
    "options",
    [
        {"buffers_bytes": [-1]},
        {"buffers_bytes": [1, 1]},
        {"buffer_bytes": [1]},
        {"timeout_us": "5"},
        {"time_limit_s": 0, "paper_eq15": 1},
    ],
    ids=str,
)
def test_options_of_predictions(options: Json) -> None:
    raw = two_layers()
    about = {"graph": raw["graph"], "cluster": raw["cluster"]}
    with pytest.raises(InvalidRequest) as predicted:
        read_body(json.dumps({**about, **options}).encode(), PredictionRequest)
    with pytest.raises(interlace.InvalidOptions) as caught:
        interlace.predict(about["graph"], [about["cluster"]], options)
    assert said(caught.value) == said(predicted.value)


#: Objects of Python, and the JSON that they are.
OBJECTS: dict[str, tuple[Any, Json, Any, Json]] = {
    "a cluster": (
        interlace.Cluster(0, -10.0, -1.0, algorithm="rng"),
        {"workers": 0, "bandwidth_gbps": -10, "startup_us": -1, "algorithm": "rng"},
        interlace.Options(),
        {},
    ),
    "channels": (
        interlace.Cluster(8, 10.0, channels=(("ib", interlace.Cluster(0, 2e9)),)),
        {
            "workers": 8,
            "bandwidth_gbps": 10,
            "channels": {"ib": {"workers": 0, "bandwidth_gbps": 2e9}},
        },
        interlace.Options(),
        {},
    ),
    "options": (
        interlace.Cluster(8, 10.0),
        {"workers": 8, "bandwidth_gbps": 10},
        interlace.Options("joynt", "jakson", -1.0, (interlace.Choice("dpd"),), seed=-1),
        {
            "fusion": "joynt",
            "schedule": "jakson",
            "slot_us": -1,
            "baselines": ["dpd"],
            "seed": -1,
        },
    ),
    "both": (
        interlace.Cluster(2.5, float("nan")),  # type: ignore[arg-type]
        {"workers": 2.5, "bandwidth_gbps": float("nan")},
        interlace.Options(time_limit_s=0.0),
        {"time_limit_s": 0},
    ),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_as_their_json(name: str) -> None:
    cluster, cluster_raw, options, options_raw = OBJECTS[name]
    graph = interlace.MODELS["vgg16"]()
    faults = planned(graph, cluster, options)
    assert faults == planned("vgg16", cluster_raw, options_raw)
    assert faults == planned(graph, cluster_raw, options)


def built(raw: Json) -> Said:
    """Build the ops of a graph as Python has them."""
    ops = [
        interlace.Op(**{"duration_us": None, **fields, "after": _pair(fields["after"])})
        for fields in raw["ops"]
    ]
    try:
        interlace.build(raw["name"], ops)
    except interlace.InvalidGraph as error:
        return {("/graph" + pointer, code, detail) for pointer, code, detail in said(error)}
    return set()


def _pair(after: Any) -> Any:
    return tuple(after) if isinstance(after, list) else after


#: Rows about ops that Python can say, too.
OPS = [
    *("a duration below 0", "a duration as a text", "no duration", "half a byte", "no bytes"),
    *("parts of elements", "a kind", "an op that is none", "an op twice", "an op after itself"),
    *("a circle", "a name for a list", "nothing to send", "nothing at all"),
]


@pytest.mark.parametrize("name", OPS)
def test_ops_that_are_built_as_their_json(name: str) -> None:
    raw = bad(name)
    assert built(raw["graph"]) == read(raw)


#: Values for one field of an op of two layers.
VALUES = st.sampled_from([None, True, "", "b2", "x", 3, -1, 4.0, 4.5, [], ["b2"], [3, "b2"], [[]]])
FIELDS = ("id", "after", "duration_us", "bytes", "channel", "stream", "element_bytes", "fuse_key")


@given(st.integers(0, 5), st.sampled_from(FIELDS), VALUES)
def test_any_value_of_an_op_is_refused_or_none_is(at: int, field: str, value: Any) -> None:
    """Whatever stands in a field, ``build`` ends with a graph or with faults."""
    raw = deepcopy(two_layers())["graph"]
    raw["ops"][at][field] = value
    faults = built(raw)
    assert all(pointer.startswith("/graph/ops") for pointer, _, _ in faults)
    if field in {"duration_us", "bytes"} and value in (True, 4.5, "x") and faults:
        assert any(code in {"wrong_type", "out_of_range"} for _, code, _ in faults)


FIGURES = st.one_of(
    st.sampled_from([None, "1", True, 0, -1, 2.5, 10**7, 1e-7, 1e7, 1e10]),
    st.sampled_from([float("nan"), float("inf"), 8, 8.5]),
)


@given(
    st.fixed_dictionaries(
        {"workers": FIGURES.filter(lambda value: value is not None)},
        optional=dict.fromkeys(
            (
                *("bandwidth_gbps", "startup_us", "negotiation_us_per_worker", "line_rate_share"),
                *("hop_us", "reduction_gbps", "compute_slowdown"),
            ),
            FIGURES,
        ),
    )
)
def test_the_solver_checks_a_cluster_in_the_words_of_the_reader(figures: Json) -> None:
    """Where the reader finds its figures wrong; and where it does not, the solver does not."""
    cluster = interlace.Cluster(**{"bandwidth_gbps": 10, **figures})
    ours = {("/cluster" + f.pointer, str(f.code), f.detail) for f in cluster_faults(cluster)}
    raw = {**two_layers(), "cluster": {"bandwidth_gbps": 10, **figures}}
    try:
        read_parsed(raw, PlanRequest)
        theirs: Said = set()
    except InvalidRequest as error:
        theirs = {fault for fault in said(error) if fault[1] != "missing_field"}
    assert ours == theirs


#: What clusters have in common, and what was measured.
COMMON: Json = {
    "workers": st.integers(1, 64),
    "startup_us": st.sampled_from([0.0, 5.0]),
    "compute_slowdown": st.sampled_from([1.0, 1.5]),
    "shares": st.sampled_from([None, "card"]),
    "channels": st.sampled_from([(), (("ib", interlace.Cluster(4, 100.0, hop_us=1.0)),)]),
}
MEASURED: Json = {
    **COMMON,
    "measured_workers": st.none() | st.integers(1, 9),
    "extrapolate": st.just(True),
}
GBPS = st.sampled_from([1.0, 10.0])
LINE: Json = {"algorithm": st.just("linear"), "us_per_byte": st.just(0.5)}
POINTS = ((1, 2.0), (5, 3.5))


def clusters(**fields: Any) -> st.SearchStrategy[interlace.Cluster]:
    return st.builds(interlace.Cluster, **fields)


@given(
    clusters(
        **COMMON,
        bandwidth_gbps=GBPS,
        hop_us=st.sampled_from([0.0, 1.0]),
        negotiation_us_per_worker=st.sampled_from([0.0, 2.0]),
        line_rate_share=st.sampled_from([1.0, 0.75]),
    )
    | clusters(**COMMON, algorithm=st.just("table"), table=st.just(POINTS))
    | clusters(**MEASURED, algorithm=st.just("table"), table=st.just(POINTS))
    | clusters(**MEASURED, bandwidth_gbps=GBPS, measured_gbps=GBPS, **LINE)
    | clusters(**MEASURED, bandwidth_gbps=GBPS, **LINE)
)
def test_a_cluster_that_is_read_costs_what_it_cost(cluster: Any) -> None:
    raw = {**two_layers(), "cluster": json.loads(json.dumps(cluster_json(cluster)))}
    request = None
    with suppress(InvalidRequest):  # what does not count, or does not do
        request = read_parsed(raw, PlanRequest)[1]
    assume(request is not None)
    again = request.cluster.to_cluster()
    assert (again.workers, again.shares) == (cluster.workers, cluster.shares)
    assert again.channels == cluster.channels
    assert again.compute_slowdown == cluster.compute_slowdown
    for size in (1, 3, 10**6):
        assert cost_of(again).time(size) == cost_of(cluster).time(size)
