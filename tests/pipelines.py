"""Pipelines of stages as graphs: one-forward-one-backward, and their times by longest paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from solver.graph import SEND_RECV

Json = dict[str, Any]


@dataclass(frozen=True)
class Pipeline:
    """A pipeline with a channel for each link; times of a stage's passes [us]."""

    stages: int
    batches: int
    forward: float = 1000.0
    backward: float = 2000.0
    bytes: int = 4_000_000

    def passes(self, stage: int) -> Iterator[tuple[str, int]]:
        """Yield the forward and backward passes of a stage, as it runs them."""
        warm = min(self.stages - 1 - stage, self.batches)
        yield from (("f", batch) for batch in range(warm))
        for batch in range(self.batches):
            if warm + batch < self.batches:
                yield "f", warm + batch
            yield "b", batch

    def ops(self, kind: str = SEND_RECV) -> list[Json]:
        """Return the ops: each stage a stream, each hand-over a launch on a channel of its own."""
        ops: list[Json] = []
        for stage in range(self.stages):
            for way, batch in self.passes(stage):
                op = f"{way}{stage}.{batch}"
                ops.append(
                    {
                        "id": op,
                        "kind": "compute",
                        "duration_us": self.forward if way == "f" else self.backward,
                        "stream": f"{stage}/compute",
                        "after": [*self._before(way, stage, batch)],
                    }
                )
                to = stage + 1 if way == "f" else stage - 1
                if 0 <= to < self.stages:
                    ops.append(
                        {
                            "id": f"{op}>{to}",
                            "kind": kind,
                            "bytes": self.bytes,
                            "after": [op],
                            "channel": f"{stage}>{to}",
                        }
                    )
        return ops

    def _before(self, way: str, stage: int, batch: int) -> Iterator[str]:
        if way == "f" and stage:
            yield f"f{stage - 1}.{batch}>{stage}"
        if way == "b":
            last = stage == self.stages - 1
            yield f"f{stage}.{batch}" if last else f"b{stage + 1}.{batch}>{stage}"

    def channels(self, gbps: float = 25.0, startup_us: float = 20.0) -> Json:
        """Return the channels of a cluster, each between two workers."""
        ops = (op["channel"] for op in self.ops() if "channel" in op)
        own = {"workers": 2, "bandwidth_gbps": gbps, "startup_us": startup_us}
        return dict.fromkeys(ops, own)

    def time(self, hand_over: float) -> float:
        """Longest path [us] where stages and links go on in the order of their passes."""
        ends: dict[tuple[str, int, int], float] = {}
        arrived: dict[tuple[str, int, int], float] = {}
        free = [0.0] * self.stages
        busy: dict[tuple[int, int], float] = {}
        rows = [list(self.passes(stage)) for stage in range(self.stages)]
        while any(rows):
            for stage, row in enumerate(rows):
                if not row:
                    continue
                way, batch = row[0]
                if way == "f":
                    needs = arrived.get(("f", stage, batch)) if stage else 0.0
                elif stage == self.stages - 1:
                    needs = ends.get(("f", stage, batch))
                else:
                    needs = arrived.get(("b", stage, batch))
                if needs is None:
                    continue
                row.pop(0)
                took = self.forward if way == "f" else self.backward
                free[stage] = ends[way, stage, batch] = max(needs, free[stage]) + took
                to = stage + 1 if way == "f" else stage - 1
                if 0 <= to < self.stages:
                    begin = max(free[stage], busy.get((stage, to), 0.0))
                    busy[stage, to] = arrived[way, to, batch] = begin + hand_over
        return max(ends.values())
