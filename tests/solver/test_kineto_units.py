"""Collectives of FSDP2 by the units that PyTorch's annotations name, on a GPU."""

import json

import pytest

from solver.codes import FaultCode
from solver.costs import Affine, alike
from solver.errors import InvalidPlan
from solver.exports import EXPORTS
from solver.graph import COMPUTE
from solver.planning.headline import headline
from solver.planning.options import Options
from solver.planning.plan import plan
from solver.policies import POLICIES
from solver.sharded.units import Form, graph_of_form, units_of
from solver.simulation.engine import simulate
from solver.traces import TraceOptions, kineto
from tests.kineto_events import AUTOGRAD, GPU, MAIN, STEP, backward, kernel, note, sized, text
from tests.solver.test_exports import planned

#: Streams of the GPU for all-gathers, reduce-scatters and all-reduces.
GATHER, SCATTER, SUM = (0, 20), (0, 21), (0, 22)
NETWORK = alike(Affine(1.0, 0.01))


class Host:
    """A host that launches, a GPU that runs: each stream one thing after another."""

    def __init__(self):
        self.now, self.number, self.events = 1.0, 0, []
        self.clocks = {}

    def launch(self, stream, time, after=0.0, by=MAIN, **args):
        """Launch a kernel; return when it ends."""
        self.number += 1
        start = max(self.now + 1, after, self.clocks.get(stream, 0.0))
        self.clocks[stream] = start + time
        name = "ncclDevKernel" if args else "gemm"
        self.events += kernel(self.number, self.now, start, start + time, by, stream, name, **args)
        self.now += 1
        return start + time

    def send(self, stream, kind, annotation, after=0.0, by=MAIN):
        """Launch a collective of 100 elements inside an annotation, if there is to be one."""
        begun = self.now
        self.now += 0.25
        done = self.launch(stream, 4.0, after, by, **args_of(kind))
        self.now += 0.25
        if annotation:
            self.events.append(note(f"FSDP::{annotation}", begun, self.now - begun, by))
        return done


def args_of(kind):
    return sized(100, kind) | {"Group size": 2}


def step(  # noqa: C901 - one walk, as the host's
    units, *, kept=(), sums=False, batches=1, annotated=True
):
    """A step of units, each gathered one ahead, reduced behind; ``kept`` are not gathered again."""

    def called(what, unit):
        return f"{what} ({unit})".removesuffix(" ()") if annotated else ""

    def gather(wanted, gathered, by):
        for each in wanted:
            if each not in gathered:
                said = called("all_gather", each)
                after = freed.get(each, 0.0)
                gathered[each] = host.send(GATHER, "_allgather_base", said, after, by)

    def compute(unit, time, after, by):
        begun = host.now
        host.launch(GPU, 1.0, after, by)
        if said := called("all_gather_copy_out", unit):
            host.events.append(note(f"FSDP::{said}", begun, host.now - begun, by))
        host.launch(GPU, time / 2, 0.0, by)
        return host.launch(GPU, time / 2, 0.0, by)

    def reduce(unit, done):
        begun = host.now
        done = host.send(SCATTER, "_reduce_scatter_base", "", done, AUTOGRAD)
        if sums:
            host.send(SUM, "allreduce", "", done, AUTOGRAD)
        if said := called("post_backward_reduce", unit):
            host.events.append(note(f"FSDP::{said}", begun, host.now - begun, AUTOGRAD))

    host = Host()
    gathered: dict[str, float]
    freed: dict[str, float]
    for _ in range(batches):
        gathered, freed = {}, {}
        for k, unit in enumerate(units):
            gather(units[k : k + 2], gathered, MAIN)
            freed[unit] = compute(unit, 10.0, gathered[unit], MAIN)
        gathered = dict.fromkeys(kept, 0.0)
        for k, unit in reversed([*enumerate(units)]):
            begun = host.now
            gather(units[max(k - 1, 0) : k + 1][::-1], gathered, AUTOGRAD)
            reduce(unit, compute(unit, 20.0, gathered[unit], AUTOGRAD))
            host.events.append(backward("Backward0", begun, host.now - begun, k))
    host.launch(GPU, 5.0, max(host.clocks.values()))
    return [note(STEP, 0, host.now + 1), *host.events]


def read(events):
    return kineto.read([text(events)], TraceOptions("sharded"))


def sent(trace):
    return [op.id for op in trace.graph.ops if op.kind != COMPUTE]


UNITS = ["layers.0", "layers.1", "layers.2"]


def test_units_are_named_as_in_a_made_graph():
    trace = read(step(UNITS, kept=UNITS[-1:]))
    assert sorted(sent(trace)) == sorted(
        [f"gather:{unit}" for unit in UNITS]
        + [f"regather:{unit}" for unit in UNITS[:-1]]
        + [f"scatter:{unit}" for unit in UNITS]
    )
    known = {op.id: place for place, op in enumerate(trace.graph.ops)}
    assert known["gather:layers.2"] < known["regather:layers.1"] < known["scatter:layers.1"]
    assert trace.report.recorded_us == pytest.approx(trace.report.measured_us, rel=0.03)
    assert any("3 units of FSDP2 are named" in line for line in trace.report.assumed)
    assert not any("parameters" in line for line in trace.report.assumed)


def test_shards_are_summed_behind_their_reduce_scatter():
    trace = read(step(UNITS, kept=UNITS[-1:], sums=True))
    known = {op.id: op for op in trace.graph.ops}
    for unit in UNITS:
        assert f"scatter:{unit}" in known[f"grad:{unit}"].after


@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize(
    "units", [UNITS, ["", *UNITS], ["layers.0", "norm, head"]], ids=["plain", "root", "joint"]
)
def test_what_was_recorded_can_be_applied(units, sums):
    kept = {units[-1], ""} & {*units}
    graph = read(step(units, kept=kept, sums=sums)).graph
    plan = planned(graph, simulate(graph, NETWORK, POLICIES["wfbp"]).launches)
    found = EXPORTS["fsdp"](graph, NETWORK, plan)
    forms = json.loads(found.files["units.json"])["units"]
    assert [", ".join(form["modules"]) for form in forms] == units
    assert [form["reshard_after_forward"] for form in forms] == [u not in kept for u in units]
    assert found.iteration_time_us > 30 * len(units)
    assert any("two dimensions" in each for each in found.notes) == sums


@pytest.mark.parametrize("kept", [(), ("layers.7",)])
def test_a_plan_of_a_recorded_step_promises_what_its_export_takes(kept):
    graph = read(step([f"layers.{k}" for k in range(8)], kept=kept)).graph
    found = plan(graph, NETWORK, Options(baselines=()))
    [promised] = headline(graph, NETWORK, Options(baselines=()), found).gains
    exported = EXPORTS["fsdp"](graph, NETWORK, planned(graph, found.launches))
    assert promised.plan_us == exported.iteration_time_us
    assert promised.lower_bound_us <= promised.plan_us
    faster = [note for note in exported.notes if "faster than the plan" in note]
    assert bool(faster) == (exported.iteration_time_us < exported.plan_time_us)


def test_gathers_wait_for_the_host_as_they_were_recorded():
    graph = read(step(UNITS, kept=UNITS[-1:])).graph
    first = next(op for op in graph.ops if op.id == "gather:layers.0")
    assert first.after == ("forward 1 host",)
    found = graph_of_form(graph, Form(units_of(graph), 1, 1))
    assert "forward 1 host" in next(op for op in found.ops if op.id == "gather:layers.0").after


@pytest.mark.parametrize(
    ("how", "said"),
    [
        # two batches before the optimizer's step gather each unit four times
        ({"batches": 2}, "layers.0 has 4 all_gather, 2 reduce_scatter, 0 all_reduce in the step, "),
        # FSDP1 writes no such annotations
        ({"annotated": False}, None),
    ],
)
def test_other_steps_keep_their_numbers_and_are_refused(how, said):
    trace = read(step(UNITS, **how))
    assert {name.split()[0] for name in sent(trace)} == {"all_gather", "reduce_scatter"}
    lines = [line for line in trace.report.assumed if "keep their numbers" in line]
    assert [said in line for line in lines] == ([] if said is None else [True])
    plan = planned(trace.graph, simulate(trace.graph, NETWORK, POLICIES["wfbp"]).launches)
    with pytest.raises(InvalidPlan, match=r"FSDP2.*FSDP1") as refused:
        EXPORTS["fsdp"](trace.graph, NETWORK, plan)
    assert {fault.code for fault in refused.value.faults} == {FaultCode.NOT_SHARDED}


def test_annotations_of_other_things_and_of_no_work_change_no_name():
    """An annotation that waits for nothing, and one behind which nothing runs."""
    events = step(UNITS)
    last = max(
        (e for e in events if "copy_out" in e["name"]),
        key=lambda e: (e["ts"], e["tid"] == AUTOGRAD[1]),
    )
    last["ts"] = max(e["ts"] + e["dur"] for e in events) - 1
    trace = read([*events, note("FSDP::pre_forward (layers.0)", 1, 1, MAIN)])
    assert sorted(sent(trace)) == sorted(sent(read(step(UNITS))))
    without = [e for e in events if "copy_out" not in e["name"]]
    assert sorted(sent(read(without))) == sorted(sent(trace))
