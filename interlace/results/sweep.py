"""A sweep that shows and draws itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from interlace.results.frames import frame
from interlace.results.html import shown, table
from interlace.results.pictures import figure
from solver.prediction.sweep import Cell

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Sweep(tuple[Cell, ...]):  # noqa: SLOT001 - names beside the cells
    """Cells of a sweep, in the order of the clusters, with the names of the policies.

    Examples
    --------
    >>> import interlace
    >>> clusters = [{"workers": n, "bandwidth_gbps": 10} for n in (2, 4)]
    >>> interlace.sweep("two_layers", clusters, ["ddp", "pace"])
    <Sweep: 2 cells of ddp, pace; ddp fastest in 0, pace fastest in 2>
    """

    policies: tuple[str, ...]

    #: How many cells were asked for: more than there are where a limit of time ended it.
    cells_asked: int

    def __new__(
        cls,
        cells: Sequence[Cell] = (),
        policies: Sequence[str] = (),
        cells_asked: int | None = None,
    ) -> Self:
        """Make it of cells and the names of their policies."""
        found = super().__new__(cls, cells)
        found.policies = tuple(policies)
        found.cells_asked = len(found) if cells_asked is None else cells_asked
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle cells and names."""
        return Sweep, (tuple(self), self.policies, self.cells_asked)

    def __repr__(self) -> str:
        """Say in a line what it is."""
        wins = ", ".join(
            f"{name} fastest in {sum(i in cell.fastest for cell in self)}"
            for i, name in enumerate(self.policies)
        )
        of = "" if len(self) == self.cells_asked else f" of {self.cells_asked:,}"
        return f"<Sweep: {len(self):,}{of} cells of {', '.join(self.policies)}; {wins}>"

    def plot(self) -> "Figure":
        """Draw the time of each policy over the workers, for each bandwidth and start-up.

        Raises
        ------
        NotInstalled
            Without matplotlib, of the extra ``plots``.
        """
        made, axes = figure()
        networks = dict.fromkeys((cell.bandwidth_gbps, cell.startup_us) for cell in self)
        for gbps, startup in networks:
            cells = [c for c in self if (c.bandwidth_gbps, c.startup_us) == (gbps, startup)]
            where = "" if len(networks) == 1 else f", {gbps:g} Gbit/s" if gbps else ""
            workers = [cell.workers for cell in cells]
            for i, name in enumerate(self.policies):
                times = [float("nan") if (t := c.times[i]) is None else t / 1e3 for c in cells]
                axes.plot(workers, times, marker="o", label=f"{name}{where}")
            bound = [cell.lower_bound_us / 1e3 for cell in cells]
            axes.plot(workers, bound, color="black", linestyle="--", label=f"bound{where}")
        axes.set_xlabel("workers")
        axes.set_ylabel("ms")
        axes.legend(frameon=False)
        return made

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row for each cell: the cluster, the time of each policy [us], the bound.

        Raises
        ------
        NotInstalled
            Without pandas.
        """
        return frame([self._row(cell) for cell in self])

    def _row(self, cell: Cell) -> dict[str, Any]:
        best = cell.best
        return {
            "workers": cell.workers,
            "bandwidth_gbps": cell.bandwidth_gbps,
            "startup_us": cell.startup_us,
            **{f"{name}_us": cell.times[i] for i, name in enumerate(self.policies)},
            "lower_bound_us": cell.lower_bound_us,
            "fastest": None if best is None else self.policies[best],
            "saves": cell.gains[0].gain if cell.gains else None,
        }

    def _repr_html_(self) -> str:
        """Show it as a table in a notebook."""
        rows = [self._row(cell) for cell in self]
        return shown([repr(self).strip("<>")], *([table(rows)] if rows else ()))
