"""Jobs that share a server: a clock that ticks, and the shape of PHub's Figure 18."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidOptions
from solver.placements.chunk_sizes import layout_us
from solver.placements.chunks import Key, lay_out
from solver.placements.exchange_graph import Hosts
from solver.placements.job_steps import SharedServer, TrainingJob
from solver.placements.jobs import share
from solver.placements.machine import ServerMachine
from tests.sampling import cases
from tests.transfer_oracle import Task, ends

#: Bandwidth of a byte per microsecond [Gbit/s].
BYTE = 1 / 125


def job(name, size, batch_time_us, workers=2) -> TrainingJob:
    return TrainingJob(name, (Key("m", size),), batch_time_us, workers)


def step_ends(jobs, steps, server, only=None) -> list[list[int]]:
    """When the steps of jobs end, or of one of them, from messages that this test makes itself."""
    keys = [key for each in jobs for key in each.keys]
    owner = [j for j, each in enumerate(jobs) for _ in each.keys]
    chunks = lay_out(keys, server.chunk_bytes, 1, server.interfaces, server.cores).chunks
    tasks: dict[str, Task] = {}
    for j, (each, count) in enumerate(zip(jobs, steps, strict=True)):
        if only not in {None, j}:
            continue
        own = [chunk for chunk in chunks if owner[chunk.key] == j]
        for step in range(count):
            begun = (f"{j}.{step - 1}",) if step else ()
            add_step(tasks, j, f"{j}.{step}", own, each, begun, server.aggregate_gbytes_per_s)
    done = ends(tasks)
    return [
        [done[f"{j}.{step}"] for step in range(count)]
        for j, count in enumerate(steps)
        if only in {None, j}
    ]


def add_step(tasks, j, at, own, each, begun, slow) -> None:
    workers = range(each.workers)
    tasks[f"{at}.compute"] = Task(begun, None, int(each.batch_time_us))
    waits = [f"{at}.compute"]
    for c, k in enumerate(own):
        for w in workers:
            out, into = f"{j} worker{w} out", f"nic{k.interface} in"
            tasks[f"{at}.push{c}.{w}a"] = Task(begun, out, k.bytes)
            tasks[f"{at}.push{c}.{w}b"] = Task((f"{at}.push{c}.{w}a",), into, k.bytes)
    for c, k in enumerate(own):
        after = tuple(f"{at}.push{c}.{w}b" for w in workers)
        core = f"core{k.interface}.{k.core}" if slow else None
        tasks[f"{at}.sum{c}"] = Task(after, core, each.workers * k.bytes if core else 0)
        for w in workers:
            out, into = f"nic{k.interface} out", f"{j} worker{w} in"
            tasks[f"{at}.pull{c}.{w}a"] = Task((f"{at}.sum{c}",), out, k.bytes)
            tasks[f"{at}.pull{c}.{w}b"] = Task((f"{at}.pull{c}.{w}a",), into, k.bytes)
            waits.append(f"{at}.pull{c}.{w}b")
    tasks[at] = Task(tuple(waits), None, 0)


@st.composite
def tiny(draw):
    jobs = [
        TrainingJob(
            f"j{i}",
            tuple(Key(f"k{k}", draw(st.integers(1, 4))) for k in range(draw(st.integers(1, 2)))),
            float(draw(st.sampled_from([1, 8, 20]))),
            draw(st.integers(1, 2)),
        )
        for i in range(draw(st.integers(1, 3)))
    ]
    rate = draw(st.sampled_from([None, 1e-3]))
    interfaces, cores = draw(st.integers(1, 2)), draw(st.integers(1, 2))
    return jobs, SharedServer(BYTE, BYTE, interfaces, cores, rate, draw(st.integers(2, 4)))


@given(tiny())
@settings(max_examples=cases(100, least=3, one_in=30), deadline=None)
def test_tick_by_tick(case) -> None:
    jobs, server = case
    found = share(jobs, server)
    times = []
    for each in jobs:
        size = sum(key.bytes for key in each.keys)
        times.append(max(each.batch_time_us, size, size * each.workers / server.interfaces))
    steps = [int(-(-12 * max(times) // time)) for time in times]
    seen: list[list[float]] = [[]]
    together: list[list[int]] = [[]]
    while min(map(len, seen)) < 3:
        together = step_ends(jobs, steps, server)
        opened, stop = max(its[7] for its in together), min(its[-1] for its in together)
        seen = [[end for end in its if opened <= end <= stop] for its in together]
        third = max(late[2] for late in (after(its, opened) for its in together) if len(late) > 2)
        short = [len(after(its, opened)) < 3 or its[-1] < third for its in together]
        steps = [2 * n if early else n for n, early in zip(steps, short, strict=True)]
    for j, (each, mine, its) in enumerate(zip(jobs, found.jobs, seen, strict=True)):
        assert [[mine.alone_us]] == step_ends([each], [1], server)
        assert [[mine.coarse_us]] == step_ends(jobs, [1] * len(jobs), server, j)
        assert mine.steps == len(its) - 1
        assert mine.together_us == pytest.approx((its[-1] - its[0]) / mine.steps)
        assert mine.slowdown == pytest.approx(mine.together_us / mine.coarse_us)


def after(its, opened):
    return [end for end in its if end >= opened]


@pytest.mark.parametrize("most", [500, 2_000, 20_000])
def test_jobs_that_share_nothing_lose_nothing(most: int) -> None:
    """The server carries all; with few transfers chunks are large, and so they are alone."""
    jobs = [job(f"job{j}", 194_000_000, 16_000.0, 4) for j in range(2)]
    found = share(jobs, SharedServer(10.0, 100_000.0), most)
    for each in found.jobs:
        assert each.slowdown == pytest.approx(1, rel=0.01)
        assert each.together_us > each.alone_us


@given(
    st.lists(
        st.lists(st.integers(1, 9).map(lambda n: 1000 * n), min_size=1, max_size=4),
        min_size=2,
        max_size=3,
    ),
    st.integers(100, 12_000),
    st.integers(1, 4),
    st.sampled_from([None, 1e-2]),
)
@settings(max_examples=cases(30, least=5), deadline=None)
def test_jobs_that_share_nothing_at_every_size_of_a_chunk(models, chunk, interfaces, rate) -> None:
    """Their workers wait for their own interfaces, whatever the chunks, and where these are."""
    jobs = [
        TrainingJob(f"j{j}", tuple(Key(f"k{k}", s) for k, s in enumerate(sizes)), 5000.0, 1)
        for j, sizes in enumerate(models)
    ]
    wide = SharedServer(BYTE, BYTE * 1e7, interfaces, 1, rate and rate * 1e6, chunk)
    for each in share(jobs, wide, 20_000).jobs:
        assert each.slowdown == pytest.approx(1, abs=0.005)


def test_jobs_on_interfaces_of_their_own_share_nothing() -> None:
    """Two jobs of one chunk, and an interface for each; alone, and together."""
    jobs = [job("a", 4000, 1.0, 3), job("b", 3000, 1.0, 3)]
    apart = share(jobs, SharedServer(BYTE, BYTE, 2, chunk_bytes=4000))
    assert [each.slowdown for each in apart.jobs] == [1.0, 1.0]
    shared = share(jobs, SharedServer(BYTE, BYTE, 1, chunk_bytes=4000))
    assert max(each.slowdown for each in shared.jobs) > 1.2


def test_a_job_has_the_same_chunks_alone() -> None:
    """The largest keys of others push its own together: that is of the chunks, not of sharing."""
    small = TrainingJob("small", tuple(Key(f"k{k}", 1000) for k in range(2)), 1.0, 2)
    jobs = [small, job("large", 5000, 1e6, 1)]
    found = share(jobs, SharedServer(BYTE, BYTE, 2, chunk_bytes=5000)).jobs[0]
    # one after the other the four pushes are in at 5000, the last pulls out at 7000, in at 8000
    assert found.coarse_us == 8000
    # on two interfaces those of the second key are in at 4000, its last pull out at 6000
    assert found.alone_us == 7000
    assert found.slowdown == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("aggregation", ["tall", "wide"])
def test_a_step_alone_is_an_exchange_with_a_box(aggregation) -> None:
    """The same transfers as those of a central server, of the same machine."""
    machine = ServerMachine(
        startup_us=0.5,
        queue_pair_cache=2,
        queue_pair_us=0.25,
        pcie_gbytes_per_s=0.2,
        memory_gbytes_per_s=0.3,
        aggregation=aggregation,
        wide_sync_us=1.0,
        is_cached=False,
        update_gbytes_per_s=0.5,
    )
    server = SharedServer(1.0, 2.0, 2, 2, 0.25, 500, machine)
    (found,) = share([job("a", 20_000, 1.0, 3)], server).jobs
    hosts = Hosts("ncc", 3, 1, 2, 2, 0.25, replace(machine, server_gbps=2.0))
    layout = lay_out([Key("m", 20_000)], 500, 1, 2, 2)
    assert found.alone_us == pytest.approx(layout_us(layout, hosts, 1.0))


@pytest.mark.parametrize("count", [2, 8])
def test_alike_jobs_share_what_an_interface_carries(count) -> None:
    """So many that wait for it take so many times as long, within the filling of a pipeline."""
    jobs = [job(f"job{j}", 194_000_000, 16_000.0, 4) for j in range(count)]
    found = share(jobs, SharedServer(10.0, 10.0), 20_000)
    moved = sum(194e6 * 4 / each.together_us for each in found.jobs)
    assert moved == pytest.approx(1250, rel=0.01)
    for each in found.jobs:
        assert each.slowdown == pytest.approx(count, rel=0.06)


def test_time_alone_does_not_depend_on_other_jobs() -> None:
    jobs = [job(f"job{j}", 194_000_000, 16_000.0, 4) for j in range(8)]
    server = SharedServer(10.0, 10.0)
    one, eight = share(jobs[:1], server, 2_000), share(jobs, server, 2_000)
    for each in eight.jobs:
        assert each.alone_us == one.jobs[0].alone_us
        assert each.alone_chunk_bytes == one.chunk_bytes < eight.chunk_bytes
        assert each.coarse_us > each.alone_us


def test_quick_jobs_go_on_until_a_slow_one_has_its_steps() -> None:
    """Each exchange of the long job waits for those of many; they have to go on meanwhile."""
    many = [job(f"short{j}", 4000, 1.0, 1) for j in range(12)]
    found = share([*many, job("long", 9000, 1.0, 1)], SharedServer(1.0, 1.0, chunk_bytes=1000))
    assert min(each.steps for each in found.jobs) >= 2
    moved = sum(4000 / each.together_us for each in found.jobs[:-1])
    assert moved + 9000 / found.jobs[-1].together_us == pytest.approx(125, rel=0.1)


def test_a_job_repeats_its_step_when_it_is_alone() -> None:
    server = SharedServer(BYTE, BYTE, 1, 1, None, 3)
    ((first, *others),) = step_ends([job("a", 20, 30.0)], [4], server)
    assert others == [2 * first, 3 * first, 4 * first]


def test_one_job_loses_nothing_to_itself() -> None:
    found = share([job("a", 4000, 500.0)], SharedServer(1.0, 1.0, chunk_bytes=100))
    (only,) = found.jobs
    assert only.slowdown == pytest.approx(1)
    assert only.alone_chunk_bytes == 100
    assert found.transfers == 12 * 2 * 2 * 40
    assert found.chunk_bytes == 100


def test_a_server_shared_by_two_takes_twice_as_long() -> None:
    """Both fill its interface, and nothing else takes time."""
    jobs = [job(name, 100_000, 1.0) for name in "ab"]
    found = share(jobs, SharedServer(100.0, 1.0, chunk_bytes=1000))
    assert [each.slowdown for each in found.jobs] == pytest.approx([2, 2], rel=0.1)
    assert found.jobs[0].alone_us == pytest.approx(200_000 / 125, rel=0.05)


def test_the_shape_of_figure_18() -> None:
    """Eight jobs of eight workers: AlexNet is bound by its network, ResNet 50 computes longer."""
    server = SharedServer(10.0, 56.0, 10, chunk_bytes=9_700_000)
    lost = {}
    for name, size, batch in (("alexnet", 194_000_000, 16e3), ("resnet50", 97_000_000, 161e3)):
        lost[name] = [
            share([job(f"{name}{i}", size, batch, 8) for i in range(count)], server)
            .jobs[0]
            .slowdown
            for count in (1, 8)
        ]
    assert lost["alexnet"][0] == pytest.approx(1)
    assert lost["alexnet"][1] > 1.05
    assert lost["resnet50"] == pytest.approx([1, 1])


def test_a_short_job_is_measured_while_the_long_one_runs() -> None:
    jobs = [job("short", 12_000, 100.0, 1), job("long", 100_000, 1000.0, 1)]
    found = share(jobs, SharedServer(1.0, 1.0, chunk_bytes=100))
    assert [each.name for each in found.jobs] == ["short", "long"]
    assert found.jobs[0].steps > 3 * found.jobs[1].steps
    assert found.jobs[1].alone_us == pytest.approx(1000.0, rel=0.01)
    assert found.jobs[0].slowdown > 2.0
    assert found.jobs[0].slowdown > 2 * found.jobs[1].slowdown >= 2


def test_chunks_grow_until_the_simulation_fits() -> None:
    jobs = [job("a", 100, 50.0), job("b", 100, 50.0)]
    found = share(jobs, SharedServer(1.0, 1.0, chunk_bytes=10), 12 * 2 * 2 * 2 * 5)
    assert (found.chunk_bytes, found.transfers) == (20, 480)
    assert share(jobs, SharedServer(1.0, 1.0), 95) is None


GOOD = SharedServer(1.0, 1.0)
REJECTED = [
    # nobody shares
    ([], GOOD, ["/jobs"]),
    # everything of a job
    (
        [job("a", 1, 1.0), TrainingJob("a", (), 0.0, 0)],
        GOOD,
        ["/jobs/1/name", "/jobs/1/keys", "/jobs/1/batch_time_us", "/jobs/1/workers"],
    ),
    # everything of a server
    (
        [job("a", 1, 1.0)],
        SharedServer(0.0, -1.0, 0, 0, 0.0, 0),
        [
            "/server/worker_gbps",
            "/server/interface_gbps",
            "/server/interfaces",
            "/server/cores",
            "/server/chunk_bytes",
            "/server/aggregate_gbytes_per_s",
        ],
    ),
    # more cores than are laid out
    ([job("a", 1, 1.0)], replace(GOOD, interfaces=10**5, cores=2), ["/server/cores"]),
]


@pytest.mark.parametrize(("jobs", "server", "pointers"), REJECTED)
def test_rejected(jobs, server, pointers) -> None:
    with pytest.raises(InvalidOptions) as caught:
        share(jobs, server)
    assert [fault.pointer for fault in caught.value.faults] == pointers
