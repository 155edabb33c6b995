"""The public face: its names, and that it has no logic of its own."""

import ast
from pathlib import Path

import pytest

import interlace

NAMES = {
    *("Graph", "Op", "build", "with_barrier", "MODELS"),
    *("Cluster", "Cost", "alike", "network_of", "Compression", "Chunking"),
    *("plan", "Options", "Plan", "Choice", "POLICIES", "simulate", "chrome_trace", "explain"),
    *("headline", "program_headline", "Simulation", "Sweep", "from_json", "to_json", "__version__"),
    *("Change", "apply_changes", "compare", "predict", "shape", "mix", "allocate", "sweep"),
    *("Buffer", "plan_program", "ProgramProblem", "ProgramLimits", "ProgramOptions", "ProgramPlan"),
    *("calibrate", "read_measurements", "Fit", "estimate", "read_times", "runs_of"),
    *("AlgorithmRun", "tuner_table"),
    *("plan_placements", "PlacementOptions", "Key", "keys_of"),
    *("predict_parameter_server", "ThroughputOptions", "StepOp", "build_step", "step_of"),
    *("read_trace", "READERS", "export", "EXPORTS"),
    *("Fault", "InterlaceError", "InvalidGraph", "InvalidCluster", "InvalidOptions"),
    *("InvalidRequest", "InvalidTrace"),
}


def test_public_names() -> None:
    assert set(interlace.__all__) == NAMES
    assert all(hasattr(interlace, name) for name in NAMES)


def test_it_only_imports() -> None:
    """What type checkers are told is what ``getattr`` finds; there is no logic but that."""
    path = Path(interlace.__file__)
    _doc, *imports, names, homes, found, listed = ast.parse(path.read_text()).body
    *imports, checked = imports
    assert {type(statement) for statement in imports} == {ast.ImportFrom}
    assert isinstance(checked, ast.If)
    told = {}
    for statement in checked.body:
        assert isinstance(statement, ast.ImportFrom)
        for name in statement.names:
            told[name.asname or name.name] = f"{statement.module}.{name.name}"
    assert isinstance(names, ast.Assign)
    assert isinstance(homes, ast.Assign)
    assert ast.literal_eval(homes.value) == told
    assert sorted(told) == sorted(interlace.__all__) == dir(interlace)
    assert [getattr(each, "name", None) for each in (found, listed)] == ["__getattr__", "__dir__"]
    assert path.with_name("py.typed").exists()


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'interlace' has no attribute 'plans'"):
        interlace.plans  # noqa: B018


def test_from_a_model_to_an_export_and_back() -> None:
    graph = interlace.MODELS["resnet50"]()
    network = interlace.network_of(interlace.Cluster(8, bandwidth_gbps=10, startup_us=50))
    plan = interlace.plan(graph, network, interlace.Options(time_limit_s=1))
    fifo = interlace.simulate(graph, network, interlace.POLICIES["wfbp"])
    assert plan.lower_bound_us <= plan.iteration_time_us <= fifo.iteration_time
    told = interlace.headline(graph, network, interlace.Options(time_limit_s=1), plan)
    assert {gain.over for gain in told.gains} == {"ddp", "ddp_tuned"}
    assert told.sentence.startswith(
        "5.7 % less than DDP: too close to say under PyTorch's barrier; without a barrier 5.7 %"
    )
    assert told == interlace.headline("resnet50", network, {"time_limit_s": 1})
    chakra = interlace.export("chakra", network, plan, workers=2)
    first = chakra.files["plan.0.et"]
    assert isinstance(first, bytes)
    read = interlace.read_trace([first])
    assert read.graph is not None
    samples = [(2**k, 50 + 2**k / 1000) for k in range(8, 28)]
    measured = interlace.alike(interlace.calibrate(samples).cost)
    assert interlace.plan(graph, measured, interlace.Options(time_limit_s=1)).gap is not None
    (row,) = interlace.predict(graph, [(8, network)])
    assert 0 < row.osf <= 1
    cells = interlace.sweep(
        graph, [interlace.Cluster(n, bandwidth_gbps=10) for n in (2, 4)], [interlace.Choice("ddp")]
    )
    assert [cell.workers for cell in cells] == [2, 4]


def test_from_a_graph_of_free_order_to_a_program() -> None:
    """A gather of 10 us beside two ops of 10 us, of which one needs it."""
    ops = [
        interlace.Op("needs", "compute", 10.0, None, ("gather",), stream="gpu"),
        interlace.Op("other", "compute", 10.0, stream="gpu"),
        interlace.Op("gather", "all_gather", None, 8, cut=False),
    ]
    buffers = [interlace.Buffer("weight", 8, "gather", ("needs",))]
    graph = interlace.build("free", ops, buffers, ["gpu"])
    network = interlace.network_of(interlace.Cluster(2, startup_us=10, bandwidth_gbps=1e6))
    problem = interlace.ProgramProblem(graph, network, None, interlace.ProgramLimits(8))
    found = interlace.plan_program(problem, interlace.ProgramOptions(time_limit_s=1))
    assert isinstance(found, interlace.ProgramPlan)
    assert found.run.iteration_time == pytest.approx(20, abs=1e-3)
    assert found.run.peak_bytes == 8
    with pytest.raises(interlace.InterlaceError, match="plan_program"):
        interlace.plan(graph, network)


def test_from_a_graph_to_parameter_servers() -> None:
    graph = interlace.MODELS["vgg16"]()
    found = interlace.plan_placements(
        interlace.keys_of(graph), 850_000.0, 8, interlace.PlacementOptions(servers=4, simulated=())
    )
    assert found.bytes == sum(op.bytes or 0 for op in graph.ops)
    assert [each.need.servers for each in found.placements] == [1, 1, 4, 4]
    options = interlace.ThroughputOptions((1, 2), (10.0,), batch_size=32, steps=20, dropped=5)
    from_graph = interlace.predict_parameter_server([interlace.step_of(graph)], options)
    by_hand = interlace.build_step(
        [
            interlace.StepOp("pull", "downlink", bytes=10**6),
            interlace.StepOp("compute", "worker", 1000.0, after=("pull",)),
            interlace.StepOp("push", "uplink", bytes=10**6, after=("compute",)),
            interlace.StepOp("update", "server", 10.0, after=("push",)),
        ]
    )
    for throughput in (from_graph, interlace.predict_parameter_server([by_hand], options)):
        one, two = (row.examples_per_s for row in throughput.rows)
        assert 0 < one <= two <= 2.2 * one


def test_a_cluster_is_a_network() -> None:
    cluster = interlace.Cluster(8, bandwidth_gbps=10, startup_us=50)
    op = interlace.Op
    ops = [op("b", "compute", 9.0), op("g", "all_reduce", None, 10**6, ("b",))]
    graph = interlace.build("one", ops)
    network = interlace.network_of(cluster)
    assert interlace.plan(graph, cluster) == interlace.plan(graph, network)
    ddp = interlace.POLICIES["ddp"]
    assert interlace.simulate(graph, cluster, ddp) == interlace.simulate(graph, network, ddp)
    with pytest.raises(interlace.InterlaceError, match="Cluster: bandwidth_gbps must be 1e-06 to"):
        interlace.plan(graph, interlace.Cluster(8, bandwidth_gbps=-10))


def test_a_policy_by_its_function_is_checked_as_by_its_name() -> None:
    ops = [
        {"id": "c", "kind": "compute", "duration_us": 1},
        {"id": "a", "kind": "all_reduce", "bytes": 9, "after": ["c"]},
        {"id": "b", "kind": "all_gather", "bytes": 9, "after": ["a"]},
    ]
    cluster = {"workers": 4, "bandwidth_gbps": 10}
    for policy in ("pace", interlace.POLICIES["pace"]):
        with pytest.raises(interlace.InvalidOptions, match="pace is not defined where"):
            interlace.simulate({"ops": ops}, cluster, policy)
    for policy in interlace.POLICIES.values():
        assert interlace.simulate("vgg16", cluster, policy).iteration_time > 0
