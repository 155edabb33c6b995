"""Train on hosts within this machine under every runtime, and predict each time.

`python -m tests.testbed` (or `make testbed`) makes four hosts of network namespaces, which takes
root and iproute2; else the workers share this machine's loopback, and launches are paced. It takes
a quarter of an hour and wants a quiet machine; flags leave most of it out.
"""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.testbed import mixes, mixes_page, pages, servers, servers_page
from tests.testbed.about import said_of
from tests.testbed.hosts import Host, loopback, namespaces, real_time, why_no_namespaces
from tests.testbed.jobs import REAL
from tests.testbed.layers import MODELS
from tests.testbed.outcome import cell_of
from tests.testbed.runtimes import ALIKE, RUNTIMES
from tests.testbed.served_model import COMPUTING
from tests.testbed.sessions import (
    CELLS,
    HALVING,
    JOBS,
    OVERHEAD,
    PARTS,
    ROOT,
    SERVERS,
    TRIALS,
    Session,
    run,
)

#: How long the workers of one model may take in all [s].
_LIMIT_S = 900.0
#: What was measured, graphs and launches included; a cell that is run again is replaced in it.
_KEPT = ROOT / "build" / "testbed.json"
#: What each part is run with unless flags say otherwise.
_MODELS = {
    CELLS: (*MODELS, REAL),
    OVERHEAD: ("resnet50", REAL),
    HALVING: ("resnet50",),
    TRIALS: (REAL,),
    SERVERS: (*MODELS, COMPUTING),
}
_RATIOS = {CELLS: (0.5, 1.0, 2.0), OVERHEAD: (1.0,), HALVING: (0.5,), TRIALS: (1.0,)}


def main() -> None:
    """Run what the flags say, and write the page."""
    asked = _flags().parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):  # what was made is removed on the way out
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    kept = json.loads(asked.kept.read_text()) if asked.kept.exists() else {}
    for part in () if asked.again else asked.parts:
        before = kept.get(part)
        for measured in _MEASURES[part](asked) if part in _MEASURES else [_measure(part, asked)]:
            kept[part] = _joined(before, measured)
            asked.kept.parent.mkdir(parents=True, exist_ok=True)
            asked.kept.write_text(json.dumps(kept))
    for part, write in _PAGES.items():
        if part in kept:
            print(write(asked.out, kept[part]))
    if any(part in kept for part in PARTS if part not in _PAGES):
        print(pages.write(asked.out, kept))


def _flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.testbed", description=__doc__)
    add = parser.add_argument
    add("--parts", nargs="+", choices=PARTS, default=PARTS)
    add("--models", nargs="+", choices=(*MODELS, REAL, COMPUTING))
    add("--ratios", nargs="+", type=float, help="communication / computation; for layer lists")
    add("--runtimes", nargs="+", choices=tuple(RUNTIMES), default=tuple(RUNTIMES))
    add("--workers", type=int, default=4, help="hosts, with a worker each")
    add("--rounds", type=int, default=3)
    add("--steps", type=int, default=3, help="of a round, that count; one more is dropped")
    add("--megabytes", type=float, default=10.0, help="of a layer list's gradients")
    add("--mbit", type=float, default=250.0, help="what a host may send [Mbit/s]")
    add("--served-workers", nargs="+", type=int, default=[2, 4, 8], help="of a parameter server")
    add("--served-mbit", nargs="+", type=float, default=[50.0, 100.0], help="its links [Mbit/s]")
    add("--served-s", type=float, default=30.0, help="how long each count of workers trains [s]")
    add("--mixes", nargs="+", choices=tuple(mixes.MIXES), default=tuple(mixes.MIXES))
    add("--shared-mbit", type=float, default=100.0, help="links that jobs share [Mbit/s]")
    add("--mix-steps", type=int, default=10, help="of the longest job of a mix, in each round")
    add("--shifted-steps", type=int, default=200, help="of the longest job where jobs are shifted")
    add("--calibration-s", type=float, default=8.0, help="for each model")
    add("--loopback", action="store_true", help="even where hosts can be made")
    add("--kept", type=Path, default=_KEPT, help="all that was measured")
    add("--again", action="store_true", help="measure nothing: predict anew what is kept")
    add("--out", type=Path, default=ROOT / "docs" / "measured", help="folder of the page")
    return parser


def _measure(part: str, asked: argparse.Namespace) -> dict[str, Any]:
    """Run a session for each model."""
    why = "--loopback" if asked.loopback else why_no_namespaces()
    first = () if why else real_time()
    load, began = os.getloadavg()[0], time.monotonic()
    cells = []
    with _hosts(asked, why) as hosts:
        for model in asked.models or _MODELS[part]:
            session = Session(
                part=part,
                model=model,
                ratios=tuple(asked.ratios or _RATIOS[part]),
                runtimes=tuple(ALIKE) if part == OVERHEAD else tuple(asked.runtimes),
                rounds=asked.rounds,
                steps=asked.steps,
                bytes=round(asked.megabytes * 1e6),
                calibration_s=asked.calibration_s,
                mbit=asked.mbit,
                is_paced=why is not None,
            )
            own = () if model == REAL else first  # one that computes would starve the network
            for event in run(hosts, session, own, _LIMIT_S):
                if "cell" in event:
                    cells.append(event["cell"])
                    _follow(part, event["cell"])
    rate = f"{asked.mbit:g} Mbit/s"
    network = (
        f"{asked.workers} workers on loopback, launches paced at {rate} ({why})"
        if why
        else f"{asked.workers} network namespaces around a bridge, each sends {rate} (tbf, TCP "
        f"Reno), gloo{'; layer lists at real-time priority' if first else ''}"
    )
    return {
        "said": said_of(network, load, time.monotonic() - began),
        "rounds": asked.rounds,
        "steps": asked.steps,
        "cells": cells,
    }


def _measure_servers(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run asynchronous training by workers of a parameter server; yield all after each cell."""
    load, began, cells = os.getloadavg()[0], time.monotonic(), []
    network = (
        f"{max(asked.served_workers) + 1} network namespaces around a bridge; a link carries the "
        "same in each direction (htb, TCP Reno), the server's shared equally; layer lists at "
        "real-time priority"
    )
    for cell in servers.measure(
        asked.models or _MODELS[SERVERS], asked.served_mbit, asked.served_workers, asked.served_s
    ):
        cells.append(cell)
        print(SERVERS, cell["model"], cell["mbit"], cell["measured"], file=sys.stderr, flush=True)
        yield {"said": said_of(network, load, time.monotonic() - began), "cells": [*cells]}


def _measure_mixes(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run jobs that share links; yield all after each mix."""
    load, began, cells = os.getloadavg()[0], time.monotonic(), []
    network = (
        f"racks of network namespaces in a row; a link between two carries {asked.shared_mbit:g} "
        "Mbit/s in each direction (htb, TCP Reno), gloo at real-time priority"
    )
    steps = asked.mix_steps, asked.shifted_steps
    for cell in mixes.measure(asked.mixes, asked.shared_mbit, asked.calibration_s, *steps):
        cells.append({**cell, "model": cell["mix"], "ratio": None})
        print(JOBS, cell["mix"], file=sys.stderr, flush=True)
        yield {"said": said_of(network, load, time.monotonic() - began), "cells": [*cells]}


#: The parts that measure a thing of their own, with what writes their page.
_MEASURES = {SERVERS: _measure_servers, JOBS: _measure_mixes}
_PAGES = {SERVERS: servers_page.write, JOBS: mixes_page.write}


def _joined(before: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    """Replace the cells of a part that were measured again, and say which."""
    if before is None:
        return part
    again = {_key(cell): cell for cell in part["cells"]}
    said = ", ".join(f"{model} {ratio or ''}".strip() for model, ratio, _ in again)
    cells = [again.pop(_key(cell), cell) for cell in before["cells"]]
    if not set(map(id, cells)) & set(map(id, before["cells"])):
        return part
    return {
        **before,
        "said": [*before["said"], f"Measured later: {said}. {part['said'][-1]}"],
        "cells": [*cells, *again.values()],
    }


def _key(cell: dict[str, Any]) -> tuple[Any, ...]:
    """Say what a cell is of: one of trials is of a network, too."""
    return cell["model"], cell["ratio"], cell.get("mbit")


@contextmanager
def _hosts(asked: argparse.Namespace, why: str | None) -> Iterator[tuple[Host, ...]]:
    if why:
        yield loopback(asked.workers)
        return
    with namespaces(asked.workers, asked.mbit) as hosts:
        yield hosts


def _follow(part: str, event: dict[str, Any]) -> None:
    """Say how far it is."""
    if part == TRIALS:
        said = [each["sentence"] for each in event["trials"]]
    elif part == HALVING:
        said = [f"{phase} {len(times)} steps" for phase, times in event["phases_us"].items()]
    else:
        times = cell_of(event).times.items()
        said = [f"{name} {time.measured / 1e3:.0f} ({time.error:+.1%})" for name, time in times]
    print(part, event["model"], event["ratio"] or "", *said, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
