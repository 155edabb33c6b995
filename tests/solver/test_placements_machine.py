"""Machines of servers: against a clock that ticks, by hand, and what they refuse."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import PLACEMENTS
from solver.placements.bandwidth import bandwidth
from solver.placements.chunk_sizes import layout_us
from solver.placements.chunks import Key, lay_out
from solver.placements.exchange import exchange
from solver.placements.exchange_graph import Hosts, exchange_graph, exchange_us
from solver.placements.machine import TALL, WIDE, ServerMachine, machine_faults
from solver.placements.resources import busy_us, limiting
from tests.sampling import cases
from tests.transfer_oracle import Task, ends

#: A byte in a microsecond, of links and cores [10^9 bytes a second] and of interfaces [Gbit/s].
SLOW, BYTE = 1e-3, 1 / 125


#: The other end of a card.
TURNED = {"out": "in", "in": "out"}


class Messages:
    """One exchange as tasks in ticks of a microsecond, which this test makes itself."""

    def __init__(self, keys, hosts, chunk_bytes, server_ticks) -> None:
        sharded = hosts.placement in {"ncs", "cs"}
        self.hosts, self.machine, self.each = hosts, hosts.machine, server_ticks
        self.colocated = hosts.placement in {"cc", "cs"}
        servers = hosts.servers if sharded else 1
        self.boxes = {self.box(s) for s in range(servers)}
        self.tasks = {"start": Task((), None, 0)}
        self.chunks = lay_out(keys, chunk_bytes, servers, hosts.interfaces, hosts.cores).chunks
        pushed = [[self.push(c, chunk, w) for w in self.workers] for c, chunk in self.numbered]
        for c, chunk in self.numbered:
            add = self.wide if self.is_wide else self.tall
            add(f"sum {c}", chunk, pushed[c])
            for w in self.workers:
                self.pull(c, chunk, w)

    @property
    def workers(self):
        return range(self.hosts.workers)

    @property
    def numbered(self):
        return list(enumerate(self.chunks))

    @property
    def is_wide(self) -> bool:
        m = self.machine
        takes = self.hosts.aggregate_gbytes_per_s or m.update_gbytes_per_s or m.wide_sync_us
        return m.aggregation == WIDE and bool(takes)

    def box(self, server) -> str:
        return f"w{server}" if self.colocated else f"s{server}"

    def links(self, host):
        names = ("pcie", self.machine.pcie_gbytes_per_s), ("mem", self.machine.memory_gbytes_per_s)
        return [(f"{host} {name}", 1) for name, rate in names if rate]

    def hops(self, chunk, worker):
        """Return the channels of a push with the ticks of a byte, the sender's card first."""
        at, to = f"w{worker}", self.box(chunk.server)
        if at == to:
            return []
        own = at in self.boxes
        card = f"{at} {chunk.interface if own else 0} out"
        found = [*reversed(self.links(at) if own else []), (card, self.each if own else 1)]
        return [*found, (f"{to} {chunk.interface} in", self.each), *self.links(to)]

    def send(self, name, size, path, after):
        for h, (channel, each) in enumerate(path):
            startup = int(self.machine.startup_us) if channel.endswith("out") else 0
            self.tasks[f"{name} {h}"] = Task((after,), channel, startup + size * each)
            after = f"{name} {h}"
        return after

    def push(self, c, chunk, w):
        return self.send(f"push {c} {w}", chunk.bytes, self.hops(chunk, w), "start")

    def pull(self, c, chunk, w) -> None:
        path = []
        for channel, each in reversed(self.hops(chunk, w)):
            host, _, end = channel.rpartition(" ")
            path.append((f"{host} {TURNED.get(end, end)}", each))
        self.send(f"pull {c} {w}", chunk.bytes, path, f"sum {c}")

    def through(self, name, size, chunk, after):
        if not self.machine.memory_gbytes_per_s or not size:
            return tuple(after)
        self.tasks[f"{name} memory"] = Task(tuple(after), f"{self.box(chunk.server)} mem", size)
        return (f"{name} memory",)

    @property
    def passes(self):
        return (0, 2) if self.machine.is_cached else (3, 5)

    def wide(self, name, chunk, pushed) -> None:
        (sums, updates), wait = self.passes, int(self.machine.wide_sync_us)
        share = chunk.bytes // (self.hosts.interfaces * self.hosts.cores)
        where = f"{self.box(chunk.server)} all"
        for w, came in enumerate(pushed):
            after = self.through(f"{name} {w}", sums * chunk.bytes, chunk, (came,))
            time = share if self.hosts.aggregate_gbytes_per_s else 0
            self.tasks[f"{name} {w}"] = Task(after, where, wait + time)
        arrived = [f"{name} {w}" for w in range(len(pushed))]
        after = self.through(name, updates * chunk.bytes, chunk, arrived)
        time = wait + (share if self.machine.update_gbytes_per_s else 0)
        self.tasks[name] = Task(after, where if time else None, time)

    def tall(self, name, chunk, pushed) -> None:
        (sums, updates), where = self.passes, f"{chunk.server} {chunk.interface} {chunk.core} core"
        after = self.through(name, (sums * len(pushed) + updates) * chunk.bytes, chunk, pushed)
        if self.hosts.aggregate_gbytes_per_s:
            self.tasks[f"add {name}"] = Task(after, where, len(pushed) * chunk.bytes)
            after = (f"add {name}",)
        is_updated = bool(self.machine.update_gbytes_per_s)
        done = Task(after, where, chunk.bytes) if is_updated else Task(after, None, 0)
        self.tasks[name] = done


def ticks(keys, hosts, chunk_bytes, server_ticks) -> int:
    """Time of an exchange in ticks of a microsecond."""
    return max(ends(Messages(keys, hosts, chunk_bytes, server_ticks).tasks).values())


@st.composite
def tiny(draw):
    workers = draw(st.integers(1, 3))
    interfaces, cores = draw(st.sampled_from([(1, 1), (1, 2), (2, 1)]))
    machine = ServerMachine(
        startup_us=float(draw(st.integers(0, 3))),
        pcie_gbytes_per_s=draw(st.sampled_from([None, SLOW])),
        memory_gbytes_per_s=draw(st.sampled_from([None, SLOW])),
        aggregation=draw(st.sampled_from([TALL, WIDE])),
        wide_sync_us=float(draw(st.integers(0, 2))),
        is_cached=draw(st.booleans()),
        update_gbytes_per_s=draw(st.sampled_from([None, SLOW])),
        server_gbps=draw(st.sampled_from([None, BYTE / 2])),
    )
    rate = draw(st.sampled_from([None, SLOW]))
    placement, servers = draw(st.sampled_from(PLACEMENTS)), draw(st.integers(1, workers))
    hosts = Hosts(placement, workers, servers, interfaces, cores, rate, machine)
    values = draw(st.lists(st.sampled_from([2, 4, 6]), min_size=1, max_size=3))
    return [Key(f"k{i}", v) for i, v in enumerate(values)], hosts, draw(st.sampled_from([2, 4]))


@given(tiny())
@settings(max_examples=cases(150), deadline=None)
def test_tick_by_tick(case) -> None:
    keys, hosts, chunk = case
    layout = lay_out(keys, chunk, hosts.server_count, hosts.interfaces, hosts.cores)
    server_ticks = 1 if hosts.machine.server_gbps is None else 2
    wanted = ticks(keys, hosts, chunk, server_ticks)
    assert layout_us(layout, hosts, BYTE) == pytest.approx(wanted)


@given(tiny())
@settings(max_examples=cases(100), deadline=None)
def test_no_resource_is_busy_for_longer(case) -> None:
    """With shards of one size, which the bound counts with."""
    _, hosts, _ = case
    keys = [Key(f"k{i}", 2) for i in range(2 * hosts.server_count * hosts.interfaces * hosts.cores)]
    size = sum(key.bytes for key in keys)
    layout = lay_out(keys, 2, hosts.server_count, hosts.interfaces, hosts.cores)
    need = bandwidth(hosts.placement, size, 1.0, hosts.workers, hosts.servers, hosts.interfaces)
    assert need.servers == hosts.server_count
    busy = busy_us(need, size, hosts, BYTE)
    assert layout_us(layout, hosts, BYTE) >= max(busy.values()) * (1 - 1e-9)
    assert busy[limiting(busy)] == max(busy.values())


@given(tiny(), st.integers(2, 4))
@settings(max_examples=cases(60), deadline=None)
def test_all_times_as_long_take_as_much_longer(case, times) -> None:
    keys, hosts, chunk = case
    machine = hosts.machine
    slower = {
        name: None if (rate := getattr(machine, name)) is None else rate / times
        for name in ("pcie_gbytes_per_s", "memory_gbytes_per_s", "update_gbytes_per_s")
    }
    slower["server_gbps"] = machine.server_gbps and machine.server_gbps / times
    more = replace(
        machine,
        startup_us=machine.startup_us * times,
        wide_sync_us=machine.wide_sync_us * times,
        **slower,
    )
    rate = hosts.aggregate_gbytes_per_s
    again = replace(hosts, machine=more, aggregate_gbytes_per_s=rate and rate / times)
    layout = lay_out(keys, chunk, hosts.server_count, hosts.interfaces, hosts.cores)
    first, then = layout_us(layout, hosts, BYTE), layout_us(layout, again, BYTE / times)
    assert then == pytest.approx(times * first)


def test_a_start_up_on_paper() -> None:
    """A chunk of 4 bytes of one worker, a byte per microsecond, start-ups of 3.

    The push leaves in 0-7, is taken in 7-11, and crosses PCIe at two bytes per microsecond until
    13; back over PCIe until 15, out until 22 and in until 26.
    """
    hosts = Hosts("ncc", 1, 1, machine=ServerMachine(startup_us=3, pcie_gbytes_per_s=2e-3))
    assert layout_us(lay_out([Key("m", 4)], 4, 1), hosts, BYTE) == 26


def test_queue_pairs_on_paper() -> None:
    """Two pairs with each of three workers are 6 on a server's card, and 2 on a worker's.

    A card that holds 3 misses half at the server, none at a worker: 4 us of 8. So each of three
    pushes takes 4 more to come in, and each pull to go out.
    """
    free = Hosts("ncc", 3, 1)
    paid = replace(free, machine=ServerMachine(queue_pairs=2, queue_pair_cache=3, queue_pair_us=8))
    layout = lay_out([Key("m", 10)], 10, 1)
    assert layout_us(layout, free, BYTE) == 10 + 30 + 30 + 10
    assert layout_us(layout, paid, BYTE) == 10 + 3 * 14 + 3 * 14 + 10
    for held in (6, None):
        holds = replace(paid.machine, queue_pair_cache=held)
        assert layout_us(layout, replace(free, machine=holds), BYTE) == 80
    more = [
        layout_us(layout, replace(free, machine=replace(paid.machine, queue_pairs=q)), BYTE)
        for q in (1, 2, 4, 8)
    ]
    assert more == sorted(more)
    assert more[0] == 80


def test_one_worker_with_its_server_waits_for_memory_alone() -> None:
    """Nothing is sent: start-ups do not count, memory and cores do."""
    keys, own = [Key("m", 10)], Hosts("cc", 1, 1, machine=ServerMachine(startup_us=5))
    assert exchange(keys, own, 1.0, 10).gbps == 0
    memory = replace(own, machine=ServerMachine(memory_gbytes_per_s=SLOW))  # 20 us
    assert exchange(keys, memory, 20.0, 10).gbps == 0
    assert exchange(keys, memory, 19.0, 10).gbps is None


def test_larger_chunks_of_a_simulation_pay_as_often() -> None:
    hosts = Hosts("ncc", 2, 1, machine=ServerMachine(startup_us=5))
    fine = layout_us(lay_out([Key("m", 400)], 4, 1), hosts, BYTE)
    coarse = layout_us(lay_out([Key("m", 400)], 40, 1), replace(hosts, paid_bytes=4), BYTE)
    assert coarse == pytest.approx(fine, rel=0.2)
    assert layout_us(lay_out([Key("m", 400)], 40, 1), hosts, BYTE) < 0.6 * coarse


def test_a_bandwidth_is_searched_for_where_transfers_pay() -> None:
    """Every worker starts 100 chunks: 100 us of a batch of 1000 us are not of its bytes."""
    keys, free = [Key("m", 10_000)], Hosts("ncc", 1, 1)
    plain = exchange(keys, free, 1000.0, 100, 8_000)
    paid = exchange(keys, replace(free, machine=ServerMachine(startup_us=1)), 1000.0, 100, 8_000)
    assert paid.gbps == pytest.approx(plain.gbps / 0.9, rel=0.02)
    late = replace(free, machine=ServerMachine(startup_us=11))
    assert exchange(keys, late, 1000.0, 100, 8_000).gbps is None


@pytest.mark.parametrize(("cached", "crossing"), [(True, 2 * 8 + 2), (False, 2 * 8 + 3 * 8 + 5)])
def test_memory_carries_transfers_sums_and_updates(cached: bool, crossing: int) -> None:
    """Of eight workers, per byte of the model; PHub's Table 4 is 1.08 and 2.74 times transfers."""
    machine = ServerMachine(memory_gbytes_per_s=SLOW, is_cached=cached)
    hosts = Hosts("ncc", 8, 1, machine=machine)
    busy = busy_us(bandwidth("ncc", 1000, 1.0, 8), 1000, hosts, 1e6)
    assert busy["memory"] == pytest.approx(1000 * crossing)
    keys = [Key("m", 1000)]
    graph = exchange_graph(lay_out(keys, 10, 1), hosts)
    assert exchange_us(graph, hosts, 1e-6) == pytest.approx(1000 * crossing, rel=0.02)


REJECTED = [
    # negative times
    (ServerMachine(startup_us=-1.0), ["/machine/startup_us"]),
    (ServerMachine(queue_pair_us=float("nan")), ["/machine/queue_pair_us"]),
    (ServerMachine(wide_sync_us=-1e-9), ["/machine/wide_sync_us"]),
    # no queue pair, no cache
    (
        ServerMachine(queue_pairs=0, queue_pair_cache=0),
        ["/machine/queue_pairs", "/machine/queue_pair_cache"],
    ),
    # links that carry nothing
    (
        ServerMachine(server_gbps=0.0, pcie_gbytes_per_s=0.0, memory_gbytes_per_s=-1.0),
        ["/machine/server_gbps", "/machine/pcie_gbytes_per_s", "/machine/memory_gbytes_per_s"],
    ),
    (ServerMachine(update_gbytes_per_s=float("inf")), ["/machine/update_gbytes_per_s"]),
    # an unknown way to sum
    (ServerMachine(aggregation="long"), ["/machine/aggregation"]),
]


@pytest.mark.parametrize(("machine", "pointers"), REJECTED)
def test_rejected(machine, pointers) -> None:
    assert [fault.pointer for fault in machine_faults(machine)] == pointers
