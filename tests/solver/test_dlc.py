"""DLC traces: by hand, the paper's own, random ones beside plain loops, and broken ones."""

from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.graph import ALL_REDUCE
from solver.traces import READERS, Total, TraceChannel, TraceOptions, detect, dlc
from solver.traces.dlc.distributions import nearest, spread_of
from tests import dlc_oracle as oracle
from tests.mangled import mangled
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
LENET = "sketchdlc/CynthiaProtector+SketchDLC/worker_0_lenet5_full.txt"
EXCERPT = "sketchdlc/CynthiaProtector+SketchDLC/worker_0_lenet5_excerpt.txt"
OVERHEADS = ("computation", "search", "synchronization", "update", "wait")


def small(*names):
    return [(DATA / f"dlc_{name}.txt").read_bytes() for name in names]


def read(*files, **options):
    return dlc.read(files, TraceOptions("x", **options))


def measured(*files):
    return read(*files).report.dlc


def figures(iteration):
    return (
        iteration.phase_1_us,
        iteration.phase_2_us,
        iteration.phase_3_us,
        iteration.computation_us,
        iteration.wait_us,
        iteration.overlap_ratio,
    )


def least_mean_most(spread):
    return spread.minimum_us, spread.mean_us, spread.maximum_us


def test_the_phases_of_a_small_training_by_hand():
    report = measured(*small("s0", "w1", "w0"))
    assert report.nodes == ("w0", "w1", "s0")
    assert [(i.node, i.iteration, i.start_us, *figures(i)) for i in report.iterations] == [
        ("w0", 0, 100, 1000, 200, 700, 1200, 200, 200 / 1700),
        ("w0", 1, 1800, 900, 150, 560, 1050, 155, 150 / 1460),
        ("w1", 0, 65, 1050, 230, 650, 1280, 200, 230 / 1700),
        ("w1", 1, 1765, 950, 200, 504, 1150, 155, 200 / 1454),
    ]


def test_its_overheads_by_hand():
    report = measured(*small("w0", "w1", "s0"))
    assert report.is_synchronous is True
    overheads = report.overheads
    assert {name: least_mean_most(getattr(overheads, name).overall) for name in OVERHEADS} == {
        "computation": (1050, 1170.0, 1280),
        "search": (30, 56.25, 85),
        "synchronization": (50, 70.0, 100),
        "update": (40, 115.0, 200),
        "wait": (155, 177.5, 200),
    }
    by_key = {
        name: [(s.key, s.count, *least_mean_most(s)) for s in getattr(overheads, name).by_key]
        for name in OVERHEADS
    }
    assert by_key == {
        "computation": [(0, 4, 1050, 1170.0, 1280), (1, 4, 900, 975.0, 1050)],
        "search": [(0, 4, 60, 75.0, 85), (1, 4, 30, 37.5, 45)],
        "synchronization": [(0, 2, 80, 90.0, 100), (1, 2, 50, 50.0, 50)],
        "update": [(0, 2, 40, 80.0, 120), (1, 2, 100, 150.0, 200)],
        "wait": [(0, 4, 155, 177.5, 200), (1, 4, 0, 0.0, 0)],
    }
    assert [(s.node, s.mean_us) for s in overheads.computation.by_node] == [
        ("w0", 1125.0),
        ("w1", 1215.0),
    ]
    assert [getattr(overheads, name).reason for name in OVERHEADS] == [None] * 5


def test_its_messages_by_hand():
    report = measured(*small("w0", "s0"))
    volume = [
        (v.node, v.push_send_bytes, v.push_recv_bytes, v.pull_send_bytes, v.pull_recv_bytes)
        for v in report.volume
    ]
    assert volume == [("w0", 500, 38, 56, 506), ("s0", 1000, 76, 112, 1012)]
    assert [lengths(each) for each in report.message_lengths] == [
        (1, "s0", 100, 19, 28, 103),
        (0, "s0", 400, 19, 28, 403),
    ]
    assert all(each.is_constant for each in report.message_lengths)


def lengths(row):
    sizes = (row.push_send_bytes, row.push_recv_bytes, row.pull_send_bytes, row.pull_recv_bytes)
    return row.key, row.server, *sizes


def test_what_the_files_cannot_tell():
    of_worker, of_server = measured(*small("w0")).overheads, measured(*small("s0"))
    for name in ("search", "synchronization", "update"):
        overhead = getattr(of_worker, name)
        assert (overhead.overall, overhead.reason) == (None, "No server's file was given.")
    for name in ("computation", "wait"):
        overhead = getattr(of_server.overheads, name)
        assert (overhead.overall, overhead.reason) == (None, "No worker's file was given.")
    assert of_server.iterations == ()
    assert measured(*small("w0")).is_synchronous is None
    trace = read(*small("s0"))
    assert trace.graph is None
    assert trace.report.warnings == ("There is no graph: no worker's file was given.",)


def test_the_graph_of_an_iteration():
    trace = read(*small("w0", "w1", "s0"))
    # iteration 1 of 1,460 us and 1,454 us is the median; worker 1 computed longer
    assert (trace.report.steps, trace.report.step, trace.report.measured_us) == (2, 1, 1454.0)
    assert [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops] == [
        ("compute:1", 950.0, None, ()),
        ("grad:1", None, 100, ("compute:1",)),
        ("compute:0", 200.0, None, ("compute:1",)),
        ("grad:0", None, 400, ("compute:0",)),
    ]
    assert trace.report.collectives == {ALL_REDUCE: Total(2, 500)}
    assert trace.channels == (TraceChannel("network", 2, "num_workers of the header"),)
    assert "The graph is that of w1." in trace.report.assumed
    assert trace.report.dropped == (
        "w0: 2 set-up messages, 8 messages of the parameters' initialization.",
        "w1: 2 set-up messages, 4 messages of the parameters' initialization.",
        "s0: 2 set-up messages, 12 messages of the parameters' initialization.",
    )


def test_the_step_and_the_file_asked_for():
    files = small("w0", "s0", "w1")
    assert read(*files, step=0, rank=0).report.measured_us == 1700.0
    assert read(*files, step=1, rank=0).report.measured_us == 1460.0
    assert read(*files, step=1, rank=2).report.measured_us == 1454.0
    for options in ({"step": 2}, {"step": -1}, {"rank": 1}, {"rank": 3}):
        with pytest.raises(InvalidTrace) as caught:
            read(*files, **options)
        assert [fault.code for fault in caught.value.faults] == ["out_of_range"]


def test_lengths_of_more_than_64_bits_together():
    longest = 10**18 - 1
    messages = [
        (i, key, stage, 0, 1000 * (i + 1) + 10 * stage, longest)
        for i in (-1, 0)
        for key in range(20)
        for stage in range(4)
    ]
    [row] = measured(oracle.text_of("s0", 1, 1, messages).encode()).volume
    assert (row.push_send_bytes, row.pull_send_bytes) == (20e18, 20e18)


def test_updates_that_do_not_wait():
    messages = []
    for iteration in range(3):
        for worker, at in ((0, 100), (1, 700)):
            times = [at, at + 40 + iteration, at + 60, at + 63]
            messages += [
                (iteration, 5, stage, worker, 10_000 * (iteration + 1) + time, 10)
                for stage, time in enumerate(times)
            ]
    report = measured(oracle.text_of("s0", 2, 1, messages).encode())
    assert report.is_synchronous is False
    assert least_mean_most(report.overheads.update.overall) == (40, 41.0, 42)
    assert least_mean_most(report.overheads.search.overall) == (3, 3.0, 3)
    overhead = report.overheads.synchronization
    assert overhead.overall is None
    assert overhead.reason.startswith("The servers update asynchronously")


def test_a_key_on_two_servers_is_two_gradients():
    worker = [
        (iteration, key, stage, server, 1000 * (iteration + 2) + 10 * key + server + 100 * stage, 7)
        for iteration in (-1, 0)
        for key in (3, 4)
        for server in (0, 1)
        for stage in range(4)
        if (key, server) != (4, 1) and (iteration, stage) not in {(-1, 0), (-1, 1)}
    ]
    trace = read(oracle.text_of("w1", 2, 2, worker).encode())
    grads = [op.id for op in trace.graph.ops if op.kind == ALL_REDUCE]
    assert grads == ["grad:3@s0", "grad:3@s1", "grad:4"]
    assert [lengths(row)[:3] for row in trace.report.dlc.message_lengths] == [
        (3, "s0", 7),
        (3, "s1", 7),
        (4, "s0", 7),
    ]


def test_a_trace_that_ends_early():
    lines = small("w0")[0].decode().splitlines()
    cut = "\n".join(lines[:-4]).encode()  # without the last two parameters
    report = read(cut).report
    first, second = report.dlc.iterations
    assert figures(first)[:3] == (1000, 200, 700)
    assert figures(second) == (900, 150, None, 1050, None, None)
    assert report.warnings == (
        "w0: 1 iteration was not recorded as a whole; what they do not tell is null.",
    )
    with pytest.raises(InvalidTrace, match="Iteration 1 was not recorded as a whole"):
        read(cut, step=1)
    keyless = "\n".join(line for line in lines if "1-8-s0" not in line).encode()  # a push
    assert figures(read(keyless).report.dlc.iterations[1])[:2] == (None, None)
    begun = "\n".join(line for line in lines if "Pull_Recv" not in line).encode()
    trace = read(begun)
    assert trace.graph is None
    assert "There is no graph: no iteration was recorded as a whole." in trace.report.warnings
    assert trace.report.dlc.overheads.wait.reason == "No iteration was recorded as a whole."
    assert trace.report.dlc.volume == ()


@pytest.mark.parametrize("node", ["w0", "s0"])
def test_parameters_that_were_set_up_and_never_trained(node):
    messages = [(-1, 0, stage, 0, 10 + stage, 9) for stage in range(4)]
    trace = read(oracle.text_of(node, 1, 1, messages).encode())
    report = trace.report.dlc
    assert (trace.graph, report.iterations, report.volume, report.message_lengths) == (
        None,
        (),
        (),
        (),
    )
    reasons = {getattr(report.overheads, name).reason for name in OVERHEADS}
    assert reasons in (
        {"No iteration was recorded as a whole.", "No server's file was given."},
        {"No message of that kind was recorded with its answer.", "No worker's file was given."},
    )


def test_time_that_runs_back_is_not_known():
    messages = [(-1, 0, 3, 0, 500, 9), (0, 0, 0, 0, 400, 9), (0, 0, 3, 0, 300, 9)]
    [iteration] = measured(oracle.text_of("w0", 1, 1, messages).encode()).iterations
    assert figures(iteration) == (None, 0, None, None, None, None)


@settings(max_examples=cases(200, 40))
@given(st.dictionaries(st.tuples(*[st.integers(0, 1)] * 3, st.integers(0, 3)), st.integers(0, 9)))
def test_answers_before_what_they_answer_are_counted(times):
    """By iteration, key, server and stage; some are not recorded."""
    early = sum(
        times[(*place, stage + 1)] < at
        for (*place, stage), at in times.items()
        if stage % 2 == 0 and (*place, stage + 1) in times
    )
    messages = [
        (iteration, key, stage, server, 10**6 + at, 9)
        for (iteration, key, server, stage), at in times.items()
    ]
    if not messages:
        return
    warnings = read(oracle.text_of("w0", 1, 2, messages).encode()).report.warnings
    found = [said for said in warnings if "before what is answered" in said]
    assert [said.split()[1] for said in found] == ([str(early)] if early else [])


def test_lengths_that_vary():
    messages = [
        (i, 0, stage, 0, 100 * i + stage, 9 + (i == 2)) for i in range(3) for stage in (0, 1, 2)
    ]
    [row] = measured(oracle.text_of("w0", 1, 1, messages).encode()).message_lengths
    assert lengths(row) == (0, "s0", 9, 9, 9, None)
    assert not row.is_constant


def test_the_papers_iteration(shared):
    """Fig. 8, Tables 5 and 6."""
    trace = read((shared / LENET).read_bytes())
    [iteration] = trace.report.dlc.iterations
    assert figures(iteration)[:5] == (67_434, 6_656, 24_087, 74_090, 12_748)
    assert round(100 * iteration.overlap_ratio, 2) == 7.27
    table_6 = {
        7: (73, 19, 28, 76),
        1: (113, 19, 28, 116),
        3: (233, 19, 28, 236),
        0: (2033, 19, 28, 2036),
        5: (2033, 19, 28, 2036),
        6: (20033, 19, 28, 20036),
        2: (100033, 19, 28, 100036),
        4: (1600033, 19, 28, 1600036),
    }
    rows = [lengths(row) for row in trace.report.dlc.message_lengths]
    assert {row[0]: row[2:] for row in rows} == table_6
    assert [row[0] for row in rows] == list(table_6)  # in the order of the table
    [volume] = trace.report.dlc.volume
    short = (volume.push_recv_bytes, volume.pull_send_bytes)
    assert [round(size / 1e6, 2) for size in (volume.push_send_bytes, volume.pull_recv_bytes)] == [
        1.72,
        1.72,
    ]
    assert [round(size / 1e6, 5) for size in short] == [0.00015, 0.00022]
    assert trace.report.measured_us == 67_434 + 24_087
    assert simulate_alone(trace.graph) == 74_090.0
    assert detect([(shared / LENET).read_bytes()]) == "dlc"


def simulate_alone(graph):
    """The compute of a graph whose collectives take no time."""
    return sum(op.duration_us or 0.0 for op in graph.ops)


def test_the_papers_excerpt(shared):
    """Twelve rows of two keys: no parameter of the one was got before its only push."""
    report = read((shared / EXCERPT).read_bytes()).report.dlc
    [iteration] = report.iterations
    assert figures(iteration) == (None, 0, 824_434 - 813_995, None, 0, None)
    assert [lengths(row) for row in report.message_lengths] == [(7, "s0", 73, 19, 28, 76)]


@st.composite
def trainings(draw):
    """Texts of the nodes of random trainings, rows in any order, some of them lost."""
    workers, keys, iterations = (draw(st.integers(1, most)) for most in (3, 3, 3))
    servers = {key: draw(st.integers(0, 1)) for key in range(keys)}
    count = max(servers.values()) + 1
    sent: dict = {f"w{w}": [] for w in range(workers)} | {f"s{s}": [] for s in range(count)}
    clock = dict.fromkeys(range(workers), 10**6 - 20)
    for iteration in range(-1, iterations):
        for worker in range(workers):
            for key in draw(st.permutations(range(keys))):
                for stage in range(4):
                    clock[worker] += draw(st.integers(0, 3)) * (1 + 5 * (stage == 0))
                    length = draw(st.integers(1, 3))
                    here = (iteration, key, stage)
                    sent[f"w{worker}"].append((*here, servers[key], clock[worker], length))
                    later = clock[worker] + draw(st.integers(0, 2))
                    sent[f"s{servers[key]}"].append((*here, worker, later, length))
    texts = {}
    for node, messages in sent.items():
        if draw(st.integers(0, 4)) and messages:
            lost = draw(st.sets(st.integers(0, 4 * len(messages)), max_size=3))
            left = [m for i, m in enumerate(messages) if i not in lost]
            mixed = draw(st.permutations(left))
            spelling = draw(st.sampled_from(sorted(oracle.HEADS)))
            texts[node] = oracle.text_of(node, workers, count, mixed, spelling)
    return workers, {node: text for node, text in texts.items() if "OP:=" in text}


@settings(max_examples=cases(1000))
@given(trainings())
def test_random_trainings_are_measured_as_by_plain_loops(training):
    workers, texts = training
    if not texts:
        return
    report = measured(*(text.encode() for text in texts.values()))
    assert sorted(report.nodes) == sorted(texts)
    for node in texts:
        if node[0] == "w":
            ours = {i.iteration: figures(i) for i in report.iterations if i.node == node}
            theirs = oracle.phases(texts[node])
            assert ours == theirs
    check_workers(report, texts)
    check_volume(report, texts)
    check_servers(report, texts, workers)


def check_workers(report, texts):
    measures = [oracle.phases(text) for node, text in texts.items() if node[0] == "w"]
    for place, overhead in ((3, report.overheads.computation), (4, report.overheads.wait)):
        values = [f[place] for phases in measures for f in phases.values() if f[place] is not None]
        if not values:
            assert overhead.overall is None
            assert overhead.reason
            continue
        found = (overhead.overall.count, *least_mean_most(overhead.overall))
        assert found == pytest.approx(
            (len(values), min(values), sum(values) / len(values), max(values)), abs=1e-3
        )
        # the key that comes last is the overhead itself
        assert max(s.maximum_us for s in overhead.by_key) == max(values)


def check_volume(report, texts):
    whole = {
        node: [i for i, f in oracle.phases(text).items() if f[1] is not None and f[4] is not None]
        for node, text in texts.items()
        if node[0] == "w"
    }
    for row in report.volume:
        if row.node in whole:
            sizes = [row.push_send_bytes, row.push_recv_bytes]
            sizes += [row.pull_send_bytes, row.pull_recv_bytes]
            assert sizes == oracle.volume(texts[row.node], whole[row.node])
    listed = {row.node for row in report.volume if row.node[0] == "w"}
    assert listed == {node for node, numbers in whole.items() if numbers}


def check_servers(report, texts, workers):
    together: dict = {"search": {}, "synchronization": {}, "update": {}}
    for node, text in texts.items():
        if node[0] == "s":
            for kind, by_key in zip(together, oracle.of_servers(text, workers), strict=True):
                for key, values in by_key.items():
                    together[kind].setdefault(key, []).extend(values)
    updates = [value for values in together["update"].values() for value in values]
    negative = sum(value < 0 for value in updates)
    telling = [value for value in updates if value] if workers > 1 else []
    assert report.is_synchronous == (2 * negative <= len(telling) if telling else None)
    kinds = ["search"]
    if report.is_synchronous:
        kinds += ["synchronization", "update"]
    for kind in kinds:
        overhead = getattr(report.overheads, kind)
        theirs = {k: [v for v in vs if v >= 0] for k, vs in together[kind].items()}
        measures = {k: (len(v), min(v), max(v)) for k, v in theirs.items() if v}
        ours = {s.key: (s.count, s.minimum_us, s.maximum_us) for s in overhead.by_key}
        assert ours == measures
        assert overhead.left_out == sum(v < 0 for vs in together[kind].values() for v in vs)
        assert (overhead.overall is None) == (not ours) == (overhead.reason is not None)


@settings(max_examples=cases(1000))
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60))
def test_spreads_are_those_of_plain_loops(values):
    spread = spread_of(np.array(values))
    assert (spread.count, spread.minimum_us, spread.maximum_us) == (
        len(values),
        min(values),
        max(values),
    )
    assert sum(spread.histogram) == len(values)
    if len(set(values)) == 1:
        assert (spread.fit, spread.histogram) == (None, (len(values),))
        return
    name, error, center, width = oracle.nearest(values)
    assert spread.fit.error == pytest.approx(error, abs=2e-6)
    if spread.fit.distribution == name:  # else both are as near
        assert spread.fit.median_us == pytest.approx(center, abs=1e-3)
        ours = spread.fit.deviation_us or spread.fit.log_deviation
        assert ours == pytest.approx(width, abs=1e-3)


def test_a_histogram_by_hand():
    assert spread_of(np.array([0, 1, 2, 3, 4, 5, 6, 7, 100])).histogram == (8, 0, 1)
    values = [3, 5, 8, 8, 9, 12]
    assert list(spread_of(np.array(values)).histogram) == oracle.histogram(values, 3)


def test_values_too_close_for_logarithms_are_normal():
    fit = nearest(np.array([1e15, 1e15 + 1]))
    assert fit.distribution == "normal"


def test_a_log_normal_is_told_from_a_normal():
    draw = np.random.Generator(np.random.PCG64(1))
    normal = spread_of(np.rint(draw.normal(1000, 100, 4000)).astype(np.int64))
    skewed = spread_of(np.rint(np.exp(draw.normal(7, 1, 4000))).astype(np.int64))
    assert (normal.fit.distribution, skewed.fit.distribution) == ("normal", "log_normal")
    assert normal.fit.deviation_us == pytest.approx(100, rel=0.05)
    assert skewed.fit.log_deviation == pytest.approx(1, rel=0.05)
    assert max(normal.fit.error, skewed.fit.error) < 0.03


@pytest.mark.parametrize("name", ["w0", "w1", "s0"])
def test_written_and_read_again_it_is_the_same(name):
    [records] = dlc.nodes_of(small(name))
    text = dlc.text_of(records)
    assert detect([text.encode()]) == "dlc"
    [again] = dlc.nodes_of([text.encode()])
    assert dlc.text_of(again) == text
    assert measured(text.encode()) == measured(*small(name))
    for column in ("stage", "key", "number", "peer", "length", "pair", "time"):
        assert getattr(again, column).tolist() == getattr(records, column).tolist()


def test_what_is_written_of_the_papers_worker_is_what_was_recorded(shared):
    """All columns but ids that repeat, and what a push that waits for all keys took."""
    content = (shared / LENET).read_bytes()
    [records] = dlc.nodes_of([content])
    text = dlc.text_of(records)
    assert dlc.text_of(dlc.nodes_of([text.encode()])[0]) == text
    pairs = zip(rows(content.decode()), rows(text), strict=True)
    for theirs, ours in pairs:
        for column in range(1, len(theirs)):
            is_many = len(theirs) == 13 and theirs[8] == "4" and column == 9
            assert theirs[column].lower() == ours[column].lower() or is_many


def rows(text):
    _, _, body = text.partition("IDdep\n")
    return [line.split() for line in body.splitlines()]


def test_without_a_header_the_nodes_have_their_ranks():
    for name, called in (("w0", "w0"), ("s0", "s2")):
        text = small(name)[0].decode().partition("IDdep\n")[2]
        report = read(text.encode()).report
        assert report.dlc.nodes == (called,)
        [records] = dlc.nodes_of([text.encode()])
        assert (records.workers, records.servers) == (None, None)
        again = dlc.text_of(records)
        assert dlc.text_of(dlc.nodes_of([again.encode()])[0]) == again
    assert read(small("w0")[0].partition(b"IDdep\n")[2]).channels[0].workers is None


def test_detected():
    w0, w1, s0 = small("w0", "w1", "s0")
    assert detect([w0, w1, s0]) == "dlc"
    assert detect([w0.partition(b"IDdep\n")[2]]) == "dlc"
    assert READERS["dlc"] is dlc.read


ROW = "0\t0\t1\t9\t1\tOP:= Push_Send_Worker\t0-4-s0\t0\t0\t1\t0\t-1"

SERVERS = ROW.replace("Push_Send_Worker", "Push_Send_Server").replace("s0", "w0")


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        # no message at all
        ("", [("", "wrong_format")]),
        ("\n\n====\n", [("", "wrong_format")]),
        ("0\t0\t2\t25\t0\tOP:= SendCom_TO_Servers", [("", "wrong_format")]),
        # neither a message nor a set-up row
        (f"{ROW}\nhello", [("/2", "wrong_format")]),
        # columns missing, not numbers, negative, too large
        (ROW.replace("\t-1", "\n"), [("/1", "wrong_format")]),
        # cut off in its first message
        (ROW.replace("\t-1", ""), [("", "wrong_format")]),
        (ROW.replace("\t9", "\tx"), [("/1", "wrong_format")]),
        (ROW.replace("\t9", "\t-9"), [("/1", "wrong_format")]),
        (ROW.replace("\t9", "\t" + 19 * "9"), [("/1", "wrong_format")]),
        (ROW.replace("\t9", "\tNaN"), [("/1", "wrong_format")]),
        (ROW.replace("Push_Send", "Push_Sent"), [("/1", "wrong_format")]),
        # a worker that pushes to a worker
        (ROW.replace("s0", "w1"), [("/1", "wrong_format")]),
        # two nodes in a file
        (f"{ROW}\n" + ROW.replace("0\t0\t1", "1\t1\t2"), [("/2", "ranks_differ")]),
        (f"{ROW}\n" + SERVERS, [("/2", "ranks_differ")]),
        # an operation twice, and one at another's place
        (f"{ROW}\n{ROW}", [("", "duplicate_id")]),
        (f"{ROW}\n" + ROW.replace("0-4", "0-5"), [("", "wrong_format")]),
        (ROW.replace("0-4", "0-5"), [("", "wrong_format")]),
        # the scheduler's own records
        ("0\t0\t1\t9\t0\t0\t-1\t0\t\tOP:= Scheduler_Comm\t\tx", [("", "not_supported")]),
        # more faults than anyone reads
        (
            "hello\n" * 3000,
            [(f"/{i + 1}", "wrong_format") for i in range(1000)] + [("", "too_many_faults")],
        ),
        # all faults at once
        (
            f"x\n{ROW}\ny\n{ROW}",
            [("/1", "wrong_format"), ("/3", "wrong_format"), ("", "duplicate_id")],
        ),
    ],
)  # fmt: skip
def test_rejected(text, faults):
    with pytest.raises(InvalidTrace) as caught:
        read(text.encode())
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_several_files_that_do_not_go_together():
    w0, w1 = small("w0", "w1")
    other = w1.replace(b"num_workers:= 2", b"num_workers:= 3")
    with pytest.raises(InvalidTrace) as caught:
        read(w0, other, w0 + b"\n")
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [
        ("/files/1", "ranks_differ"),
        ("/files/2", "ranks_differ"),
    ]
    with pytest.raises(InvalidTrace) as caught:
        read(w0, w1 + b"hello", b"world")
    assert [fault.pointer for fault in caught.value.faults] == ["/files/1/29", "/files/2/1"]
    with pytest.raises(InvalidTrace) as caught:
        read()
    assert [fault.code for fault in caught.value.faults] == ["empty"]
    bare = w1.partition(b"id_dep\n")[2]
    with pytest.raises(InvalidTrace, match=r"of \? workers and \? servers"):
        read(w0, bare)


@pytest.mark.parametrize(
    "text",
    [
        # an empty message is nothing to send
        oracle.text_of("w0", 1, 1, [(-1, 0, 3, 0, 5, 0), (0, 0, 0, 0, 9, 0), (0, 0, 3, 0, 11, 0)]),
        # an iteration of more than a hundred days
        oracle.text_of(
            "w0", 1, 1, [(-1, 0, 3, 0, 5, 1), (0, 0, 0, 0, 10**17, 1), (0, 0, 3, 0, 10**17, 1)]
        ),
    ],
)
def test_a_graph_that_would_break_a_rule(text):
    trace = read(text.encode())
    assert trace.graph is None
    assert trace.report.warnings[-1].startswith("There is no graph: ")
    assert (trace.report.ops, trace.report.measured_us) == (0, None)
    assert trace.report.dlc.iterations
    assert trace.messages


@given(st.sampled_from(["w0", "w1", "s0"]).flatmap(lambda name: mangled(small(name)[0])))
def test_broken_files_are_refused_or_read(content):
    try:
        trace = read(content)
    except InterlaceError:
        return
    assert trace.report.dlc.nodes
    for i in trace.report.dlc.iterations:
        assert all(value is None or value >= 0 for value in figures(i))


@pytest.mark.parametrize("piece", [" ", "\t", "OP:= ", "0\t", "0-4-s0 ", "=", "9", "num_workers:="])
def test_long_lines_take_no_time(piece):
    for start in ("", ROW, ROW[: len(ROW) // 2], "0\t0\t1\t9\t1\t"):
        with suppress(InvalidTrace):
            read((start + 200_000 * piece + "\n" + ROW).encode())


def test_keys_and_iterations_far_apart_take_no_memory():
    """Many different keys and iterations, no two rows alike."""
    messages = [
        (10**5 * i, 10**5 * i, stage, 0, 10 * i + stage, 1)
        for i in range(2000)
        for stage in range(4)
    ]
    trace = read(oracle.text_of("w0", 1, 1, messages).encode())
    assert trace.graph is None
    assert len(trace.report.dlc.iterations) == 2000
