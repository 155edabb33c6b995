"""What a run of the testbed shows: each cell's times beside their predictions, and the summary."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from tests.testbed.plans import Launches, Question, bound_of, predicted

#: Two runtimes of a cell are told apart when their times differ by more than this share.
_APART = 0.02


@dataclass(frozen=True)
class Time:
    """What a training step takes under a runtime [us].

    Attributes
    ----------
    measured, least, most
        Median of the rounds, and the rounds it is between.
    predicted
        By the simulator.
    launches
        How many all-reduces a step makes.
    """

    measured: float
    least: float
    most: float
    predicted: float
    launches: int

    @property
    def error(self) -> float:
        """By what share the prediction is too long."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Cell:
    """A model at a ratio of communication to computation; None where it is what it is.

    Attributes
    ----------
    alone
        A step without communication [us].
    bound
        No plan takes less by the simulator, whatever waits for what [us].
    load
        The machine's load when it began.
    times
        By runtime.
    """

    model: str
    ratio: float | None
    alone: float
    bound: float
    load: float
    times: Mapping[str, Time]


@dataclass(frozen=True)
class Summary:
    """What all cells show together.

    Attributes
    ----------
    median_error, worst_error
        Of the predictions, as shares of the measured times, without signs.
    pairs, pairs_right
        Pairs of runtimes of a cell whose measured times are apart, and how many of them the
        predictions put in the right order.
    gains
        By model and ratio: what share of stock DistributedDataParallel's time the plan saves.
    """

    median_error: float
    worst_error: float
    pairs: int
    pairs_right: int
    gains: Mapping[tuple[str, float | None], float]


def cell_of(event: Mapping[str, Any]) -> Cell:
    """Predict what a session measured."""
    question = Question(event["graph"], event["cluster"])
    times = {}
    for name, each in event["runtimes"].items():
        launches = Launches.of(each["launches"])
        rounds = each["times_us"]
        times[name] = Time(
            median(rounds),
            min(rounds),
            max(rounds),
            predicted(question, launches),
            len(launches.parts),
        )
    bound = bound_of(question)
    return Cell(event["model"], event["ratio"], event["alone_us"], bound, event["load"], times)


def summary_of(cells: Sequence[Cell]) -> Summary:
    """Take cells together."""
    errors = [abs(time.error) for cell in cells for time in cell.times.values()]
    right = [each for cell in cells for each in _ordered_right(cell)]
    return Summary(
        median(errors),
        max(errors),
        len(right),
        sum(right),
        {
            (cell.model, cell.ratio): 1
            - cell.times["planned"].measured / cell.times["ddp"].measured
            for cell in cells
            if {"planned", "ddp"} <= cell.times.keys()
        },
    )


def _saved(time: Time, stock: Time) -> float:
    return 1 - time.measured / stock.measured


def _ordered_right(cell: Cell) -> Iterator[bool]:
    """Tell of each two runtimes that are apart whether the predictions order them so."""
    for one, other in combinations(cell.times.values(), 2):
        fast, slow = sorted((one, other), key=lambda time: time.measured)
        if slow.measured > fast.measured * (1 + _APART):
            yield fast.predicted < slow.predicted
