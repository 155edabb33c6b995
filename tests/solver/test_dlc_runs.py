"""Steps of DLC traces, and DLC traces of simulated runs."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidSteps, InvalidTrace
from solver.parameter_server.as_dlc import CONFIRMATION_BYTES, REQUEST_BYTES, write_dlc
from solver.parameter_server.links import ServerLinks
from solver.parameter_server.of_dlc import steps_of
from solver.parameter_server.record import RunOptions
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import StepOp, build_step
from solver.traces import TraceOptions, dlc
from tests import dlc_oracle as oracle
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
LENET = "sketchdlc/CynthiaProtector+SketchDLC/worker_0_lenet5_full.txt"
#: 1 byte/us.
SLOW = ServerLinks(0.008, None)


def small(*names):
    return dlc.nodes_of([(DATA / f"dlc_{name}.txt").read_bytes() for name in names])


def read(texts):
    return dlc.read([text.encode() for text in texts.values()], TraceOptions())


def again(texts):
    nodes = dlc.nodes_of([text.encode() for text in texts.values()])
    return {f"{node.name}.txt": dlc.text_of(node) for node in nodes}


def ops_of(step):
    return [(op.id, op.resource, op.duration_us, op.bytes, op.after) for op in step.ops]


def test_the_steps_of_a_worker_by_hand():
    first, second = steps_of(small("w0"))
    pulls = ("pull:0", "pull:1")
    assert ops_of(first) == [
        ("pull:0", "downlink", None, 403, ()),
        ("pull:1", "downlink", None, 103, ()),
        ("compute:1", "worker", 1000.0, None, pulls),
        ("push:1", "uplink", None, 100, ("compute:1",)),
        ("compute:0", "worker", 200.0, None, ("compute:1",)),
        ("push:0", "uplink", None, 400, ("compute:0",)),
    ]
    # in the order in which they were asked for
    assert [op.id for op in second.ops][:2] == ["pull:1", "pull:0"]
    assert [op.duration_us for op in second.ops if op.resource == "worker"] == [900.0, 150.0]


def test_servers_tell_of_updates():
    steps = steps_of(small("w0", "w1", "s0"))
    assert len(steps) == 4
    updates = [
        [(op.id, op.duration_us, op.after) for op in step.ops if op.kind == "server"]
        for step in steps
    ]
    whole = [
        [("update:1", 200.0, ("push:1",)), ("update:0", 120.0, ("push:0",))],
        [("update:1", 100.0, ("push:1",)), ("update:0", 40.0, ("push:0",))],
    ]
    assert updates == whole + whole


def test_a_server_that_does_not_wait_updates_for_each_push():
    worker = [(i, 0, s, 0, 1000 * (i + 1) + 10 * s, 5) for i in (-1, 0) for s in range(4)]
    server = [(0, 0, 0, 0, 1005, 5), (0, 0, 1, 0, 1008, 5), (0, 0, 0, 1, 1040, 5)]
    texts = [oracle.text_of("w0", 2, 1, worker), oracle.text_of("s0", 2, 1, server)]
    [step] = steps_of(dlc.nodes_of([text.encode() for text in texts]))
    assert [op.duration_us for op in step.ops if op.kind == "server"] == [3.0]
    # confirmed before it came: the clock does not tell how long that took
    odd = oracle.text_of("s0", 2, 1, [(0, 0, 0, 0, 1009, 5), (0, 0, 1, 0, 1008, 5)])
    [step] = steps_of(dlc.nodes_of([texts[0].encode(), odd.encode()]))
    assert all(op.kind != "server" for op in step.ops)
    # confirmed, but the push itself is lost
    lost = oracle.text_of("s0", 2, 1, [(0, 0, 1, 0, 1008, 5)])
    [step] = steps_of(dlc.nodes_of([texts[0].encode(), lost.encode()]))
    assert all(op.kind != "server" for op in step.ops)


def of_servers(keys):
    messages = [
        (i, key, stage, server, 10_000 * (i + 1) + 100 * key + 50 * server + 10 * stage, 5 + key)
        for i in (-1, 0, 1)
        for key, server in keys
        for stage in range(4)
    ]
    return dlc.nodes_of([oracle.text_of("w0", 1, 17, messages).encode()])


def test_two_servers_are_named():
    first, _ = steps_of(of_servers([(0, 0), (0, 1), (1, 1)]))
    assert [(op.id, op.resource) for op in first.ops if op.is_transfer] == [
        ("pull:0@s0", "downlink:s0"),
        ("pull:0@s1", "downlink:s1"),
        ("pull:1", "downlink:s1"),
        ("push:0@s0", "uplink:s0"),
        ("push:0@s1", "uplink:s1"),
        ("push:1", "uplink:s1"),
    ]
    with pytest.raises(InvalidSteps):
        steps_of(of_servers([(i, i) for i in range(17)]))


@pytest.mark.parametrize("names", [("s0",), ("s0", "w0")])
def test_what_has_no_steps(names):
    nodes = small(*names)
    if len(nodes) > 1:
        lines = dlc.text_of(nodes[1]).splitlines()
        text = "\n".join(line for line in lines if "Pull_Recv" not in line)
        nodes = [nodes[0], *dlc.nodes_of([text.encode()])]
    with pytest.raises(InvalidTrace) as caught:
        steps_of(nodes)
    assert [fault.code for fault in caught.value.faults] == ["truncated"]


#: A step of 30 us down, 50 us of compute, 20 us up and 7 us of update, at 1 byte/us.
STEP = build_step(
    [
        StepOp("pull:4", "downlink", None, 10),
        StepOp("pull:9", "downlink", None, 20),
        StepOp("compute", "worker", 50.0, None, ("pull:4", "pull:9")),
        StepOp("push:9", "uplink", None, 20, ("compute",)),
        StepOp("update:9", "server", 7.0, None, ("push:9",)),
        StepOp("push:4", "uplink", None, 10, ("compute",)),
    ]
)


def messages_of(text):
    """Iteration, key, stage, time and length of each row."""
    return [(*row[:3], *row[4:]) for row in oracle.rows_of(text)]


def test_the_trace_of_a_run_by_hand():
    run = run_steps([STEP], 1, SLOW, RunOptions(steps=2, dropped=0), recorded=range(2))
    texts = write_dlc([STEP], run)
    assert list(texts) == ["w0.txt", "s0.txt"]
    confirmation, request = CONFIRMATION_BYTES, REQUEST_BYTES
    assert messages_of(texts["w0.txt"]) == [
        (-1, 4, 2, 0, request),
        (-1, 9, 2, 0, request),
        (-1, 4, 3, 10, 10),
        (-1, 9, 3, 30, 20),
        (0, 4, 0, 80, 10),  # both are ready when the compute ends
        (0, 9, 0, 80, 20),
        (0, 9, 1, 107, confirmation),  # 20 us on the link and 7 us of update
        (0, 4, 1, 110, confirmation),
        (0, 4, 2, 110, request),  # the next step begins
        (0, 9, 2, 110, request),
        (0, 4, 3, 120, 10),
        (0, 9, 3, 140, 20),
        (1, 4, 0, 190, 10),
        (1, 9, 0, 190, 20),
        (1, 9, 1, 217, confirmation),
        (1, 4, 1, 220, confirmation),
    ]
    assert messages_of(texts["s0.txt"])[4:8] == [
        (0, 9, 0, 100, 20),
        (0, 9, 1, 107, confirmation),
        (0, 4, 0, 110, 10),
        (0, 4, 1, 110, confirmation),
    ]
    report = read(texts).report.dlc
    [first, last] = report.iterations
    assert (first.phase_1_us, first.phase_2_us, first.phase_3_us, first.wait_us) == (50, 0, 60, 20)
    assert (last.phase_1_us, last.phase_3_us) == (50, None)
    assert [(s.key, s.mean_us) for s in report.overheads.update.by_key] == [(4, 0.0), (9, 7.0)]
    assert again(texts) == texts
    pairs = [line.split()[4] for line in texts["w0.txt"].splitlines()[7:]]
    # keys 4 and 9 of the first pull, then pushes odd and pulls even
    assert pairs[:6] == ["1", "2", "1", "2", "3", "5"]
    assert pairs[8:12] == ["4", "6", "4", "6"]


def test_pushes_and_pulls_are_of_one_key_by_their_bytes():
    step = build_step(
        [
            StepOp("a_recv", "downlink", None, 10),
            StepOp("b_recv", "downlink", None, 20),
            StepOp("only_got", "downlink", None, 7),
            StepOp("compute", "worker", 5.0, None, ("a_recv", "b_recv", "only_got")),
            StepOp("b_send", "uplink", None, 20, ("compute",)),
            StepOp("a_send", "uplink", None, 10, ("compute",)),
            StepOp("only_sent", "uplink", None, 9, ("compute",)),
        ]
    )
    run = run_steps([step], 2, SLOW, RunOptions(steps=2, dropped=0), recorded=range(2))
    texts = write_dlc([step], run)
    rows = set()
    for row in messages_of(texts["w1.txt"]):
        rows.add((row[1], row[2], row[4]))
    assert {row for row in rows if row[1] in (0, 3)} == {
        (0, 3, 10),
        (0, 0, 10),
        (1, 3, 20),
        (1, 0, 20),
        (2, 3, 7),
        (3, 0, 9),
    }
    assert read(texts).report.dlc.iterations[0].overlap_ratio is not None
    assert again(texts) == texts


def test_a_server_that_searches():
    step = build_step(
        [
            StepOp("find", "server", 3.0),
            StepOp("pull:0", "downlink", None, 10, ("find",)),
            StepOp("compute", "worker", 5.0, None, ("pull:0",)),
            StepOp("push:0", "uplink", None, 10, ("compute",)),
        ]
    )
    run = run_steps([step], 1, SLOW, RunOptions(steps=3, dropped=0), recorded=range(1, 3))
    report = read(write_dlc([step], run)).report.dlc
    assert report.overheads.search.overall.maximum_us == 3
    assert [i.start_us for i in report.iterations][:1] == [13]
    assert [i.iteration for i in report.iterations] == [0, 1]


def of_uneven_workers(took, workers=2):
    """Steps of 10 us and of 300 us, and an update, or none."""
    steps = []
    for compute in (10.0, 300.0):
        ops = [
            StepOp("pull:0", "downlink", None, 10),
            StepOp("compute", "worker", compute, None, ("pull:0",)),
            StepOp("push:0", "uplink", None, 10, ("compute",)),
        ]
        if took is not None:
            ops.append(StepOp("update:0", "server", took, None, ("push:0",)))
        steps.append(build_step(ops))

    def written(synchronous):
        options = RunOptions(steps=12, dropped=0, seed=3, synchronous=synchronous)
        run = run_steps(steps, workers, SLOW, options, recorded=range(12))
        assert run.is_synchronous is synchronous
        return write_dlc(steps, run)

    return written


def test_a_run_is_read_back_in_its_mode():
    written = of_uneven_workers(7.0)
    assert read(written(True)).report.dlc.is_synchronous is True
    assert read(written(False)).report.dlc.is_synchronous is False
    # both workers' pushes of an iteration are confirmed at once, 7 us after the last came
    rows = messages_of(written(True)["s0.txt"])
    for iteration in range(11):
        pushed = [row[3] for row in rows if row[0] == iteration and row[2] == 0]
        confirmed = [row[3] for row in rows if row[0] == iteration and row[2] == 1]
        assert confirmed == [max(pushed) + 7] * 2


def test_the_mode_that_no_file_tells():
    """One worker waits for nobody; updates of 0 us end with the last push, waited for or not."""
    for written in (of_uneven_workers(7.0, workers=1), of_uneven_workers(None)):
        assert read(written(True)).report.dlc.is_synchronous is None
    assert read(of_uneven_workers(7.0, workers=1)(False)).report.dlc.is_synchronous is None
    assert read(of_uneven_workers(None)(False)).report.dlc.is_synchronous is False


def test_a_synchronous_push_that_not_all_have_sent_is_not_confirmed():
    """The run ends with the first worker's last step: the other is computing, or pushing."""
    for links in (SLOW, ServerLinks(0.008, 4)):
        options = RunOptions(steps=1, dropped=0, spread=0.3, seed=1, synchronous=True)
        late = build_step(
            [StepOp("begin", "worker", 50.0), StepOp("push:0", "uplink", None, 100, ("begin",))]
        )
        run = run_steps([late], 2, links, options, range(1))
        texts = write_dlc([late], run)
        stages = sorted([row[2] for row in messages_of(texts[f"w{w}.txt"])] for w in (0, 1))
        assert stages == [[], [0]]


def test_nothing_recorded_is_headers_alone():
    run = run_steps([STEP], 1, SLOW, RunOptions(steps=1, dropped=0))
    texts = write_dlc([STEP], run)
    assert all("OP:=" not in text for text in texts.values())


def test_ops_that_the_run_did_not_end_have_no_message():
    """A worker is stopped while it pushes, with flow control in its second service."""
    ops = [StepOp("compute", "worker", 50.0), StepOp("push:0", "uplink", None, 100, ("compute",))]
    step = build_step(ops)
    for links in (SLOW, ServerLinks(0.008, 40)):
        options = RunOptions(steps=1, dropped=0, spread=0.3, seed=1)
        run = run_steps([step], 2, links, options, range(1))
        texts = write_dlc([step], run)
        stages = sorted([row[2] for row in messages_of(texts[f"w{w}.txt"])] for w in (0, 1))
        assert stages == [[], [0, 1]]
        pushed = {service.worker for service in run.services if service.bytes}
        assert len(pushed) == (2 if links.win_bytes else 1)
    # an update that has not ended confirms nothing
    steps = [
        build_step(
            [
                StepOp("push:0", "uplink", None, 10),
                StepOp("update:0", "server", duration, None, ("push:0",)),
            ]
        )
        for duration in (5.0, 500.0)
    ]
    for seed in range(20):
        run = run_steps(steps, 2, SLOW, RunOptions(steps=1, dropped=0, seed=seed), range(1))
        if len({service.profile for service in run.services}) > 1:
            break
    texts = write_dlc(steps, run)
    stages = sorted([row[2] for row in messages_of(texts[f"w{w}.txt"])] for w in (0, 1))
    assert stages == [[0], [0, 1]]


def test_the_papers_worker_simulated_alone(shared):
    """With nobody else and the network of the recording, computation is as it was recorded."""
    nodes = dlc.nodes_of([(shared / LENET).read_bytes()])
    steps = steps_of(nodes)
    assert steps[0].bytes_on("uplink", None) == 1_724_584
    run = run_steps(steps, 1, ServerLinks(56.0), RunOptions(steps=4, dropped=0), recorded=range(4))
    texts = write_dlc(steps, run)
    iterations = read(texts).report.dlc.iterations
    assert all(abs(i.computation_us - 74_090) <= 1 for i in iterations)
    assert all(abs(i.phase_1_us - 67_434) <= 1 for i in iterations)
    assert again(texts) == texts


@st.composite
def runs(draw):
    """Steps as DLC traces have them, at whole microseconds, and a run of them."""
    servers = draw(st.integers(1, 2))
    keys = [(key, draw(st.integers(0, servers - 1))) for key in range(draw(st.integers(1, 4)))]
    steps = []
    for _ in range(draw(st.integers(1, 2))):

        def at(kind, server):
            return f"{kind}:s{server}" if servers > 1 else kind

        ops = [
            StepOp(f"pull:{key}", at("downlink", server), None, draw(st.integers(1, 30)))
            for key, server in keys
        ]
        before = tuple(op.id for op in ops)
        for key, server in draw(st.permutations(keys)):
            time = float(draw(st.integers(0, 40)))
            ops.append(StepOp(f"compute:{key}", "worker", time, None, before))
            before = (f"compute:{key}",)
            size = draw(st.integers(1, 30))
            ops.append(StepOp(f"push:{key}", at("uplink", server), None, size, before))
            if draw(st.booleans()):
                took = float(draw(st.integers(0, 9)))
                after = (f"push:{key}",)
                ops.append(StepOp(f"update:{key}", at("server", server), took, None, after))
        steps.append(build_step(ops))
    links = ServerLinks(0.008, draw(st.sampled_from([None, 12])))
    options = RunOptions(
        steps=draw(st.integers(2, 4)),
        dropped=0,
        seed=draw(st.integers(0, 3)),
        synchronous=draw(st.booleans()),
    )
    return steps, run_steps(steps, draw(st.integers(1, 3)), links, options, range(options.steps))


@settings(max_examples=cases(500))
@given(runs())
def test_a_run_is_read_back_as_it_was(made):
    steps, run = made
    texts = write_dlc(steps, run)
    assert again(texts) == texts
    report = read(texts).report.dlc
    for worker in range(run.workers):
        ours = [i for i in report.iterations if i.node == f"w{worker}"]
        theirs = phases_of(steps, run, worker)
        assert len(ours) >= len(theirs)
        for iteration, figures in zip(ours, theirs, strict=False):
            found = (iteration.phase_1_us, iteration.phase_2_us, iteration.phase_3_us)
            assert found == pytest.approx(figures, abs=1.01)
            assert oracle.phases(texts[f"w{worker}.txt"])[iteration.iteration][:3] == found


def phases_of(steps, run, worker):
    """The three phases of each whole iteration, by what the simulator says of services."""
    ends: dict = {}
    left: dict = {}
    for service in run.services:
        if service.worker == worker:
            of_step = ends.setdefault(service.step, {})
            op = steps[service.profile].ops[service.op]
            place = service.step, op.id
            left[place] = left.get(place, op.bytes or 0) - (service.bytes or 0)
            if not left[place]:  # else its second service is to come
                of_step[op.id] = service.end
    whole = []
    for step in range(len(ends) - 1):
        got, following = (
            [end for name, end in ends[s].items() if name.startswith("pull:")]
            for s in (step, step + 1)
        )
        computed = [end for name, end in ends[step].items() if name.startswith("compute:")]
        if len(following) < len(got):
            break
        first, last = min(computed), max(computed)
        whole.append((first - max(got), last - first, max(following) - first))
    return whole
