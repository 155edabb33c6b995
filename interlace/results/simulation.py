"""A simulated iteration that shows and draws itself."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from app.cli.rendering.figures import counted
from interlace.results.frames import frame
from interlace.results.html import shown
from interlace.results.pictures import plotted, svg
from interlace.results.tracks import Track, tracks_of
from solver.graph import Graph
from solver.simulation.engine import Timeline
from solver.wording import ms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True, repr=False)
class Simulation(Timeline):
    """One simulated iteration, which shows and draws itself.

    Attributes
    ----------
    graph
        What ran, its barrier included.

    See Also
    --------
    solver.simulation.engine.Timeline : The other attributes.

    Examples
    --------
    >>> import interlace
    >>> interlace.simulate("two_layers", {"workers": 8, "bandwidth_gbps": 10}, "ddp")
    <Simulation of 'two layers': 8.650 ms, 2 launches>
    """

    graph: Graph | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """Say in a line what it is."""
        name = "" if self.graph is None else f" of {self.graph.name!r}"
        return (
            f"<Simulation{name}: {ms(self.iteration_time)}, "
            f"{counted(len(self.launches), 'launch', 'launches')}>"
        )

    def tracks(self) -> tuple[Track, ...]:
        """Return it as tracks."""
        assert self.graph is not None, "interlace.simulate made it"
        return tracks_of(self.graph, self)

    def plot(self) -> "Figure":
        """Draw it; see :meth:`Plan.plot`."""
        return plotted(self.tracks(), "" if self.graph is None else self.graph.name)

    def to_pandas(self) -> "pd.DataFrame":
        """Return its launches as a data frame.

        Raises
        ------
        NotInstalled
            Without pandas.
        """
        return frame([launch._asdict() for launch in self.launches])

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return shown([repr(self).strip("<>")], svg(self.tracks()))
