"""Systems beside each other: their hosts, MXNet's placement, and the shape of PHub's figures."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.placements.chunk_sizes import layout_us
from solver.placements.chunks import Key, lay_out
from solver.placements.machine import TALL, WIDE, ServerMachine
from solver.placements.published import PHUB
from solver.placements.systems import (
    BIG_KEY_BYTES,
    SYSTEMS,
    Rack,
    compare_systems,
    hosts_of,
    mxnet_layout,
)
from tests.sampling import cases

RACK = Rack(8, 10.0, None, 10, 2, 8.0, PHUB)
MODEL = [Key(f"k{i}", 1_000_000) for i in range(12)] + [Key("fc", 40_000_000)]


def times(*systems, keys=MODEL, batch=0.0, rack=RACK):
    return {each.system: each for each in compare_systems(keys, batch, rack, systems, 2_000)}


def test_a_box_moves_half_of_what_shards_on_workers_do() -> None:
    """2(N-1)/N of the model each way against one: 1.75 with eight workers (Figures 12, 15, 20)."""
    found = times("pshard", "pbox", "gloo_ring_chunked", "gloo_halving_doubling")
    for name in ("pshard", "gloo_ring_chunked", "gloo_halving_doubling"):
        ratio = found[name].exchange_us / found["pbox"].exchange_us
        assert ratio == pytest.approx(1.75, rel=0.05)


def test_speedups_are_over_the_first() -> None:
    found = times("mxnet", "pshard", "pbox", batch=1000.0)
    assert found["mxnet"].speedup == 1
    for each in found.values():
        assert each.step_us == max(1000.0, each.exchange_us)
        assert each.speedup == found["mxnet"].step_us / each.step_us
    assert 1 < found["pshard"].speedup < found["pbox"].speedup
    assert [each.hosts for each in found.values()] == [8, 8, 9]
    assert [each.placement for each in found.values()] == ["cs", "cs", "ncc"]


def test_where_compute_is_longer_nothing_is_faster() -> None:
    found = times(*SYSTEMS, batch=1e6)
    assert {each.speedup for each in found.values()} == {1.0}
    assert {each.step_us for each in found.values()} == {1e6}


def test_hosts_of_systems() -> None:
    box, shards, mxnet = (hosts_of(RACK, name) for name in ("pbox", "pshard", "mxnet"))
    assert (box.placement, box.server_count, box.interfaces) == ("ncc", 1, 10)
    assert (shards.placement, shards.server_count, shards.interfaces) == ("cs", 8, 1)
    assert [each.machine.aggregation for each in (box, shards, mxnet)] == [TALL, TALL, WIDE]
    faster = Rack(4, 10.0, machine=ServerMachine(server_gbps=40.0))
    assert hosts_of(faster, "pbox").machine.server_gbps == 40.0
    assert hosts_of(faster, "pshard").machine.server_gbps is None  # the workers' own cards


def test_pshard_is_an_exchange_of_shards() -> None:
    keys, rack = [Key("m", 80_000)], Rack(4, 1.0, 2, chunk_bytes=1000)
    (found,) = compare_systems(keys, 1.0, rack, ["pshard"])
    hosts = hosts_of(rack, "pshard")
    assert found.exchange_us == layout_us(lay_out(keys, 1000, 2), hosts, 1.0)
    assert found.transfers == found.simulated_transfers == 2 * 80 * 3


@given(st.lists(st.integers(1, 3 * BIG_KEY_BYTES), min_size=1, max_size=8), st.integers(1, 9))
@settings(max_examples=cases(100))
def test_mxnet_places_keys(values, servers) -> None:
    """Small keys whole by 9973 k mod S, large ones in even parts on all."""
    keys = [Key(f"k{i}", value) for i, value in enumerate(values)]
    chunks = mxnet_layout(keys, servers).chunks
    for k, value in enumerate(values):
        own = [chunk for chunk in chunks if chunk.key == k]
        assert sum(chunk.bytes for chunk in own) == value
        if value < BIG_KEY_BYTES:
            assert [chunk.server for chunk in own] == [(9973 * k) % servers]
        else:
            assert [chunk.server for chunk in own] == list(range(servers))
            assert max(c.bytes for c in own) - min(c.bytes for c in own) <= 1


def test_unknown_is_none() -> None:
    three = Rack(3, 10.0)
    keys = [Key(f"k{i}", 100) for i in range(50)]
    halving, mxnet = compare_systems(keys, 1.0, three, ["gloo_halving_doubling", "mxnet"], 100)
    assert (halving.exchange_us, halving.step_us, halving.speedup) == (None, None, None)
    assert (mxnet.exchange_us, mxnet.simulated_transfers, mxnet.transfers) == (None, 0, 200)
    (ring,) = compare_systems([Key("m", 100)], 1.0, three, ["gloo_ring"], 100)
    assert ring.speedup == 1
