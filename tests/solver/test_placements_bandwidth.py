"""Bandwidths of the four placements: message by message, and against PHub's Table 2."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.costs import PLACEMENTS
from solver.placements.bandwidth import bandwidth
from tests.sampling import cases

#: Megabytes and milliseconds of PHub's Table 3; Gbit/s of Table 2 in the order of PLACEMENTS.
PAPER = {
    "resnet269": (390, 350, (140, 122, 17, 31)),
    "inception": (91, 225, (50, 44, 6, 11)),
    "googlenet": (38, 100, (46, 40, 6, 10)),
    "alexnet": (194, 16, (1408, 1232, 176, 308)),
}


@pytest.mark.parametrize("model", PAPER)
def test_table_2_within_a_tenth(model) -> None:
    """All printed values lie below those of Table 3's inputs, by up to 9.3 % (AlexNet)."""
    megabytes, ms, printed = PAPER[model]
    for placement, expected in zip(PLACEMENTS, printed, strict=True):
        need = bandwidth(placement, megabytes * 10**6, ms * 1e3, 8, 8)
        assert 0.9 * need.host_gbps < expected < need.host_gbps
        assert need.gbps == need.host_gbps


def test_alexnet_of_table_2_on_paper() -> None:
    needs = [bandwidth(name, 194_000_000, 16_000, 8, 8) for name in PLACEMENTS]
    assert [need.host_gbps for need in needs] == pytest.approx([1552, 1358, 194, 339.5])
    assert [need.busiest for need in needs] == ["server", "server", "both", "both"]
    assert [need.servers for need in needs] == [1, 1, 8, 8]
    printed = PAPER["alexnet"][2]
    ratios = [need.host_bytes / needs[0].host_bytes for need in needs]
    assert ratios == pytest.approx([value / printed[0] for value in printed])


@given(st.integers(2, 64), st.integers(1, 10**9))
@settings(max_examples=cases(100))
def test_ratios_between_placements(n, size) -> None:
    """2N : 2(N-1) : 2 : 4(N-1)/N."""
    found = [bandwidth(name, size, 1000.0, n, n).host_bytes for name in PLACEMENTS]
    assert found == pytest.approx(
        [2 * n * size, 2 * (n - 1) * size, 2 * size, 4 * (n - 1) * size / n]
    )


def by_message(placement: str, workers: int, servers: int) -> tuple[dict[str, Fraction], set[str]]:
    """Send each shard of a model of one byte; what each host sends and receives."""
    servers = servers if placement in {"ncs", "cs"} else 1
    colocated = placement in {"cc", "cs"}
    of_server = [f"worker{s}" if colocated else f"server{s}" for s in range(servers)]
    moved = {f"worker{w}": Fraction() for w in range(workers)} | dict.fromkeys(
        of_server, Fraction()
    )
    for host in of_server:
        for w in range(workers):
            for source, sink in ((f"worker{w}", host), (host, f"worker{w}")):
                if source != sink:
                    moved[source] += Fraction(1, servers)
                    moved[sink] += Fraction(1, servers)
    return moved, set(of_server)


@given(st.sampled_from(PLACEMENTS), st.integers(1, 9), st.data())
@settings(max_examples=cases(300))
def test_message_by_message(placement, workers, data) -> None:
    servers = data.draw(st.integers(1, workers))
    interfaces = data.draw(st.integers(1, 4))
    need = bandwidth(placement, 10**6, 2000.0, workers, servers, interfaces)
    moved, with_server = by_message(placement, workers, servers)
    most = max(moved.values())
    assert need.host_bytes == pytest.approx(float(most * 10**6))
    assert need.host_gbps == pytest.approx(float(most * 10**6) * 8e-3 / 2000)
    busiest = {host in with_server for host, share in moved.items() if share == most}
    same = len(set(moved.values())) == 1
    assert need.busiest == ("both" if same else "server" if busiest == {True} else "worker")
    per_interface = max(
        share / (interfaces if host in with_server else 1) for host, share in moved.items()
    )
    assert need.gbps == pytest.approx(float(per_interface * 10**6) * 8e-3 / 2000)
    of_servers = [float(share * 10**6) for host, share in moved.items() if host in with_server]
    of_workers = [float(share * 10**6) for host, share in moved.items() if host not in with_server]
    assert [need.server_host_bytes] * len(of_servers) == pytest.approx(of_servers)
    if of_workers:
        assert [need.worker_host_bytes] * len(of_workers) == pytest.approx(of_workers)
    else:
        assert need.worker_host_bytes is None
