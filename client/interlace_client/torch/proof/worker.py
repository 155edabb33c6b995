"""Be a rank of a part: make its checks, and write down what came of each.

Called by :mod:`~interlace_client.torch.proof.launching` alone.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import json
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from interlace_client.torch.proof.outcomes import FAILED, PASSED, SKIPPED, CheckOutcome, NotHere
from interlace_client.torch.proof.site import Site

#: How many lines of a failure are kept.
_LINES = 12


def main(text: str) -> None:
    """Join the other ranks, make the checks that are asked for, and leave."""
    asked = json.loads(text)
    rank, folder = asked["rank"], Path(asked["folder"])
    site = Site(
        rank,
        asked["ranks"],
        torch.device(asked["device"]),
        folder / str(rank),
        asked["is_short"],
        asked["planner"],
    )
    if site.is_cuda:
        torch.cuda.set_device(site.device)
        torch.backends.cudnn.benchmark = False
        torch.use_deterministic_algorithms(mode=True, warn_only=True)
    dist.init_process_group(
        asked["backend"],
        init_method=f"file://{folder}/store",
        rank=site.rank,
        world_size=site.ranks,
    )
    checks = importlib.import_module(asked["checks"]).CHECKS
    with (site.folder / "outcomes").open("w", encoding="utf-8") as written:
        for name in asked["names"]:
            outcome = _outcome(name, checks[name], site)
            print(json.dumps(asdict(outcome)), file=written, flush=True)
            gc.collect()  # models are in cycles, and have groups with threads
            if outcome.status == FAILED:
                break  # the other ranks are somewhere else
    gc.collect()
    dist.destroy_process_group()
    gc.collect()


def _outcome(name: str, check: Any, site: Site) -> CheckOutcome:
    """Make a check."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            figures = check(site)
            site.sync()
    except NotHere as reason:
        return CheckOutcome(name, SKIPPED, str(reason))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is said
        frames = traceback.format_exception(type(error), error, error.__traceback__)
        return CheckOutcome(name, FAILED, "\n".join("".join(frames).splitlines()[-_LINES:]))
    return CheckOutcome(name, PASSED, figures=figures or {})


if __name__ == "__main__":
    main(sys.argv[1])
