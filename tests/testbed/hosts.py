"""Hosts within this machine: network namespaces around a switch, the way out of each shaped.

Each host and the switch, a bridge, are namespaces of their own, so nothing is added to the network
of the machine itself, and nothing leaves it. They go when the run ends; a run that was killed
leaves them behind, and the next one removes them.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from itertools import pairwise
from pathlib import Path

_PREFIX = "interlace-testbed-"
_SWITCH = "switch"
#: Where a switch of a row is joined to those beside it.
_LEFT, _RIGHT = "left", "right"
#: The interface of a host, in its namespace.
_INTERFACE = "eth0"
#: The largest segment that TCP hands down, and what the shaper lets through at once [bytes]. What a
#: link sends for free after each pause makes launches cheaper than they are in a row.
_SEGMENT, _BURST = 8 * 1024, 32 * 1024
#: What a link that is shared lets through at once, a segment with its headers [bytes]. What it
#: saves up while idle is who comes first's, who is ahead of the others by that much more each time.
_SHARED_BURST = _SEGMENT + 1024
#: BBR estimates a rate that the shaper's bursts mislead; Reno fills the queue, and never beyond
#: what it holds, since no more is on its way: nothing is lost and sent again.
_TCP = ("net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_wmem=4096 65536 262144")
#: How long it queues before it drops [ms].
_QUEUE_MS = 50
#: What a class below the highest one is never denied, as a share of the link: htb knows no less.
_LEAST = 0.01
#: A rate so low that a class of it always borrows [Mbit/s].
_NO_RATE = 0.001
#: Length of a packet of TCP with time stamps that carries nothing [bytes].
_CONFIRMATION = 52


class Refused(Exception):
    """A command that makes the network failed: which one, and what it said."""


@dataclass(frozen=True)
class Host:
    """Where a worker runs.

    Attributes
    ----------
    namespace
        Name of its network namespace; None for the one that this process is in.
    interface
        The interface that it sends over.
    address
        Its IPv4 address.
    """

    namespace: str | None
    interface: str
    address: str

    def command(self, *program: str) -> list[str]:
        """Say how a program is run on this host."""
        return ["ip", "netns", "exec", self.namespace, *program] if self.namespace else [*program]


def loopback(count: int) -> tuple[Host, ...]:
    """Hosts that are this machine itself."""
    return (Host(None, "lo", "127.0.0.1"),) * count


def why_no_namespaces() -> str | None:
    """Say what is missing for namespaces; None where they can be made."""
    if os.geteuid():
        return "network namespaces need root"
    if missing := [name for name in ("ip", "tc", "sysctl") if not shutil.which(name)]:
        return f"network namespaces need iproute2 and procps; missing: {', '.join(missing)}"
    probe = _name("probe")
    try:
        _run("ip", "netns", "add", probe)
        _run("ip", "netns", "del", probe)
    except Refused as error:
        return f"this kernel or container allows no network namespaces: {error}"
    return None


@contextmanager
def namespaces(count: int, mbit: float) -> Iterator[tuple[Host, ...]]:
    """Make hosts around a switch, each sending at most ``mbit`` [Mbit/s], and remove them.

    Raises
    ------
    Refused
        When a command fails; what was made until then is removed.
    """
    _remove_leftovers()
    hosts = tuple(Host(_name(str(i)), _INTERFACE, f"10.77.0.{i + 1}") for i in range(count))
    switch = _name(_SWITCH)
    try:
        _run("ip", "netns", "add", switch)
        _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "bridge", "up")
        for port, host in enumerate(hosts):
            _plug(host, switch, f"port{port}")
            shape(host, mbit)
        yield hosts
    finally:
        for name in (*(host.namespace for host in hosts), switch):
            _delete(name)


@contextmanager
def racks(places: Sequence[int], mbit: float) -> Iterator[tuple[Host, ...]]:
    """Make hosts below switches in a row, and remove them; a link joins each switch to the next.

    Parameters
    ----------
    places
        Of each host the number of its switch.
    mbit
        What each link carries in each direction [Mbit/s]; its hosts share it equally.

    Raises
    ------
    Refused
        When a command fails; what was made until then is removed.
    """
    _remove_leftovers()
    hosts = tuple(Host(_name(str(i)), _INTERFACE, f"10.77.0.{i + 1}") for i in range(len(places)))
    switches = [_name(f"{_SWITCH}{k}") for k in range(max(places) + 1)]
    try:
        for switch in switches:
            _run("ip", "netns", "add", switch)
            _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
            _run("ip", "-n", switch, "link", "set", "bridge", "up")
        for left, right in pairwise(switches):
            peer = ("peer", "name", _LEFT, "netns", right)
            _run("ip", "link", "add", _RIGHT, "netns", left, "type", "veth", *peer)
            for switch, port in ((left, _RIGHT), (right, _LEFT)):
                _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
        for number, (host, place) in enumerate(zip(hosts, places, strict=True)):
            _plug(host, switches[place], f"port{number}")
        share_racks(hosts, places, (0,) * len(hosts), mbit)
        yield hosts
    finally:
        for name in (*(host.namespace for host in hosts), *switches):
            _delete(name)


def share_racks(
    hosts: Sequence[Host], places: Sequence[int], priorities: Sequence[int], mbit: float
) -> None:
    """Give each host of :func:`racks` a class on the links that it sends over."""
    all_of = list(zip(hosts, places, priorities, strict=True))
    for k in range(max(places)):
        for at_switch, side, is_before in ((k, _RIGHT, True), (k + 1, _LEFT, False)):
            classes = {h.address: own for h, at, own in all_of if (at <= k) is is_before}
            tool = ("tc", "-n", _name(f"{_SWITCH}{at_switch}"))
            _share(tool, side, "12", classes, mbit)  # by source


def shape(host: Host, mbit: float) -> None:
    """Let a host send at most ``mbit`` [Mbit/s] from now on."""
    limits = ("rate", f"{mbit:g}mbit", "burst", str(_BURST), "latency", f"{_QUEUE_MS}ms")
    shaper = ("tc", "qdisc", "replace", "dev", host.interface, "root", "tbf", *limits)
    _run(*host.command(*shaper))


def shape_server(hosts: Sequence[Host], mbit: float) -> None:
    """Give the first host a link of ``mbit`` in each direction, which the others share equally.

    Its way out has a queue for each other host, and so has the switch's way to it: as with the fair
    queues that Linux has by default.
    """
    first, *others = hosts
    out = (*first.command("tc"), first.interface, "16")  # by destination
    into = ("tc", "-n", _name(_SWITCH), "port0", "12")  # by source
    for *tool, device, field in (out, into):
        _share(tool, device, field, {host.address: 0 for host in others}, mbit)


def _share(
    tool: Sequence[str],
    device: str,
    field: str,
    priorities: Mapping[str, int],
    mbit: float,
) -> None:
    """Shape a device by classes, one for each address at that place of the IP header.

    Those of the highest priority share what they need equally; others have what is left. The first
    have no rate of their own: with one, a class saves up a burst while it is empty, and who comes
    later overtakes who came before, until all are in step. Packets that only confirm go first; they
    are told by their size, as no other may overtake what its connection sent before: TCP would
    take that for loss.
    """
    subprocess.run([*tool, "qdisc", "del", "dev", device, "root"], check=False, capture_output=True)
    at_once = str(_SHARED_BURST)
    bursts = ("burst", at_once, "cburst", at_once, "quantum", str(_SEGMENT + 64))
    ceil = ("ceil", f"{mbit:g}mbit")
    _run(*tool, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "2")
    add = (*tool, "class", "add", "dev", device, "parent")
    _run(*add, "1:", "classid", "1:1", "htb", "rate", f"{mbit:g}mbit", *ceil, *bursts)
    top = max(priorities.values())
    no_rate, least = f"{_NO_RATE:g}mbit", f"{mbit * _LEAST:g}mbit"
    _run(*add, "1:1", "classid", "1:2", "htb", "rate", least, *ceil, *bursts, "prio", "0")
    match = (*tool, "filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "prio")
    _run(
        *match, "1", "u32", "match", "u16", str(_CONFIRMATION), "0xffff", "at", "2", "flowid", "1:2"
    )
    for i, (address, priority) in enumerate(priorities.items(), 3):
        own = ("classid", f"1:{i:x}", "htb", "rate", no_rate if priority == top else least)
        _run(*add, "1:1", *own, *ceil, *bursts, "prio", str(1 + top - priority))
        where = f"0x{int(IPv4Address(address)):08x}"
        _run(
            *match,
            "2",
            "u32",
            "match",
            "u32",
            where,
            "0xffffffff",
            "at",
            field,
            "flowid",
            f"1:{i:x}",
        )


def real_time() -> tuple[str, ...]:
    """Say how a program is run before all others; nothing where that is not allowed."""
    first = ("chrt", "--fifo", "10")
    if not shutil.which("chrt"):
        return ()
    asked = subprocess.run([*first, "true"], check=False, capture_output=True)
    return () if asked.returncode else first


def _plug(host: Host, switch: str, port: str) -> None:
    """Make a host and connect it to the switch."""
    _run("ip", "netns", "add", host.namespace)
    peer = ("peer", "name", host.interface, "netns", host.namespace)
    _run("ip", "link", "add", port, "netns", switch, "type", "veth", *peer)
    _run("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
    _run("ip", "-n", host.namespace, "link", "set", "lo", "up")
    network = f"{host.address}/24"
    _run("ip", "-n", host.namespace, "address", "add", network, "dev", host.interface)
    segments = ("gso_max_size", str(_SEGMENT))
    _run("ip", "-n", host.namespace, "link", "set", host.interface, *segments, "up")
    _run("ip", "netns", "exec", host.namespace, "sysctl", "-qw", *_TCP)


def _name(part: str) -> str:
    return f"{_PREFIX}{os.getpid()}-{part}"


def _remove_leftovers() -> None:
    """Delete the namespaces of runs that are no more."""
    for line in _run("ip", "netns", "list").splitlines():
        name = line.split()[0]
        owner = name.removeprefix(_PREFIX).split("-")[0]
        if name.startswith(_PREFIX) and not Path("/proc", owner).exists():
            _delete(name)


def _delete(namespace: str) -> None:
    """Delete a namespace, and with it its interfaces; there may be none."""
    subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout
