"""XLA: flags of its combiners and of its latency-hiding scheduler, and the costs these go by."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from solver.exports.explicit_plan import Export
from solver.graph import COMPUTE, REDUCE_SCATTER
from solver.graph.names import OF_XLA
from solver.programs.execute import ProgramRun, execute
from solver.programs.headline import xla_gain
from solver.programs.problem import ProgramProblem, launch_time
from solver.programs.program import Program
from solver.programs.xla.combiner import MOST_MEMBERS
from solver.programs.xla.form import COMBINED, DEFAULT_THRESHOLD, XlaForm, fastest_form
from solver.traces.hlo.costs import costs_text

FORMAT = "xla"

_FLAGS, _COSTS = "xla.env", "costs.pbtxt"


def export(problem: ProgramProblem, program: Program) -> Export:
    """Write ``xla.env``, ``XLA_FLAGS`` as a file; of a program of XLA ``costs.pbtxt`` as well.

    The flags are those under which XLA comes nearest to the plan
    (:func:`solver.programs.xla.form.fastest_form`): they carry sizes and how many collectives are
    under way, no order. What is simulated is what XLA makes of the graph with them, and with the
    costs of the plan.
    """
    planned = execute(problem, program)
    best = fastest_form(problem, program)
    costs = costs_of(problem, best) if OF_XLA in problem.graph.free else {}
    files = {_FLAGS: f'XLA_FLAGS="{" ".join(_flags(best, has_costs=bool(costs)))}"\n'}
    if costs:
        files[_COSTS] = costs_text(costs)
    return Export(
        format=FORMAT,
        files=files,
        media_type="text/plain",
        notes=tuple(_notes(problem, program, planned, best, costs)),
        iteration_time_us=best.run.iteration_time,
        plan_time_us=planned.iteration_time,
    )


def _flags(form: XlaForm, *, has_costs: bool) -> Iterator[str]:
    """Yield flags of XLA, as xla/debug_options_flags.cc has them."""
    yield "--xla_gpu_enable_latency_hiding_scheduler=true"
    for kind, most in form.flags.thresholds:
        yield f"--xla_gpu_{COMBINED[kind]}_combine_threshold_bytes={most}"
    yield f"--xla_gpu_experimental_parallel_collective_overlap_limit={form.flags.overlap}"
    if has_costs:
        yield f"--xla_gpu_pgle_profile_file_or_directory_path={_COSTS}"


def costs_of(problem: ProgramProblem, form: XlaForm) -> Mapping[str, float]:
    """Return the time of each instruction [us], of a collective that stays alone its launch.

    Those of a loop's turns have the mean of all turns. A collective that is combined anew has a
    name that nobody knows before.
    """
    graph = problem.graph
    alone = {members[0] for members in form.program.buckets if len(members) == 1}
    times: dict[str, list[float]] = {}
    for i, op in enumerate(graph.ops):
        if op.kind != COMPUTE and i not in alone:
            continue
        time = graph.durations[i] if op.kind == COMPUTE else launch_time(problem, (i,))
        if time > 0:
            times.setdefault(op.id.rpartition("/")[2], []).append(time)
    return {name: sum(some) / len(some) for name, some in times.items()}


def _notes(
    problem: ProgramProblem,
    program: Program,
    planned: ProgramRun,
    form: XlaForm,
    costs: Mapping[str, float],
) -> Iterator[str]:
    gain = xla_gain(problem, form.program)
    extra = form.run.iteration_time - planned.iteration_time
    cost = f"{extra:,.1f} us longer than the plan" if extra > 0 else "no longer than the plan"
    yield (
        f"As XLA runs it: {len(form.program.buckets)} launches, the plan has "
        f"{len(program.buckets)}, each of at most {MOST_MEMBERS} collectives, in the order of "
        f"XLA's own scheduler. That takes {cost}."
    )
    if extra > 0:
        yield (
            "The flags do not carry the plan: they say how large a combined collective is and how "
            "many are under way, not which collectives belong together or when compute runs."
        )
    saves = "no gain is known" if gain.gain is None else f"{100 * gain.gain:.1f} % saved"
    yield (
        f"Against XLA with its own thresholds ({DEFAULT_THRESHOLD:,} bytes): {saves} "
        f"({(gain.verdict or 'not judged').replace('_', ' ')}). {gain.why}"
    )
    yield (
        f"Memory is {form.run.peak_bytes:,} bytes at most, the plan's {planned.peak_bytes:,} "
        f"(inputs_held: {problem.inputs_held})."
    )
    yield from _limited(problem, form)
    if any(len(members) > 1 for members in form.program.buckets):
        free = execute(replace(problem, copy_gbps=None), form.program).iteration_time
        yield (
            "Copies into and out of buckets are counted as in the plan; where XLA sends the "
            f"tensors of a bucket from where they are, it takes {free:,.1f} us."
        )
    kinds = dict(form.flags.thresholds)
    if REDUCE_SCATTER in kinds:
        yield "XLA counts what a collective writes: of a reduce-scatter the bytes of one rank."
    others = [i for i in problem.graph.collectives if problem.graph.ops[i].kind not in COMBINED]
    if others:
        yield f"{len(others)} collectives of other kinds have no threshold here and go alone."
    if costs:
        yield (
            f"{_COSTS} names instructions of the text that was read. XLA names anew what it "
            "combines, and estimates that by itself: compile with the flags, and export from that "
            "text once more."
        )
    else:
        yield "The graph is none of XLA's: there are no costs to give, and XLA takes its own."


def _limited(problem: ProgramProblem, form: XlaForm) -> Iterator[str]:
    """Say how a memory limit is told to XLA, which takes a share of what a device has."""
    limit = problem.limits.memory_bytes
    if limit is None:
        return
    if form.run.peak_bytes > limit:
        yield f"That is more than the limit of {limit:,} bytes: no flags tried keep it."
    buffers = problem.graph.buffers
    held = sum(each.bytes for each in buffers if each.kept or each.written_by is None)
    if held < limit:
        yield (
            "The limit is no flag of its own. XLA schedules within (M - inputs and outputs) x "
            "--xla_gpu_memory_limit_slop_factor / 100, M being the memory that it may have, and "
            f"these are {held:,} bytes: give 100 x {limit - held:,} / (M - {held:,})."
        )
