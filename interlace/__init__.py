"""Plans the communication of distributed DNN training: the names to begin with.

A graph and a network make a plan; every other name feeds these or looks at what comes out. All of
them live in :mod:`solver`, which has more.
"""

from solver.calibration import calibrate
from solver.calibration.fits import Fit
from solver.calibration.measurements import read_measurements
from solver.costs import Cluster, Cost, alike, network_of
from solver.errors import Fault, InterlaceError
from solver.estimation.estimate import estimate
from solver.estimation.times_table import read_times, runs_of
from solver.explanation.explain import explain
from solver.exports import EXPORTS, export
from solver.graph import Graph, Op, build, with_barrier
from solver.models import MODELS
from solver.planning.plan import Options, plan
from solver.planning.result import Plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.prediction.scaling import predict
from solver.prediction.sweep import sweep
from solver.simulation.engine import simulate
from solver.simulation.timeline import chrome_trace
from solver.simulation.what_if import Change, apply_changes
from solver.traces import READERS, read_trace

__all__ = [
    "EXPORTS",
    "MODELS",
    "POLICIES",
    "READERS",
    "Change",
    "Choice",
    "Cluster",
    "Cost",
    "Fault",
    "Fit",
    "Graph",
    "InterlaceError",
    "Op",
    "Options",
    "Plan",
    "alike",
    "apply_changes",
    "build",
    "calibrate",
    "chrome_trace",
    "estimate",
    "explain",
    "export",
    "network_of",
    "plan",
    "predict",
    "read_measurements",
    "read_times",
    "read_trace",
    "runs_of",
    "simulate",
    "sweep",
    "with_barrier",
]
