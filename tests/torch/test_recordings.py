"""Training jobs recorded here and now: what they sent, on which channels, and how long it took."""

import gzip
import json
import statistics
from collections import Counter

import pytest

pytest.importorskip("torch")

from solver.graph import COMPUTE
from solver.traces import TraceOptions, read_trace

RANKS = {"ddp": 2, "accumulation": 2, "zero1": 2, "fsdp1": 2, "fsdp2": 2, "tp": 2, "hsdp": 4}
STEPS = 3


@pytest.fixture(scope="module", params=RANKS)
def job(request, recordings):
    """Unpacked traces of the ranks, and what one step sends."""
    place = recordings / request.param
    ranks = [gzip.decompress(path.read_bytes()) for path in sorted(place.glob("rank*.json.gz"))]
    assert len(ranks) == RANKS[request.param]
    return ranks, json.loads((place / "sent.json").read_text())


def test_every_step_carries_what_was_sent(job):
    ranks, sent = job
    expected = Counter({(one["kind"], one["channel"]): one["bytes"] for one in sent})
    for step in range(STEPS):
        trace = read_trace(ranks, TraceOptions("recorded", step=step))
        assert trace.report.steps == STEPS
        found: Counter = Counter()
        for op in trace.graph.ops:
            if op.kind != COMPUTE:
                found[op.kind, op.channel] += op.bytes
        assert found == expected
        workers = {channel.name: channel.workers for channel in trace.channels}
        assert workers == {one["channel"]: one["workers"] for one in sent}


def test_every_step_takes_as_long_as_measured(job):
    ranks, _ = job
    errors = []
    for files in (ranks, *([rank] for rank in ranks)):
        for step in range(STEPS):
            report = read_trace(files, TraceOptions("recorded", step=step)).report
            errors.append(abs(report.recorded_us / report.measured_us - 1))
    assert statistics.median(errors) <= 0.01
    assert max(errors) <= 0.03


def test_the_samples_are_launches_of_all_steps(job):
    ranks, sent = job
    found: Counter = Counter()
    for sample in read_trace(ranks, TraceOptions("recorded")).samples:
        assert sample.time_us > 0
        found[sample.kind, sample.channel] += sample.bytes
    most = {(one["kind"], one["channel"]): STEPS * one["bytes"] for one in sent}
    assert found.keys() == most.keys()
    assert found <= Counter(most)
