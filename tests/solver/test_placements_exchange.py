"""One exchange: against a clock that ticks, and the bandwidth of the formula."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from solver.costs import PLACEMENTS
from solver.placements import exchange as exchanges
from solver.placements.bandwidth import bandwidth
from solver.placements.chunks import Key, lay_out
from solver.placements.exchange import exchange, simulated_chunk
from solver.placements.exchange_graph import Hosts, exchange_graph, exchange_us, transfer_count
from tests.sampling import cases
from tests.transfer_oracle import Task, ends

#: A core that takes a microsecond for a byte.
SLOW = 1e-3


def ticks(keys, hosts, chunk_bytes) -> int:
    """Time of an exchange at a byte per tick, from messages that this test makes itself."""
    sharded, colocated = hosts.placement in {"ncs", "cs"}, hosts.placement in {"cc", "cs"}
    servers = hosts.servers if sharded else 1
    chunks = lay_out(keys, chunk_bytes, servers, hosts.interfaces, hosts.cores).chunks
    on_worker = {s: s for s in range(servers)} if colocated else {}

    def port(worker, chunk):
        has_server = worker in on_worker.values()
        return ("w", worker, chunk.interface if has_server else 0)

    tasks = {"start": Task((), None, 0)}
    for push in (True, False):
        for c, chunk in enumerate(chunks):
            server = ("w" if colocated else "s", chunk.server, chunk.interface)
            remote = [w for w in range(hosts.workers) if on_worker.get(chunk.server) != w]
            if not push:
                after = tuple(f"push{c}-{w}-b" for w in remote) or ("start",)
                if hosts.aggregate_gbytes_per_s:
                    time, core = hosts.workers * chunk.bytes, f"core {server} {chunk.core}"
                    tasks[f"sum{c}"] = Task(after, core, time)
                else:
                    tasks[f"sum{c}"] = Task(after, None, 0)
            for w in remote:
                name, start = (f"push{c}-{w}", "start") if push else (f"pull{c}-{w}", f"sum{c}")
                source, sink = (port(w, chunk), server) if push else (server, port(w, chunk))
                tasks[f"{name}-a"] = Task((start,), f"{source} out", chunk.bytes)
                tasks[f"{name}-b"] = Task((f"{name}-a",), f"{sink} in", chunk.bytes)
    return max(ends(tasks).values())


@st.composite
def tiny(draw):
    workers = draw(st.integers(1, 4))
    hosts = Hosts(
        draw(st.sampled_from(PLACEMENTS)),
        workers,
        draw(st.integers(1, workers)),
        draw(st.integers(1, 2)),
        draw(st.integers(1, 2)),
        draw(st.sampled_from([None, SLOW])),
    )
    values = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    return [Key(f"k{i}", v) for i, v in enumerate(values)], hosts, draw(st.integers(1, 6))


@given(tiny())
@settings(max_examples=cases(400))
def test_tick_by_tick(case) -> None:
    keys, hosts, chunk = case
    servers = hosts.servers if hosts.placement in {"ncs", "cs"} else 1
    assume(transfer_count(hosts, 1) or hosts.aggregate_gbytes_per_s)  # else there is no op
    graph = exchange_graph(lay_out(keys, chunk, servers, hosts.interfaces, hosts.cores), hosts)
    assert transfer_count(hosts, len([op for op in graph.ops if op.id.startswith("sum")])) == (
        sum(op.kind == "broadcast" for op in graph.ops) // 2
    )
    assert exchange_us(graph, hosts, 1.0) == ticks(keys, hosts, chunk)


def test_two_workers_on_paper() -> None:
    """Two chunks of 4 bytes and a server of its own, a byte per microsecond.

    Pushes leave in 0-4 and 4-8; the server takes the first two in 4-8 and 8-12, the others until
    20. It sends the first chunk's in 12-16 and 16-20, the second's until 28; the last is there at
    32.
    """
    hosts = Hosts("ncc", 2, 1)
    assert exchange_us(exchange_graph(lay_out([Key("m", 8)], 4, 1), hosts), hosts, 1.0) == 32
    found = exchange([Key("m", 8)], hosts, 16.0, 4)
    assert found == exchanges.BatchExchange(2 * 2 / 125, 4, 8)  # twice as fast as a byte per us


@given(tiny(), st.sampled_from([1.0, 3.0, 1000.0]))
@settings(max_examples=cases(200))
def test_never_below_the_formula(case, time) -> None:
    keys, hosts, chunk = case
    found = exchange(keys, hosts, time, chunk)
    size = sum(key.bytes for key in keys)
    need = bandwidth(hosts.placement, size, time, hosts.workers, hosts.servers, hosts.interfaces)
    if found.gbps is None:
        assert hosts.aggregate_gbytes_per_s
    else:
        assert found.gbps >= need.gbps * (1 - 1e-9)


@given(
    st.sampled_from(PLACEMENTS), st.integers(2, 6), st.data(), st.integers(1, 9), st.integers(1, 60)
)
@settings(max_examples=cases(200))
def test_near_the_formula_but_for_the_pipeline(placement, workers, data, chunk, count) -> None:
    """Of chunks of one size the exchange takes 2 (N + S) + 4 chunk times more at most."""
    servers = data.draw(st.integers(1, workers))
    keys, hosts = [Key("m", chunk * count)], Hosts(placement, workers, servers)
    need = bandwidth(placement, chunk * count, 1.0, workers, servers)
    found = exchange(keys, hosts, 1.0, chunk)
    chunk_time = 2 * chunk / 125  # as bandwidth, both directions, over a batch of 1 us
    assert need.gbps <= found.gbps * (1 + 1e-9)
    assert found.gbps <= need.gbps + chunk_time * (2 * (workers + need.servers) + 4)


def test_smaller_chunks_come_nearer() -> None:
    for placement in PLACEMENTS:
        hosts = Hosts(placement, 4, 4)
        need = bandwidth(placement, 8_000_000, 1e4, 4, 4).gbps
        over = [
            exchange([Key("m", 8_000_000)], hosts, 1e4, size).gbps / need - 1
            for size in (800_000, 80_000, 8_000)
        ]
        assert over == sorted(over, reverse=True)
        assert 0 < over[-1] < 0.02


@given(tiny(), st.sampled_from([1.5, 4.0, 40.0]))
@settings(max_examples=cases(100))
def test_the_search_ends_where_the_exchange_takes_the_time(case, times) -> None:
    keys, hosts, chunk = case
    hosts = Hosts(hosts.placement, hosts.workers, hosts.servers, 1, hosts.cores, SLOW)
    servers = hosts.servers if hosts.placement in {"ncs", "cs"} else 1
    graph = exchange_graph(lay_out(keys, chunk, servers, 1, hosts.cores), hosts)
    sums = exchange_us(graph, hosts, 0.0)
    assert exchange(keys, hosts, sums * 0.999, chunk).gbps is None
    found = exchange(keys, hosts, sums * times, chunk)
    assume(found.transfers)
    time = exchange_us(graph, hosts, 2 / (found.gbps * 125))
    assert time <= sums * times * (1 + 1e-9)
    # nothing is wasted: a thousandth less time, or bandwidth, and it takes longer
    less = exchange_us(graph, hosts, 2 / (found.gbps * 125) * 1.0021)
    assert time >= 0.998 * sums * times or less > sums * times


@given(tiny(), st.integers(2, 5))
@settings(max_examples=cases(100))
def test_more_bytes_in_as_much_more_time(case, times) -> None:
    """So many times the bytes and the chunk need the bandwidth in so many times the time."""
    keys, hosts, chunk = case
    hosts = replace(hosts, aggregate_gbytes_per_s=None)
    more = [Key(key.name, key.bytes * times) for key in keys]
    once, again = exchange(keys, hosts, 50.0, chunk), exchange(more, hosts, 50.0, chunk * times)
    assert again.gbps == pytest.approx(once.gbps * times)
    assert again.transfers == once.transfers
    assert exchange(keys, hosts, 50.0 * times, chunk).gbps == pytest.approx(once.gbps / times)


def test_sums_that_are_all_but_hidden_cost_nothing() -> None:
    """The search starts at the bandwidth without sums, and may end there."""
    fast = Hosts("ncc", 4, 1, aggregate_gbytes_per_s=1e15)
    free = Hosts("ncc", 4, 1)
    keys = [Key("m", 4096)]
    assert exchange(keys, fast, 10.0, 64).gbps == pytest.approx(
        exchange(keys, free, 10.0, 64).gbps, rel=1e-3
    )


def test_one_worker_with_its_server_sends_nothing() -> None:
    keys = [Key("m", 10)]
    assert exchange(keys, Hosts("cc", 1, 1), 5.0, 4) == exchanges.BatchExchange(0.0, 4, 0)
    slow = Hosts("cs", 1, 1, aggregate_gbytes_per_s=SLOW)
    assert exchange(keys, slow, 10.0, 4) == exchanges.BatchExchange(0.0, 4, 0)
    assert exchange(keys, slow, 9.0, 4) == exchanges.BatchExchange(None, 4, 0)


def test_chunks_grow_until_the_simulation_fits() -> None:
    keys, hosts = [Key("a", 100), Key("b", 30)], Hosts("ncc", 2, 1)
    found = exchange(keys, hosts, 100.0, 3, 80)  # 20 chunks: 33 + 10 of 3, 17 + 5 of 6, 12 + 4 of 9
    assert (found.chunk_bytes, found.transfers) == (9, 64)
    searched = exchange(keys, Hosts("ncc", 2, 1, aggregate_gbytes_per_s=1.0), 100.0, 3, 80)
    assert (searched.chunk_bytes, searched.transfers) == (102, 8)
    assert exchange(keys, hosts, 100.0, 3, 7) is None


@given(st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(1, 9), st.integers(1, 60))
def test_the_smallest_multiple_that_fits(values, chunk, most) -> None:
    count = lambda size: sum(-(-v // size) for v in values)
    fitting = [m * chunk for m in range(1, 60) if count(m * chunk) <= most]
    found = simulated_chunk(chunk, most, max(values), count)
    assert found == (fitting[0] if fitting else None)
