"""The pictures that are committed: ``python -m docs.generate.pictures`` writes them anew.

They are SVG without a background. Their colours follow the reader's: each text has the colour that
its scheme wants, and the boxes are of middle brightness.
"""

import tomllib
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from interlace import MODELS, POLICIES, Cluster, Graph, Plan, network_of, plan, simulate
from solver.shapes.pipeline.orders import (
    BACKWARD,
    FORWARD,
    ORDERS,
    WEIGHTS,
    WEIGHTS_APART,
    ranks_of_stages,
)
from solver.shapes.pipeline.replay import FlatOrder, flat_order
from solver.simulation.engine import Timeline

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
_STYLE = """\
text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #24292f }
.small { font-size: 12px; fill: #57606a }
.bold { font-weight: 600 }
.inside { font-size: 12px; fill: #fff }
.line { stroke: #57606a; stroke-width: 1; fill: none }
.bound { stroke: #c2410c; stroke-width: 1.5; stroke-dasharray: 5 3 }
.boundary { fill: #c2410c; font-size: 12px }
.backward { fill: #3b6fb5 }
.forward { fill: #6a52b3 }
.weights { fill: #2f8f6b }
.later { fill-opacity: .6 }
.sent { fill: #2f8f6b; stroke: #fff; stroke-width: .6 }
.room { fill: #3b6fb5; fill-opacity: .13; stroke: #3b6fb5 }
.floor { fill: none; stroke: #8b949e; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9da7b3 }
  .inside { fill: #fff }
  .line { stroke: #9da7b3 }
  .bound { stroke: #fb923c }
  .boundary { fill: #fb923c }
  .sent { stroke: #0d1117 }
}
"""


def svg(width: float, height: float, title: str, body: Iterable[str]) -> str:
    """Write a picture."""
    lines = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_STYLE}</style>\n{lines}\n</svg>\n"
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, kind: str, radius: float = 0) -> str:
    return (
        f'<rect x="{x:.5g}" y="{y:.5g}" width="{width:.5g}" height="{height:.5g}" '
        f'rx="{radius:g}" class="{kind}"/>'
    )


class Row(NamedTuple):
    """One way to run the iteration."""

    title: str
    timeline: Timeline


def iteration() -> str:
    """Draw one iteration of VGG-16, as ``make demo`` plans it, under policies and the plan."""
    graph = MODELS["vgg16"]()
    network = network_of(Cluster(workers=8, bandwidth_gbps=10, startup_us=50))
    planned = plan(graph, network)
    rows = [
        Row("FIFO, each tensor alone", simulate(graph, network, POLICIES["wfbp"])),
        Row("PyTorch DDP's buckets", simulate(graph, network, POLICIES["ddp"])),
        Row("Interlace's plan", planned.timeline),
    ]
    return _iteration(graph, planned, rows)


def _iteration(graph: Graph, planned: Plan, rows: Sequence[Row]) -> str:
    left, right, top, step = 252, 772, 50, 78
    longest = max(row.timeline.iteration_time for row in rows)
    scale = (right - left) / longest
    body = [_text(0, 22, "VGG-16 on 8 workers at 10 Gbit/s: one iteration", "bold")]
    for at, row in enumerate(rows):
        y = top + at * step
        end = left + row.timeline.iteration_time * scale
        body += [
            _text(0, y + 20, row.title),
            _text(0, y + 38, f"{row.timeline.iteration_time / 1e3:.0f} ms", "bold"),
            _text(left - 8, y + 16, "compute", "small", "end"),
            _text(left - 8, y + 40, "network", "small", "end"),
            f'<path class="line" d="M{left} {y + 50}H{end:.5g}v-50"/>',
        ]
        for direction in ("backward", "forward"):
            runs = [
                (start, stop)
                for start, stop, op in zip(
                    row.timeline.starts, row.timeline.ends, graph.ops, strict=True
                )
                if op.id.startswith(direction)
            ]
            for start, stop in _joined(runs):
                middle = left + (start + stop) / 2 * scale
                body += [
                    _box(left + start * scale, y + 2, (stop - start) * scale, 20, direction),
                    _text(middle, y + 16, direction, "inside", "middle"),
                ]
        body += [
            _box(left + sent.start * scale, y + 26, (sent.end - sent.start) * scale, 20, "sent")
            for sent in row.timeline.launches
        ]
    bound = left + planned.lower_bound_us * scale
    bottom = top + len(rows) * step
    body += [
        f'<path class="bound" d="M{bound:.5g} {top - 6}V{bottom - 14}"/>',
        _text(bound, bottom + 4, "lower bound: no plan is faster", "boundary", "middle"),
    ]
    return svg(800, bottom + 16, "One iteration under three orders of communication", body)


def _joined(times: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join stretches that touch, so that a picture needs few boxes."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(times):
        if found and start <= found[-1][1] + 1e-6:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif end > start:
            found.append((start, end))
    return found


def layers(container: str) -> list[list[str]]:
    """Return the layers of a top as the rules for imports have them, the uppermost first."""
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in rules["tool"]["importlinter"]["contracts"]:
        if contract.get("containers", []) == [container]:
            return [[name.strip() for name in each.split("|")] for each in contract["layers"]]
    raise LookupError(container)


def rooms() -> str:
    """Draw the packages of both tops, each above all that it may import."""
    height, gap, width = 28, 6, 330
    columns = [
        ("app/: the service and the command", "app"),
        ("solver/: the pure library", "solver"),
    ]
    body = []
    depth = max(len(layers(top)) for _, top in columns)
    for column, (title, top) in enumerate(columns):
        left = 20 + column * (width + 60)
        body += [
            _box(left - 12, 52, width + 24, depth * (height + gap) + 44, "floor", 8),
            _text(left, 76, title, "bold"),
        ]
        for row, names in enumerate(layers(top)):
            y = 88 + row * (height + gap)
            each = (width - gap * (len(names) - 1)) / len(names)
            for at, name in enumerate(names):
                x = left + at * (each + gap)
                body += [
                    _box(x, y, each, height, "room", 4),
                    _text(x + each / 2, y + 19, name, "", "middle"),
                ]
    bottom = 52 + depth * (height + gap) + 44
    right = 20 + 2 * width + 60
    body += [
        _box(8, 8, width + 24, 30, "room", 4),
        _text(20 + width / 2, 28, "client/: interlace_client, a wheel of its own", "", "middle"),
        _box(width + 68, 8, width + 24, 30, "room", 4),
        _text(right - width / 2, 28, "interlace/: the public face", "", "middle"),
        _text(
            right / 2,
            bottom + 24,
            "What stands higher may import what stands lower",
            "small",
            "middle",
        ),
        f'<path class="line" d="M{width + 34} {bottom / 2:g}h30m-6 -4l6 4l-6 4"/>',
        f'<path class="line" d="M{right - width / 2} 40v10m-4 -5l4 5l4 -5"/>',
        f'<path class="line" d="M{width + 80} 38l-54 12m6 -5l-6 5l7 2"/>',
        f'<path class="line" d="M{20 + width / 2} 50v-10m-4 5l4 -5l4 5"/>',
    ]
    return svg(right + 20, bottom + 34, "The packages, and which may import which", body)


#: Ranks and micro-batches of the pipelines that are drawn, and chunks of a rank; 1 if unnamed.
_RANKS, _BATCHES = 4, 8
_CHUNKS = {"interleaved": 2, "zb_v": 2, "dualpipe": 2}


def pipeline_run(schedule: str) -> tuple[FlatOrder, "array[float]", float]:
    """Run a schedule of equal stages: a rank's passes of a micro-batch take 2, 2 and 2 in all.

    Without messages. Returns the order with its ends, the durations, and when the last pass ends.
    """
    chunks = _CHUNKS.get(schedule, 1)
    order = flat_order(schedule, _RANKS, chunks, _BATCHES)
    apart = schedule in WEIGHTS_APART
    long = 2.0 * _RANKS * _BATCHES * (3 if apart else 2) / len(order.passes)
    each = (long, long if apart else 2 * long, long if apart else 0.0)
    durations = array("d", each * (_RANKS * chunks))
    return order, durations, order.run(durations, array("d", [0.0]) * _RANKS**2)


def schedules() -> str:
    """Draw the schedules of pipelines, equal stages on four ranks, without messages."""
    runs = {schedule: pipeline_run(schedule) for schedule in ORDERS}
    left, right, row, gap = 120, 780, 13, 34
    scale = (right - left) / max(end for _, _, end in runs.values())
    shown = {FORWARD: "forward", BACKWARD: "backward", WEIGHTS: "weights"}
    body = [_text(0, 22, "8 micro-batches through 4 equal stages", "bold")]
    for k, (kind, name) in enumerate(shown.items()):
        body += [
            _box(left + 210 + 130 * k, 11, 12, 12, shown[kind]),
            _text(left + 228 + 130 * k, 22, name, "small"),
        ]
    y = 44.0
    for schedule, (order, durations, end) in runs.items():
        ranks = ranks_of_stages(schedule, _RANKS, _CHUNKS.get(schedule, 1))
        body += [
            _text(0, y + 18, schedule, "bold"),
            _text(0, y + 36, f"bubble {1 - 6 * _BATCHES / end:.0%}", "small"),
        ]
        for i, step in enumerate(order.passes):
            rank = ranks[step.stage]
            long = durations[order.part[i]]
            look = shown[step.kind] + (" later" if step.stage >= _RANKS else "")
            start = left + (order.ends[i] - long) * scale
            body.append(_box(start + 0.25, y + rank * row, long * scale - 0.5, row - 1, look))
        stop = left + end * scale
        body.append(f'<path class="line" d="M{stop:.5g} {y:g}v{_RANKS * row}"/>')
        y += _RANKS * row + gap
    return svg(800, y, "The passes of each rank in six pipeline schedules", body)


PICTURES = {"iteration.svg": iteration, "rooms.svg": rooms, "schedules.svg": schedules}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
