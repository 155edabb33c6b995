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
from solver.graph import Buffer, Graph, Op, build, with_barrier
from solver.models import MODELS
from solver.parameter_server.of_graph import step_of
from solver.parameter_server.options import ThroughputOptions
from solver.parameter_server.steps import StepOp, build_step
from solver.parameter_server.throughput import predict as predict_parameter_server
from solver.placements.chunks import Key
from solver.placements.plan import Options as PlacementOptions
from solver.placements.plan import keys_of, plan_placements
from solver.planning.plan import Options, plan
from solver.planning.result import Plan
from solver.policies import POLICIES
from solver.policies.choice import Choice
from solver.prediction.scaling import predict
from solver.prediction.sweep import sweep
from solver.programs.plan import Options as ProgramOptions
from solver.programs.plan import plan as plan_program
from solver.programs.problem import Limits as ProgramLimits
from solver.programs.problem import Problem as ProgramProblem
from solver.programs.result import ProgramPlan
from solver.simulation.engine import simulate
from solver.simulation.timeline import chrome_trace
from solver.simulation.what_if import Change, apply_changes
from solver.traces import READERS, read_trace

__all__ = [
    "EXPORTS",
    "MODELS",
    "POLICIES",
    "READERS",
    "Buffer",
    "Change",
    "Choice",
    "Cluster",
    "Cost",
    "Fault",
    "Fit",
    "Graph",
    "InterlaceError",
    "Key",
    "Op",
    "Options",
    "PlacementOptions",
    "Plan",
    "ProgramLimits",
    "ProgramOptions",
    "ProgramPlan",
    "ProgramProblem",
    "StepOp",
    "ThroughputOptions",
    "alike",
    "apply_changes",
    "build",
    "build_step",
    "calibrate",
    "chrome_trace",
    "estimate",
    "explain",
    "export",
    "keys_of",
    "network_of",
    "plan",
    "plan_placements",
    "plan_program",
    "predict",
    "predict_parameter_server",
    "read_measurements",
    "read_times",
    "read_trace",
    "runs_of",
    "simulate",
    "step_of",
    "sweep",
    "with_barrier",
]
