"""Workers at steps through parameter servers: by hand, against the printed algorithm, by laws.

By hand a link carries 1000 bytes in a microsecond.
"""

from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.parameter_server.links import ServerLinks, fair_shares, share
from solver.parameter_server.record import RunOptions, resources_of
from solver.parameter_server.run import run_steps
from solver.parameter_server.steps import StepOp, build_step, servers_of
from tests.parameter_server_oracle import (
    Impossible,
    Repairs,
    Setting,
    generate_trace,
    impossibilities,
    max_min,
)
from tests.sampling import cases

GBPS, RATE = 8.0, 1000
NO_WINDOW = ServerLinks(GBPS, None)


def pull(name, size, *after, server=""):
    return StepOp(name, f"downlink{server}", None, size, after)


def push(name, size, *after, server=""):
    return StepOp(name, f"uplink{server}", None, size, after)


def compute(name, us, *after):
    return StepOp(name, "worker", us, None, after)


def update(name, us, *after, server=""):
    return StepOp(name, f"server{server}", us, None, after)


# By hand.

#: Pull 4, compute 5, push 3, update 2.
SERIAL = build_step(
    [
        pull("p", 4000),
        compute("c", 5.0, "p"),
        push("u", 3000, "c"),
        update("d", 2.0, "u"),
    ]
)
#: Two layers: pulls 0-2 and 2-6, forward 2-5 and 6-7, backward 7-9 and 9-12, the second pushed
#: 9-13, then the first 13-15, updates 13-14 and 15-16.
LAYERS = build_step(
    [
        pull("p1", 2000),
        pull("p2", 4000),
        compute("f1", 3.0, "p1"),
        compute("f2", 1.0, "f1", "p2"),
        compute("b2", 2.0, "f2"),
        compute("b1", 3.0, "b2"),
        push("u1", 2000, "b1"),
        push("u2", 4000, "b2"),
        update("d1", 1.0, "u1"),
        update("d2", 1.0, "u2"),
    ]
)


def ends(steps, workers, /, links=NO_WINDOW, **options):
    return run_steps(steps, workers, links, RunOptions(**options)).ends


def served(steps, workers, /, links=NO_WINDOW, **options):
    run = run_steps(steps, workers, links, RunOptions(**options), range(options["steps"]))
    ops = [[op.id for op in step.ops] for step in steps]
    return [(s.worker, ops[s.profile][s.op], s.bytes, s.start, s.end) for s in run.services]


def test_one_worker_does_its_steps_one_after_another():
    run = run_steps([SERIAL], 1, NO_WINDOW, RunOptions(steps=3, dropped=1))
    assert run.ends == ((14.0, 28.0, 42.0),)
    assert (run.start, run.end, run.steps, run.events) == (14.0, 42.0, 2, 12)
    assert run.names == ("worker", "server", "uplink", "downlink")
    assert run.busy == (10.0, 4.0, 6.0, 8.0)
    assert run.services == ()


def test_what_overlaps_in_a_step():
    assert served([LAYERS], 1, steps=1, dropped=0) == [
        (0, "p1", 2000, 0.0, 2.0),
        (0, "p2", 4000, 2.0, 6.0),
        (0, "f1", None, 2.0, 5.0),
        (0, "f2", None, 6.0, 7.0),
        (0, "b2", None, 7.0, 9.0),
        (0, "b1", None, 9.0, 12.0),
        (0, "u2", 4000, 9.0, 13.0),
        (0, "u1", 2000, 13.0, 15.0),
        (0, "d2", None, 13.0, 14.0),
        (0, "d1", None, 15.0, 16.0),
    ]


def test_two_workers_share_each_direction():
    # together they pull 0-8, compute 8-13, push 13-19, update 19-21
    assert ends([SERIAL], 2, steps=2, dropped=0) == ((21.0, 42.0), (21.0, 42.0))


def test_a_worker_that_is_alone_has_the_link_to_itself():
    slow = build_step([pull("p", 4000), compute("c", 9.0, "p"), push("u", 3000, "c")])
    fast = build_step([pull("p", 4000), compute("c", 1.0, "p"), push("u", 3000, "c")])
    run = next(run for run in map(runs_of(slow, fast), range(100)) if profiles_of(run) == [0, 1])
    # both pull 0-8; worker 1 computes 8-9 and pushes alone 9-12, and is first with its step
    assert run.ends == ((), (12.0,))


def runs_of(*steps):
    return lambda seed: run_steps(steps, 2, NO_WINDOW, RunOptions(1, 0, seed), range(1))


def profiles_of(run):
    """What each worker drew first."""
    drawn = {s.worker: s.profile for s in run.services}
    return [drawn[worker] for worker in range(run.workers)]


def test_a_stream_longer_than_the_window_is_served_twice():
    # figure 12 of the paper: A to E of 1, 4, 2, 7, 3 with a window of 3
    sizes = {"A": 1000, "B": 4000, "C": 2000, "D": 7000, "E": 3000}
    step = build_step([pull(name, size) for name, size in sizes.items()])
    order = [
        (name, size)
        for _, name, size, _, _ in served([step], 1, ServerLinks(GBPS, 3000), steps=1, dropped=0)
    ]
    first = [("A", 1000), ("B", 3000), ("C", 2000), ("D", 3000), ("E", 3000)]
    assert order == [*first, ("B", 1000), ("D", 4000)]


def test_a_stream_waits_for_what_became_ready_in_its_first_service():
    step = build_step([pull("p", 4000), compute("c", 2.0), pull("q", 1000, "c")])
    lines = served([step], 1, ServerLinks(GBPS, 3000), steps=1, dropped=0)
    assert [(name, start) for _, name, _, start, _ in lines] == [
        ("p", 0.0),
        ("c", 0.0),
        ("q", 3.0),
        ("p", 4.0),
    ]


def test_what_ends_at_one_time_ends_in_a_fixed_order():
    """What is computed first, the worker's before the server's; then uplinks, then downlinks."""
    of_two = [update("d", 2.0, server=":a"), update("e", 2.0, server=":b")]
    links = [
        *(pull(f"p{s}", 2000, server=s) for s in (":a", ":b")),
        *(push(f"u{s}", 2000, server=s) for s in (":a", ":b")),
    ]
    # each link carries the half while the other one is busy, so all transfers end at 4
    waits = [
        compute("w", 4.0),
        update("v", 2.0, "d", server=":a"),
        update("x", 2.0, "e", server=":b"),
    ]
    last = [compute(f"last:{op.id}", 1.0, op.id) for op in (*links, *reversed(waits))]
    step = build_step([*of_two, *links, *waits, *last])
    lines = served([step], 1, steps=1, dropped=0)
    assert {name: end for _, name, _, _, end in lines if end == 4.0} == dict.fromkeys(
        ["w", "v", "x", "u:a", "u:b", "p:a", "p:b"], 4.0
    )
    assert [name for _, name, _, _, _ in lines if name.startswith("last:")] == [
        f"last:{name}" for name in ("w", "v", "x", "u:a", "u:b", "p:a", "p:b")
    ]


def test_in_step_all_begin_when_the_last_has_ended():
    slow, fast = (build_step([compute("c", us)]) for us in (5.0, 2.0))
    run = run_steps([slow, fast], 2, NO_WINDOW, RunOptions(20, 0, 3, synchronous=True), range(20))
    starts = defaultdict(set)
    for s in run.services:
        starts[s.step].add(s.start)
    assert all(len(of_step) == 1 for of_step in starts.values())
    profiles = {(s.worker, s.step): s.profile for s in run.services}
    longest = [2.0 if profiles[0, k] and profiles[1, k] else 5.0 for k in range(19)]
    assert [max(starts[k + 1]) for k in range(19)] == np.cumsum(longest).tolist()


@pytest.mark.parametrize(
    ("active", "beside", "expected"),
    [
        # alone everywhere
        ({0}, {}, 1.0),
        # alone on both links: its own interface is shared
        ({0}, {0}, 0.5),
        # alone here, one of two or three beside (section 5 of the paper)
        ({0}, {0, 1}, 0.5),
        ({0}, {0, 1, 2}, 2 / 3),
        # another one is alone here
        ({0}, {1}, 1.0),
        ({0}, {1, 2}, 1.0),
        # several here
        ({0, 1}, {0}, 0.5),
        ({0, 1, 2}, {0, 1, 2}, 1 / 3),
    ],
)
def test_shares(active, beside, expected):
    assert share(active, beside) == pytest.approx(expected, rel=1e-15)
    flows = [(w, "a") for w in active] + [(w, "b") for w in beside]
    fair = max_min(flows)
    assert [float(fair[w, "a"]) for w in active] == [pytest.approx(expected)] * len(active)


@given(st.sets(st.integers(0, 5), min_size=1), st.sets(st.integers(0, 5)))
def test_shares_are_max_min_fair(active, beside):
    fair = max_min([(w, "a") for w in active] + [(w, "b") for w in beside])
    expected = pytest.approx(share(active, beside), rel=1e-15)
    assert [float(fair[w, "a"]) for w in active] == [expected] * len(active)


@given(st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=5))
def test_shares_of_many_servers_are_max_min_fair(active):
    fair = max_min([(w, f"ps{s}") for s, workers in enumerate(active) for w in workers])
    shares = fair_shares(active)
    assert [set(own) for own in shares] == active
    for (worker, server), rate in fair.items():
        assert shares[int(server[2:])][worker] == pytest.approx(float(rate), rel=1e-12)


def test_three_servers_by_hand():
    # worker 0 pulls 3 of each at a third of its interface, 0-9: nobody else is there
    three = build_step([pull(f"p{s}", 3000, server=s) for s in (":a", ":b", ":c")])
    assert ends([three], 1, steps=1, dropped=0) == ((9.0,),)
    # two workers alike: each has a third of its interface everywhere, which leaves a third of each
    assert ends([three], 2, steps=1, dropped=0) == ((9.0,), (9.0,))
    # of four each has a fourth of each server: 12 for 3
    assert ends([three], 4, steps=1, dropped=0) == ((12.0,),) * 4


def test_resources_of_two_servers():
    assert resources_of(["a", "b"]) == (
        "worker",
        *("server:a", "server:b", "uplink:a", "uplink:b", "downlink:a", "downlink:b"),
    )


def test_factors_have_the_mean_1_and_the_spread():
    step = build_step([compute("c", 1.0)])
    (times,) = ends([step], 1, steps=20_000, dropped=0, spread=0.3)
    factors = np.diff([0.0, *times])
    assert factors.mean() == pytest.approx(1.0, rel=0.01)
    assert factors.std() == pytest.approx(0.3, rel=0.03)


def test_steps_without_length_end_at_once():
    run = run_steps([build_step([compute("c", 0.0)])], 2, NO_WINDOW, RunOptions(3, 1))
    assert run.end == 0.0
    assert run.ends[0] == (0.0, 0.0, 0.0)


# Against the algorithm as printed, with its repairs.


@st.composite
def profiles(draw, most=12):
    """Profiled steps on the same servers; coarse sizes, so that much ends at one time, or fine."""
    servers = draw(st.sampled_from([("",), (":a",), (":a", ":b"), (":a", ":b", ":c")]))
    resources = [
        "worker",
        *(kind + s for kind in ("downlink", "uplink", "server") for s in servers),
    ]
    unit = draw(st.sampled_from([1000, 1000, 1]))
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        ops: list[StepOp] = []
        for i in range(draw(st.integers(1, most))):
            names = [op.id for op in ops]
            after = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else ()
            resource = draw(st.sampled_from(resources))
            if resource.startswith(("uplink", "downlink")):
                size = draw(st.integers(1, 6 * 1000 // unit)) * unit
                ops.append(StepOp(f"o{i}", resource, None, size, tuple(after)))
            else:
                us = float(draw(st.integers(0, 4)))
                ops.append(StepOp(f"o{i}", resource, us, None, tuple(after)))
        steps.append(build_step(draw(st.permutations(ops))))
    return steps


@st.composite
def runs(draw):
    steps = draw(profiles())
    workers = draw(st.integers(1, 4))
    count = draw(st.integers(1, 4))
    options = RunOptions(
        steps=count,
        dropped=draw(st.integers(0, count - 1)),
        seed=draw(st.integers(0, 5)),
        synchronous=draw(st.booleans()),
        spread=draw(st.sampled_from([0.0, 0.0, 0.0, 0.3])),
    )
    return (
        steps,
        workers,
        ServerLinks(GBPS, draw(st.sampled_from([None, 1000, 2000, 2500]))),
        options,
    )


def setting_of(workers, links, options):
    return Setting(
        workers,
        Fraction(RATE),
        links.win_bytes,
        options.steps,
        options.seed,
        options.synchronous,
        options.spread,
    )


def about(time):
    return pytest.approx(float(time), rel=1e-9, abs=1e-9)


@given(runs())
@settings(max_examples=cases(2000, one_in=25))
def test_a_run_is_that_of_the_printed_algorithm(case):
    steps, workers, links, options = case
    run = run_steps(steps, workers, links, options, range(options.steps))
    check_services(steps, workers, links, run)
    trace = generate_trace(steps, setting_of(workers, links, options))
    assert not impossibilities(steps, options.steps, trace)
    if trace.is_fragile:  # what then comes first is a matter of the last digit
        is_coarse = all(not (op.bytes or 0) % 1000 for step in steps for op in step.ops)
        assert workers > 2 or options.spread or not is_coarse
        return
    end = min(of_worker[-1] for of_worker in trace.ends)
    limit = end + end / 10**7
    expected = [[t for t in of_worker if t <= limit] for of_worker in trace.ends]
    assert [list(t) for t in run.ends] == [[about(t) for t in of] for of in expected]
    services = sorted((s.worker, s.turn, s.op, s.start, s) for s in trace.served if s.end <= limit)
    actual = sorted(run.services, key=lambda s: (s.worker, s.step, s.op, s.start))
    assert [tuple(s[:5]) for s in actual] == [
        (s.worker, s.turn, s.profile, s.op, s.bytes and int(s.bytes)) for *_, s in services
    ]
    assert [s[5:] for s in actual] == [(about(s.start), about(s.end)) for *_, s in services]
    assert run.events == len(services)
    check_counts(workers, options, run, trace, sorted(t for of in expected for t in of))


def check_counts(workers, options, run, trace, ended):
    to_drop = options.dropped * workers
    start = ended[to_drop - 1] if 0 < to_drop <= len(ended) else Fraction(0)
    end = min(of_worker[-1] for of_worker in trace.ends)
    if start >= end:
        start = Fraction(0)
    assert run.end == about(end)
    assert run.start == about(start)
    assert run.steps == sum(t > start for t in ended)
    done = trace.done_by(end)
    before = trace.done_by(start)
    assert run.busy == tuple(about(done[r] - before[r]) for r in run.names)


def check_services(steps, workers, links, run):
    """What holds of every run, whatever order things of one time end in."""
    of_step, of_place, of_link = defaultdict(list), defaultdict(list), defaultdict(list)
    for s in run.services:
        resource = steps[s.profile].ops[s.op].resource
        of_step[s.worker, s.step].append(s)
        of_place[s.worker, resource].append((s.start, s.end))
        assert 0 <= s.start <= s.end
        if s.bytes is not None:
            of_link[resource].append((s.start, s.end, s.bytes))
            of_link[s.worker, resource.partition(":")[0]].append((s.start, s.end, s.bytes))
    for served_there in of_place.values():
        served_there.sort()
        assert all(b[0] >= a[1] for a, b in pairwise(served_there))
    for transfers in of_link.values():
        check_bandwidth(transfers)
    for worker, of_worker in enumerate(run.ends):
        for number, (begin, end) in enumerate(pairwise((0.0, *of_worker))):
            check_step(steps, links, of_step[worker, number], begin, end)
    length = run.end - run.start
    for name, busy in zip(run.names, run.busy, strict=True):
        times = 1 if name.startswith(("uplink", "downlink")) else workers
        assert -1e-6 <= busy <= times * length * (1 + 1e-6) + 1e-6


def check_bandwidth(transfers):
    """From any start to any end no more is carried whole than the link has time for."""
    starts, stops, sizes = np.array(sorted(transfers)).T
    for start in np.unique(starts):
        inside = starts >= start
        order = np.argsort(stops[inside])
        carried = np.cumsum(sizes[inside][order])
        room = (stops[inside][order] - start) * RATE
        assert (carried <= room * (1 + 1e-9) + 1e-3).all()


def check_step(steps, links, services, begin, end):
    (profile,) = {s.profile for s in services}
    step = steps[profile]
    by_op = defaultdict(list)
    for s in sorted(services, key=lambda s: s.start):
        by_op[s.op].append(s)
        assert begin <= s.start
        assert s.end <= end
    assert end == max(s.end for s in services)
    for i, op in enumerate(step.ops):
        done = by_op[i]
        assert all(by_op[j][-1].end <= done[0].start for j in step.preds[i])
        if op.bytes is None:
            assert [s.bytes for s in done] == [None]
        else:
            window = links.win_bytes or op.bytes
            rest = [op.bytes - window] if op.bytes > window else []
            assert [s.bytes for s in done] == [min(op.bytes, window), *rest]


@given(runs())
@settings(max_examples=cases(300))
def test_doubled_bytes_and_durations_double_all_times(case):
    steps, workers, links, options = case
    twice = [build_step(map(doubled, step.ops)) for step in steps]
    window = links.win_bytes and 2 * links.win_bytes
    run = run_steps(steps, workers, links, options)
    double = run_steps(twice, workers, ServerLinks(GBPS, window), options)
    assert double.ends == tuple(tuple(2 * t for t in of_worker) for of_worker in run.ends)
    assert (double.start, double.end) == (2 * run.start, 2 * run.end)
    assert double.busy == tuple(2 * busy for busy in run.busy)
    assert (double.steps, double.events) == (run.steps, run.events)


def doubled(op):
    return op._replace(
        bytes=op.bytes and 2 * op.bytes, duration_us=op.duration_us and 2 * op.duration_us
    )


@given(runs())
@settings(max_examples=cases(300))
def test_the_same_run_has_the_same_result(case):
    steps, workers, links, options = case
    run = run_steps(steps, workers, links, options, range(2))
    assert run == run_steps(steps, workers, links, options, range(2))


@given(runs())
@settings(max_examples=cases(300))
def test_twice_the_bytes_at_twice_the_bandwidth_take_as_long(case):
    steps, workers, links, options = case
    twice = [
        build_step(op._replace(bytes=op.bytes and 2 * op.bytes) for op in step.ops)
        for step in steps
    ]
    fast = ServerLinks(2 * GBPS, links.win_bytes and 2 * links.win_bytes)
    run = run_steps(steps, workers, links, options)
    assert run == run_steps(twice, workers, fast, options)


@given(runs(), st.integers(1, 3))
@settings(max_examples=cases(300))
def test_a_worker_draws_the_same_steps_whatever_others_there_are(case, more):
    steps, workers, links, options = case
    few, many = (
        {
            (s.worker, s.step): s.profile
            for s in run_steps(steps, count, links, options, range(options.steps)).services
        }
        for count in (workers, workers + more)
    )
    assert all(few[key] == many[key] for key in few.keys() & many.keys())


def test_draws_are_a_worker_s_own():
    steps = [build_step([compute("c", us)]) for us in (1.0, 2.0, 3.0)]
    options = RunOptions(30, 0, 5, synchronous=True)
    draws = [
        {
            (s.worker, s.step): s.profile
            for s in run_steps(steps, workers, NO_WINDOW, options, range(29)).services
        }
        for workers in (1, 2, 5)
    ]
    assert [len(of_workers) for of_workers in draws] == [29, 58, 145]
    assert draws[0].items() <= draws[1].items() <= draws[2].items()
    of_worker = {tuple(draws[2][w, step] for step in range(29)) for w in range(5)}
    assert len(of_worker) == 5


@given(runs())
@settings(max_examples=cases(300))
def test_what_is_recorded_changes_nothing(case):
    steps, workers, links, options = case
    run = run_steps(steps, workers, links, options)
    whole = run_steps(steps, workers, links, options, range(options.steps))
    some = run_steps(steps, workers, links, options, range(1, 2))
    assert run.services == ()
    assert some.services == tuple(s for s in whole.services if s.step == 1)
    for other in (whole, some):
        assert (run.ends, run.busy, run.events) == (other.ends, other.busy, other.events)


@given(runs(), st.integers(1, 4))
@settings(max_examples=cases(300))
def test_a_run_may_end_when_all_is_recorded(case, stop):
    steps, workers, links, options = case
    recorded = range(stop - 1, stop)
    whole = run_steps(steps, workers, links, options, recorded)
    run = run_steps(steps, workers, links, options, recorded, only_recorded=True)
    assert run.services == whole.services
    assert all(b[: len(a)] == a for a, b in zip(run.ends, whole.ends, strict=True))
    done = [len(ends) for ends in run.ends]
    assert min(done) >= stop or max(done) == options.steps
    if stop < min(map(len, whole.ends)):
        before = run.end - run.end * 1e-6  # steps of no time end with it
        assert min(sum(end < before for end in ends) for ends in run.ends) < stop
        assert run.events <= whole.events


@given(profiles())
@settings(max_examples=cases(300))
def test_alone_a_worker_is_busy_with_all_of_its_steps(steps):
    run = run_steps(steps, 1, NO_WINDOW, RunOptions(steps=3, dropped=0), range(3))
    total = dict.fromkeys(resources_of(servers_of(steps)), 0.0)
    for s in run.services:
        op = steps[s.profile].ops[s.op]
        total[op.resource] += op.duration_us if s.bytes is None else s.bytes / RATE
    assert run.busy == tuple(about(total[name]) for name in run.names)


# The algorithm as printed, a repair left out.

#: Pulls of 1 us and 1 us, a forward op of 3 us behind each, and a push.
TWO_PULLS = build_step(
    [
        pull("p1", 1000),
        pull("p2", 1000),
        compute("f1", 3.0, "p1"),
        compute("f2", 3.0, "p2"),
        push("u", 1000, "f1", "f2"),
    ]
)


def literal(step, repairs, steps=2):
    """What is wrong with two workers' steps."""
    try:
        trace = generate_trace([step], Setting(2, Fraction(RATE), None, steps), repairs)
    except Impossible as error:
        return {str(error)}
    return impossibilities([step], steps, trace)


@pytest.mark.parametrize(
    ("repairs", "wrong"),
    [
        (Repairs(), set()),
        # f2 finds the worker's queue empty, for f1 has left it to be served
        (Repairs(busy=False), {"a resource serves two ops of a worker at once"}),
        # as much as began at first has ended, and the second step's pulls are not counted
        (Repairs(counted=False), {"0 workers share downlink"}),
        # steps begin when the downlink is empty, and again when the worker is, and so on
        (Repairs(under=False), {"more steps begin than were to be"}),
        # no queue holds anything when the pulls have ended, nor while f2 or the push is served
        (
            Repairs(empty=False),
            {"steps are lost, or counted twice", "a step ends before its ops"},
        ),
    ],
)
def test_no_repair_can_be_left_out(repairs, wrong):
    assert literal(TWO_PULLS, repairs) == wrong
