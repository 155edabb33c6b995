"""Readers of benchmarks: every quirk in a made-up file, real files, broken ones, mangled ones."""

import random
import re
import sys
import time
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.calibration.measurements import READERS, detect, read_measurements, read_runs
from solver.calibration.measurements.lines import Figure, figure, lines_of
from solver.calibration.measurements.ranks import ranks_of
from solver.calibration.measurements.readings import Reading, samples_of
from solver.errors import InterlaceError, InvalidMeasurements
from solver.limits import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_FAULTS_SOUGHT,
    MAX_LINE_CHARACTERS,
    MAX_MEASURED_TIMES,
    MAX_SAMPLES,
    MAX_TEXT_LINES,
    MAX_WORKERS,
)

MIB = 2**20


def bandwidths(size, time_us, ranks, shares=2.0):
    """How nccl-tests prints algbw and busbw [GB/s]."""
    algbw = size / time_us / 1e3
    return f"{algbw:7.2f}", f"{algbw * shares * (ranks - 1) / ranks:7.2f}"


def nccl(
    rows,
    *,
    ranks=8,
    shares=2.0,
    root=True,
    error="#wrong",
    wrong="0",
    unit="(us)",
    before="",
    extra="",
    time="time",
    redop="sum",
):
    """Make up the output of a run from (bytes, out of place us, in place us)."""
    half = f"{time:>8} {'algbw':>7} {'busbw':>7} {error:>6}{extra and '   i_min  i_cv%'}"
    lines = [
        f"#{'size':>12}{'count':>12}{'type':>8}{'redop':>8}{'  root' if root else ''}{half}{half}",
        f"#{'(B)':>12} (elements) {unit} (GB/s) (GB/s) {unit} (GB/s) (GB/s)",
    ]
    for size, *times in rows:
        cells = [f"{size:>12} {size // 4:>12}   float  {redop:>6}", "     -1" if root else ""]
        for value in times:
            # an even number of digits is what the tool prints; N/A is what it cannot
            speeds = (
                ("N/A", "N/A") if value == "N/A" else bandwidths(size, float(value), ranks, shares)
            )
            cells += [f"{value:>9}", *speeds, f"{wrong:>6}", extra]
        lines.append(" ".join(cells))
    return "\n".join(before + line for line in lines) + "\n"


ROWS = [(1024, 20.5, 20.25), (MIB, 91.25, 90.75), (64 * MIB, 702.5, 701.5)]
SAMPLES = tuple((size, time) for size, *times in ROWS for time in times)


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize(
    ("error", "wrong"), [("#wrong", "0"), ("error", "N/A"), ("error", "1e-07")]
)
@pytest.mark.parametrize("before", ["", "0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "node-1: "])
@pytest.mark.parametrize("extra", ["", "  20.1  3.5"])
def test_nccl_tests_of_every_version(root, error, wrong, before, extra):
    text = nccl(ROWS, root=root, error=error, wrong=wrong, before=before, extra=extra)
    for mangled in (text, text.replace("\n", "\r\n"), text.replace("1024", "\x1b[1m1024\x1b[0m")):
        found = read_measurements(mangled)
        assert found.format == "nccl_tests"
        assert found.samples == SAMPLES
        assert (found.workers, found.kind, found.notes) == (8, "all_reduce", ())


def test_nccl_tests_with_timestamps():
    text = nccl(ROWS)
    head, *rest = text.splitlines()
    stamped = [head + "  timestamp", *(f"{line}  2024-05-01 10:00:00" for line in rest)]
    assert read_measurements("\n".join(stamped)).samples == SAMPLES
    first = [f"2024-05-01 10:00:00 {line}" for line in text.splitlines()]
    assert read_measurements("\n".join(first)).samples == SAMPLES


@pytest.mark.parametrize(("unit", "scale"), [("(ns)", 1e-3), ("(us)", 1.0), ("(ms)", 1e3)])
def test_nccl_tests_unit_of_time(unit, scale):
    text = nccl([(MIB, 50, 50)], unit=unit)
    assert read_measurements(text).samples == ((MIB, 50 * scale),) * 2


def test_nccl_tests_leaves_out_and_says_so():
    wrong = nccl([(4 * MIB, 9.5, 9.5)], wrong="12").splitlines()[2]
    text = nccl([(0, 3.5, 3.25), *ROWS, (MIB, 95.5, "N/A"), (2 * MIB, "N/A", "N/A")])
    found = read_measurements(f"{text}{wrong}\n{text.splitlines()[3][:60]}\n")
    assert found.samples == (*SAMPLES, (MIB, 95.5))
    assert found.notes == (
        "Line 3 left out: 0 bytes.",
        "Lines 7, 8 left out: no time.",
        "Line 9 left out: wrong elements.",
        "Line 10 left out: cut short.",
    )


@pytest.mark.parametrize("before", ["", "0: ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "node-1: "])
def test_a_row_that_is_garbled_is_noted(before):
    rows = ["2048 garbage line", "2048", "2048 512", "  2048 51x float sum -1 2 2 2 0 2 2 2 0"]
    others = ["host:1:2 [0] NCCL INFO", "2024-05-01 start", "x 2048 512", "# 2048 a", "2048: a"]
    lines = [*nccl(ROWS).splitlines(), *others, *rows]
    found = read_measurements("2048 garbage\n" + "\n".join(before + line for line in lines))
    assert found.samples == SAMPLES
    assert found.notes == ("Lines 12, 13, 14, 15 left out: garbled.",)


def test_a_row_of_too_many_columns_is_garbled():
    row = nccl(ROWS).splitlines()[2]
    wide = row + " 1" * (MAX_COLUMNS - len(row.split()))
    assert read_measurements(nccl([]) + wide).notes == read_measurements(nccl([]) + row).notes
    found = read_measurements(f"{nccl(ROWS)}{wide} 1\n")
    assert (found.samples, found.notes) == (SAMPLES, ("Line 6 left out: garbled.",))


def test_a_note_names_five_lines():
    found = read_measurements(nccl([(0, 3.5, 3.25)] * 8 + ROWS))
    assert found.notes == ("Lines 3, 4, 5, 6, 7 and 3 more left out: 0 bytes.",)


def test_log_lines_in_between():
    lines = nccl(ROWS).splitlines()
    log = "host:1:2 [0] NCCL INFO Launch mode Parallel\n\n# Avg bus bandwidth : 1\n"
    assert read_measurements(f"\n{log}".join(lines)).samples == SAMPLES


def test_cpu_times_are_not_used():
    found = read_measurements(nccl([(64 * MIB, 700, 700)], time="cputime"))
    assert [size for size, _ in found.samples] == [64 * MIB] * 2
    assert [time for _, time in found.samples] == pytest.approx([700] * 2, rel=1e-4)
    assert found.notes == ("cputime is the time of the launching CPU; times come from algbw.",)


def rooted(text):
    """The same with rank 0 as root."""
    return text.replace("     -1", "      0")


def counted(text, ranks):
    """The same with the elements of one rank as count."""
    return re.sub(
        r"^( *)(\d+)( +)(\d+)",
        lambda row: f"{row[1]}{row[2]}{row[3]}{int(row[2]) // 4 // ranks}",
        text,
        flags=re.MULTILINE,
    )


def devices(count, group=0):
    listed = (f"#  Rank {r:2} Group {group} Pid 1 on host device 0 [0x0] GPU" for r in range(count))
    return "\n".join(listed) + "\n"


@pytest.mark.parametrize("ranks", [3, 4, 8, 16, 31])
def test_ranks_from_the_bandwidths(ranks):
    rows = [(4**k * MIB, 20.0 + 4**k / 0.4, 21.0 + 4**k / 0.4) for k in range(7)]
    found = read_measurements(nccl(rows, ranks=ranks))
    assert (found.workers, found.kind, found.notes) == (ranks, "all_reduce", ())


@pytest.mark.parametrize(
    ("text", "workers", "kind", "note"),
    [
        # what the header lists wins, and says when it cannot be
        (devices(8).replace("Group 0 ", "") + nccl(ROWS), 8, "all_reduce", None),
        (devices(4) + nccl(ROWS), 4, "all_reduce", "busbw / algbw fits 8 ranks. The file names 4."),
        # two runs, each on its own
        (devices(1) * 2 + nccl(ROWS), 8, "all_reduce", "The ranks listed are not those of one"),
        (devices(4) + devices(4, 1) + nccl(ROWS), 8, "all_reduce", "The ranks listed are not"),
        # one rank
        (devices(1) + nccl(ROWS, ranks=1), 1, None, "One rank: nothing went over a network."),
        # too little said
        (nccl([(8, 20.5, 20.25)]), None, None, "busbw / algbw fits 1 or more ranks."),
        (nccl([(1024, 20.5, 20.25)]), None, "all_reduce", "busbw / algbw fits 7 to 16 ranks."),
        (nccl([(MIB, 700.0, 700.0)], ranks=64), None, "all_reduce", "fits 58 to 75 ranks."),
        # a broadcast's bandwidths are equal too, but it has a root
        (nccl(ROWS, ranks=2), 2, "all_reduce", "taken as all_reduce, by the columns redop and"),
        ("all_reduce_perf\n" + nccl(ROWS, ranks=2), 2, "all_reduce", None),
        # rows that contradict every number
        (nccl(ROWS, shares=4.0), None, "all_reduce", "busbw / algbw fits no number of ranks."),
        (nccl(ROWS, ranks=3, shares=2.1), None, "all_reduce", "fits no number of ranks."),
        # other benchmarks
        ("# all_gather_perf -b 8\n" + nccl(ROWS, shares=1.0), 8, "all_gather", None),
        ("alltoall_perf\n" + nccl(ROWS, shares=1.0), 8, "all_to_all", None),
        ("broadcast_perf\n" + nccl(ROWS, shares=8 / 7), None, "broadcast", None),
        # no program: the columns redop and root, and busbw / algbw
        (nccl(ROWS, shares=1.0), 8, "reduce_scatter", "taken as reduce_scatter, by the columns"),
        (nccl(ROWS, shares=1.0, redop="none"), 8, "other", "one of all_gather, all_to_all"),
        (rooted(nccl(ROWS, shares=8 / 7, redop="none")), None, "broadcast", "taken as broadcast"),
        (rooted(nccl(ROWS, shares=8 / 7)), None, "reduce", "taken as reduce, by the columns"),
        # an all-gather's count is that of one rank
        (counted("all_gather_perf\n" + nccl(ROWS[:1], shares=1.0), 8), 8, "all_gather", None),
        (
            counted("all_gather_perf\n" + nccl(ROWS, shares=1.0), 4),
            4,
            "all_gather",
            "busbw / algbw fits 8 ranks. The file names 4.",
        ),
        ("all_reduce_perf\nbroadcast_perf\n" + nccl(ROWS), 8, "all_reduce", "several benchmarks"),
        ("./all_reduce_perf -g 8, not x_perf\n" + nccl(ROWS), 8, "all_reduce", None),
    ],
)
def test_who_took_part(text, workers, kind, note):
    found = read_measurements(text)
    assert (found.workers, found.kind) == (workers, kind)
    assert len(found.notes) == (note is not None)
    assert note is None or note in found.notes[0]


def osu(rows, *, columns=" Avg Latency(us)", title="OSU MPI Allreduce Latency Test v7.1"):
    lines = [f"# {title}", "# Datatype: MPI_CHAR.", f"# Size      {columns}"]
    return "\n".join([*lines, *(" ".join(f"{cell:<18}" for cell in row) for row in rows)])


@pytest.mark.parametrize("before", ["", "0: ", "[1,0]<stdout>:", "node1: "])
@pytest.mark.parametrize(
    "more",
    [
        (),
        ("60.5",),
        ("60.5", "80.5"),
        ("60.5", "80.5", "1000"),
        ("60.5", "80.5", "1000", "Pass"),
        ("Pass",),
    ],
)
def test_osu_of_every_width(before, more):
    rows = [(4, "74.85", *more), (1048576, "2242.14", *more)]
    text = osu(rows, columns="Avg Latency(us)   Min Latency(us)")
    text = "$ mpirun -x A=1 -np 4 -pernode osu/bin/osu_allreduce -n 7 -f\n" + text
    found = read_measurements("\n".join(before + line for line in text.split("\n")))
    assert found.format == "osu"
    assert found.samples == ((4, 74.85), (1048576, 2242.14))
    assert (found.workers, found.kind, found.notes) == (4, "all_reduce", ())


@pytest.mark.parametrize(
    ("launcher", "workers"),
    [
        ("srun -n 16 ./osu_allreduce", 16),
        ("srun --ntasks=16 ./osu_allreduce", 16),
        ("./osu_allreduce -n 16 ", None),
        ("srun -n 0 ./osu_allreduce", None),
        (f"srun -n {MAX_WORKERS} ./osu_allreduce", MAX_WORKERS),
        (f"srun -n {MAX_WORKERS + 1} ./osu_allreduce", None),
        ("srun -N 2 ./osu_allreduce", None),
    ],
)
def test_osu_ranks_of_the_command_line(launcher, workers):
    assert read_measurements(f"{launcher}\n{osu([(4, 1.5)])}").workers == workers


def test_osu_leaves_out_and_says_so():
    rows = [(0, "0.05"), (4, "7.5"), (8, "7.5", "Fail"), (16,), ("WARNING", "x"), (32, "y")]
    found = read_measurements(osu(rows))
    assert found.samples == ((4, 7.5),)
    assert found.notes == (
        "Line 4 left out: 0 bytes.",
        "Line 6 left out: not valid.",
        "Line 7 left out: no time.",
        "Line 9 left out: garbled.",
    )


@pytest.mark.parametrize(
    ("title", "kind", "notes"),
    [
        ("OSU MPI-CUDA Allreduce Latency Test v5.9", "all_reduce", 0),
        ("OSU MPI Reduce_scatter Latency Test", "reduce_scatter", 0),
        ("OSU MPI Broadcast Latency Test v7.1", "broadcast", 0),
        ("OSU MPI Latency Test v7.1", None, 1),
        ("another title", None, 0),
    ],
)
def test_osu_kinds(title, kind, notes):
    found = read_measurements(osu([(4, 1.5)], title=title))
    assert (found.kind, len(found.notes)) == (kind, notes)


def test_osu_prints_the_bytes_of_one_rank():
    text = osu([(4, 1.5), (1024, 3.5)], title="OSU MPI Allgather Latency Test v7.1")
    with pytest.raises(InvalidMeasurements, match=r"one rank of an all_gather.*--workers N"):
        read_measurements(text)
    found = read_measurements("mpirun -np 8 osu/osu_allgather\n" + text)
    assert (found.kind, found.workers) == ("all_gather", 8)
    assert found.samples == ((32, 1.5), (8192, 3.5))
    note = "The file has the bytes of one of 8 ranks of an all_gather; samples have all."
    assert found.notes == (note,)
    asked = read_measurements(text, workers=8)
    assert (asked.workers, asked.samples, asked.notes) == (8, found.samples, (note,))


def on(count, host="node1", device="NVIDIA A100-SXM4-80GB"):
    """What nccl-tests says of the ranks before a table."""
    ranks = [
        f"#  Rank {r:>2} Group  0 Pid {100 + r} on {host:>10} device {r:>2} [0000:10:1c] {device}"
        for r in range(count)
    ]
    return "\n".join(["# nThread 1 nGpus 8", "# Using devices", *ranks, ""])


END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 68.4\n#\n"


def test_runs_of_one_file_are_kept_apart():
    text = "".join(
        [
            "$ ./all_reduce_perf -b 1K\n" + on(8) + nccl(ROWS) + END,
            "# Collective test concluded: all_reduce_perf\n",
            "$ ./all_gather_perf -b 1K\n" + on(8) + nccl(ROWS[1:], shares=1.0, redop="none") + END,
        ]
    )
    first, second = read_runs(text)
    assert (first.kind, first.workers, first.samples) == ("all_reduce", 8, SAMPLES)
    assert (second.kind, second.workers, second.samples) == ("all_gather", 8, SAMPLES[2:])
    assert first.notes == second.notes == ()
    assert (first.hosts, first.devices) == (("node1",), ("NVIDIA A100-SXM4-80GB",))
    with pytest.raises(InvalidMeasurements, match="benchmarks of all_reduce, all_gather"):
        read_measurements(text)
    broken = text.replace("    91.25", "   -91.25")
    with pytest.raises(InvalidMeasurements) as refused:
        read_runs(broken)
    lines = broken.splitlines()
    for fault in refused.value.faults:
        assert "-91.25" in lines[int(fault.pointer[1:]) - 1]


def test_a_header_that_is_printed_again_is_of_the_same_benchmark():
    gather = nccl(ROWS, shares=1.0, redop="none")
    text = "all_gather_perf\n" + gather + "node1 NCCL INFO hello\n" + gather
    assert [run.kind for run in read_runs(text)] == ["all_gather"] * 2
    found = read_measurements(text)
    assert (found.samples, found.workers, found.notes) == (SAMPLES * 2, 8, ())


@pytest.mark.parametrize(
    ("second", "says"),
    [
        (on(4) + nccl(ROWS, ranks=4), r"ranks \(8; 4\)"),
        (on(8, device="NVIDIA H100") + nccl(ROWS), "devices .*A100-SXM4-80GB; NVIDIA H100"),
        (on(8, host="node7") + nccl(ROWS), r"machines \(node1; node7\)"),
        (nccl(ROWS, ranks=4), r"ranks \(8; 4\)"),
    ],
)
def test_runs_of_several_clusters_are_refused(second, says):
    with pytest.raises(InvalidMeasurements, match=says) as refused:
        read_measurements(on(8) + nccl(ROWS) + END + second)
    assert [fault.code for fault in refused.value.faults] == ["mixed_clusters"]


def test_runs_of_one_cluster_are_put_together():
    found = read_measurements((on(8) + nccl(ROWS) + END) * 2)
    assert (found.samples, found.workers, found.kind) == (SAMPLES * 2, 8, "all_reduce")


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("size(B),time(ns)\n1024,2500\n", ((1024, 2.5),)),
        ("\ufeffbytes;time_us\r\n1024;2,5\r\n", ((1024, 2.5),)),
        ("size_kb\tlatency(us)\n2\t2.5\n", ((2000, 2.5),)),
        ('"size(MiB)","t(ms)"\n"0.5","1.5"\n', ((MIB // 2, 1500.0),)),
        ("nbytes,duration [s]\n8,1e-3\n", ((8, 1000.0),)),
        ("Message size (KiB),Avg Latency (µs),Min Latency (µs),p99\n1,2.5,2,3\n", ((1024, 2.5),)),
        ("bytes,us\n8,2.5\n", ((8, 2.5),)),
        ("bytes,all reduce (ms)\n8,2.5\n", ((8, 2500.0),)),
        ("rank,bytes,kind,us\n0,8,sum,2.5\n", ((8, 2.5),)),
        # only bandwidths: 10^9 bytes, 2^30 bytes, 10^9 bits
        ("bytes,algbw(GB/s)\n2000000,10.00\n", ((2000000, 200.0),)),
        ("bytes,alg_bw(GiB/s)\n1073741824,10.00\n", ((2**30, 1e5),)),
        ("bytes,algbw(Gb/s)\n1000000,80.0\n", ((10**6, 100.0),)),
        # several times in a row, comments, blank lines, the header again, rows without a time
        (
            "# taken on Monday\n\n# size(B),time(us),busbw(GB/s),time(us),busbw(GB/s)\n"
            "8,2.5,0.00,3.5,0.00\n\n# more\nsize(B),time(us)\n16,4.5,,N/A,-\n16,5.5\n",
            ((8, 2.5), (8, 3.5), (16, 4.5), (16, 5.5)),
        ),
        # quoted separator, and sizes in any order, twice
        ('name,bytes,us\n"a, b",16,3\n"c",8,2\n"c",8,4\n', ((16, 3.0), (8, 2.0), (8, 4.0))),
    ],
)
def test_csv(text, samples):
    assert detect(text) == "csv"
    found = read_measurements(text)
    assert [size for size, _ in found.samples] == [size for size, _ in samples]
    assert [time for _, time in found.samples] == pytest.approx([time for _, time in samples])
    assert found.workers is None


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("8,2.5\n16,3\n", "There is no header: the columns are taken as bytes and us."),
        ("size,time_us\n8,2.5\n16,3\n", "Column 'size' names no unit: taken as bytes."),
        ("bytes,time\n8,2.5\n16,3\n", "Column 'time' names no unit: taken as us."),
        ("bytes,us\n8,2.5\n,9\n16,3\n", "Line 3 left out: no size."),
        ("bytes,us\n8,2.5\n0,9\n16,3\n", "Line 3 left out: 0 bytes."),
        ("bytes,us\n8,2.5\n24,\n16,3\n", "Line 3 left out: no time."),
        (
            "bytes,us,algbw(GB/s)\n8,2.5,\n16,3,\n16,,0.01\n",
            "Line 4 left out: no time, and the bandwidth has too few digits for one.",
        ),
    ],
)
def test_csv_says_what_it_assumes(text, note):
    found = read_measurements(text)
    assert found.samples == ((8, 2.5), (16, 3.0))
    assert found.notes == (note,)


@pytest.mark.parametrize(
    "name", ["workers", "Ranks", "np", "nranks", "n_ranks", "world_size", "# workers"]
)
def test_csv_names_its_workers(name):
    found = read_measurements(f'"{name}",size_kb,time_us\n16,8,2.5\n,9,2.5\n16.0,7,2.5\n')
    assert found.samples == ((8000, 2.5), (9000, 2.5), (7000, 2.5))
    assert (found.workers, found.notes) == (16, ())


def test_csv_of_several_workers_is_refused():
    with pytest.raises(InvalidMeasurements, match=r"Line 4: 8 workers, 4 before; a cost is that"):
        read_measurements("bytes,us,workers\n8,1,4\n8,1,4\n8,1,8\n")


def test_csv_rows_have_the_times_that_are_there():
    text = "bytes,us,algbw(GB/s),us,algbw(GB/s)\n8,1\n16,2,3.5,3\n24,,,,0.01200\n32\n"
    found = read_measurements(text)
    assert found.samples == ((8, 1.0), (16, 2.0), (16, 3.0), (24, 2.0))
    assert found.notes == ("Lines 4, 5 left out: no time.",)


def test_csv_ranks_from_busbw():
    rows = [(4**k * MIB, 20_000 + 2_500 * 4**k) for k in range(6)]
    lines = [f"{size},{time},{bandwidths(size, time / 1e3, 8)[1]}" for size, time in rows]
    found = read_measurements("\n".join(["size(B),time(ns),busbw(GB/s)", *lines]))
    assert (found.workers, found.kind) == (8, "all_reduce")


def test_bandwidths_that_are_no_numbers_tell_nothing():
    found = read_measurements(
        "bytes,us,algbw(GB/s),busbw(GB/s)\n8,2.5,1,nan\n16,3,nan,inf\n9,3,inf,\n"
    )
    assert (found.workers, found.notes) == (None, ())


@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(0, 28), st.integers(1, 10**7)), min_size=1, max_size=5),
    st.sampled_from([2.0, 1.0]),
)
def test_the_true_number_of_ranks_is_never_excluded(ranks, rows, shares):
    """Whatever was printed came of this number, so it is found or in the range."""
    program = "all_reduce_perf\n" if shares == 2 else "reduce_scatter_perf\n"
    table = [(2**power, f"{hundredths / 100:.2f}") for power, hundredths in rows]
    found = read_measurements(
        program + nccl([(n, t, t) for n, t in table], ranks=ranks, shares=shares)
    )
    if found.workers is not None:
        assert found.workers == ranks
        return
    low, high = re.search(r"fits (\d+) (to \d+|or more) ranks", " ".join(found.notes)).groups()
    assert int(low) <= ranks <= (int(high[3:]) if high.startswith("to") else ranks)


@pytest.mark.parametrize(
    ("place", "form", "samples", "workers"),
    [
        ("nccl_tests/microsoft+superbenchmark/nccl_allreduce.log", "nccl_tests", 64, 8),
        (
            "nccl_tests/aws-samples+awsome-distributed-training/all_reduce_2x_p4de.24xlarge.txt",
            "nccl_tests",
            58,
            16,
        ),
        ("osu/ryousei+meow-rest/osu_allreduce_ring_4nodes.txt", "osu", 19, 4),
        ("vtrain_allreduce_lut/VIA-Research+vTrain/a100_AR_GPU8_1M_1024M_LUT", "csv", 2048, 8),
        ("vtrain_allreduce_lut/VIA-Research+vTrain/v100_AR_GPU4_1M_1024M_LUT", "csv", 2048, 4),
    ],
)
def test_real_files(shared, place, form, samples, workers):
    found = read_measurements((shared / place).read_text())
    assert (found.format, len(found.samples)) == (form, samples)
    assert (found.workers, found.kind) == (workers, "all_reduce")


@pytest.mark.parametrize(
    ("form", "text", "faults"),
    [
        # nothing there
        (None, "", [("", "wrong_format")]),
        (None, "hello\n", [("", "wrong_format")]),
        ("nccl_tests", osu([(4, 1.5)]), [("", "wrong_format")]),
        ("osu", nccl(ROWS), [("", "wrong_format")]),
        ("csv", "\n# a\n", [("", "wrong_format")]),
        ("gloo", "8,1\n", [("/format", "unknown_format")]),
        # headers without rows, and rows that are all left out
        (None, nccl([]), [("", "wrong_format")]),
        (None, nccl([(0, 1.5, 1.5)]), [("", "wrong_format")]),
        (None, osu([]), [("", "wrong_format")]),
        (None, "bytes,us\n", [("", "wrong_format")]),
        # columns that mean nothing
        (None, "a,b\n1,2\n", [("/1", "wrong_format")]),
        (None, "bytes,busbw(GB/s)\n1,2\n", [("/1", "wrong_format")]),
        (None, "1,2,3\n", [("/1", "wrong_format")]),
        # times and sizes out of range, all at once
        (None, nccl([(8, -1.5, "inf")]), [("/3", "out_of_range")] * 2),
        (None, nccl([(8, "nan", 1.5)]), [("/3", "out_of_range")]),
        (
            None,
            osu([(8, "0.00"), (8, 1.5), (MAX_BYTES + 1024, 1.5)]),
            [("/4", "out_of_range"), ("/6", "out_of_range")],
        ),
        (
            None,
            "bytes,us\n8,x\n-8,1\n1e400,1\n8,1e-9\n",
            [(f"/{i}", "out_of_range") for i in (2, 3, 4, 5)],
        ),
        (None, "size_kb,us\n0.0001,1\n", [("/2", "out_of_range")]),
        # not CSV at all
        (None, 'a,"bbb', [("/1", "wrong_format")]),
        (
            None,
            'bytes,us\n8,1\n8,"1\n\n8,2""\n8,"1"2\n',
            [(f"/{i}", "out_of_range") for i in (3, 5, 6)],
        ),
        # workers that are no number of them, and other ones than before
        (
            None,
            f"bytes,us,np\n8,1,2.5\n8,1,0\n8,1,{MAX_WORKERS + 1}\n8,1,4\n8,1,\n8,1,4\n8,1,8\n",
            [(f"/{i}", "out_of_range") for i in (2, 3, 4, 8)],
        ),
        # too wide, too long
        (None, "size,time" + "," * (MAX_COLUMNS - 1), [("/1", "out_of_range")]),
        (None, "\n\n" + "," * (MAX_LINE_CHARACTERS + 1), [("/3", "out_of_range")]),
        (None, "\n\n" + "# a, b\n" * 1001 + "bytes,us\n8,1\n", [("", "wrong_format")]),
        (
            None,
            "bytes,us\n\n" + "8,1\n" * MAX_TEXT_LINES,
            [(f"/{MAX_TEXT_LINES + 2}", "out_of_range")],
        ),
        (
            None,
            "bytes,us\n" + "0,1\n8,1\n" * (MAX_SAMPLES + 1),
            [(f"/{2 * MAX_SAMPLES + 3}", "out_of_range")],
        ),
        (
            None,
            "bytes,"
            + ",".join(["us"] * 20)
            + "\n"
            + (",N/A" * 20 + "\n") * (MAX_MEASURED_TIMES // 20 + 1),
            [(f"/{MAX_MEASURED_TIMES // 20 + 2}", "out_of_range")],
        ),
    ],
)
def test_rejected(form, text, faults):
    with pytest.raises(InvalidMeasurements) as caught:
        read_measurements(text, form)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_so_many_faults():
    with pytest.raises(InvalidMeasurements) as caught:
        read_measurements("bytes,us\n" + "8,-1\n" * 5 * MAX_FAULTS_SOUGHT)
    assert len(caught.value.faults) == MAX_FAULTS_SOUGHT + 1
    assert caught.value.faults[-1].code == "too_many_faults"


def test_a_message_names_the_line_and_the_rule():
    with pytest.raises(InvalidMeasurements, match=r"Line 2: the time must be 1e-06 to .* got -1"):
        read_measurements("bytes,us\n8,-1\n")
    with pytest.raises(InvalidMeasurements, match=r"Line 2: 'abc' is not a number"):
        read_measurements("bytes,us\n8,abc\n")


GOOD = [
    devices(8) + nccl([(0, 3.5, 3.25), *ROWS]),
    "mpirun -np 4 osu_allreduce\n" + osu([(4, "7.5"), (8, "8.5", "6", "9", "10", "Pass")]),
    "size(B),count,type,time(ns),busbw(GB/s)\n" + "1048576,262144,float,92790,19.78\n" * 3,
]
JUNK = [
    "nan",
    "inf",
    "-",
    "1e999",
    "9" * 400,
    "\x00",
    '"',
    "\r",
    "٣",
    "#",
    "size",
    ",",
    ";",
    "0",
    "",
]


@given(st.sampled_from(GOOD), st.sampled_from([None, *READERS]), st.integers(0, 2**32))
def test_mangled_text_is_read_or_refused(text, form, seed):
    """Tokens are swapped, cut and replaced by junk; what is read obeys the rules."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 12)):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice([0, 1, 1, 5, 60]))
        text = text[:start] + chance.choice([*JUNK, text[end : end + 9]]) + text[end:]
    check(text, form)


@given(st.text(), st.sampled_from([None, *READERS]))
def test_any_text_is_read_or_refused(text, form):
    check(text, form)


def check(text, form):
    try:
        found = read_measurements(text, form)
    except InterlaceError:
        return
    assert found == read_measurements(text, form)
    assert found.samples
    assert all(1 <= size <= MAX_BYTES and 0 < time < float("inf") for size, time in found.samples)
    assert found.workers is None or found.workers >= 1


@given(st.text(st.sampled_from(" \t\n\r\ufeffab"), max_size=60))
def test_lines_are_those_that_are_not_blank(text):
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = enumerate(plain.split("\n"), start=1)
    assert list(lines_of(text)) == [(number, line) for number, line in lines if line.strip()]


def test_as_much_as_may_be_is_read():
    text = "bytes,us\n" + "8,1\n\n0,1\n" * MAX_SAMPLES
    assert len(read_measurements(text + "0,1\n").samples) == MAX_SAMPLES
    row = f"8,1{' ' * (MAX_LINE_CHARACTERS - 3)}\n"
    assert read_measurements("bytes,us\n" + row).samples == ((8, 1.0),)
    with pytest.raises(InvalidMeasurements, match=r"Line 2: too long; .* 100,000 characters, are"):
        read_measurements("bytes,us\n " + row)
    wide = "bytes,us" + "," * (MAX_COLUMNS - 2) + "\n8,1\n"
    assert read_measurements(wide).samples == ((8, 1.0),)


@pytest.mark.parametrize(
    "reading",
    [Reading(1, 8, Figure(1.0, 0.1)), Reading(1, 0, None), Reading(1, -8, Figure(1.0, 0.1))],
)
def test_an_endless_file_is_read_to_a_limit(reading):
    left = iter(range(MAX_MEASURED_TIMES + 1))
    with pytest.raises(InvalidMeasurements):
        samples_of(reading for _ in repeat(None) if next(left) >= 0)


def calls_of(text):
    """Count the calls that reading a text takes, of Python and of C."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        read_measurements(text)
    except InvalidMeasurements:
        pass
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(
    ("head", "piece", "tail", "most"),
    [
        # cells that are not there, in columns that are: some 60 calls a row, not 500
        ("size," + "t," * (MAX_COLUMNS - 2) + "\n", "1\n", "", 100),
        ("bytes,us\n8,1\n", "\n", "8,2\n", 0.1),
        ("bytes,us\n8,1\n", " \n", "8,2\n", 0.1),
        ("size,t", ",", "\n1,1\n", 0.1),
        (nccl(ROWS), " 1", "x", 0.1),
        (osu([(8, 1.5)]) + "\n", " 1", "x", 0.1),
        (nccl(ROWS), "host:1:2 [0] NCCL INFO Channel 00/02 : 0 1 2 3\n", "", 100),
    ],
)
def test_work_is_bounded(head, piece, tail, most):
    """Calls for each more of a piece of text."""
    few, many = (calls_of(head + piece * number + tail) for number in (1000, 4000))
    assert many - few <= 3000 * most


def test_a_number_is_short():
    assert figure("1" * 50) is not None
    assert figure("1" * 51) is None
    assert figure("nan" + " " * 60) is None


@pytest.mark.parametrize(
    "line",
    [
        "size count type " * 6_000,
        "size count type " + "time " * 19_000,
        "size " + " " * 90_000 + "count type",
        "a" * 90_000 + "_perf1",
        "a_perf" * 15_000,
        "OSU " * 10_000 + "Size " * 10_000,
        "Size " + " " * 90_000 + "Latency",
        "Rank 1 " + " " * 90_000,
        "Rank 1 Group 1 " + " " * 90_000,
        "\x1b[" + "1;" * 49_000,
        "\x1b[1" * 20_000 + "\n",
        " " * 90_000 + "x",
        ":" * 99_000,
        ">" * 99_000 + "1x",
        "1>" * 49_000,
        "-np 1" * 19_000 + " osu_",
        "8," + "1" * 20_000 + "x",
        "8 " + "1" * 20_000 + "x",
        "8," + "a" * 90_000,
        '"' * 99_000,
    ],
)
def test_no_pattern_backtracks(line):
    """Each takes milliseconds, and would take ten seconds and more in quadratic time."""
    before = time.process_time()
    for head in (nccl([]), osu([]) + "\n", "size,time\n", ""):
        with pytest.raises(InvalidMeasurements):
            read_measurements(head + line)
    assert time.process_time() - before < 5


def rows_of(factor, half=1e-4):
    """One row whose busbw is so many times its algbw."""
    time, algbw = Figure(10.0, 1e-4), Figure(1e5, 1.0)
    return [Reading(1, 1e6, time, algbw, Figure(1e5 * factor, 1e5 * half))]


@pytest.mark.parametrize(
    ("factor", "possible", "workers", "kind", "says"),
    [
        # 2 (n-1)/n is an all-reduce's alone from above 1 on
        (1.75, (), 8, "all_reduce", ""),
        # (n-1)/n is one of three others, whatever the columns leave open
        (0.75, (), 4, "other", "this is no all-reduce"),
        (0.75, ("all_reduce", "broadcast"), 4, "other", "this is no all-reduce"),
        (0.75, ("all_gather", "all_to_all"), 4, "other", "one of all_gather, all_to_all"),
        (0.75, ("all_gather", "broadcast"), 4, "all_gather", "taken as all_gather"),
        # 1 may be an all-reduce of two or what has no factor
        (1.0, (), 2, None, "2 ranks if this is an all-reduce"),
        (1.0, ("broadcast", "reduce"), None, "other", "one of broadcast, reduce"),
        # more than one count fits
        (0.99, (), None, "other", "fits 99 to 101 ranks"),
    ],
)
def test_what_the_bandwidths_tell_alone(factor, possible, workers, kind, says):
    found = ranks_of(rows_of(factor), None, None, possible)
    assert (found.workers, found.kind) == (workers, kind)
    assert says in " ".join(found.notes)


GATHERS = ("all_gather", "all_to_all")
SUMS = ("all_reduce", "reduce_scatter")


@pytest.mark.parametrize(
    ("factors", "possible", "kind", "left"),
    [
        # rows that differ still tell on which side of 1 they are
        ((1.75, 1.70), SUMS, "all_reduce", ("all_reduce",)),
        ((0.875, 0.80), SUMS, "reduce_scatter", ("reduce_scatter",)),
        ((0.875, 0.80), GATHERS, "other", GATHERS),
        # on both sides: nothing but the columns
        ((1.75, 0.80), SUMS, "other", SUMS),
        ((1.75, 0.80), GATHERS, "other", GATHERS),
        ((1.75, 0.80), ("reduce",), "reduce", ("reduce",)),
        ((1.75, 0.80), (), None, ()),
        # the ratio of an all-reduce, without the operation of one
        ((1.75,), GATHERS, "other", GATHERS),
        # no ratio at all
        ((), GATHERS, "other", GATHERS),
        ((), SUMS, None, SUMS),
        ((), (), None, ()),
        # a ratio that is nobody's
        ((0.3,), GATHERS, "other", GATHERS),
        ((0.3,), SUMS, "other", ("reduce_scatter",)),
        ((0.75,), (), "other", ("all_gather", "reduce_scatter", "all_to_all")),
    ],
)
def test_what_the_columns_leave_open(factors, possible, kind, left):
    rows = [row for factor in factors for row in rows_of(factor)]
    found = ranks_of(rows, None, None, possible)
    assert (found.kind, found.possible) == (kind, left)
    differs = "differs between rows" in " ".join(found.notes)
    assert differs == (len(factors) == 2)


@given(st.lists(st.floats(0.01, 4.0), max_size=4), st.sampled_from([GATHERS, SUMS]))
def test_no_collective_is_one_that_its_columns_exclude(factors, possible):
    rows = [row for factor in factors for row in rows_of(factor)]
    found = ranks_of(rows, None, None, possible)
    assert set(found.possible) <= set(possible)
    assert found.kind in {*found.possible, "other", *([None] if possible is SUMS else [])}


def test_what_columns_allow_of_a_program_that_is_named():
    named = read_measurements("all_gather_perf\n" + nccl(ROWS, shares=1.0))
    assert (named.kind, named.possible) == ("all_gather", SUMS)
    none = read_measurements(re.sub(r"redop|sum", "", nccl(ROWS, shares=1.0))).possible
    assert none == ("all_gather", "reduce_scatter", "all_to_all")


def test_a_table_of_times_alone_hears_of_iteration_times():
    for header in ("model,workers,time_us", "iteration,throughput"):
        with pytest.raises(InvalidMeasurements, match=r"need the columns workers, policy, and mo"):
            read_measurements(f"{header}\nvgg16,4,1\n")
    with pytest.raises(InvalidMeasurements) as caught:
        read_measurements("a,b\n1,2\n")
    assert "Iteration" not in str(caught.value)


def test_ranks_that_are_named_and_not_those_of_the_rows():
    found = ranks_of(rows_of(0.75), 8, "all_gather", (), 4)
    assert (found.workers, found.kind) == (8, "all_gather")
    assert found.notes == (
        "The file names 8 ranks, but counts bytes in 4 shares.",
        "busbw / algbw fits 4 ranks. The file names 8.",
    )
