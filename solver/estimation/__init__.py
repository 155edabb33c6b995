"""Costs estimated from measured iteration times."""

from solver.estimation.estimate import Estimate, Estimated, estimate
from solver.estimation.parameters import Parameter
from solver.estimation.runs import Run
from solver.estimation.times_table import TimesRow, is_times, read_times, runs_of

__all__ = [
    "Estimate",
    "Estimated",
    "Parameter",
    "Run",
    "TimesRow",
    "estimate",
    "is_times",
    "read_times",
    "runs_of",
]
