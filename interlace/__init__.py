"""Plans the communication of distributed DNN training: the names to begin with.

A graph and a network make a plan; every other name feeds these or looks at what comes out. They
live in :mod:`solver`, which has more, but for the functions to begin with, which take what people
have in hand (:mod:`interlace.functions`). A name is imported when it is first used, and what it
needs with it: ``import interlace`` by itself takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app import VERSION as __version__  # noqa: N811 - as packages call it
    from app.errors import InvalidRequest
    from interlace.functions import (
        compare,
        export,
        headline,
        plan,
        predict,
        simulate,
        sweep,
    )
    from interlace.posted import allocate, mix, shape
    from interlace.results.plan import Plan
    from interlace.results.simulation import Simulation
    from interlace.results.sweep import Sweep
    from interlace.wire import from_json, to_json
    from solver.calibration import calibrate
    from solver.calibration.fits import Fit
    from solver.calibration.measurements import read_measurements
    from solver.costs import Cluster, Cost, alike, network_of
    from solver.errors import (
        Fault,
        InterlaceError,
        InvalidCluster,
        InvalidGraph,
        InvalidOptions,
        InvalidTrace,
    )
    from solver.estimation.estimate import estimate
    from solver.estimation.table_runs import runs_of
    from solver.estimation.times_table import read_times
    from solver.explanation.explain import explain
    from solver.exports import EXPORTS
    from solver.exports.nccl_tuner import AlgorithmRun, tuner_table
    from solver.graph import Buffer, Graph, Op, build, with_barrier
    from solver.models import MODELS
    from solver.parameter_server.of_graph import step_of
    from solver.parameter_server.options import ThroughputOptions
    from solver.parameter_server.steps import StepOp, build_step
    from solver.parameter_server.throughput import predict as predict_parameter_server
    from solver.placements.chunks import Key
    from solver.placements.options import PlacementOptions as PlacementOptions
    from solver.placements.plan import keys_of, plan_placements
    from solver.planning.options import Options
    from solver.policies import POLICIES
    from solver.policies.choice import Choice
    from solver.programs.headline import program_headline
    from solver.programs.plan import ProgramOptions as ProgramOptions
    from solver.programs.plan import plan as plan_program
    from solver.programs.problem import ProgramLimits as ProgramLimits
    from solver.programs.problem import ProgramProblem as ProgramProblem
    from solver.programs.result import ProgramPlan
    from solver.simulation.chunking import Chunking
    from solver.simulation.compression import Compression
    from solver.simulation.timeline import chrome_trace
    from solver.simulation.what_if import Change, apply_changes
    from solver.traces import READERS, read_trace

__all__ = [
    "EXPORTS",
    "MODELS",
    "POLICIES",
    "READERS",
    "AlgorithmRun",
    "Buffer",
    "Change",
    "Choice",
    "Chunking",
    "Cluster",
    "Compression",
    "Cost",
    "Fault",
    "Fit",
    "Graph",
    "InterlaceError",
    "InvalidCluster",
    "InvalidGraph",
    "InvalidOptions",
    "InvalidRequest",
    "InvalidTrace",
    "Key",
    "Op",
    "Options",
    "PlacementOptions",
    "Plan",
    "ProgramLimits",
    "ProgramOptions",
    "ProgramPlan",
    "ProgramProblem",
    "Simulation",
    "StepOp",
    "Sweep",
    "ThroughputOptions",
    "__version__",
    "alike",
    "allocate",
    "apply_changes",
    "build",
    "build_step",
    "calibrate",
    "chrome_trace",
    "compare",
    "estimate",
    "explain",
    "export",
    "from_json",
    "headline",
    "keys_of",
    "mix",
    "network_of",
    "plan",
    "plan_placements",
    "plan_program",
    "predict",
    "predict_parameter_server",
    "program_headline",
    "read_measurements",
    "read_times",
    "read_trace",
    "runs_of",
    "shape",
    "simulate",
    "step_of",
    "sweep",
    "to_json",
    "tuner_table",
    "with_barrier",
]

#: Where each name lives: as those who check types are told above.
_HOMES = {
    "EXPORTS": "solver.exports.EXPORTS",
    "MODELS": "solver.models.MODELS",
    "POLICIES": "solver.policies.POLICIES",
    "READERS": "solver.traces.READERS",
    "AlgorithmRun": "solver.exports.nccl_tuner.AlgorithmRun",
    "Buffer": "solver.graph.Buffer",
    "Change": "solver.simulation.what_if.Change",
    "Choice": "solver.policies.choice.Choice",
    "Cluster": "solver.costs.Cluster",
    "Chunking": "solver.simulation.chunking.Chunking",
    "Compression": "solver.simulation.compression.Compression",
    "Cost": "solver.costs.Cost",
    "Fault": "solver.errors.Fault",
    "Fit": "solver.calibration.fits.Fit",
    "Graph": "solver.graph.Graph",
    "InterlaceError": "solver.errors.InterlaceError",
    "InvalidCluster": "solver.errors.InvalidCluster",
    "InvalidGraph": "solver.errors.InvalidGraph",
    "InvalidOptions": "solver.errors.InvalidOptions",
    "InvalidRequest": "app.errors.InvalidRequest",
    "InvalidTrace": "solver.errors.InvalidTrace",
    "Key": "solver.placements.chunks.Key",
    "Op": "solver.graph.Op",
    "Options": "solver.planning.options.Options",
    "PlacementOptions": "solver.placements.options.PlacementOptions",
    "Plan": "interlace.results.plan.Plan",
    "ProgramLimits": "solver.programs.problem.ProgramLimits",
    "ProgramOptions": "solver.programs.plan.ProgramOptions",
    "ProgramPlan": "solver.programs.result.ProgramPlan",
    "ProgramProblem": "solver.programs.problem.ProgramProblem",
    "Simulation": "interlace.results.simulation.Simulation",
    "StepOp": "solver.parameter_server.steps.StepOp",
    "Sweep": "interlace.results.sweep.Sweep",
    "ThroughputOptions": "solver.parameter_server.options.ThroughputOptions",
    "__version__": "app.VERSION",
    "alike": "solver.costs.alike",
    "apply_changes": "solver.simulation.what_if.apply_changes",
    "build": "solver.graph.build",
    "build_step": "solver.parameter_server.steps.build_step",
    "calibrate": "solver.calibration.calibrate",
    "compare": "interlace.functions.compare",
    "chrome_trace": "solver.simulation.timeline.chrome_trace",
    "estimate": "solver.estimation.estimate.estimate",
    "explain": "solver.explanation.explain.explain",
    "export": "interlace.functions.export",
    "from_json": "interlace.wire.from_json",
    "headline": "interlace.functions.headline",
    "keys_of": "solver.placements.plan.keys_of",
    "mix": "interlace.posted.mix",
    "network_of": "solver.costs.network_of",
    "plan": "interlace.functions.plan",
    "plan_placements": "solver.placements.plan.plan_placements",
    "plan_program": "solver.programs.plan.plan",
    "predict": "interlace.functions.predict",
    "predict_parameter_server": "solver.parameter_server.throughput.predict",
    "program_headline": "solver.programs.headline.program_headline",
    "read_measurements": "solver.calibration.measurements.read_measurements",
    "read_times": "solver.estimation.times_table.read_times",
    "read_trace": "solver.traces.read_trace",
    "runs_of": "solver.estimation.table_runs.runs_of",
    "shape": "interlace.posted.shape",
    "allocate": "interlace.posted.allocate",
    "simulate": "interlace.functions.simulate",
    "step_of": "solver.parameter_server.of_graph.step_of",
    "sweep": "interlace.functions.sweep",
    "to_json": "interlace.wire.to_json",
    "tuner_table": "solver.exports.nccl_tuner.tuner_table",
    "with_barrier": "solver.graph.with_barrier",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, there = home.rpartition(".")
    value = globals()[name] = getattr(import_module(module), there)
    return value


def __dir__() -> list[str]:
    return [*__all__]
