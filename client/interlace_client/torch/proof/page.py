"""What a proof comes to, as JSON and as a page of Markdown."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from interlace_client.torch.proof.outcomes import FAILED, PASSED, SKIPPED, status_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from interlace_client.torch.proof.machine import ProofMachine
    from interlace_client.torch.proof.outcomes import CheckOutcome, PartOutcome


def written_json(
    machine: ProofMachine, parts: Sequence[PartOutcome], how: Mapping[str, Any]
) -> str:
    """Write all that is known."""
    told = {
        "status": status_of(parts),
        "how": dict(how),
        "machine": asdict(machine),
        "parts": [{**asdict(part), "status": part.status} for part in parts],
    }
    return json.dumps(told, indent=1) + "\n"


def written_page(
    machine: ProofMachine, parts: Sequence[PartOutcome], how: Mapping[str, Any]
) -> str:
    """Write a page for people: what came of each part, then each check with its figures."""
    gpus = ", ".join(machine.gpus) or "none"
    lines = [
        f"# Proof: {status_of(parts)}",
        "",
        f"`{how['command']}`",
        "",
        f"- GPUs: {gpus}; CUDA {machine.cuda or 'none'}, NCCL {machine.nccl or 'none'}",
        (
            f"- PyTorch {machine.torch}, Python {machine.python}, {machine.system}, "
            f"{machine.cores} cores"
        ),
        "",
        "| part | where | status | passed | failed | skipped | takes |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {part.name} | {part.where} | {part.status} | {part.count(PASSED)} | "
        f"{part.count(FAILED)} | {part.count(SKIPPED)} | {part.seconds:.0f} s |"
        for part in parts
    ]
    for part in parts:
        lines += ["", f"## {part.title}", "", f"{part.where}.", ""]
        lines += ["| check | status | figures |", "|---|---|---|"]
        lines += [
            f"| {_cell(check.name)} | {check.status} | {_cell(_said(check))} |"
            for check in part.checks
        ]
        for check in part.checks:
            if check.status == FAILED:
                lines += ["", f"`{check.name}` failed:", "", "```text", check.why, "```"]
    return "\n".join(lines) + "\n"


def _said(check: CheckOutcome) -> str:
    """Write a check's figures, or why there are none."""
    if check.status == SKIPPED:
        return check.why
    return "; ".join(f"{name}: {value}" for name, value in check.figures.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
