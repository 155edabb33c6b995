"""The recorded step beside its simulation, on paper: whatever the format."""

import gzip
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from solver.graph import COMPUTE, Op, build
from solver.traces import READERS, Trace, TraceOptions
from solver.traces.exit_check import TraceStep, checked, is_far
from solver.traces.report import report_of
from tests import chakra_bytes, horovod_events
from tests.solver import test_astra_text, test_dnn_partitioning, test_tensorflow

DATA = Path(__file__).parents[1] / "data"
#: Formats of which the recorded step is compared with its simulation.
RECORDED = {"kineto", "pytorch_et", "xla", "tensorflow", "horovod"}

#: 10 us, then 5 us of communication, then 1 us.
GRAPH = build(
    "x",
    [
        Op("a", COMPUTE, 10.0),
        Op("r", "all_reduce", None, 8, ("a",)),
        Op("b", COMPUTE, 1.0, None, ("r",)),
    ],
)


def trace(measured_us=16.0, measured=(("r", 5.0),)):
    report = report_of("x", GRAPH, assumed=["first"], measured_us=measured_us)
    return Trace(GRAPH, report, measured)


def test_a_format_without_times_is_not_compared():
    assert checked(trace()) == trace()


@pytest.mark.parametrize(
    ("measured_us", "far"),
    [
        (16.0, False),
        (15.6, False),  # 2.6 % longer than measured
        (15.5, True),  # 3.2 %
        (16.6, True),  # 3.6 % shorter
        (None, False),  # nothing to compare with
        (0.0, False),
    ],
)
def test_a_recorded_step_is_simulated(measured_us, far):
    report = checked(trace(measured_us), TraceStep()).report
    assert (report.recorded_us, report.assumed, report.warnings) == (16.0, ("first",), ())
    assert is_far(report) == far


def test_a_format_explains_the_comparison_and_may_have_run_otherwise():
    ran = build("x", [*GRAPH.ops, Op("c", COMPUTE, 4.0, None, ("b",))])
    explain = lambda one: ([f"took {one.report.recorded_us}"], ["so it is"])
    report = checked(trace(), TraceStep(explain, ran)).report
    assert report.recorded_us == 20.0
    assert (report.assumed, report.warnings) == (("first", "took 20.0"), ("so it is",))
    assert report.ops == 3


def test_a_step_that_cannot_be_simulated_is_said():
    """Each of two collectives of a channel after the other: by the graph, and as they ran."""
    ops = [Op("r", "all_reduce", None, 8), Op("s", "all_reduce", None, 8, ("r",))]
    graph = build("x", [Op("a", COMPUTE, 1.0), *ops])
    odd = Trace(graph, report_of("x", graph), (("s", 1.0), ("r", 1.0)))
    report = checked(odd, TraceStep()).report
    assert report.recorded_us is None
    assert report.warnings == (
        "The step cannot be simulated as recorded: The recorded order of the collectives "
        "contradicts the graph.",
    )


SMALL = {
    "kineto": ["kineto_gloo_0.json.gz"],
    "pytorch_et": ["et_gloo.json.gz", "et_gloo_kineto.json.gz"],
    "xla": ["jax_profile.json.gz", "jax_hlo.txt.gz"],
    "tensorflow": [
        test_tensorflow.text(
            [
                *test_tensorflow.HEAD,
                *test_tensorflow.COLLECTIVE,
                *(test_tensorflow.shown(2, name, 400) for name in ("sum1", "sum2")),
            ]
        )
    ],
    "dlc": ["dlc_w0.txt"],
    "horovod": [horovod_events.text(horovod_events.steps())],
    "pipedream": [
        b"node1 -- Linear -- forward_compute_time=1, backward_compute_time=1, parameter_size=4"
    ],
    "dnn_partitioning": [json.dumps(test_dnn_partitioning.SMALL).encode()],
    "astra_text": [test_astra_text.SMALL.encode()],
    "chakra": [
        chakra_bytes.file(
            chakra_bytes.node(1, 4, 20, name="a"),
            chakra_bytes.node(2, 7, 5, after=[1], comm_type=0, comm_size=8),
        )
    ],
}


@pytest.mark.parametrize("form", READERS)
def test_what_a_reader_returns_has_passed_the_check(form, monkeypatch):
    passed = []

    def noted(*args):
        passed.append(checked(*args))
        return passed[-1]

    for name, module in list(sys.modules.items()):
        if name.startswith("solver.traces.") and getattr(module, "checked", None) is checked:
            monkeypatch.setattr(module, "checked", noted)
    files = [unpacked(file) if isinstance(file, str) else file for file in SMALL[form]]
    found = READERS[form](files, TraceOptions("x"))
    (one,) = passed
    assert found.graph is not None
    assert found == replace(one, report=found.report)
    assert found.report.recorded_us == one.report.recorded_us
    assert (found.report.recorded_us is None) == (form not in RECORDED)


def unpacked(name):
    content = (DATA / name).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content
