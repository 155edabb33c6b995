"""What a compiled graph computes and communicates, and the memory that it reads and writes.

Views, waits, items of lists and sums of sizes are no calls: they are folded into what they look
at. A call comes after the last writer of each buffer that it reads, and after writer and readers of
each that it writes: data dependencies only.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from interlace_client.torch.compiled.capture_calls import Calls, Memory, TimedNode, Uncapturable
from interlace_client.torch.compiled.capture_collectives import (
    CapturedCollective,
    UnknownCollective,
    collective_of,
    is_wait,
)
from interlace_client.torch.compiled.capture_memory import (
    bytes_of,
    is_number,
    is_out,
    is_scalar,
    is_view,
    only_written,
    returns_aliases,
    touched,
    written,
)

#: What inductor names the gradients that a backward graph is given, and parameters and inputs.
_TANGENTS, _PRIMALS = "tangents", "primals"


def calls_of(gm: torch.fx.GraphModule) -> Calls:
    """Read a graph whose nodes have metas (``val``).

    Raises
    ------
    Uncapturable
        If a tensor has no meta or no size, or a node communicates in an unknown way.

    Notes
    -----
    O(nodes + edges).
    """
    reading = _GraphReader([node.name for node in gm.graph.nodes if node.op == "placeholder"])
    for node in gm.graph.nodes:
        reading.read(node)
    if reading.faults:
        raise Uncapturable("\n".join(reading.faults))
    return Calls(tuple(reading.calls), tuple(reading.memory.values()), tuple(reading.notes()))


class _GraphReader:
    """What has been read of a graph so far; lives as long as the reading."""

    def __init__(self, inputs: list[str]) -> None:
        self.calls: list[TimedNode] = []
        self.memory: dict[str, Memory] = {}
        self.faults: list[str] = []
        self._values: dict[torch.fx.Node, Any] = {}  # ids of buffers, in the form of the value
        self._place: dict[str, int] = {}
        self._random: str | None = None
        self._counts: dict[str, list[str]] = {}
        self._is_backward = any(name.startswith(_TANGENTS) for name in inputs)

    def notes(self) -> list[str]:
        """Say what was assumed."""
        return [
            f"{what}: {', '.join(names[:8])}{' ...' if len(names) > 8 else ''} ({len(names)})."  # noqa: PLR2004
            for what, names in self._counts.items()
        ]

    def read(self, node: torch.fx.Node) -> None:
        """Take one node on."""
        if node.op in {"placeholder", "get_attr"}:
            self._input(node)
        elif node.op == "output":
            for name in self._ids(node.args):
                self.memory[name].kept = True
        elif node.op != "call_function":
            self.faults.append(f"Node {node.name!r}: {node.op} is not flat; trace it first.")
        elif is_wait(node):
            self._values[node] = self._values[node.all_input_nodes[0]]
        elif node.target is operator.getitem:
            value, item = self._values[node.args[0]], node.args[1]
            self._values[node] = value[item] if isinstance(value, list) else value
        elif is_view(node) or is_scalar(node):
            self._values[node] = self._looked_at(node)
        else:
            self._call(node)

    def _note(self, what: str, name: str) -> None:
        self._counts.setdefault(what, []).append(name)

    def _input(self, node: torch.fx.Node) -> None:
        """Begin a buffer that is there from the start."""
        value = node.meta.get("val")
        if node.op == "placeholder" and not isinstance(value, torch.Tensor):
            self._values[node] = ()
            if value is None:
                self.faults.append(f"Input {node.name!r}: has no meta 'val'; trace with fakes.")
            return
        if not isinstance(value, torch.Tensor):  # a submodule, or a process group
            self._values[node] = ()
            return
        kept = node.op == "get_attr" or not self._is_backward
        kept = kept or node.name.startswith(_PRIMALS)
        if not kept:
            self._note("Inputs freed after their last use (a backward graph)", node.name)
        self._begin(node.name, value, None, kept=kept)
        self._values[node] = (node.name,)

    def _begin(self, name: str, value: torch.Tensor, writer: str | None, *, kept: bool) -> None:
        size = bytes_of(value)
        if size is None:
            self.faults.append(
                f"Node {name!r}: the size of {tuple(value.shape)} is not known before it runs; pad "
                "it to a fixed size, as a capacity of experts does, or compile its part apart."
            )
        self.memory[name] = Memory(name, size or 0, kept, writer, writer)

    def _ids(self, value: Any) -> list[str]:
        """List the buffers that a value, or what the nodes in it gave, looks at, once each."""
        found: dict[str, None] = {}
        for node in _nodes_in(value):
            found.update(dict.fromkeys(_flat(self._values[node])))
        return list(found)

    def _looked_at(self, node: torch.fx.Node) -> tuple[str, ...]:
        """Return what a view looks at: its aliased arguments, or the scalars a scalar is of."""
        if is_scalar(node):
            scalars = [n for n in node.all_input_nodes if is_scalar(n) or is_number(n)]
            return tuple(dict.fromkeys(x for n in scalars for x in _flat(self._values[n])))
        return tuple(self._ids(node.args[:1]))

    def _call(self, node: torch.fx.Node) -> None:
        """Take a node on that takes time."""
        name = node.name
        changed, understood = written(node)
        if not understood:
            self._note(
                "Ops without a schema, taken to change inputs only if they give nothing", name
            )
        writes = {x: touched(n) for n in changed for x in _flat(self._values[n])}
        reads: dict[str, int] = {}
        for source in node.all_input_nodes:
            if source not in only_written(node, changed):
                for x in _flat(self._values[source]):
                    reads[x] = max(reads.get(x, 0), touched(source))
        after = self._after(reads, writes)
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            if self._random is not None:
                after.add(self._place[self._random])
            self._random = name
            self._note("Random ops, which keep their order", name)
        for x in dict.fromkeys((*reads, *writes)):
            self.memory[x].readers.append(name)
            self.memory[x].since.append(name)
        for x in writes:
            self.memory[x].last_writer, self.memory[x].since = name, []
        self._place[name] = len(self.calls)
        made = self._outputs(node, tuple(writes))
        collective, size = self._communicated(node, changed)
        order = tuple(self.calls[i].name for i in sorted(after))
        self.calls.append(TimedNode(node, order, reads, {**writes, **made}, collective, size))

    def _communicated(
        self, node: torch.fx.Node, changed: list[torch.fx.Node]
    ) -> tuple[CapturedCollective | None, int]:
        """Return what a node communicates, and the size of the whole tensor [bytes]."""
        try:
            collective = collective_of(node)
        except UnknownCollective as error:
            self.faults.append(str(error))
            return None, 0
        if collective is None:
            return None, 0
        into = changed if is_out(node) else []
        if collective.whole == "gives":
            return collective, sum(map(touched, into)) if into else touched(node)
        return collective, sum(touched(n) for n in node.all_input_nodes if n not in into)

    def _after(self, reads: dict[str, int], writes: dict[str, int]) -> set[int]:
        """Find what must have ended: of what is read the writer, of what is written all."""
        names: list[str | None] = [self.memory[x].last_writer for x in (*reads, *writes)]
        for x in writes:
            names.extend(self.memory[x].since)
        return {self._place[name] for name in names if name is not None}

    def _outputs(self, node: torch.fx.Node, changed: tuple[str, ...]) -> dict[str, int]:
        """Begin the buffers that a call makes; what aliases what it changed is no new one."""
        value = node.meta.get("val")
        aliases = bool(changed) and returns_aliases(node)
        if aliases:
            self._values[node] = [(x,) for x in changed] if isinstance(value, list) else changed
            return {}
        if isinstance(value, (list, tuple)):
            parts = list(value)
            self._values[node] = [
                (f"{node.name}.{i}",) if isinstance(part, torch.Tensor) else ()
                for i, part in enumerate(parts)
            ]
            names = [f"{node.name}.{i}" for i in range(len(parts))]
        else:
            parts, names = [value], [node.name]
            self._values[node] = (node.name,)
            if value is None:
                self._values[node] = ()
                if node.users:
                    self.faults.append(f"Node {node.name!r}: has no meta 'val'; trace with fakes.")
                return {}
            if not isinstance(value, torch.Tensor):  # a number that was read from a tensor
                self.memory[node.name] = Memory(node.name, 0, False, node.name, node.name)  # noqa: FBT003
                return {node.name: 0}
        made = {}
        for name, part in zip(names, parts):
            if isinstance(part, torch.Tensor):
                self._begin(name, part, node.name, kept=False)
                made[name] = self.memory[name].bytes
        return made


def _nodes_in(value: Any) -> list[torch.fx.Node]:
    """List the nodes in nested arguments."""
    found: list[torch.fx.Node] = []
    torch.fx.map_arg(value, found.append)
    return found


def _flat(value: Any) -> tuple[str, ...]:
    """Return the buffers of a value, whatever its form."""
    if isinstance(value, list):
        return tuple(x for part in value for x in _flat(part))
    return tuple(value)
