"""What is wrong silently in a file of each format is refused or said: the check at the exit."""

import pytest

from solver.errors import InvalidTrace
from solver.graph import RecordedStep
from solver.traces import TraceOptions, read_trace
from tests import chakra_bytes, horovod_events
from tests.kineto_events import event, note, sized, small, text
from tests.solver import test_tensorflow, test_xla


def profile_of_the_cpu(library):
    """Three steps of 20 ms, in each three sums of 100, 200 and 300 MB: calls of 100 us."""
    events = []
    for number in (1, 2, 3):
        begin = 20_000 * number
        events.append(note(f"ProfilerStep#{number}", begin, 20_000))
        for k in (1, 2, 3):
            at = begin + 5_000 * k - 4_500
            args = {"Input Dims": [[25_000_000 * k]], "Input type": ["float"]}
            called = event(f"{library}:all_reduce", "user_annotation", at + 1_500, 100)
            events += [event("aten::mm", "cpu_op", at, 1_000), {**called, "args": args}]
    job = {"backend": library, "rank": 0, "world_size": 8}
    return text(events, distributedInfo=job)


@pytest.mark.parametrize("library", ["nccl", "rccl"])
def test_a_profile_of_the_cpu_alone_is_refused(library):
    """Annotations of NCCL last as long as the call that enqueues."""
    with pytest.raises(InvalidTrace) as caught:
        read_trace([profile_of_the_cpu(library)])
    (fault,) = caught.value.faults
    assert fault.code == "no_kernels"
    assert f"{library}:all_reduce" in fault.detail
    assert "Record CUDA activity too" in fault.detail


def test_annotations_of_gloo_are_the_launches_themselves():
    """Most are faster than any link, so their times tell no cost, as any others that are."""
    found = read_trace([profile_of_the_cpu("gloo")])
    assert found.report.measured_us == found.report.recorded_us == 20_000
    assert found.samples == ()
    (said,) = found.graph.recorded.unsound
    assert said == (
        "Channel network: 6 of 9 launches of all_reduce are faster than the fastest known link, "
        "14,400 Gbit/s (NVLink 6): their times are not those of a network. No cost is given."
    )


#: Of each format files whose launches are of so many bytes; the names of those without any.
FILES = {
    "kineto": lambda size: text(small(sized(size // 4), sized(size // 2))),
    "horovod": lambda size: horovod_events.text(
        horovod_events.steps(2, shapes=(f"[{size // 4}]",) * 3)
    ),
    "tensorflow": lambda size: test_tensorflow.text(
        [
            *test_tensorflow.HEAD,
            *test_tensorflow.COLLECTIVE,
            *(test_tensorflow.shown(2, name, size) for name in ("sum1", "sum2")),
        ]
    ),
    "xla": lambda size: test_xla.text(
        [*test_xla.CPU, *test_xla.cpu_run(0, 0), *test_xla.cpu_run(1, 0)]
    ),
    "chakra": lambda size: chakra_bytes.file(
        chakra_bytes.node(1, 4, 20, name="a"),
        chakra_bytes.node(2, 7, 5, after=[1], comm_type=0, comm_size=size),
    ),
}


@pytest.mark.parametrize("form", FILES)
def test_launches_faster_than_any_link_tell_no_cost(form):
    """Of a terabyte, in microseconds; the same files with a kilobyte pass."""
    for size, is_fast in ((1_000, False), (10**12, True)):
        options = TraceOptions("x", parameters=(("all-reduce.2", size),) if form == "xla" else None)
        found = read_trace([FILES[form](size)], options, form)
        assert bool(found.samples) == (not is_fast)
        recorded = found.graph.recorded or RecordedStep()
        said = [one for one in recorded.unsound if "No cost is given" in one]
        assert len(said) == is_fast
        assert set(said) <= set(found.report.warnings)


def test_the_files_that_were_wrong_silently(shared):
    folder = shared / "failing"
    with pytest.raises(InvalidTrace, match="Record CUDA activity too"):
        read_trace([(folder / "kineto_cpu_only_nccl.json").read_bytes()])
    content = (folder / "tf_horovod_overlapping_ops.json").read_bytes()
    found = read_trace([content])
    assert found.report.format == "tensorflow"
    assert found.report.recorded_us == pytest.approx(10_040, rel=0.01)
    assert found.report.measured_us == 10_040


def test_files_that_are_read_right_stay_so(shared):
    for path in sorted((shared / "passing").glob("*.json")):
        found = read_trace([path.read_bytes()])
        assert found.graph.recorded == RecordedStep(20_000, 20_000), path.name
        assert found.samples
