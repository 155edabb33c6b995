"""Two answers side by side that show themselves."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from app.schemas.comparisons import AnswerComparison, SweepComparison
from interlace.results.frames import frame
from interlace.results.html import shown, table

if TYPE_CHECKING:
    import pandas as pd


class _SideBySide:
    """Shows a sentence, notes, and rows."""

    sentence: str
    notes: list[str]

    def _rows(self) -> Sequence[BaseModel]:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Say in a line which is faster."""
        return f"<{type(self).__name__}: {self.sentence}>"

    __str__ = __repr__

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each figure of either plan, or each cell of either sweep.

        Raises
        ------
        NotInstalled
            Without pandas.
        """
        return frame([dict(each) for each in self._rows()])

    def _repr_html_(self) -> str:
        """Show the rows and notes in a notebook."""
        rows = [dict(each) for each in self._rows()]
        return shown([self.sentence, *self.notes], table(rows))


class PlanComparison(_SideBySide, AnswerComparison):
    """Two answers side by side; its fields are those of ``GET /v1/comparisons``."""

    def _rows(self) -> Sequence[BaseModel]:
        return self.figures


class SweepsCompared(_SideBySide, SweepComparison):
    """Two sweeps side by side; its fields are those of ``GET /v1/comparisons/sweeps``."""

    def _rows(self) -> Sequence[BaseModel]:
        return self.cells
