"""A ranking of shapes that shows itself."""

from typing import TYPE_CHECKING, Any

from app.cli.rendering.shapes import best_shape
from app.schemas.shapes import ShapeAnswer
from interlace.results.frames import frame
from interlace.results.html import shown, table

if TYPE_CHECKING:
    import pandas as pd


class Shapes(ShapeAnswer):
    """The best shapes of a job; its fields are those of ``POST /v1/shapes``."""

    def __repr__(self) -> str:
        """Say in a line what it is."""
        said = next(best_shape(self))
        return f"<Shapes of {self.model} on {self.gpus:,} GPUs: {said.rstrip('.')}>"

    __str__ = __repr__

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each of the best shapes.

        Raises
        ------
        NotInstalled
            Without pandas.
        """
        return frame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "shape": row.name,
                "step_ms": row.time_us / 1e3,
                "predicted_ms": None if row.predicted_us is None else row.predicted_us / 1e3,
                "memory_gib": row.memory_bytes / 2**30,
                "bubble_ms": row.bubble_us / 1e3,
                "exposed_ms": sum(each.us for each in row.exposed) / 1e3,
                "tokens_per_s_per_gpu": row.tokens_per_s_per_gpu,
                "mfu": row.mfu,
            }
            for row in self.best
        ]

    def _repr_html_(self) -> str:
        """Show the best shapes in a notebook."""
        return shown([*best_shape(self)], table(self._rows()))
