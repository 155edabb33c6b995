"""Profiled steps of what readers have read: which, how many, and what is said of them."""

import gzip
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidTrace
from solver.parameter_server.of_dlc import steps_of
from solver.parameter_server.of_trace import trace_steps
from solver.parameter_server.profiles import profiled_step
from solver.traces import Report, Trace, TraceOptions, dlc, read_trace
from solver.traces.profiled import ProfiledOp
from tests import dlc_oracle as oracle
from tests.sampling import cases

DATA = Path(__file__).parents[1] / "data"
ALL = TraceOptions()
MANY = 10_000
REPORT = Report("tensorflow", 1, 0, 0, {})


def recorded(*names, **options):
    files = [(DATA / f"dlc_{name}.txt").read_bytes() for name in names]
    return read_trace(files, TraceOptions(**options))


def rows(worker="worker0", host="ps0", task=1.0):
    return (
        ProfiledOp("read", host, 1.0, None, None, ()),
        ProfiledOp(f"{worker} pull", worker, None, 8, host, ("read",)),
        ProfiledOp(f"{worker} work", worker, task, None, None, (f"{worker} pull",)),
        ProfiledOp(f"{worker} push", host, None, 4, worker, (f"{worker} work",)),
    )


def of_rows(*steps, rank=None, most=MANY):
    trace = Trace(None, REPORT, profiled=steps)
    return trace_steps(trace, TraceOptions(rank=rank), most, MANY)


def refused(trace, options=ALL):
    with pytest.raises(InvalidTrace) as caught:
        trace_steps(trace, options, MANY, MANY)
    return [(fault.pointer, fault.code, fault.detail) for fault in caught.value.faults]


def test_iterations_of_all_workers():
    made = trace_steps(recorded("w0", "w1", "s0"), ALL, MANY, MANY)
    nodes = dlc.nodes_of([(DATA / f"dlc_{name}.txt").read_bytes() for name in ("w0", "w1", "s0")])
    assert [step.ops for step in made.steps] == [step.ops for step in steps_of(nodes)]
    which, how = made.assumed  # the server tells of all updates
    assert which == (
        "Steps for parameter servers are iterations that w0 or w1 recorded as a whole."
    )
    assert how.startswith("A step gets the parameters that the iteration before it got")


def test_one_iteration_and_one_worker():
    every = trace_steps(recorded("w0", "w1"), ALL, MANY, MANY).steps
    trace = recorded("w0", "w1")
    (first, second) = trace_steps(trace, TraceOptions(step=1), MANY, MANY).steps
    assert (first.ops, second.ops) == (every[1].ops, every[3].ops)
    only = trace_steps(trace, TraceOptions(rank=1), MANY, MANY)
    assert [step.ops for step in only.steps] == [every[2].ops, every[3].ops]
    assert only.assumed[0].endswith(" iterations that w1 recorded as a whole.")
    assert only.assumed[-1] == "Pushes have no update in the trace: it takes no time."


@pytest.mark.parametrize(
    ("most", "most_edges", "kept"),
    [
        (4, MANY, [0, 1, 2, 3]),
        (3, MANY, [0, 1, 2]),
        (2, MANY, [0, 2]),
        (1, MANY, [0]),
        # an iteration has two edges to its first compute op, and three behind it
        (4, 20, [0, 1, 2, 3]),
        (4, 19, [0, 1, 2]),
        (4, 10, [0, 2]),
        (4, 1, [0]),
    ],
)
def test_of_many_some_are_taken_and_it_is_said(most, most_edges, kept):
    trace = recorded("w0", "w1")
    every = trace_steps(trace, ALL, MANY, MANY)
    made = trace_steps(trace, ALL, most, most_edges)
    assert [step.ops for step in made.steps] == [every.steps[i].ops for i in kept]
    said = [line for line in made.assumed if "evenly" in line]
    some = f"{len(kept)} of 4 steps are taken, evenly spaced."
    assert said == ([] if len(kept) == 4 else [some])


@settings(max_examples=cases(100))
@given(st.integers(1, 60), st.integers(1, 70))
def test_what_is_taken_is_spaced_evenly(count, most):
    made = of_rows(*(rows(task=float(i)) for i in range(count)), most=most)
    taken = [step.ops[2].duration_us for step in made.steps]
    assert len(taken) == min(count, most)
    assert taken[0] == 0
    gaps = {b - a for a, b in pairwise(taken)}
    assert not gaps or max(gaps) - min(gaps) <= 1


def test_some_pushes_without_an_update():
    update = ProfiledOp("apply", "ps0", 2.0, None, None, ("worker0 push",))
    assert of_rows((*rows(), update)).assumed == (
        "Steps for parameter servers are those of worker0.",
    )
    assert of_rows((*rows(), update), rows()).assumed[1:] == (
        "1 of 2 pushes have no update in the trace: it takes no time.",
    )


def test_rows_of_a_worker_of_several():
    both = (*rows(), *rows("worker1")[1:])
    first = of_rows(both, rows("worker1"))
    assert [step.ops for step in first.steps] == [profiled_step(both, "worker0").ops]
    assert first.assumed[0] == (
        "Steps for parameter servers are those of worker0; worker1 left out, with the order that "
        "it made."
    )
    second = of_rows(both, rows("worker1"), rank=1)
    assert len(second.steps) == 2
    assert second.steps[1].ops[2].id == "worker1 work"


def test_all_steps_of_a_profile_are_taken():
    content = gzip.decompress((DATA / "tensorflow_profile.json.gz").read_bytes())
    sizes = [("fc1/kernel", 131072), ("fc1/bias", 512), ("fc2/kernel", 5120), ("fc2/bias", 40)]
    reads = ("MatMul", "add", "MatMul_1", "add_1")
    known = [(f"{op}/ReadVariableOp", size) for op, (_, size) in zip(reads, sizes, strict=True)]
    options = TraceOptions(parameters=(*sizes, *known))
    trace = read_trace([content], options)
    assert (trace.report.steps, len(trace.profiled)) == (2, 2)
    made = trace_steps(trace, options, MANY, MANY)
    assert [step.bytes_on("downlink", None) for step in made.steps] == [136744, 136744]
    for number in (0, 1):
        one = read_trace([content], replace(options, step=number))
        assert one.profiled == (trace.profiled[number],)


def test_other_traces_have_none():
    line = b"node1 -- A -- forward_compute_time=1, backward_compute_time=1, parameter_size=4"
    assert trace_steps(read_trace([line]), ALL, MANY, MANY) is None


def of_servers(count):
    """A worker pushes a key to each server, and gets it back."""
    rows = [
        (i, server, stage, server, 1_000 * (i + 1) + 100 * stage + server, 10)
        for i in (-1, 0)
        for server in range(count)
        for stage in range(4)
    ]
    return oracle.text_of("w0", 1, count, rows).encode()


def test_more_than_16_servers_are_refused():
    assert len(trace_steps(read_trace([of_servers(16)]), ALL, MANY, MANY).steps) == 1
    trace = read_trace([of_servers(17)])
    assert trace.graph is not None  # it can be planned all the same
    named = ", ".join(f"'s{i}'" for i in range(17))
    assert refused(trace) == [
        ("", "out_of_range", f"At most 16 servers, got 17: {named}."),
    ]


def test_messages_without_bytes_are_refused():
    trace = recorded("w0")
    (node,) = trace.messages
    (fault, *_) = refused(replace(trace, messages=(replace(node, length=0 * node.length),)))
    assert fault == ("", "out_of_range", "Op 'pull:0': bytes must be 1 to 2^60, got 0.")


def test_files_of_servers_alone_have_none():
    ((pointer, code, _),) = refused(recorded("s0"))
    assert (pointer, code) == ("", "truncated")


@pytest.mark.parametrize(
    ("steps", "rank", "says"),
    [
        # between workers; between servers; no such worker; a row between servers; 17 of them
        ((rows(host="worker1"),), None, "Steps need a worker and a parameter server"),
        ((rows("ps1"),), None, "the trace is of ps0, ps1."),
        ((rows(),), 1, "Workers 0 to 0 are in the trace, not rank 1."),
        (((*rows(), *rows("ps1")[1:]),), None, "goes from server to server"),
        (tuple(rows(host=f"ps{i}") for i in range(17)), None, "At most 16 servers, got 17"),
    ],
)
def test_rows_that_are_refused(steps, rank, says):
    found = refused(Trace(None, REPORT, profiled=steps), TraceOptions(rank=rank))
    assert says in found[0][2]


def test_a_server_that_a_step_does_not_use():
    """The other step's names tell which one it uses."""
    made = of_rows(rows(), rows(host="ps1"))
    assert [step.servers for step in made.steps] == [("ps0",), ("ps1",)]
    places = [(i, stage) for i in (-1, 0) for stage in range(4)]
    nodes = [
        oracle.text_of(
            f"w{number}", 2, 2, [(i, 0, s, number, 1_000 * (i + 1) + 100 * s, 9) for i, s in places]
        )
        for number in (0, 1)
    ]
    made = trace_steps(read_trace([node.encode() for node in nodes]), ALL, MANY, MANY)
    assert [step.servers for step in made.steps] == [("s0",), ("s1",)]
