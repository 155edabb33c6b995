"""Sweeps whose processes die: what is done is kept, and a cell that always dies says why."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from app.errors import WorkerDied
from app.reading.requests import problem_of, read_parsed
from app.schemas.sweeps import SweepAnswer, SweepRequest
from app.services.sweeps import run as sweeps
from app.services.sweeps.attempts import kept_cells, written
from app.services.sweeps.parallel import LostItem
from app.services.sweeps.run import run
from app.services.sweeps.views import plots, table
from tests.app.service import Json
from tests.app.test_program_sweeps import gathers
from tests.app.test_sweeps import SWEPT, two

#: Of plans, and of programs.
SWEEPS = {
    "plans": two(**SWEPT),
    "programs": gathers(bandwidths_gbps=[40, 1], memory_limits_bytes=[12000, 8000]),
}

PLACE = {"workers", "bandwidth_gbps", "startup_us", "memory_limit_bytes"}


class CellsHere:
    """Computes items in this process, of which some are lost, until so many are done."""

    def __init__(self, lost: Sequence[int] = (), most: int = 10**6) -> None:
        self.lost, self.most = lost, most
        self.done: list[Any] = []

    def __call__(
        self,
        work: Callable[[Any], Any],
        items: Sequence[Any],
        progress: Callable[[int, int], None] | None = None,
        *,
        keep: Callable[[int, Any], None] | None = None,
        short_s: float = 0.0,
    ) -> list[Any]:
        assert keep
        assert progress
        assert short_s >= 0
        for place, item in enumerate(items):
            if len(self.done) == self.most:
                raise KeyboardInterrupt
            self.done.append(item)
            keep(place, LostItem("by signal SIGKILL") if place in self.lost else work(item))
            progress(place + 1, len(items))
        return []


def ran(asked: Json, each: CellsHere, **more: Any) -> SweepAnswer:
    return run(problem_of(read_parsed(asked, SweepRequest)), each=each, **more)


def same(answer: SweepAnswer) -> str:
    return answer.model_dump_json(exclude={"runtime_s"})


@pytest.mark.parametrize("kind", SWEEPS)
def test_what_an_attempt_has_kept_is_not_computed_again(kind: str) -> None:
    asked, whole = SWEEPS[kind], CellsHere()
    expected = ran(asked, whole)
    many = len(whole.done)
    kept: list[bytes] = []
    with pytest.raises(KeyboardInterrupt):
        ran(asked, CellsHere(most=many - 1), draft=lambda _, kept_of: kept.append(kept_of()))
    assert [len(kept_cells(each, many)) for each in kept] == [*range(1, many)]
    told: list[tuple[int, int]] = []
    last = CellsHere()
    answer = ran(asked, last, kept=kept[-1], progress=lambda *done: told.append(done))
    assert last.done == whole.done[-1:]
    assert told == [(many, many)]
    assert same(answer) == same(expected)


def test_what_cannot_be_used_is_computed() -> None:
    assert kept_cells(None, 3) == {}
    assert kept_cells(b"\xff", 3) == {}
    asked, kept = SWEEPS["plans"], list[bytes]()
    ran(asked, CellsHere(), draft=lambda _, kept_of: kept.append(kept_of()))
    found = msgspec.msgpack.decode(kept[-1])
    assert kept_cells(msgspec.msgpack.encode(found | {"version": "0.0"}), 12) == {}
    cells = kept_cells(kept[-1], 12)
    assert written(cells) == kept[-1]
    assert list(kept_cells(kept[-1], 3)) == [0, 1, 2], "of another sweep"


@pytest.mark.parametrize("kind", SWEEPS)
def test_a_cell_that_always_dies_is_a_row_with_its_reason(kind: str) -> None:
    asked, whole = SWEEPS[kind], ran(SWEEPS[kind], CellsHere())
    answer = ran(asked, CellsHere(lost=[1]))
    assert len(answer.cells) == answer.cells_asked == len(whole.cells)
    row = answer.cells[1]
    assert row.lost == "Its process ended 4 times before it was done, at last by signal SIGKILL."
    assert set(row.iteration_time_us.values()) == {None}
    assert (row.best, row.fastest, row.gains, row.evidence) == (None, [], [], None)
    for cell, other in zip(answer.cells, whole.cells, strict=True):
        assert cell.model_dump(include=PLACE) == other.model_dump(include=PLACE)
        assert cell is row or cell.lost is None
    assert answer.axes == whole.axes
    many = len(whole.cells)
    assert answer.summary[0] == (
        f"Of {many} cells 1 has no times, and no knee is known: processes that computed it ended "
        "4 times."
    )
    assert answer.knees == []
    assert table(answer)
    assert plots(answer)
    read = SweepAnswer.model_validate_json(answer.model_dump_json())
    assert read == answer


def test_where_no_cell_can_be_computed_the_sweep_fails() -> None:
    with pytest.raises(WorkerDied, match="No part of this could be computed"):
        ran(SWEEPS["plans"], CellsHere(lost=range(12)))


@pytest.mark.parametrize("asked", SWEEPS.values(), ids=SWEEPS)
def test_what_is_done_within_the_time_limit_is_the_answer(
    asked: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock stands still until two cells are done, and is far beyond the limit then."""
    each = CellsHere()
    clock = SimpleNamespace(perf_counter=lambda: 1e6 * (len(each.done) >= 2))
    monkeypatch.setattr(sweeps, "time", clock)
    answer = ran(asked | {"sweep_limit_s": 60}, each)
    assert len(each.done) == len(answer.cells) == 2
    whole = ran(asked, CellsHere())
    places = [cell.model_dump(include=PLACE) for cell in answer.cells]
    assert [
        cell for cell in whole.cells if cell.model_dump(include=PLACE) in places
    ] == answer.cells
    assert answer.knees == []
    assert answer.cells_asked == len(whole.cells)
    cut, why = answer.summary[:2]
    assert cut.startswith(f"Cut short: 2 of {len(whole.cells)} cells are done")
    assert "the limit of 60 s was reached" in why
    assert "sweep_limit_s" in why
