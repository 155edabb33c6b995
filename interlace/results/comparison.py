"""Two answers side by side that show themselves."""

from typing import TYPE_CHECKING

from app.schemas.comparisons import AnswerComparison, SweepComparison
from interlace.results.frames import frame
from interlace.results.html import shown, table

if TYPE_CHECKING:
    import pandas as pd


class PlanComparison(AnswerComparison):
    """Two answers side by side; its fields are those of ``GET /v1/comparisons``."""

    def __repr__(self) -> str:
        """Say in a line which is faster."""
        return f"<PlanComparison: {self.sentence}>"

    __str__ = __repr__

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each figure of either.

        Raises
        ------
        NotInstalled
            Without pandas.
        """
        return frame([dict(each) for each in self.figures])

    def _repr_html_(self) -> str:
        """Show figures and notes in a notebook."""
        return shown([self.sentence, *self.notes], table([dict(each) for each in self.figures]))


class SweepsCompared(SweepComparison):
    """Two sweeps side by side; its fields are those of ``GET /v1/comparisons/sweeps``."""

    def __repr__(self) -> str:
        """Say in a line on how many clusters which is faster."""
        return f"<SweepsCompared: {self.sentence}>"

    __str__ = __repr__

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each cell of either.

        Raises
        ------
        NotInstalled
            Without pandas.
        """
        return frame([dict(each) for each in self.cells])

    def _repr_html_(self) -> str:
        """Show what changed in a notebook."""
        return shown([self.sentence, *self.notes], table([dict(each) for each in self.cells]))
