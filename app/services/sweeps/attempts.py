"""What attempts at a sweep leave: the cells that are done, and those at which processes died."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from app import VERSION
from app.schemas.sweeps import SweepCell
from app.services.sweeps.parallel import RETRIES, LostItem
from solver.prediction.program_sweep import ProgramCell
from solver.prediction.sweep import Cell

_LOG = logging.getLogger("interlace.jobs")


class _Kept(msgspec.Struct):
    """Cells by their places, each as the solver has it: an answer rounds and compares them."""

    version: str
    plans: dict[int, Cell]
    programs: dict[int, ProgramCell]


_KEPT = msgspec.msgpack.Decoder(_Kept)


def written(cells: Mapping[int, Cell]) -> bytes:
    """Write cells that are done, by their places, for an attempt after this one."""
    programs = {at: cell for at, cell in cells.items() if isinstance(cell, ProgramCell)}
    plans = {at: cell for at, cell in cells.items() if at not in programs}
    return msgspec.msgpack.encode(_Kept(VERSION, plans, programs))


def kept_cells(kept: bytes | None, many: int) -> dict[int, Cell]:
    """Read what :func:`written` wrote of a sweep of so many cells; none of another version's."""
    if kept is None:
        return {}
    try:
        found = _KEPT.decode(kept)
    except msgspec.MsgspecError as error:
        _LOG.warning("What an attempt before has kept cannot be read: %s", error)
        return {}
    if found.version != VERSION:
        return {}
    both: dict[int, Cell] = {**found.plans, **found.programs}
    return {place: cell for place, cell in sorted(both.items()) if place < many}


def lost_cell(point: Mapping[str, Any], why: str, other: SweepCell) -> SweepCell:
    """Return the row of a cell that could not be computed, beside another that could."""
    none = dict.fromkeys(other.iteration_time_us)
    unknown = dict.fromkeys(("best", "scaling_factor", "speed", "speed_bound", "evidence"))
    return other.model_copy(
        update={
            **point,
            **unknown,
            "lower_bound_us": other.compute_time_us,
            "iteration_time_us": none,
            "fastest": [],
            "gains": [],
            "extrapolated": False,
            "peak_bytes": None if other.peak_bytes is None else none,
            "status": None,
            "lost": why,
        }
    )


def lost_summary(lost: Mapping[int, LostItem], many: int) -> Iterator[str]:
    """Say how many cells could not be computed."""
    if lost:
        has, them = ("have", "them") if len(lost) > 1 else ("has", "it")
        yield (
            f"Of {many:,} cells {len(lost):,} {has} no times, and no knee is known: processes that "
            f"computed {them} ended {RETRIES + 1} times."
        )
