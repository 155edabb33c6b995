"""The public face: its names, and that it has no logic of its own."""

import ast
from pathlib import Path

import interlace

NAMES = {
    *("Graph", "Op", "build", "with_barrier", "MODELS"),
    *("Cluster", "Cost", "alike", "network_of"),
    *("plan", "Options", "Plan", "Choice", "POLICIES", "simulate", "chrome_trace", "explain"),
    *("Change", "apply_changes", "predict", "sweep"),
    *("calibrate", "read_measurements", "Fit", "estimate", "read_times", "runs_of"),
    *("read_trace", "READERS", "export", "EXPORTS"),
    *("Fault", "InterlaceError"),
}


def test_public_names() -> None:
    assert set(interlace.__all__) == NAMES
    assert all(hasattr(interlace, name) for name in NAMES)


def test_it_only_imports() -> None:
    path = Path(interlace.__file__)
    _doc, *statements = ast.parse(path.read_text()).body
    *imports, names = statements
    assert {type(statement) for statement in imports} == {ast.ImportFrom}
    assert isinstance(names, ast.Assign)
    assert path.with_name("py.typed").exists()


def test_from_a_model_to_an_export_and_back() -> None:
    graph = interlace.MODELS["resnet50"]()
    network = interlace.network_of(interlace.Cluster(8, bandwidth_gbps=10, startup_us=50))
    plan = interlace.plan(graph, network, interlace.Options(time_limit_s=1))
    fifo = interlace.simulate(graph, network, interlace.POLICIES["wfbp"])
    assert plan.lower_bound_us <= plan.iteration_time_us <= fifo.iteration_time
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
