"""Prove on this machine what the runtime promises.

    python -m interlace_client.torch.proof [--out FOLDER] [--parts alone,loops] [--short]

On a machine with GPUs they are used, else the CPU with what it can show. Writes ``proof.json`` and
``proof.md``; ends with 0 where no check failed, with 1 where one did.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

import torch

from interlace_client.torch.proof.launching import ProofSettings, run_part
from interlace_client.torch.proof.machine import this_machine
from interlace_client.torch.proof.outcomes import (
    FAILED,
    SKIPPED,
    CheckOutcome,
    PartOutcome,
    status_of,
)
from interlace_client.torch.proof.page import written_json, written_page
from interlace_client.torch.proof.parts import TITLES, left_out, parts_on

#: How long all of it may take [s].
_LIMIT_S = 600


def main() -> int:
    """Go through the parts, write what came of them, and return the exit code."""
    given = _arguments()
    if not __debug__:
        print("Without -O, please: it leaves the checks out.", file=sys.stderr)  # noqa: T201
        return 2
    machine = this_machine()
    device = given.device or ("cuda" if machine.gpus else "cpu")
    settings = ProofSettings(given.short, given.planner, time.monotonic() + given.limit_s, _say)
    parts = [
        run_part(part, settings)
        for part in parts_on(machine, device, given.parts, is_short=given.short)
    ]
    parts += [
        PartOutcome(name, TITLES[name], device, 0.0, (CheckOutcome(name, SKIPPED, why),))
        for name in given.parts
        if (why := left_out(machine, device, name)) is not None
    ]
    shown = shlex.join(["python", "-m", "interlace_client.torch.proof", *sys.argv[1:]])
    how = {"command": shown, "device": device, "is_short": given.short}
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "proof.json").write_text(written_json(machine, parts, how), encoding="utf-8")
    (given.out / "proof.md").write_text(written_page(machine, parts, how), encoding="utf-8")
    status = status_of(parts)
    _say(f"Proof: {status}. Read {given.out / 'proof.md'}.")
    return 1 if status == FAILED else 0


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m interlace_client.torch.proof",
        description="Prove on this machine what the runtime promises.",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("proof"), help="folder for what is written"
    )
    parser.add_argument("--parts", type=_parts, default=list(TITLES), help=", ".join(TITLES))
    parser.add_argument("--device", choices=["cuda", "cpu"], help="cuda where there is a GPU")
    parser.add_argument("--planner", help="URL of a service; else the command interlace plans")
    parser.add_argument("--short", action="store_true", help="few steps; figures show nothing")
    parser.add_argument("--limit-s", type=float, default=_LIMIT_S, help="for all of it")
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no GPU here.")
    return given


def _parts(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in TITLES]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"parts are {', '.join(TITLES)}; got {text!r}")
    return names


if __name__ == "__main__":
    sys.exit(main())
