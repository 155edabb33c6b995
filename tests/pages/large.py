"""A plan of as many launches as a timeline must bear."""

from tests.app.service import Json

#: Each tensor is best sent in so many parts.
_PARTS, _PART_BYTES = 20, 200_000


def sliced(launches: int = 10_000) -> Json:
    """Return a request whose best plan has so many launches: a byte of a large one costs more."""
    layers, size = launches // _PARTS, _PARTS * _PART_BYTES
    ops: list[Json] = []
    before: list[str] = []
    for i in range(layers):
        run = {"kind": "compute", "stream": "gpu", "duration_us": 50 + i % 7, "after": before}
        before = [f"backward:{i}"]
        ops.append({"id": before[0], **run})
        ops.append({"id": f"grad:{i}", "kind": "all_reduce", "bytes": size, "after": before})
    for i in reversed(range(layers)):
        after = [*before, f"grad:{i}"]
        before = [f"forward:{i}"]
        run = {"kind": "compute", "stream": "gpu", "duration_us": 30, "after": after}
        ops.append({"id": before[0], **run})
    points = [[_PART_BYTES, 10], [2 * _PART_BYTES, 40], [size, 4_000]]
    return {
        "graph": {"name": f"{launches:,} launches", "ops": ops},
        "cluster": {"workers": 8, "algorithm": "table", "table": points},
        "options": {"baselines": ["wfbp", "p3"], "launch_tolerance": 0},
    }
