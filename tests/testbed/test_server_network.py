"""The network of a parameter server on the testbed: what overtakes what."""

import subprocess
import sys

import pytest

from tests.testbed import hosts

#: Two workers send to a server. The second begins once the first has filled its queue; the bytes
#: of the first that come between the first and the last byte of the second are printed.
SERVER = """
import selectors, socket
listener = socket.create_server(("{address}", 7000))
print("listens", flush=True)
first, _ = listener.accept()
chosen = selectors.DefaultSelector()
chosen.register(first, selectors.EVENT_READ)
chosen.register(listener, selectors.EVENT_READ)
of_first = of_second = before = 0
while of_second < {size}:
    for key, _ in chosen.select():
        if key.fileobj is listener:
            chosen.register(listener.accept()[0], selectors.EVENT_READ)
        elif key.fileobj is not first:
            of_second += len(key.fileobj.recv(1024))
        elif of_second:
            of_first += len(first.recv(1024))
        else:
            is_full = before > 1_000_000
            before += len(first.recv(65536))
            if before > 1_000_000 and not is_full:
                print("full", flush=True)
print(of_first, flush=True)
"""
SEND = """
import socket
with socket.create_connection(("{address}", 7000)) as connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        for _ in range({times}):
            connection.sendall(bytes({size}))
            connection.sendall(bytes({small}))
    except OSError:
        pass  # the server has seen enough
"""
TAKE = """
import socket
listener = socket.create_server(("{address}", 7000))
print("listens", flush=True)
connection, _ = listener.accept()
while connection.recv(65536):
    pass
"""


@pytest.fixture
def network():
    """A server and two workers, the server's link at 20 Mbit/s."""
    if why := hosts.why_no_namespaces():
        pytest.skip(why)
    with hosts.namespaces(3, 100) as made:
        hosts.shape_server(made, 20)
        yield made


def running(host: hosts.Host, script: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        host.command(sys.executable, "-c", script), stdout=subprocess.PIPE, text=True
    )


def counter(host: hosts.Host, name: str) -> int:
    told = subprocess.check_output(host.command("cat", "/proc/net/netstat"), text=True)
    names, values = told.splitlines()[:2]
    return int(values.split()[names.split().index(name)])


@pytest.mark.long
def test_no_packet_overtakes_what_its_connection_sent_before(network):
    """Else TCP takes it for loss and sends again: a fifth of all that small tensors push."""
    server, worker, _ = network
    with running(server, TAKE.format(address=server.address)) as taking:
        assert taking.stdout.readline() == "listens\n"
        send = SEND.format(address=server.address, times=600, size=6000, small=21)
        subprocess.run(worker.command(sys.executable, "-c", send), check=True)
        assert taking.wait() == 0
    assert counter(server, "TCPOFOQueue") <= 4


def bytes_beside(network: tuple[hosts.Host, ...], size: int) -> int:
    """Count what comes of a first worker while a second, who comes later, sends so much."""
    server, first, second = network
    with running(server, SERVER.format(address=server.address, size=size)) as taking:
        assert taking.stdout.readline() == "listens\n"
        send = SEND.format(address=server.address, times=10_000, size=8000, small=0)
        with running(first, send):
            assert taking.stdout.readline() == "full\n"
            send = SEND.format(address=server.address, times=1, size=size, small=0)
            with running(second, send):
                beside = int(taking.stdout.readline())
            assert taking.wait() == 0
    return beside


@pytest.mark.long
def test_who_comes_later_has_no_more_than_an_equal_share(network):
    """Else workers that pull one after the other come nearer each step, until they are in step.

    A machine that is busy may read late what came; a saved burst would be missing each time.
    """
    size = 4 * hosts._BURST
    assert max(bytes_beside(network, size) for _ in range(3)) > size - hosts._BURST / 2
