"""Ranks as processes: begun, watched, ended; one that fails or hangs ends with its check alone."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from interlace_client.torch.proof.outcomes import (
    FAILED,
    SKIPPED,
    CheckOutcome,
    PartOutcome,
    merged,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace_client.torch.proof.parts import ProofPart

#: Between two looks at the ranks [s].
_LOOK_S = 0.1
_LATE = "There was no time left."
#: How many lines of a rank's last words are kept.
_LINES = 8


@dataclass(frozen=True)
class ProofSettings:
    """How a proof is made.

    Attributes
    ----------
    is_short
        Whether few steps will do.
    planner
        URL of a service; None is the command ``interlace``.
    until
        When no further check is begun, by ``time.monotonic`` [s].
    say
        Hears of each check that is over.
    """

    is_short: bool
    planner: str | None
    until: float
    say: Callable[[str], None]


def run_part(part: ProofPart, settings: ProofSettings) -> PartOutcome:
    """Make a part's checks; after one that fails the ranks begin anew with the next."""
    began = time.monotonic()
    left = list(importlib.import_module(part.checks).CHECKS)
    found: list[CheckOutcome] = []
    while left and time.monotonic() < settings.until:
        found += (made := _run(part, left, settings))
        left = left[len(made) :]
    found += [CheckOutcome(name, SKIPPED, _LATE) for name in left]
    seconds = round(time.monotonic() - began, 1)
    return PartOutcome(part.name, part.title, part.where, seconds, tuple(found))


def _run(part: ProofPart, names: Sequence[str], settings: ProofSettings) -> list[CheckOutcome]:
    """Have ranks make checks until one fails, hangs, or all are made: one outcome or more."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ranks = [_begin(part, rank, names, folder, settings) for rank in range(part.ranks)]
        count, since = -1, time.monotonic()
        try:
            while True:
                over = [rank for rank, process in enumerate(ranks) if process.poll() is not None]
                made = [_written(folder, rank) for rank in range(part.ranks)]
                fewest = min(map(len, made))
                if fewest > count:
                    for k in range(max(count, 0), fewest):
                        settings.say(f"{part.name} {names[k]}: {made[0][k].status}")
                    count, since = fewest, time.monotonic()
                if len(over) == part.ranks or any(_has_lost(made[r], names) for r in over):
                    break
                if time.monotonic() > min(since + part.patience_s, settings.until):
                    break
                time.sleep(_LOOK_S)
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        made = [_written(folder, rank) for rank in range(part.ranks)]
        codes = [process.returncode if k in over else None for k, process in enumerate(ranks)]
        found = _together(names, made, codes, folder)
        is_late = None in codes and time.monotonic() > settings.until
        if is_late and len(found) > min(map(len, made)):  # the last was under way
            found[-1] = CheckOutcome(found[-1].name, SKIPPED, _LATE)
        return found


def _begin(
    part: ProofPart, rank: int, names: Sequence[str], folder: Path, settings: ProofSettings
) -> subprocess.Popen[bytes]:
    """Begin a rank."""
    (folder / str(rank)).mkdir()
    asked = {
        "rank": rank,
        "ranks": part.ranks,
        "backend": part.backend,
        "device": part.devices[rank],
        "checks": part.checks,
        "names": list(names),
        "folder": str(folder),
        "is_short": settings.is_short,
        "planner": settings.planner,
    }
    here = str(Path(__file__).parents[3])  # the same code in all processes
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",  # sums in one order, so that bits can be compared
        **({"OMP_NUM_THREADS": "1"} if part.devices[rank] == "cpu" else {}),
    }
    command = [sys.executable, "-m", "interlace_client.torch.proof.worker", json.dumps(asked)]
    with (folder / f"{rank}.log").open("w") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603


def _written(folder: Path, rank: int) -> list[CheckOutcome]:
    """Read what a rank has written so far."""
    path = folder / str(rank) / "outcomes"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [CheckOutcome(**json.loads(line)) for line in lines if line.endswith("\n")]


def _has_lost(made: Sequence[CheckOutcome], names: Sequence[str]) -> bool:
    """Tell whether a rank that has ended leaves the others alone."""
    return len(made) < len(names) or made[-1].status == FAILED


def _together(
    names: Sequence[str],
    made: Sequence[Sequence[CheckOutcome]],
    codes: Sequence[int | None],
    folder: Path,
) -> list[CheckOutcome]:
    """Make one outcome of each check that is over: the last may be one that was never written."""
    found = []
    for k, name in enumerate(names):
        ranks = [own[k] for own in made if len(own) > k]
        whole = len(ranks) == len(made)
        if whole or any(each.status == FAILED for each in ranks):
            found.append(merged(name, ranks))
        else:
            lost = [rank for rank, own in enumerate(made) if len(own) <= k]
            said = [f"rank {rank} {_end(codes[rank], folder / f'{rank}.log')}" for rank in lost]
            found.append(CheckOutcome(name, FAILED, "\n".join(said)))
        if found[-1].status == FAILED:
            break
    last = found[-1]
    if last.status != FAILED and any(code for code in codes):  # after its last check
        ends = [f"rank {r} {_end(c, folder / f'{r}.log')}" for r, c in enumerate(codes) if c]
        found[-1] = replace(last, status=FAILED, why="\n".join(ends))
    return found


def _end(code: int | None, log: Path) -> str:
    """Say how a rank ended, with its last words."""
    words = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES:])
    how = "did not come to an end, and was ended" if code is None else f"ended with code {code}"
    return f"{how}.\n{words}".rstrip()
