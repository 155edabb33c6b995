"""Chunks and their places: against every way to place them, and Graham's guarantee."""

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.placements.chunks import CHUNK_BYTES, Key, chunk_count, lay_out, least_load, spread
from tests.sampling import cases

sizes = st.lists(st.integers(1, 12), min_size=1, max_size=7)


def fullest(values, choice, bins):
    return max(sum(v for v, b in zip(values, choice, strict=True) if b == c) for c in range(bins))


def best(values, bins):
    """Try every way."""
    return min(fullest(values, way, bins) for way in product(range(bins), repeat=len(values)))


@given(sizes, st.integers(1, 3))
@settings(max_examples=cases(200))
def test_within_four_thirds_of_the_best(values, bins) -> None:
    optimum, load = best(values, bins), fullest(values, spread(values, bins), bins)
    assert optimum <= load <= (Fraction(4, 3) - Fraction(1, 3 * bins)) * optimum
    assert least_load(values, bins) <= optimum


def test_graham_s_example_attains_the_guarantee() -> None:
    values = [5, 5, 4, 4, 3, 3, 3]
    assert fullest(values, spread(values, 3), 3) == 11
    assert best(values, 3) == 9
    (server, *_) = lay_out([Key(str(i), v) for i, v in enumerate(values)], 100, 3).levels
    assert server.guarantee == pytest.approx(11 / 9)
    assert server.proven_ratio == pytest.approx(11 / 9)
    assert sorted(server.load_bytes) == [8, 8, 11]
    assert server.imbalance == pytest.approx(11 / 9)


@pytest.mark.parametrize(
    ("values", "bins", "bound"),
    [
        ([7, 1, 1], 2, 7),  # the largest by itself
        ([3, 3, 3, 2], 2, 6),  # the mean, rounded up
        ([4, 4, 4], 2, 8),  # two of three share a bin
    ],
)
def test_bounds_of_the_fullest_on_paper(values, bins, bound) -> None:
    assert least_load(values, bins) == bound


def test_ties_go_to_the_first() -> None:
    assert spread([2, 2, 2, 2, 2], 2) == [0, 1, 0, 1, 0]
    assert spread([1, 2, 1], 3) == [1, 0, 2]


def test_keys_are_cut_on_paper() -> None:
    layout = lay_out([Key("a", 70), Key("b", 30), Key("c", 32)], 32, 2, 1, 2)
    assert [(chunk.key, chunk.bytes) for chunk in layout.chunks] == [
        (0, 32),
        (0, 32),
        (0, 6),
        (1, 30),
        (2, 32),
    ]
    # 32s to servers 0, 1, 0, then 30 to 1, then 6 to 1
    assert [chunk.server for chunk in layout.chunks] == [0, 1, 1, 1, 0]
    assert [level.level for level in layout.levels] == ["server", "interface", "core"]
    assert layout.levels[0].load_bytes == (64, 68)
    assert layout.levels[2].load_bytes == (32, 32, 32, 36)
    assert CHUNK_BYTES == 32_768


@given(sizes, st.integers(1, 5), *[st.integers(1, 3)] * 3)
@settings(max_examples=cases(200))
def test_every_level_holds_all(values, chunk, servers, interfaces, cores) -> None:
    keys = [Key(str(i), v) for i, v in enumerate(values)]
    layout = lay_out(keys, chunk, servers, interfaces, cores)
    assert chunk_count(keys, chunk) == len(layout.chunks)
    for k, v in enumerate(values):
        cut = [c.bytes for c in layout.chunks if c.key == k]
        assert sum(cut) == v
        assert all(size == chunk for size in cut[:-1])
        assert 0 < cut[-1] <= chunk
    places = [(c.server, c.interface, c.core) for c in layout.chunks]
    bins = [(servers,), (servers, interfaces), (servers, interfaces, cores)]
    for depth, (level, shape) in enumerate(zip(layout.levels, bins, strict=True), 1):
        loads = dict.fromkeys(product(*map(range, shape)), 0)
        for place, c in zip(places, layout.chunks, strict=True):
            loads[place[:depth]] += c.bytes
        assert level.load_bytes == tuple(loads.values())
        assert level.imbalance == pytest.approx(max(loads.values()) * len(loads) / sum(values))
        worst = 1.0
        for parent in product(*map(range, shape[:-1])):
            inside = [
                c.bytes
                for p, c in zip(places, layout.chunks, strict=True)
                if p[: depth - 1] == parent
            ]
            if inside and len(inside) <= 6:
                most = max(load for place, load in loads.items() if place[:-1] == parent)
                assert most <= level.guarantee * best(inside, shape[-1]) * (1 + 1e-12)
                worst = max(worst, most / best(inside, shape[-1]))
        assert worst <= level.proven_ratio * (1 + 1e-12)
