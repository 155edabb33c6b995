"""Slurm's ``topology.conf``: a switch a line, or a block, as Topograph writes them too.

The format is that of the manual page topology.conf(5) of Slurm 25.05. ``LinkSpeed`` has no unit
there and is not used by Slurm, so it is no capacity here.
"""

import re
from collections.abc import Iterator

from solver.clusters.readers.hostlist import hosts
from solver.clusters.readers.switches import SwitchBelow, below_none, topology_of_switches
from solver.clusters.topology import InvalidTopology, Topology
from solver.codes import FaultCode
from solver.errors import Fault

#: GPUs of a node where nobody says.
ASSUMED_GPUS = 8

_FIELD = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|\S*)")
_KNOWN = frozenset(
    ("switchname", "switches", "nodes", "linkspeed", "blockname", "blocksizes", "level")
)


def read(text: str, gpus: int | None = None) -> Topology:
    """Return the topology of a ``topology.conf``.

    Blocks (``BlockName=``) are NVLink domains under one network, as Slurm's block plugin has them.
    Where lines of switches and of blocks name the same nodes, nodes have both. What ``scontrol show
    topology`` prints of switches is read as well: there a switch above others has ``Level=``, and
    all nodes below these beside them.

    Parameters
    ----------
    text
        The file.
    gpus
        GPUs of each node; None for 8.

    Raises
    ------
    InvalidTopology
        With each line that is wrong; places are lines, from 1. Of lines that a backslash joins it
        is the first.
    """
    faults: list[Fault] = []
    switches: list[SwitchBelow] = []
    blocks: list[SwitchBelow] = []
    for number, line in _joined(text):
        place = f"/lines/{number}"
        stripped = line.partition("#")[0].strip()
        if not stripped:
            continue
        given = _FIELD.findall(stripped)
        fields = {key.lower(): value.strip('"') for key, value in given}
        if (wrong := _wrong(stripped, [key for key, _ in given])) is not None:
            faults.append(Fault(place, FaultCode.WRONG_FORMAT, f"Line {number}: {wrong}."))
            continue
        try:
            below = hosts(fields.get("nodes", ""), place)
            under = hosts(fields.get("switches", ""), place)
        except InvalidTopology as error:
            faults += error.faults
            continue
        if "switchname" in fields:
            own = () if under and "level" in fields else below
            switches.append(SwitchBelow(fields["switchname"], under, own, place))
        elif "blockname" in fields:
            blocks.append(SwitchBelow(fields["blockname"], (), below, place))
    if not faults and not switches and not blocks:
        detail = "The file has no line SwitchName= or BlockName=."
        faults.append(Fault("", FaultCode.EMPTY, detail))
    if faults:
        raise InvalidTopology(faults)
    return of_lists(switches, blocks, gpus)


def _wrong(line: str, keys: list[str]) -> str | None:
    """Say what is wrong with a line and its keys; None for nothing."""
    names = [key.lower() for key in keys]
    if unknown := ", ".join(repr(key) for key in keys if key.lower() not in _KNOWN):
        return f"{unknown} is not of topology.conf"
    if rest := _FIELD.sub("", line).split():
        return f"{rest[0][:40]!r} is no KEY=VALUE of topology.conf; a host list has no spaces"
    if twice := [key for i, key in enumerate(keys) if names[i] in names[:i]]:
        return f"{twice[0]!r} is there twice"
    if not {"switchname", "blockname"} & {*names} and {"nodes", "switches"} & {*names}:
        return f"{keys[0]!r} needs SwitchName= or BlockName=, which names what is above"
    return None


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers; those that a backslash continues are one, with the first."""
    first, parts = 0, list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        first = first if parts else number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield first, "".join(parts)
            parts = []
    if parts:
        yield first, "".join(parts)


def of_lists(switches: list[SwitchBelow], blocks: list[SwitchBelow], gpus: int | None) -> Topology:
    """Return the topology of switches, blocks, or both."""
    domains = {node: block.name for block in blocks for node in block.nodes}
    if not switches:
        every = tuple(dict.fromkeys(node for block in blocks for node in block.nodes))
        if not every:
            raise InvalidTopology([below_none(block) for block in blocks])
        switches = [SwitchBelow("network", (), every, "")]
    return topology_of_switches(switches, gpus or ASSUMED_GPUS, domains)
