"""Timelines of jobs run in virtual time: the step that was recorded is the step simulated."""

from dataclasses import replace

import pytest

from solver.chain import chain_of
from solver.traces import TraceOptions, horovod
from tests import trace_files
from tests.horovod_loop import Job, drawn, layers_file, recorded
from tests.sampling import cases

#: 20 tensors of 4 MB, sent in buffers of four.
JOB = Job(sizes=[4_000_000] * 20, threshold=16_000_000)


def reports(job, *beside, seed=0):
    text, _ = recorded(job, seed)
    files = [text, *beside]
    return [
        horovod.read(files, TraceOptions("run", step=step)).report for step in range(job.steps - 1)
    ]


def apart(report):
    return abs(report.recorded_us / report.measured_us - 1)


@pytest.mark.parametrize("seed", range(cases(30, least=6, one_in=5)))
def test_a_recorded_step_is_simulated_within_three_percent(seed):
    """Any library, sizes, threshold, cycle, skew, with cached responses or without."""
    job = drawn(seed)
    assert max(map(apart, reports(job, seed=seed))) < 0.001
    assert max(map(apart, reports(job, layers_file(job), seed=seed))) < 0.03


@pytest.mark.parametrize("seed", range(cases(30, least=6, one_in=5)))
def test_the_recorded_step_is_as_long_as_the_job_took(seed):
    """From backward pass to backward pass; the file begins one cycle later at most."""
    job = replace(drawn(seed), jitter=0.0)
    text, lengths = recorded(job, seed)
    report = horovod.read([text], TraceOptions("run", step=1)).report
    assert report.measured_us == pytest.approx(lengths[1], abs=job.cycle + 2)


@pytest.mark.parametrize("library", ["NCCL", "MPI"])
def test_layers_of_another_model_are_told(library):
    """A profile that has half of the compute explains half: the rest is no negotiation."""
    job = replace(JOB, library=library, forward=200_000, backward=400_000)
    half = replace(job, forward=100_000, backward=200_000)
    report = reports(job, layers_file(half))[0]
    assert apart(report) > 0.3
    assert any("something of it is not in the graph" in said for said in report.warnings)
    assert max(map(apart, reports(job, layers_file(job)))) < 0.001


def test_a_loop_that_waits_for_operations_is_told():
    said = "Horovod looks for tensors between two operations only"
    for library, is_said in (("NCCL", False), ("MPI", True), ("GLOO", True)):
        report = reports(replace(JOB, library=library))[0]
        assert any(one.startswith(said) for one in report.assumed) == is_said


def test_tensors_sent_alone_tell_nothing_of_copies():
    said = "Every tensor was sent alone"
    for threshold, is_said in ((0, True), (16_000_000, False)):
        report = reports(replace(JOB, threshold=threshold, backward=1_000))[0]
        assert any(one.startswith(said) for one in report.assumed) == is_said


def test_tensors_that_the_gpu_has_later_wait_for_their_own_data():
    """All are announced in one cycle; by their layers, 2,000 us apart, the last comes at 40,000."""
    job = replace(JOB, host=0.001, cycle=5_000, steps=3)
    text, _ = recorded(job)
    trace = horovod.read([text, layers_file(job)], TraceOptions("run"))
    releases = chain_of(trace.graph).release
    assert releases == pytest.approx([2_000 * (i + 1) for i in range(20)], abs=job.round_trip)


def test_copies_are_part_of_the_cost():
    """100 us and 16 MB at 3,000 a us, copied in and out at 20,000; a tensor alone is not copied."""
    text, _ = recorded(replace(JOB, library="MPI", threshold=16_000_000, backward=1_000))
    samples = horovod.read([text], TraceOptions("run")).samples
    fused = [one.time_us for one in samples if one.bytes == 16_000_000]
    assert fused
    assert fused == pytest.approx([100 + 16e6 / 3_000 + 2 * 800] * len(fused), abs=2)
    text, _ = recorded(replace(JOB, threshold=0))
    alone = [one.time_us for one in horovod.read([text], TraceOptions("run")).samples]
    assert alone == pytest.approx([100 + 4e6 / 3_000] * len(alone), abs=22)


@pytest.mark.parametrize(("early", "times"), [(0, [18, 26]), (1, [18]), (2, [])])
def test_two_that_ran_at_once_tell_no_cost(early, times):
    """Of 400 and 800 bytes; the first is its own beside its last microsecond."""
    job = trace_files.Job((50, 1), (400, 800), steps=2, early=early)
    trace = horovod.read(trace_files.horovod(job), TraceOptions("run"))
    assert [one.time_us for one in trace.samples] == times * 2
    assert any("tell no cost" in said for said in trace.report.warnings) == (early > 1)
