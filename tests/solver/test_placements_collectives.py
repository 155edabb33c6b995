"""All-reduces as Gloo has them: against sums of rounds, and that everybody has everything."""

import pytest

from solver.placements.collectives import COLLECTIVES, can_run, collective_us, message_count
from solver.placements.exchange_graph import Hosts
from solver.placements.machine import ServerMachine

BYTE = 1 / 125
NAMES = tuple(COLLECTIVES)


def hosts(workers, startup=0.0, rate=None, cores=1, update=None) -> Hosts:
    machine = ServerMachine(startup_us=startup, update_gbytes_per_s=update)
    return Hosts("cs", workers, workers, 1, cores, rate, machine)


@pytest.mark.parametrize("workers", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("name", NAMES)
def test_rounds_by_the_textbook(name, workers) -> None:
    """A message pays alpha and its bytes; what is summed takes a microsecond for four bytes."""
    size, alpha, n = 1600, 7.0, workers
    levels = n.bit_length() - 1
    sent, summed, messages = {
        "gloo_ring": ((n - 1) * size, (n - 1) * size, n - 1),
        "gloo_ring_chunked": (2 * (n - 1) * size / n, (n - 1) * size / n, 2 * (n - 1)),
        "gloo_halving_doubling": (2 * (n - 1) * size / n, (n - 1) * size / n, 2 * levels),
    }[name]
    wanted = messages * alpha + sent + summed / 4 + size / 2
    found = collective_us(name, size, hosts(n, alpha, 2e-3, 2, 1e-3), BYTE)
    assert found == pytest.approx(wanted)
    assert message_count(name, n) == n * messages


@pytest.mark.parametrize("workers", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("name", NAMES)
def test_everybody_has_the_sum_of_all(name, workers) -> None:
    """What each worker's last op comes after holds a send of every other, along the messages."""
    if not can_run(name, workers):
        assert workers & (workers - 1)
        return
    ops = {op.id: op for op in COLLECTIVES[name](1000, workers)}
    for w in range(workers):
        seen, left = set(), [f"update{w}"]
        while left:
            op = ops[left.pop()]
            if op.id not in seen:
                seen.add(op.id)
                left += op.after
        senders = {ops[each].channel for each in seen if ops[each].channel.endswith("out")}
        assert senders >= {f"worker{v}.out" for v in range(workers) if v != w}


@pytest.mark.parametrize("workers", [3, 5, 6, 7])
def test_a_ring_takes_any_number(workers) -> None:
    """Parts differ by a byte."""
    found = collective_us("gloo_ring_chunked", 1001, hosts(workers), BYTE)
    assert found == pytest.approx(2 * (workers - 1) * 1001 / workers, abs=2 * workers)
    assert not can_run("gloo_halving_doubling", workers)


def test_a_ring_reaches_two_peers_and_halving_one_a_level() -> None:
    """With one queue pair held, a ring's card misses half, that of three levels two in three."""
    machine = ServerMachine(queue_pair_cache=1, queue_pair_us=6)
    for name, missed in (("gloo_ring_chunked", 3.0), ("gloo_halving_doubling", 4.0)):
        paid = Hosts("cs", 8, 8, machine=machine)
        more = collective_us(name, 800, paid, BYTE) - collective_us(name, 800, hosts(8), BYTE)
        assert more == pytest.approx(missed * message_count(name, 8) / 8)
