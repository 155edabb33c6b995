"""Who comes late, from the files of Kineto, the flight recorder and Horovod."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from solver.costs import Cluster, network_of
from solver.errors import InvalidTrace
from solver.evidence.evidence import evidence_of
from solver.graph import RecordedStep
from solver.traces import Total, TraceOptions, detect, flight_recorder, horovod, read_trace
from solver.traces.flight_recorder.repeats import SeriesLaunch, steps_of
from tests import horovod_events as hvd
from tests.kineto_events import AUTOGRAD, NCCL, kernel, note, sized, text
from tests.slow_rank_files import flight_dumps, horovod_file, kineto_files
from tests.slow_ranks import KINDS, made

FAILING = Path(__file__).parents[3] / "shared" / "data" / "failing"


def members_of(rows):
    found: dict[str, set[int]] = {}
    for row in rows:
        found.setdefault(row[4], set()).add(row[0])
    return {group: tuple(sorted(ranks)) for group, ranks in found.items()}


def of_files(files):
    return read_trace(files).report.arrivals


def check(found, truth):
    kind, rank, _, _, late = truth
    cause = found.causes[0]
    assert (cause.kind, cause.rank) == (kind, rank)
    assert cause.late_us == pytest.approx(late, rel=0.05)


@pytest.mark.parametrize("seed", [0, 1, 5, 8])  # compute, input, links of one group and of a rank
def test_kineto_files_of_several_ranks(seed):
    case = made(seed, KINDS[seed % 3], steps=8)
    files = kineto_files(case.rows, members_of(case.rows))
    trace = read_trace(files)
    check(trace.report.arrivals, case.truth)
    assert trace.report.arrivals.steps == 8
    recorded = trace.graph.recorded
    assert (recorded.late_us, recorded.late_rank) == (trace.report.arrivals.lost_us, case.truth[1])


@pytest.mark.parametrize("seed", [0, 7, 2, 41])  # compute, input, a link of one group, of pairs
def test_flight_recorders_of_several_ranks(seed):
    case = made(seed, KINDS[seed % 3])
    check(of_files(flight_dumps(case.rows, members_of(case.rows))), case.truth)


@pytest.mark.parametrize("seed", [0, 10])
def test_a_horovod_timeline(seed):
    case = made(seed, KINDS[seed % 3])
    assert {row[3] for row in case.rows} == {"network"}
    check(of_files([horovod_file(case.true)]), case.truth)


def ddp(late=0.0, steps=4, rank=0):
    """A rank of DDP: two launches of 10 us in a backward pass of 200 us that waits for neither.

    A step is 300 us, the update of 50 waits for both; one rank's compute comes ``late`` to the
    first launch, and its launches run for less long.
    """
    events, own = [], late if rank == 1 else 0.0
    length = 300 + late
    for k in range(steps):
        at, number = 1000 + k * length, 10 * k
        events.append(note(f"ProfilerStep#{k}", at, length))
        work = [(1, 0.0, 100 + own), (2, 100 + own, 200 + own), (3, 230 + late, 280 + late)]
        for i, begin, end in work:
            events += kernel(number + i, at + begin, at + begin + 0.1, at + end)
        for i, begin, end in ((4, 100 + own, 110 + late), (5, 200 + own, 210 + late)):
            launched, ran = kernel(number + i, at + begin - 0.5, at + begin, at + end,
                                   AUTOGRAD, NCCL, "ncclDevKernel_AllReduce")  # fmt: skip
            ran["args"] |= sized(25 if i == 4 else 50)
            events += [launched, ran]
    return text(events, distributedInfo={"world_size": 2, "rank": rank})


def test_what_is_late_to_both_launches_of_a_backward_pass_is_late_once():
    found = of_files([ddp(40.0, rank=0), ddp(40.0, rank=1)])
    [cause] = found.causes
    assert (cause.kind, cause.rank, cause.op) == ("late_input", 1, "all_reduce 1")
    assert cause.late_us == pytest.approx(40.0, abs=0.5)
    assert found.lost_us == pytest.approx(40.0, abs=0.5)
    assert of_files([ddp(rank=0), ddp(rank=1)]).causes == ()
    assert of_files([ddp(40.0, rank=0)]) is None


def test_steps_that_were_not_recorded_are_no_work():
    """A profiler records some steps, and some later on: nobody works in between."""

    def cut(rank):
        content = json.loads(ddp(40.0, steps=8, rank=rank))
        gone = range(3000, 4000)  # in the third and fourth step
        content["traceEvents"] = [e for e in content["traceEvents"] if int(e["ts"]) not in gone]
        return json.dumps(content).encode()

    [cause] = of_files([cut(0), cut(1)]).causes
    assert (cause.rank, cause.op) == (1, "all_reduce 1")
    assert cause.late_us == pytest.approx(40.0, rel=0.05)


def test_groups_of_unknown_ranks_are_left_out():
    case = made(1, KINDS[1], steps=4)
    files = []
    for file in kineto_files(case.rows, members_of(case.rows)):
        content = json.loads(file)
        for event in content["traceEvents"]:
            event["args"].pop("Process Group Ranks", None)
        files.append(json.dumps(content).encode())
    assert of_files(files) is None


def test_horovod_s_tensors_are_released_before_others_are_sent():
    """Ranks are ready for ``b`` while ``a`` is sent: rank 1 is late by its own work once."""
    events = [*hvd.HEAD, *hvd.named(1, "a"), *hvd.named(2, "b")]
    for k in range(5):
        at = 1000 + 1000 * k
        events += hvd.negotiated(1, at, at + 50, [(0, at), (1, at + 50)])
        events += hvd.negotiated(2, at + 60, at + 110, [(0, at + 60), (1, at + 110)])
        for pid, begin in ((1, at + 55), (2, at + 300)):
            part = [("NCCL_ALLREDUCE", begin + 1, begin + 100)]
            events += hvd.operated([pid], "ALLREDUCE", part, begin + 101, ["[25]"], begin)
    trace = horovod.read([hvd.text(sorted(events, key=lambda e: e.get("ts", 0)))], TraceOptions())
    [cause] = trace.report.arrivals.causes
    assert (cause.kind, cause.rank, cause.op, cause.late_us) == ("late_input", 1, "a", 50.0)


def dumped(*entries: dict, **top):
    entry = {
        "process_group": ["0", "default_pg"],
        "collective_seq_id": 1,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": 10**18,
        "time_discovered_completed_ns": 10**18 + 2000,
    }
    return json.dumps({"entries": [entry | more for more in entries or [{}]], **top}).encode()


def pickled(dump: bytes) -> bytes:
    """A dump as PyTorch pickles it, whose process groups are tuples."""
    content = json.loads(dump)
    for entry in content.get("entries", []):
        entry["process_group"] = tuple(entry["process_group"])
    return pickle.dumps(content, 2)


def test_pickles_are_read_as_their_json():
    case = made(0, KINDS[0])
    files = flight_dumps(case.rows, members_of(case.rows))
    assert read_trace([pickled(file) for file in files]) == read_trace(files)


def test_a_group_of_a_dump_is_no_larger_than_its_job():
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3, 4, 5, 6, 7]"}}
    for world, count in ((4, 1), ("4", 1), (8, 0), ({}, 0), (None, 0)):
        warnings = read_trace([dumped(pg_config=config, world_size=world)]).report.warnings
        said = "Process group 0 has 8 ranks, its job 4 (world_size): one of the two is wrong."
        assert sum(said in one for one in warnings) == count


def test_launches_without_a_number_are_none_of_several_ranks():
    files = [dumped({"collective_seq_id": None}, rank=rank) for rank in range(2)]
    assert of_files(files) is None


def test_one_dump_is_no_graph_and_tells_nobody():
    trace = flight_recorder.read(
        [dumped({}, {"time_discovered_completed_ns": None})], TraceOptions()
    )
    assert (trace.graph, trace.report.arrivals) == (None, None)
    assert trace.report.dropped == ("1 launch without begin or end.",)
    assert (
        trace.report.warnings[1] == "Dumps of two ranks or more, of one run, tell who comes late."
    )


def test_a_dump_that_was_cut_off_is_read_to_its_last_whole_entry():
    whole = dumped({}, {"collective_seq_id": 2}, {"collective_seq_id": 3})
    report = flight_recorder.read([whole[:-60]], TraceOptions()).report
    assert report.collectives == {"all_reduce": Total(2, 0)}
    assert report.repaired[0].startswith("The file was cut off after event 2; the ")
    both = [dumped(rank=0), dumped({}, {}, rank=1)[:-40]]
    assert flight_recorder.read(both, TraceOptions()).report.repaired[0].startswith("File 2: The")


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ([b'{"entries": [{"profiling_name": 1}]}'], "wrong_format", "profiling_name"),
        ([b'{"profiling_name": 1, "entries": 1}'], "wrong_format", "entries"),
        ([b'{"profiling_name": "x"'], "truncated", "cut off"),
        ([dumped({"time_created_ns": "x"})], "wrong_format", "time_created_ns"),
        ([dumped({"time_created_ns": 10**400})], "wrong_format", "time_created_ns"),
        ([pickled(dumped({"time_created_ns": 10**400}))], "wrong_format", "time_created_ns"),
        ([pickled(dumped(rank=0)), pickled(dumped())[:-1]], "wrong_format", "pickle is not read"),
        ([pickled(b'{"profiling_name": 1}')], "wrong_format", "No dump of PyTorch's flight rec"),
        ([dumped({"time_created_ns": None})], "no_collective", "No launch completed"),
        ([dumped({"time_created_ns": 2 * 10**18})], "no_collective", "No launch completed"),
        ([dumped(rank="1"), dumped(rank=1)], "ranks_differ", "This is rank 1, as file 1 is"),
    ],
)
def test_dumps_that_are_refused(files, code, said):
    with pytest.raises(InvalidTrace) as error:
        flight_recorder.read(files, TraceOptions())
    assert error.value.faults[0].code == code
    assert said in str(error.value)


def test_what_is_wrong_in_a_dump_has_its_place():
    with pytest.raises(InvalidTrace) as error:
        flight_recorder.read([dumped(rank=0), dumped({}, {"record_id": "x"})], TraceOptions())
    assert error.value.faults[0].pointer == "/files/1/entries/1/record_id"
    with pytest.raises(InvalidTrace, match="tensors in all are read") as error:
        flight_recorder.read([many_times(2**12, 2**11)], TraceOptions())
    assert error.value.faults[0].pointer == "/entries"


def many_times(tensors, launches):
    """A pickle that names one tensor, and one launch, many times."""
    entry = {"profiling_name": "nccl:all_reduce", "input_sizes": [[1]] * tensors}
    return pickle.dumps({"entries": [entry] * launches}, 2)


@pytest.mark.parametrize(
    ("more", "size"),
    [
        ({"input_sizes": [[2, 3]], "input_dtypes": ["Float"]}, 24),
        ({"output_sizes": [[4], [2]], "output_dtypes": ["Half"]}, 12),
        ({"input_sizes": [[2, -3]], "input_dtypes": ["Float"]}, 0),
        ({"input_sizes": [[2]], "input_dtypes": ["Mystery"]}, 0),
        ({"input_sizes": [[2], 7], "input_dtypes": ["Float"]}, 0),
        ({"input_sizes": 7, "input_dtypes": None}, 0),
    ],
)
def test_bytes_of_a_launch(more, size):
    report = flight_recorder.read([dumped(more)], TraceOptions()).report
    assert report.collectives == {"all_reduce": Total(1, size)}


def test_buffers_that_lost_their_first_launches():
    """Steps are told all the same; transfers are left out, as nothing numbers them."""
    case = made(41, KINDS[2])  # pairs of a ring
    files = []
    for i, file in enumerate(flight_dumps(case.rows, members_of(case.rows))):
        content = json.loads(file)
        content["entries"] = content["entries"][3 + i :]
        files.append(json.dumps(content).encode())
    assert of_files(files) is None
    case = made(0, KINDS[0])
    files = []
    for i, file in enumerate(flight_dumps(case.rows, members_of(case.rows))):
        content = json.loads(file)
        del content["rank"]
        content["entries"] = content["entries"][3 + i :]
        files.append(json.dumps(content).encode())
    found = of_files(files)
    check(found, case.truth)
    assert found.sentences[-1] == "Ranks are numbered as the files were given, from 0."


def test_a_pattern_that_comes_again_is_a_step():
    one = [SeriesLaunch("a", i, i % 3) for i in range(2, 14)]
    other = [
        launch
        for i in range(2, 14)
        for launch in (SeriesLaunch("a", i, i % 3), SeriesLaunch("b", i, 0))
    ]
    both, found = steps_of([one, other])
    places, more = both
    assert found
    assert [place for _, place in places] == [0, 1, 2] * 4
    assert [step for step, _ in places] == [i // 3 for i in range(12)]
    assert more[::2] == places
    assert more[1::2] == places
    late = [SeriesLaunch("a", 4, 1), *other[4:]]  # it begins within a step
    _, (_, *rest) = steps_of([one, late])[0]
    assert rest == more[4:]
    (alone,), found = steps_of([[SeriesLaunch("a", i, i) for i in range(4)]])
    assert (alone, found) == ([(0, 0), (1, 0), (2, 0), (3, 0)], False)


@pytest.mark.skipif(not FAILING.exists(), reason="the shared data is not there")
def test_a_dump_of_the_shared_data():
    content = (FAILING / "flight_recorder.json").read_bytes()
    assert detect([content]) == "flight_recorder"
    report = read_trace([content]).report
    assert report.collectives == {"all_reduce": Total(6, 6 * 10_485_760)}


def test_an_answer_says_what_was_lost():
    case = made(0, KINDS[0], steps=8)
    graph = read_trace(kineto_files(case.rows, members_of(case.rows))).graph
    late = graph.recorded.late_us / 1e3
    said = f"Of a recorded step {late:.3f} ms were lost to rank {case.truth[1]}, which no plan wins"
    network = network_of(Cluster(8, 10, 50))
    assert evidence_of(graph, network).sentences[-1].startswith(said)
    linked = replace(graph, recorded=RecordedStep(9.0, 9.0, 5.0))
    assert "lost to a slow link" in evidence_of(linked, network).sentences[-1]
    assert not any("lost" in s for s in evidence_of(graph, network, is_here=False).sentences)
