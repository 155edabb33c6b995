"""The testbed: what it is made of, and a tiny run of it on loopback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.testbed import hosts, sleeping
from tests.testbed.halving import AFTER, STEPS
from tests.testbed.layers import ELEMENT, MODELS, shrunk, timed
from tests.testbed.outcome import Cell, Time, summary_of
from tests.testbed.plans import Launches, Question, each_alone, launch_time, planned, predicted
from tests.testbed.runtimes import RUNTIMES
from tests.testbed.sessions import ROOT

#: Published counts of parameters.
PARAMETERS = {"resnet50": 25_557_032, "vgg16": 138_357_544, "gpt2": 124_439_808}

#: A byte takes 1 us, a launch 10 us more.
CLUSTER = {"workers": 2, "algorithm": "table", "table": [[1, 11.0], [1000, 1010.0]]}


def backward(name: str, size: int, duration: float) -> list[dict]:
    compute = {"id": f"backward:{name}", "kind": "compute", "duration_us": duration}
    send = {"id": f"grad:{name}", "kind": "all_reduce", "bytes": size, "after": [compute["id"]]}
    return [{**compute, "stream": "worker"}, send]


def forward(name: str, duration: float) -> dict:
    own = {"id": f"forward:{name}", "kind": "compute", "duration_us": duration}
    return {**own, "stream": "worker", "after": [f"grad:{name}"]}


#: Two layers: ready after 100 and 200 us, used 50 us each in the other order.
QUESTION = Question(
    {
        "name": "two layers",
        "ops": [
            *backward("b", 40, 100.0),
            *backward("a", 20, 100.0),
            forward("a", 50.0),
            forward("b", 50.0),
        ],
    },
    CLUSTER,
)
BUCKETS = (("b",), ("a",))


@pytest.mark.parametrize("model", MODELS)
def test_layer_lists_are_the_published_models_made_smaller(model):
    steps = list(MODELS[model]())
    assert sum(n for step in steps for _, n in step.parameters) == PARAMETERS[model]
    made = shrunk(model, 10_000_000)
    assert made.bytes == pytest.approx(10_000_000, rel=1e-3)
    assert made.scale == pytest.approx(10_000_000 / ELEMENT / PARAMETERS[model])
    layers = timed(made, 300_000.0)
    assert sum(layer.forward_us for layer in layers) == pytest.approx(100_000)
    assert sum(layer.backward_us for layer in layers) == pytest.approx(200_000)
    names = [name for layer in layers for name, _ in layer.gradients]
    assert len(set(names)) == len(names)
    assert min(size for layer in layers for _, size in layer.gradients) >= ELEMENT


@pytest.mark.parametrize(
    ("launches", "expected"),
    [
        # b: 100..150, a: 200..230; forward from 230 on
        (Launches(BUCKETS, ((0, 40), (1, 20)), barrier=True), 330),
        (Launches(BUCKETS, ((0, 40), (1, 20)), barrier=False), 330),
        # in one bucket: 200..270
        (Launches((("b", "a"),), ((0, 60),), barrier=True), 370),
        # a: 200..230, b: 230..280; forward from 280 on, or a's from 230 on and b's from 280 on
        (Launches(BUCKETS, ((1, 20), (0, 40)), barrier=True), 380),
        (Launches(BUCKETS, ((1, 20), (0, 40)), barrier=False), 330),
        # b in two parts: 100..140, 140..160
        (Launches(BUCKETS, ((0, 30), (0, 10), (1, 20)), barrier=False), 330),
    ],
)
def test_launches_are_simulated_as_on_paper(launches, expected):
    assert predicted(QUESTION, launches) == pytest.approx(expected)


def test_each_tensor_alone_goes_in_the_order_of_release():
    assert each_alone(QUESTION) == Launches(BUCKETS, ((0, 40), (1, 20)), barrier=False)


@pytest.mark.parametrize("barrier", [True, False])
def test_a_plan_is_no_worse_than_fifo(barrier):
    plan = planned(QUESTION, barrier=barrier)
    assert predicted(QUESTION, plan) <= 330
    assert plan.barrier == barrier


def test_a_launch_costs_what_the_cluster_says():
    assert launch_time(CLUSTER, 500) == pytest.approx(510)


def test_launches_are_written_as_an_answer():
    launches = Launches((("x", "y"), ("z",)), ((0, 8), (1, 4), (0, 12)), barrier=False)
    answer = launches.answer({"x": 16, "y": 4, "z": 4})
    assert answer["buckets"][0] == {"id": "b0", "tensors": ["grad:x", "grad:y"], "bytes": 20}
    assert [(p["bucket"], p["offset_bytes"], p["bytes"]) for p in answer["schedule"]["parts"]] == [
        ("b0", 0, 8),
        ("b1", 0, 4),
        ("b0", 8, 12),
    ]


class Clock:
    """A clock that only sleeping moves, always 30 us too far."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds + 30e-6


def test_what_one_sleep_is_too_long_the_next_ones_are_shorter(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sleeping, "time", clock)
    rest = sleeping.Rest()
    for duration in (100.0, 5.0, 5.0, 200.0, 0.0, 1000.0):
        rest.sleep(duration)
    assert clock.now == pytest.approx(1310e-6 + 30e-6)
    assert rest.late_us == pytest.approx([30.0] * 3)


def test_the_summary_counts_errors_pairs_and_gains():
    def time(measured, predicted):
        return Time(measured, measured, measured, predicted, 1)

    one = {"ddp": time(100, 101), "planned": time(80, 78), "fifo": time(79, 90)}
    other = {"ddp": time(100, 100), "planned": time(104, 99)}
    cells = [Cell("m", 1.0, 50.0, 40.0, 0.0, one), Cell("m", 2.0, 50.0, 40.0, 0.0, other)]
    found = summary_of(cells)
    assert found.median_error == pytest.approx(0.025)
    assert found.worst_error == pytest.approx(11 / 79)
    # ddp and the two others; planned and fifo are too near to each other to count
    assert (found.pairs, found.pairs_right) == (3, 2)
    assert found.gains == pytest.approx({("m", 1.0): 0.2, ("m", 2.0): -0.04})


#: Listens until it is called; calls until it is heard.
LISTEN = "import socket; socket.create_server(('0.0.0.0', 5000)).accept()"
CALL = """
import socket, time
while True:
    try:
        socket.create_connection(({!r}, 5000))
        break
    except OSError:
        time.sleep(0.1)
"""


def namespaces_now() -> set[str]:
    listed = subprocess.check_output(["ip", "netns", "list"], text=True)
    return {line.split()[0] for line in listed.splitlines()}


def call_and_fail(own: set[str]) -> None:
    """Make hosts, have one call the other, and go wrong."""
    with hosts.namespaces(2, 100) as made:
        own.update(host.namespace for host in made)
        assert own < namespaces_now()
        with subprocess.Popen(made[0].command(sys.executable, "-c", LISTEN)) as server:
            call = CALL.format(made[0].address)
            subprocess.run(made[1].command(sys.executable, "-c", call), check=True)
            assert server.wait() == 0
        raise LookupError


@pytest.fixture
def leftover():
    """Name of a namespace of a run that is no more: process numbers end below its own."""
    if why := hosts.why_no_namespaces():
        pytest.skip(why)
    name = "interlace-testbed-4194305-0"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield name
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_hosts_reach_each_other_and_are_removed(leftover):
    own: set[str] = set()
    with pytest.raises(LookupError):
        call_and_fail(own)
    assert len(own) == 2
    assert not (own | {leftover}) & namespaces_now()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Folder of the page of two workers on loopback: the least of each part."""
    folder = tmp_path_factory.mktemp("testbed")
    command = [sys.executable, "-m", "tests.testbed", "--loopback", "--workers", "2"]
    command += ["--parts", "cells", "overhead", "halving", "trials"]
    command += ["--models", "vgg16", "--ratios", "1", "--megabytes", "0.1", "--mbit", "100"]
    command += ["--rounds", "1", "--steps", "1", "--calibration-s", "1"]
    command += ["--kept", str(folder / "kept.json"), "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_run_leaves_a_page(run: Path):
    content = json.loads((run / "testbed.json").read_text())
    (cell,) = content["cells"]["cells"]
    assert set(cell["times"]) == set(RUNTIMES)
    assert cell["times"]["fifo"]["launches"] == 32
    for time in cell["times"].values():
        assert 0 < time["least"] <= time["measured"] <= time["most"]
        assert time["predicted"] > 0
    (alike,) = content["overhead"]["cells"]
    assert {name: time["launches"] for name, time in alike["times"].items()} == {
        "ddp_one": 1,
        "barrier_one": 1,
    }
    (halved,) = content["halving"]["cells"]
    assert {phase: len(times) for phase, times in halved["phases_us"].items()} == {
        "before": STEPS,
        "after": AFTER,
        "anew": STEPS,
    }
    (tried,) = content["trials"]["cells"]
    (trial,) = tried["trials"]
    assert {arm["is_plan"] for arm in trial["arms"]} == {False, True}
    assert trial["above_best"] == trial["later_us"][trial["kept"]] / min(trial["later_us"]) - 1
    page = (run / "testbed.md").read_text()
    assert "launches paced at 100 Mbit/s" in page
    assert page.count("| vgg16 | ") == 4
    assert "- vgg16: " in page  # what Steering did
    assert (run / "testbed.svg").read_text().startswith("<?xml")
