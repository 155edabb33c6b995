"""Logs of launches: what people attach to reports, read back to what was measured."""

import json
import pickle
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.calibration.measurements import READERS, detect, read_measurements, read_runs
from solver.calibration.measurements.lines import untagged
from solver.calibration.measurements.logs.ddp_logging import DdpTimes, times_of
from solver.calibration.measurements.logs.flight_recorder import as_text
from solver.errors import InterlaceError, InvalidMeasurements
from solver.flight_recorder.pickled import MAX_PICKLE_BYTES, unpickled
from tests.launch_logs import (
    AUTOTUNE,
    DDP,
    DEEPSPEED,
    DEEPSPEED_HEAD,
    IMB,
    IMB_ROWS,
    INSPECTOR,
    KIB,
    MIB,
    MSCCLPP,
    MSCCLPP_JSON,
    NCCL_HEAD,
    NCCL_ROW,
    ONECCL,
    ONECCL_CSV,
    RECORDER,
    dumped,
    entry,
    inspected,
    lines_of,
    mpi_table,
    summary_row,
)


def told(text, form=None, workers=None):
    """What each run is: kind, ranks and samples."""
    return [(run.kind, run.workers, run.samples) for run in read_runs(text, form, workers)]


@pytest.mark.parametrize(
    ("form", "text", "runs"),
    [
        (
            "nccl_inspector",
            INSPECTOR,
            [("all_reduce", 2, ((MIB, 61.0), (8 * MIB, 181.0), (64 * MIB, 1101.0)))],
        ),
        ("flight_recorder", RECORDER, [("all_reduce", 2, ((10_485_760, 2500.0),) * 6)]),
        (
            "deepspeed",
            DEEPSPEED,
            [
                ("all_gather", 16, ((128 * KIB, 80.0), (50 * MIB, 6610.0))),
                ("reduce_scatter", 16, ((50 * MIB, 7000.0),)),
                ("all_reduce", 16, ((11_796_480, 3090.0),)),
            ],
        ),
        ("imb", IMB, [("all_reduce", 4, ((4096, 22.82), (MIB, 231.72)))]),
        ("oneccl", ONECCL, [("all_reduce", 4, ((4096, 22.82), (MIB, 231.72)))]),
        (
            "oneccl_csv",
            ONECCL_CSV,
            [("all_reduce", 4, ((4096, 22.8),)), ("all_gather", 4, ((4 * 4096, 32.8),))],
        ),
        ("mscclpp", MSCCLPP, [("all_reduce", 8, ((MIB, 33.11), (256 * MIB, 3375.44)))]),
        ("mscclpp_json", MSCCLPP_JSON, [("all_reduce", 8, ((MIB, 33.11), (4 * MIB, 72.43)))]),
    ],
)
def test_a_log_is_found_by_its_content_and_read(form, text, runs):
    assert detect(text) == form
    assert told(text) == told(text, form) == runs
    assert detect("\ufeff\n" + text.replace("\n", "\r\n")) == form


@pytest.mark.parametrize(
    ("place", "runs"),
    [
        (
            "nccl_inspector.jsonl",
            [("all_reduce", 2, ((MIB, 61.0), (8 * MIB, 181.0), (64 * MIB, 1101.0)) * 5)],
        ),
        ("flight_recorder.json", told(RECORDER)),
        ("deepspeed_comms_summary.txt", told(DEEPSPEED)),
        (
            "imb_allreduce.txt",
            [
                (
                    "all_reduce",
                    4,
                    ((4096, 22.82), (65536, 35.11), (MIB, 231.72), (4 * MIB, 860.86)),
                )
            ],
        ),
        (
            "oneccl_benchmark.txt",
            [
                (
                    "all_reduce",
                    4,
                    ((4096, 22.82), (65536, 35.11), (MIB, 231.72), (16 * MIB, 3377.44)),
                )
            ],
        ),
    ],
)
def test_the_files_that_were_refused(shared, place, runs):
    assert told((shared / "failing" / place).read_text()) == runs


def test_the_other_files_that_were_refused(shared):
    (mscclpp,) = read_runs((shared / "failing/mscclpp_test.log").read_text())
    assert (mscclpp.kind, mscclpp.workers) == ("all_reduce", 8)
    assert (mscclpp.samples[0], mscclpp.samples[-1]) == ((MIB, 33.11), (256 * MIB, 3375.44))
    (nccl,) = read_runs((shared / "failing/nccl_tests_prefix_mid_line.log").read_text())
    assert (nccl.kind, nccl.workers, nccl.notes) == ("all_reduce", 4, ())
    assert nccl.samples[:2] == ((MIB, 92.4),) * 2
    assert len(nccl.samples) == 14
    osu = (shared / "passing/osu_allgather.txt").read_text()
    assert told(osu, workers=4)[0][2][0] == (4 * 1024, 13.58)
    for place, says in (
        ("horovod_autotune.csv", "cycle time of 25 ms with a fusion threshold of 16 MiB"),
        ("ddp_logging_data.json", "8 workers, 5 buckets of 102,228,128 bytes, forward pass 40 ms"),
    ):
        with pytest.raises(InvalidMeasurements, match=says):
            read_runs((shared / "failing" / place).read_text())


# launchers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tag",
    [
        "[0]",
        "[1,0]<stdout>:",
        "[1,12]<stdout>: ",
        "node3: ",
        " gpu-7.rack2: ",
        " 0: ",
        "[2024-05-01 10:00:00]",
        " 2024-05-01 10:00:00 ",
        " 2024-05-01T10:00:00.123456Z ",
        " 10:00:00,123: ",
        "[rank0]: ",
    ],
)
def test_tags_of_a_launcher_may_stand_anywhere(tag):
    rows = NCCL_ROW.format(tag, tag, tag) + NCCL_ROW.format("", tag, "")
    (run,) = read_runs(f"# all_reduce_perf\n{NCCL_HEAD}{rows}")
    assert (run.kind, run.samples) == ("all_reduce", ((MIB, 92.4),) * 4)
    table = f"#bytes #repetitions t_min[usec] t_max[usec]\n{tag}4096 100{tag} 1.5{tag} 2.5\n"
    assert told("# Benchmarking Allreduce\n" + table)[0][2] == ((4096, 2.5),)


@pytest.mark.parametrize("tag", ["[0]", "[1,0]<stdout>:"])
def test_a_header_may_have_tags_of_a_launcher_inside(tag):
    head = NCCL_HEAD.replace("root ", f"root{tag} ")
    (run,) = read_runs(f"# all_reduce_perf\n{head}{NCCL_ROW.format(tag, tag, tag)}")
    assert (run.kind, run.samples) == ("all_reduce", ((MIB, 92.4),) * 2)


def test_devices_are_no_tags():
    line = "#  Rank  0 Pid 1 on node0 device  0 [0000:07:00] NVIDIA A100"
    assert untagged(line) == line
    assert untagged("[1,0]<stdout>:" + line) == " " + line


# NCCL Inspector ----------------------------------------------------------------------------------


def test_the_inspectors_shares_are_those_of_one_rank():
    text = lines_of(
        inspected(coll, MIB, 60, rank=rank, ranks=4)
        for coll in ("AllGather", "ReduceScatter", "Broadcast")
        for rank in range(4)
    )
    assert told(text) == [
        ("all_gather", 4, ((4 * MIB, 60.0),)),
        ("reduce_scatter", 4, ((4 * MIB, 60.0),)),
        ("broadcast", 4, ((MIB, 60.0),)),
    ]


def test_the_inspectors_later_form_has_the_header_once():
    """From 4.3 on; the number of a launch may come again in another job's file."""
    head = inspected(rank=1)
    marker = {key: head[key] for key in ("header", "metadata")}
    marker["dump_stats"] = {"coll_records": 2, "coll_dropped_total": 7}
    body = {"coll_perf": inspected(us=50)["coll_perf"]}
    (run,) = read_runs(lines_of([marker, body, body, {"proxy_trace": {}}, {"p2p_perf": {}}]))
    assert (run.workers, run.samples, run.hosts) == (2, ((MIB, 50.0),) * 2, ("h1",))
    assert run.notes == (
        "1 left out: sends and receives.",
        "The plugin dropped 7 records before it wrote them.",
        "2 of 2 launches have no record of some ranks: the slowest of those that are there counts.",
    )


def test_the_inspector_leaves_out_and_says_so():
    records = [
        inspected(us=60),
        inspected(us=61, rank=1),
        inspected("SendRecv", number=2),
        inspected(us=5, number=3, coll_timing_source="collective_cpu"),
        inspected(us=0, number=4),
    ]
    flat = inspected(number=5, us=70)
    flat = flat.pop("header") | flat.pop("metadata") | flat
    text = json.dumps(records[0], indent=1) + lines_of([*records[1:], flat]) + '{"coll_perf": {"co'
    (run,) = read_runs(text)
    assert run.samples == ((MIB, 61.0), (MIB, 70.0))
    assert run.notes[:-1] == (
        "1 left out: SendRecv, no collective of graphs.",
        "1 left out: times of the host alone (collective_cpu).",
        "1 left out: times of 0 us.",
        "1 left out: the last record, which is cut off.",
    )


def test_groups_of_several_sizes():
    text = lines_of(inspected(ranks=ranks, number=ranks, us=10 * ranks) for ranks in (2, 8, 4))
    assert told(text)[0][1:] == (8, ((MIB, 80.0),))
    assert told(text, workers=4)[0][1:] == (4, ((MIB, 40.0),))
    assert read_runs(text)[0].notes[0].startswith("The file has launches of 2, 4 and 8 ranks: tho")


def test_a_summary_that_was_cut_off_is_read_to_its_last_whole_row():
    text = DEEPSPEED.rstrip()
    cut = text[: text.rindex("30.54") - 2]
    assert told(cut) == told(DEEPSPEED)[:2]
    assert read_runs(cut)[0].notes == ("The file was cut off in its last row, which is left out.",)
    with pytest.raises(InvalidMeasurements, match="a row has total and average latency"):
        read_runs(f"{cut}\n")


# the flight recorder -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dims", "out", "dtype", "kind", "size"),
    [
        ("nccl:_all_gather_base", (64,), (128,), "BFloat16", "all_gather", 256),
        ("nccl:_reduce_scatter_base", (128,), (64,), "Half", "reduce_scatter", 256),
        ("nccl:all_to_all", (8, 8), (8, 8), "Double", "all_to_all", 512),
        ("xccl:broadcast", (3, 5), (3, 5), "Byte", "broadcast", 15),
        ("all_reduce", (4,), (4,), "Float", "all_reduce", 16),
    ],
)
def test_the_bytes_of_the_recorder(name, dims, out, dtype, kind, size):
    text = json.dumps(dumped(entry(name, dims, out=out, dtype=dtype)))
    assert told(text) == [(kind, 2, ((size, 2500.0),))]


def test_the_recorder_knows_its_groups():
    dump = dumped(entry(), entry(process_group=["7", "tp"], ms=1.5))
    dump["pg_config"]["7"] = {"name": "7", "desc": "tp", "ranks": "[0, 1, 2, 3]"}
    assert told(json.dumps(dump), workers=2) == [("all_reduce", 2, ((10_485_760, 2500.0),))]
    assert told(json.dumps(dump)) == [("all_reduce", 4, ((10_485_760, 1500.0),))]


FEW = (
    "1 of 1 launches lack the times of some ranks, and may hold waiting for late ones: give the "
    "dumps of all ranks to have the least."
)


def of_ranks(*of_ranks, numbers=None):
    """Dumps one after another, each of a rank with its times of launches 1, 2, ... [ms]."""
    return "\n".join(
        json.dumps(
            dumped(
                *(entry(ms=ms, collective_seq_id=k) for k, ms in enumerate(own, 1)),
                rank=str(rank if numbers is None else numbers[rank]),
            )
        )
        for rank, own in enumerate(of_ranks)
    )


def test_of_the_recorder_of_several_ranks_the_last_to_come_counts():
    """Rank 1 comes 3 ms late to the first launch, rank 0 1 ms to the second."""
    (run,) = read_runs(of_ranks((5.5, 2.5), (2.5, 3.5)))
    assert [time for _, time in run.samples] == [2500.0, 2500.0]
    assert run.notes == ()


@pytest.mark.parametrize(
    ("text", "times", "few"),
    [
        (of_ranks((5.5, 2.5), (2.5,)), [2500.0, 2500.0], "1 of 2 launches lack"),
        # one rank twice: dumps of two runs, whose launches are others
        (of_ranks((5.5,), (2.5,), numbers=(0, 0)), [5500.0, 2500.0], "2 of 2 launches lack"),
        # a launch without a number may be any
        ("\n".join([json.dumps(dumped(entry()))] * 2), [2500.0, 2500.0], "2 of 2 launches lack"),
    ],
)
def test_launches_that_are_not_of_all_ranks_are_told(text, times, few):
    (run,) = read_runs(text)
    assert [time for _, time in run.samples] == times
    assert run.notes[0].startswith(few)


def test_pickles_and_json_of_several_ranks_are_read_as_one():
    one, other = of_ranks((5.5,), (2.5,)).splitlines()
    packed = as_text(pickle.dumps(json.loads(other)))
    for text in (f"{one}\n{packed}", f"{packed}\n{one}", f"{packed}\r\n\ufeff{one}\n"):
        assert told(text) == [("all_reduce", 2, ((10_485_760, 2500.0),))]


def test_a_dump_that_was_cut_off_is_read_to_its_last_whole_entry():
    """Wherever it ends, what is read is what the whole dump has first, and it is said."""
    whole = json.dumps(dumped(*(entry(ms=k + 0.5) for k in range(3)), world_size=2))
    begin = whole.index('"entries"')
    second = whole.index('{"process_group"', begin + 50)
    for end in range(second, len(whole)):
        (run,) = read_runs(whole[:end])
        count = len(run.samples)
        assert run.samples == read_runs(whole)[0].samples[:count]
        assert run.notes[0] == f"A dump was cut off after entry {count}: what is before is read."
        assert run.workers == 2
    with pytest.raises(InvalidMeasurements, match="not whole JSON"):
        read_runs(whole[: second - 20], "flight_recorder")
    with pytest.raises(InvalidMeasurements, match="not whole JSON"):
        read_runs(whole.replace('"duration_ms": 2.5', '"duration_ms": ?'))


def test_a_dump_that_was_cut_off_stands_beside_whole_ones():
    """As PyTorch sorts its keys, groups come after the entries: the other rank tells them."""
    one, other = of_ranks((5.5, 2.5), (2.5, 3.5)).splitlines()
    swapped = json.dumps(dict(sorted(json.loads(other).items())))
    cut = swapped[: swapped.index('"pg_config"')]
    for text in (f"{cut}\n{one}", f"{one}\n{cut}"):
        (run,) = read_runs(text)
        assert (run.workers, [time for _, time in run.samples]) == (2, [2500.0, 2500.0])


def test_the_recorder_leaves_out_and_says_so():
    entries = [
        entry(),
        entry("nccl:send 0->1"),
        entry("nccl:coalesced"),
        entry(state="started"),
        entry(ms=None),
        entry(dtype="Funny"),
    ]
    (run,) = read_runs(json.dumps(dumped(*entries)))
    assert run.samples == ((10_485_760, 2500.0),)
    assert run.notes == (
        "1 left out: send, no collective of graphs.",
        "1 left out: coalesced, no collective of graphs.",
        "1 left out: not completed.",
        "1 left out: no duration_ms: record with TORCH_NCCL_ENABLE_TIMING=1.",
        "1 left out: its bytes are unknown.",
        FEW,
    )
    with pytest.raises(InvalidMeasurements, match="record with TORCH_NCCL_ENABLE_TIMING=1"):
        read_runs(json.dumps(dumped(entry(ms=None))))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_read_as_its_json(protocol):
    frames = [{"name": "f", "filename": "g", "line": 1}]  # one object, as PyTorch writes it
    dump = dumped(*(entry(ms=k + 0.5, frames=frames) for k in range(3)))
    for one in dump["entries"]:
        one["process_group"] = ("0", "default_pg")
    text = as_text(pickle.dumps(dump, protocol))
    assert detect(text) == "flight_recorder"
    assert told(text) == told(json.dumps(dump))


class Named:
    """What a pickle may not name."""


def ladder(levels):
    """A pickle of a tuple of itself, so often that a hash of it takes 2**levels steps."""
    steps = b"".join(
        b"h" + bytes([k]) * 1 + b"h" + bytes([k]) + b"\x86q" + bytes([k + 1]) for k in range(levels)
    )
    return b"\x80\x02}K\x01\x85q\x00" + steps + b"K\x01s."


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pickle.dumps(Named, 2), "it names .*Named, and plain data names nothing"),
        (b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00lstR.", "it names os.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "it names os.system"),
        (b"\x80\x02}q\x00(X\x01\x00\x00\x00ah\x00u", "broken"),  # ends in the middle
        (b"\x80\x02\x8a\x05ab", "broken|truncated|exhausted"),
        (b"\x80\x02r\xff\xff\xff\x7f.", "broken"),  # a memo of an index that is not there
        (b"\x80\x02K\x01r\xff\xff\xff\x7f0(" + b"(" * 1000 + b".", "broken"),
        (b"\x80\x0590b\x81.", "broken"),  # objects are not known
        (ladder(40), "uses a tuple of lists, tuples or objects twice"),
        (b"\x80\x02" + b"N" * MAX_PICKLE_BYTES, "longer than"),
        (b"\x80\x02" + struct.pack("<cI", b"X", 2**31) + b"a.", "broken|exhausted|truncated"),
    ],
)
def test_pickles_that_are_refused(content, says):
    with pytest.raises(InterlaceError, match=says):
        unpickled(content)


def test_a_pickle_that_names_one_tensor_many_times():
    wide = entry(dims=[1] * 60)
    wide["input_sizes"] *= 2**12
    with pytest.raises(InvalidMeasurements, match="4,194,304 tensors in all"):
        read_runs(as_text(pickle.dumps(dumped(*[wide] * 2**11), 2)))


# DeepSpeed ---------------------------------------------------------------------------------------


def summary(kind, size, us, ranks, *, counted, shares):
    """A row as a version prints it that counts the bytes so many times."""
    rate = counted * size / us / 125
    return summary_row(
        f"{size / MIB:.2f} MB", 5, us / 1e3, rate, rate * shares * (ranks - 1) / ranks / counted
    )


@pytest.mark.parametrize("ranks", [2, 3, 8, 16, 24])
@pytest.mark.parametrize("twice", [1, 2])
@pytest.mark.parametrize("is_share", [False, True])
def test_what_versions_of_deepspeed_count(ranks, twice, is_share):
    """An all-reduce once or twice; an all-gather as it is, or one rank's share for each."""
    scale = ranks if is_share else 1
    text = DEEPSPEED_HEAD + "all_reduce | [Caller Func: _average]\n"
    text += summary("", 64 * MIB, 9_000.0, ranks, counted=twice, shares=2)
    assert told(text) == [("all_reduce", ranks, ((64 * MIB, 9000.0),))]
    text += "all_gather\n" + summary("", 64 * MIB, 9_000.0, ranks, counted=scale, shares=scale)
    text += "barrier\n" + summary_row("0B", 5, 1.0, 0, 0)
    assert told(text) == [
        ("all_reduce", ranks, ((64 * MIB, 9000.0),)),
        ("all_gather", ranks, ((64 * MIB * scale, 9000.0),)),
    ]
    assert "Left out: barrier, no collectives of graphs." in read_runs(text)[0].notes


def test_single_launches_count_in_place_of_their_summary():
    said = "[2024-05-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] comm op: "
    row = "{} | time (ms): {} | msg size: {} | algbw (Gbps): {} | busbw (Gbps): {}"
    lines = [
        row.format("all_reduce", "3.09", "11.25 MB", "30.54", "57.27"),
        row.format("all_reduce | [Caller Func: f]", "4.09", "11.25 MB", "23.07 ", "43.26"),
        row.format("barrier", "1.09", "0B", "0.00", "0.00"),
    ]
    text = "".join(f"{said}{line}\n" for line in lines)
    size = 11_796_480
    assert detect(text) == "deepspeed"
    assert told(text) == [("all_reduce", 16, ((size, 3090.0), (size, 4090.0)))]
    (run,) = read_runs(text + DEEPSPEED)
    assert run.samples == ((size, 3090.0), (size, 4090.0))
    assert run.notes[0] == "Single launches are read, and not the summary of them."
    with pytest.raises(InvalidMeasurements, match="Line 1: the figures of a launch must be numb"):
        read_runs(text.replace("3.09", "3.0.9"))


def test_deepspeed_with_stragglers():
    second = DEEPSPEED_HEAD.replace("Total Latency(ms)  ", "Total comm lat(ms) ").replace(
        "Avg Latency(ms)     tput_avg (Gbps)     busbw_avg (Gbps)",
        "Total straggler(ms) Avg comm lat(ms)    Avg straggler(ms)",
    )
    rows = DEEPSPEED + "____\nBreakdown with straggler effect\n----\n" + second
    rows += "all_reduce\n" + " " * 20 + "11.25 MB   4   10.00    2.36    2.50     0.59\n"
    assert told(rows)[-1] == ("all_reduce", 16, ((11_796_480, 2500.0),))
    assert "without the wait for late ranks" in read_runs(rows)[-1].notes[-1]


# MPI benchmarks ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "kind", "scale"),
    [
        ("Allreduce", "all_reduce", 1),
        ("Allgather", "all_gather", 4),
        ("Alltoall", "all_to_all", 4),
        ("Reduce_scatter", "reduce_scatter", 1),
        ("Bcast", "broadcast", 1),
    ],
)
def test_what_sizes_mean_in_imb(title, kind, scale):
    other = mpi_table("PingPong", IMB_ROWS, processes=2) + mpi_table("Multi-Bcast", IMB_ROWS)
    (run,) = read_runs(other + mpi_table(title, IMB_ROWS))
    assert (run.kind, run.workers) == (kind, 4)
    assert run.samples == ((4096 * scale, 22.82), (MIB * scale, 231.72))
    assert "Left out: PingPong, Multi-Bcast, no collectives of graphs." in run.notes


def test_imb_runs_with_two_and_more_processes():
    text = "".join(mpi_table("Allreduce", [(8, 1, n, 1)], processes=n) for n in (2, 4, 8))
    assert told(text) == [("all_reduce", 8, ((8, 8.0),))]
    assert told(text, workers=2) == [("all_reduce", 2, ((8, 2.0),))]


TIMEOUT = 'time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over; use "-time X"'


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (f"      4194304           20         {TIMEOUT}", "not measured, time-out"),
        (f"      4194304     {TIMEOUT}", "not measured, time-out"),
        ("[0]   4194304     TIMEOUT", "not measured, timeout"),
        ("      4194304     int-overflow.; The production rank*size", "not measured, int-overflow"),
        ("      4194304     out-of-mem.; Needed X= 8.000 GB", "not measured, out-of-mem"),
        ("      4194304     *****", "garbled"),
        ("# All processes entering MPI_Finalize", None),
    ],
)
def test_rows_that_imb_gave_up_are_noted(row, why):
    table = mpi_table("Allreduce", IMB_ROWS)
    (run,) = read_runs(f"{table.rstrip()}\n{row}\n", None, None)
    assert run.samples == told(table)[0][2]
    notes = [] if why is None else [f"Line 7 left out: {why}."]
    assert list(run.notes) == notes


@pytest.mark.parametrize(("ranks", "count"), [("[0, 1, 2, 3, 4, 5, 6, 7]", 1), ("[0, 1]", 0)])
def test_a_group_is_no_larger_than_its_job(ranks, count):
    text = json.dumps(dumped(entry(), ranks=ranks, world_size=4))
    (run,) = read_runs(text, None, None)
    said = "Process group 0 has 8 ranks, its job 4 (world_size): one of the two is wrong."
    assert sum(said in note for note in run.notes) == count


def test_what_does_not_block_takes_its_pure_time():
    names = "t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]      defects"
    rows = [(8, 9.5, 5.5, 4, 50, "0.00"), (16, 9.5, 6.5, 4, 50, "3.00"), (0, 1, 1, 1, 1, "0")]
    (run,) = read_runs(mpi_table("Iallreduce", rows, names=names))
    assert run.samples == ((8, 5.5),)
    assert run.notes == ("Line 6 left out: defects.", "Line 7 left out: 0 bytes.")


def test_ranks_that_are_needed_are_asked_for():
    text = mpi_table("Allgather", IMB_ROWS).replace("# #processes = 4 \n", "")
    with pytest.raises(InvalidMeasurements, match=r"by `workers` \(--workers N\)") as refused:
        read_measurements(text)
    assert [fault.code for fault in refused.value.faults] == ["missing_field"]
    assert told(text, workers=2) == [("all_gather", 2, ((8192, 22.82), (2 * MIB, 231.72)))]
    assert read_measurements(text.replace("Allgather", "Allreduce")).workers is None


@pytest.mark.parametrize("more", ["", "    Coll. Init(us)      MPI_Test(us)      MPI_Wait(us)"])
def test_osu_of_what_does_not_block(more):
    text = (
        "$ srun -u --mpi=pmix -n4 osu_iallreduce\n\n"
        "# OSU MPI-CUDA Non-blocking Allreduce Latency Test v7.5\n"
        "# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n# Datatype: MPI_INT.\n"
        f"# Size    Overall(us)       Compute(us){more}    Pure Comm.(us)        Overlap(%)\n"
        f"4    11.09    6.10 {'1.00 ' * more.count('(us)')}   5.18    3.46\n"
    )
    assert detect(text) == "osu"
    assert told(text) == [("all_reduce", 4, ((4, 5.18),))]


# logs without a cost -----------------------------------------------------------------------------

DDP_LINES = """[Rank 0 / 8] [before iteration 10] Training ResNet unused_parameter_size=0
 Avg forward compute time: 40000000
 Avg backward compute time: 80000000
Avg backward comm. time: 30000000
 Avg backward comm/comp overlap time: 25000000
"""


@pytest.mark.parametrize("text", [json.dumps(DDP), str(DDP), DDP_LINES])
def test_ddp_logs_what_a_simulation_is_checked_by(text):
    assert detect(text) == "ddp_logging"
    found = times_of(text)
    buckets = () if text == DDP_LINES else (8196000, 26255360, 9724160)
    assert found == DdpTimes(8, buckets, 4e4, 8e4, 3e4, 2.5e4)
    assert found.exposed_us == 5e3
    with pytest.raises(
        InvalidMeasurements, match=r"no cost can be fitted.*--ddp-log LOG"
    ) as refused:
        read_runs(text)
    assert [fault.code for fault in refused.value.faults] == ["no_cost"]


def test_ddp_without_times():
    assert times_of('{"rebuilt_bucket_sizes": ""}') == DdpTimes(None, (), None, None, None, None)
    assert times_of("").exposed_us is None
    with pytest.raises(InvalidMeasurements, match="without a number"):
        read_runs('{"rebuilt_bucket_sizes": ""}')


@pytest.mark.parametrize("skipped", [0, 2, 3])
def test_the_best_of_horovods_autotuner(skipped):
    """Older versions lack columns before the cycle time."""
    text = "\n".join(line.split(",", skipped)[-1] for line in AUTOTUNE.splitlines())
    says = "25 ms with a fusion threshold of 16 MiB.*us=25000,fusion_threshold_bytes=16777216"
    with pytest.raises(InvalidMeasurements, match=says) as refused:
        read_runs(text)
    assert [fault.code for fault in refused.value.faults] == ["no_cost"]


# what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        # a broken record between whole ones, and one without its time
        (INSPECTOR.replace('"coll_sn": 1,', '"coll_sn": ,', 1), [("/3", "wrong_format")]),
        (INSPECTOR.replace("coll_exec_time_us", "x", 1), [("/1", "missing_field")]),
        (lines_of([inspected(size=2**60, us=-1)]), [("/1", "out_of_range")]),
        # nothing but what is left out
        (lines_of([inspected("SendRecv")]), [("", "wrong_format")]),
        # dumps that are none
        ('{"entries": 5, "nccl_comm_state": 1}', [("", "wrong_format")]),
        ('{"entries": [5, {"profiling_name": "a"}]}', [("/entries/0", "wrong_format")]),
        (RECORDER.replace("2.5", "?"), [("", "wrong_format")]),
        (RECORDER.replace("entries", "others"), [("", "wrong_format")]),
        ("data:application/octet-stream;base64,gA==", [("", "wrong_format")]),
        ("data:application/octet-stream;base64,*", [("", "wrong_format")]),
        # rows of tables
        (DEEPSPEED.replace("63.45", "6e-e"), [("/4", "out_of_range")]),
        (IMB.replace("22.82", "-22.82"), [("/7", "out_of_range")]),
        (ONECCL_CSV.replace("22.8,", "x,"), [("/2", "out_of_range")]),
        (ONECCL_CSV.replace("\n4,", "\n0,", 1), [("/2", "out_of_range")]),
        (MSCCLPP.replace("33.11", "-33.1"), [("/4", "out_of_range")]),
        (MSCCLPP_JSON.replace('"time"', '"t"', 1), [("/1", "missing_field")]),
        (AUTOTUNE.replace("520", "x"), [("/3", "out_of_range")]),
        # no collective, and launches that are several
        (mpi_table("PingPong", IMB_ROWS), [("", "not_supported")]),
        ("#bytes #repetitions t_max[usec]\n", [("", "wrong_format")]),
        ("buf_count: 4\n" + ONECCL, [("/1", "not_supported")]),
        (
            ONECCL.replace("allreduce", "x").replace("Allreduce", "allreduce bcast"),
            [("/1", "not_supported")],
        ),
        (ONECCL_CSV.split("\n", maxsplit=1)[0], [("", "wrong_format")]),
        (DEEPSPEED_HEAD, [("", "wrong_format")]),
        (AUTOTUNE.split("\n", maxsplit=1)[0], [("", "wrong_format")]),
        ("cycle_time_ms,tensor_fusion_threshold,score x\n1,2,3\n", [("", "wrong_format")]),
        # a header that names a column twice
        ("size count type count time algbw\n 8 2 float x -2.4 1\n", [("/2", "out_of_range")]),
        # the bytes of all ranks are too many
        (mpi_table("Alltoall", [(2**60, 1, 2, 1)]), [("", "out_of_range")]),
    ],
)
def test_rejected(text, faults):
    with pytest.raises(InvalidMeasurements) as caught:
        read_runs(text)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_a_message_says_what_was_looked_for():
    with pytest.raises(InvalidMeasurements, match=r"nothing of nccl-tests .*autotune log"):
        detect("hello\n")


# properties --------------------------------------------------------------------------------------

SIZES = st.lists(st.integers(1, 2**30), min_size=1, max_size=5)
TIMES = st.integers(1, 10**7)


@given(SIZES, st.data(), st.integers(3, 64))
@settings(max_examples=30)
def test_known_times_are_read_back(sizes, data, ranks):
    """Whatever was measured, the same sizes and times come out, of each format."""
    launches = [(size, data.draw(TIMES)) for size in sizes]
    hundredths = tuple((size, time / 100) for size, time in launches)
    records = (
        inspected(size=size, us=max(time - late, 1), number=number, rank=rank, ranks=ranks)
        for number, (size, time) in enumerate(launches)
        for rank, late in ((0, 3), (1, 0), (2, 3))
    )
    assert told(lines_of(records)) == [("all_reduce", ranks, tuple(launches))]
    dump = dumped(
        *(entry(dims=(size,), dtype="Byte", ms=time / 1e5) for size, time in launches),
        ranks=str(list(range(ranks))),
    )
    ((kind, workers, samples),) = told(json.dumps(dump))
    assert (kind, workers) == ("all_reduce", ranks)
    assert samples == tuple((size, 1e3 * (time / 1e5)) for size, time in launches)
    assert told(as_text(pickle.dumps(dump, 2))) == [(kind, workers, samples)]
    rows = [(size, 0.01, time, 0.02) for size, time in hundredths]
    table = mpi_table("Allreduce", rows, processes=ranks)
    assert told(table) == [("all_reduce", ranks, hundredths)]
    csv = ONECCL_CSV.split("\n", maxsplit=1)[0] + "".join(
        f"\n{ranks},allreduce,sum,int8,1,{size},1,9,0.1,{time},0.2,1,0" for size, time in hundredths
    )
    assert told(csv) == [("all_reduce", ranks, hundredths)]
    results = (
        {"name": "allreduce", "ranks": ranks, "size": size, "time": time, "algBw": 1}
        for size, time in hundredths
    )
    assert told(lines_of(results)) == [("all_reduce", ranks, hundredths)]


@given(st.integers(1, 2**20), st.integers(1, 10**6), st.integers(2, 16), st.sampled_from([1, 2]))
@settings(max_examples=30)
def test_deepspeeds_rows_are_read_back(hundredths_mb, hundredths_ms, ranks, twice):
    size, us = round(hundredths_mb / 100 * MIB), 10.0 * hundredths_ms
    rate = twice * size / us / 125
    row = summary_row(
        f"{hundredths_mb / 100} MB", 1, us / 1e3, rate, rate * 2 / twice * (ranks - 1) / ranks
    )
    (run,) = read_runs(f"{DEEPSPEED_HEAD}all_reduce\n{row}")
    assert run.samples == ((size, run.samples[0][1]),)
    assert run.samples[0][1] == pytest.approx(us)
    assert run.workers in {ranks, None}  # two digits of a low bandwidth leave several


GOOD = [INSPECTOR, RECORDER, DEEPSPEED, IMB, ONECCL, ONECCL_CSV, MSCCLPP, MSCCLPP_JSON, AUTOTUNE]
GOOD += [json.dumps(DDP), as_text(pickle.dumps(json.loads(RECORDER), 2)), NCCL_HEAD + NCCL_ROW]
JUNK = ["nan", "-", "1e999", "9" * 400, "\x00", '"', "\r", "{", "[[", "null", "", "٣", ",", "\n{"]


@given(st.sampled_from(GOOD), st.sampled_from([None, *READERS]), st.integers(0, 2**32))
@settings(max_examples=150)
def test_a_mangled_log_is_read_or_refused(text, form, seed):
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 12)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 1, 1, 5, 60]))
        text = text[:start] + chance.choice([*JUNK, text[end : end + 9]]) + text[end:]
    check(text, form)


@given(st.binary(max_size=60), st.integers(0, 2**32))
@settings(max_examples=100)
def test_any_pickle_is_read_or_refused(content, seed):
    chance = random.Random(seed)
    whole = bytearray(pickle.dumps(dumped(entry()), 2))
    for byte in content[:4]:
        whole[chance.randrange(2, len(whole))] = byte
    check(as_text(bytes(whole)), "flight_recorder")
    check(as_text(b"\x80\x02" + content), "flight_recorder")


def check(text, form):
    try:
        runs = read_runs(text, form)
    except InterlaceError:
        return
    assert runs == read_runs(text, form)
    for run in runs:
        assert run.samples
        assert not run.is_per_rank
        assert all(size >= 1 and 0 < time < float("inf") for size, time in run.samples)
