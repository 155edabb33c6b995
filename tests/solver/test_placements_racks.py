"""Reduction by racks: PHub's inequality, a clock that ticks, and where the two must agree."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InvalidOptions
from solver.placements.chunks import Key, lay_out
from solver.placements.exchange_graph import Hosts, exchange_graph, exchange_us
from solver.placements.racks import Racks, reduction
from tests.sampling import cases
from tests.transfer_oracle import Task, ends

#: Bandwidth of a byte per microsecond [Gbit/s].
BYTE = 1 / 125


class Messages:
    """Tasks of a network of racks, message by message."""

    def __init__(self, speed) -> None:
        self.tasks = {"start": Task((), None, 0)}
        self.speed = speed  # ticks of a byte, by what a channel is of

    def send(self, source, sink, size, after):
        """Carry bytes from (rack, host) to (rack, host)."""
        channels = [(*source, "out"), (*sink, "in")]
        if source[0] != sink[0]:
            channels[1:1] = [(source[0], "core", "out"), (sink[0], "core", "in")]
        for channel in channels:
            name = f"{len(self.tasks)}"
            ticks = size * self.speed[channel[1][:4]]
            self.tasks[name] = Task(tuple(after), str(channel), ticks)
            after = (name,)
        return after

    def meet(self, after) -> tuple[str, ...]:
        name = f"{len(self.tasks)}"
        self.tasks[name] = Task(tuple(after), None, 0)
        return (name,)

    def gather(self, groups, steps):
        """Let each group meet, and in steps all of them."""
        met = {key: self.meet(after) for key, after in groups.items()}
        everything = [name for names in met.values() for name in names]
        return dict.fromkeys(met, self.meet(everything)) if steps else met

    def time(self) -> int:
        return max(ends(self.tasks).values())


def flat_ticks(chunks, racks, speed, *, steps) -> int:
    net = Messages(speed)
    workers = [(r, f"worker{w}") for r in range(racks.racks) for w in range(racks.workers)]
    sent = {
        c: [end for w in workers for end in net.send(w, (k.server, "server"), k.bytes, ["start"])]
        for c, k in enumerate(chunks)
    }
    met = net.gather(sent, steps)
    for c, k in enumerate(chunks):
        for w in workers:
            net.send((k.server, "server"), w, k.bytes, met[c])
    return net.time()


def hierarchical_ticks(chunks, racks, speed, *, steps) -> int:
    net, every = Messages(speed), range(racks.racks)
    sent = {}
    for c, k in enumerate(chunks):
        for r in every:
            ways = [((r, f"worker{w}"), (r, "server")) for w in range(racks.workers)]
            sent[c, r] = [end for way in ways for end in net.send(*way, k.bytes, ["start"])]
    met = net.gather(sent, steps)
    there, out = (go_around, come_around) if racks.across == "ring" else (to_owners, from_owners)
    totals = net.gather({c: there(net, c, k, met, every) for c, k in enumerate(chunks)}, steps)
    arrived: dict[tuple[int, int], tuple[str, ...]] = {}
    for c, k in enumerate(chunks):
        have = out(net, k, totals[c], every)
        arrived |= {(c, r): have[r] for r in every}
    back = net.gather(arrived, steps)
    for c, k in enumerate(chunks):
        for r in every:
            for w in range(racks.workers):
                net.send((r, "server"), (r, f"worker{w}"), k.bytes, back[c, r])
    return net.time()


def go_around(net, c, k, met, every):
    around = [(k.server + 1 + i) % len(every) for i in every]
    after = met[c, around[0]]
    for a, b in pairwise(around):
        after = net.meet((*net.send((a, "server"), (b, "server"), k.bytes, after), *met[c, b]))
    return after


def come_around(net, k, total, every):
    have = {k.server: total}
    for a, b in pairwise((k.server + i) % len(every) for i in every):
        have[b] = net.send((a, "server"), (b, "server"), k.bytes, have[a])
    return have


def to_owners(net, c, k, met, every):
    own = (k.server, "server")
    others = [r for r in every if r != k.server]
    came = [end for r in others for end in net.send((r, "server"), own, k.bytes, met[c, r])]
    return [*met[c, k.server], *came]


def from_owners(net, k, total, every):
    own = (k.server, "server")
    return {
        r: total if r == k.server else net.send(own, (r, "server"), k.bytes, total) for r in every
    }


@given(
    *[st.integers(1, 3)] * 2,
    *[st.sampled_from([1, 2, 4])] * 3,
    st.sampled_from(["sharded", "ring"]),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(1, 5),
)
@settings(max_examples=cases(200), deadline=None)
def test_tick_by_tick(count, workers, worker, server, core, across, sizes, chunk) -> None:
    racks = Racks(count, workers, BYTE / worker, BYTE / server, BYTE / core, across, chunk)
    speed = {"work": worker, "serv": server, "core": core}
    keys = [Key(str(i), size) for i, size in enumerate(sizes)]
    found = reduction(keys, racks)
    chunks = lay_out(keys, chunk, count).chunks
    for ways, steps in ((found.in_steps, True), (found.streamed, False)):
        assert ways.flat_us == flat_ticks(chunks, racks, speed, steps=steps)
        assert ways.hierarchical_us == hierarchical_ticks(chunks, racks, speed, steps=steps)


speeds = st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0])


@given(*[st.integers(1, 4)] * 2, *[speeds] * 3, st.booleans(), st.integers(10, 60))
@settings(max_examples=cases(300), deadline=None)
def test_the_simulation_agrees_with_the_inequality(n, r, worker, server, core, ring, count) -> None:
    racks = Racks(r, n, worker, server, core, "ring" if ring else "sharded", 100)
    found = reduction([Key("m", 100 * count)], racks)
    flat = max(found.cross_rack_us, found.in_rack_us)
    by_racks = found.in_rack_us + found.between_servers_us
    # pushes, then pulls, and pipelines that fill
    spare = (1 - 1e-9, 2 * found.margin_us)
    assert 2 * flat * spare[0] <= found.in_steps.flat_us <= 2 * flat + spare[1]
    assert 2 * by_racks * spare[0] <= found.in_steps.hierarchical_us <= 2 * by_racks + spare[1]
    if abs(flat - by_racks) > found.margin_us:
        assert found.in_steps.is_hierarchical_faster == found.is_hierarchical_faster
    if found.cross_rack_us > by_racks + found.margin_us:
        assert found.streamed.is_hierarchical_faster
    assert found.streamed.flat_us <= found.in_steps.flat_us + spare[1]


def test_sides_on_paper() -> None:
    """4 racks of 8 workers, 1000 bytes: 10, 100 and 20 Gbit/s are 1250, 12500 and 2500 bytes/us."""
    found = reduction([Key("m", 1000)], Racks(4, 8, 10.0, 100.0, 20.0))
    assert found.cross_rack_us == pytest.approx(1000 * 8 * 3 / 4 / 2500)
    assert found.in_rack_us == pytest.approx(1000 / 1250)  # 1 / 1250 is more than 8 / 12500
    assert found.between_servers_us == pytest.approx(1000 * 3 / 4 / 2500)
    assert found.is_hierarchical_faster
    slow_server = reduction([Key("m", 1000)], Racks(4, 8, 10.0, 5.0, 20.0))
    assert slow_server.in_rack_us == pytest.approx(1000 * 8 / 625)
    assert slow_server.between_servers_us == pytest.approx(1000 * 3 / 4 / 625)
    assert not slow_server.is_hierarchical_faster


def test_streams_may_gain_where_the_inequality_says_no() -> None:
    """A link to the core carries pushes and pulls at once, and C is hidden behind the racks."""
    found = reduction([Key("m", 160_000)], Racks(4, 4, 4.0, 32.0, 12.0, chunk_bytes=1000))
    assert not found.is_hierarchical_faster
    assert not found.in_steps.is_hierarchical_faster
    assert found.streamed.is_hierarchical_faster
    assert found.streamed.hierarchical_us < 0.8 * found.streamed.flat_us


def test_one_rack_is_a_central_server() -> None:
    keys, hosts = [Key("a", 50), Key("b", 21)], Hosts("ncc", 3, 1)
    graph = exchange_graph(lay_out(keys, 8, 1), hosts)
    found = reduction(keys, Racks(1, 3, BYTE, BYTE, BYTE, chunk_bytes=8))
    assert found.streamed.flat_us == found.streamed.hierarchical_us
    assert found.streamed.flat_us == exchange_us(graph, hosts, 1.0)
    assert found.cross_rack_us == found.between_servers_us == 0
    assert not found.is_hierarchical_faster
    assert not found.in_steps.is_hierarchical_faster


def test_chunks_grow_until_the_simulation_fits() -> None:
    racks = Racks(2, 2, 1.0, 1.0, 1.0, chunk_bytes=10)
    most = 12 * 4  # 4 + 2 and back, of each chunk
    assert reduction([Key("m", 80)], racks, most).chunk_bytes == 20
    found = reduction([Key("m", 80)], racks, 11)
    assert (found.in_steps, found.streamed, found.chunk_bytes, found.margin_us) == (None,) * 4
    assert found.cross_rack_us == pytest.approx(80 / 125)


REJECTED = [
    # all at once
    (Racks(0, 0, 0.0, float("nan"), -1.0, "tree", 0), 7),
    # more than any network
    (Racks(1, 1, 1e13, 1.0, 1.0), 1),
]


@pytest.mark.parametrize(("racks", "count"), REJECTED)
def test_rejected(racks, count) -> None:
    with pytest.raises(InvalidOptions) as caught:
        reduction([Key("m", 1)], racks)
    assert len(caught.value.faults) == count
    assert {fault.code for fault in caught.value.faults} == {"out_of_range"}
