"""What may run beside a collective: on paper, and never above a program listed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from solver.bounds.kinds import BESIDE, PATH
from solver.costs import Network
from solver.costs.functions.affine import Affine
from solver.evidence.bound import Bound
from solver.graph import Buffer, Op, build
from solver.programs.bounds import beside
from solver.programs.bounds.beside import beside_bound
from solver.programs.bounds.bound import lower_bound
from solver.programs.bounds.surely_live import surely_live
from solver.programs.bounds.work import resources_of
from solver.programs.plan import plan
from solver.programs.problem import ProgramLimits, ProgramProblem
from tests.programs.exact import by_hand
from tests.programs.small import small
from tests.sampling import cases

NONE = Bound(PATH, 0.0)


def alone(problem):
    return beside_bound(problem, resources_of(problem), NONE)


def layers(count, limit, inputs_held="wait"):
    """Make gathers of 5 us, each for a layer of 4 us; what is gathered takes 8 bytes."""
    ops, buffers = [], []
    for k in range(count):
        after = (f"g{k}", f"a{k - 1}") if k else ("g0",)
        ops += [
            Op(f"g{k}", "all_gather", bytes=4, cut=False),
            Op(f"a{k}", "compute", 4.0, None, after, stream="s"),
        ]
        buffers.append(Buffer(f"w{k}", 8, f"g{k}", (f"a{k}",)))
    network = Network(lambda _: Affine(0.0, 1.25), workers=(("network", 2),))
    limits = ProgramLimits(limit, bucket_bytes=4)
    return ProgramProblem(build("layers", ops, buffers, ["s"]), network, None, limits, inputs_held)


@pytest.mark.parametrize("inputs_held", ["wait", "launch"])
@pytest.mark.parametrize(("limit", "value"), [(None, 14.0), (16, 14.0), (15, 18.0)])
def test_a_limit_raises_it(limit, value, inputs_held):
    """Two layers: 5 + 5 + 4, or one after another where two gathered ones do not fit."""
    problem = layers(2, limit, inputs_held)
    assert lower_bound(problem).value_us == pytest.approx(value)
    assert plan(problem).iteration_time_us == pytest.approx(value)


def test_of_many_layers():
    """Too many for all programs to be tried: 20 gathers and 20 layers, nothing at once."""
    bound = lower_bound(layers(20, 15))
    assert (bound.kind, bound.value_us) == (BESIDE, 20 * 9.0)
    assert bound.tensors == tuple(f"g{k}" for k in range(20))
    assert lower_bound(layers(20, 16)).value_us < 20 * 9.0
    assert plan(layers(20, 15)).status == "optimal"


def test_kept_memory_is_held_beside_all_that_comes_later():
    """On paper: of 10 bytes 6 are kept from k on, so g of 5 does not fit beside a."""
    ops = [
        Op("k", "compute", 1.0, stream="s"),
        Op("g", "all_gather", bytes=4, after=("k",), cut=False),
        Op("a", "compute", 3.0, None, ("k",), stream="s"),
    ]
    buffers = [Buffer("kept", 6, "k", (), kept=True), Buffer("y", 2, "g"), Buffer("z", 3, "a")]
    network = Network(lambda _: Affine(1.0, 1.0), workers=(("network", 2),))
    graph = build("paper", ops, buffers, ["s"])
    for limit, value in ((11, 6.0), (10, 9.0)):
        problem = ProgramProblem(graph, network, None, ProgramLimits(limit))
        assert lower_bound(problem).value_us == value
        assert plan(problem).iteration_time_us == value


def tight():
    """List problems of which each has the least memory that a program needs, and its time."""
    for seed in range(cases(200, 24)):
        problem = small(seed, 5, 2, inputs_held=("wait", "launch")[seed % 2])
        most = problem.limits.memory_bytes
        for less in (most * 3 // 4, most):
            limited = replace(problem, limits=replace(problem.limits, memory_bytes=less))
            value = by_hand(limited)
            if value is not None:
                yield limited, value
                break


def test_it_is_never_above_a_program():
    raised = 0
    for problem, value in tight():
        bound = alone(problem).value_us
        assert bound <= value * (1 + 1e-9)
        free = replace(problem, limits=replace(problem.limits, memory_bytes=None))
        assert alone(free).value_us <= bound
        raised += bound > alone(free).value_us
    assert raised


def test_a_value_too_large_is_caught(monkeypatch):
    """More is held than surely is: the inputs all the time, and the best of all is exceeded."""

    def more(problem, after):
        live = surely_live(problem, after)
        live[:, [b for b, each in enumerate(problem.graph.buffers) if each.read_by]] = True
        return live

    monkeypatch.setattr("solver.programs.bounds.beside.surely_live", more)
    assert any(alone(problem).value_us > value * (1 + 1e-9) for problem, value in tight())


def test_large_graphs_are_left_alone(monkeypatch):
    problem = layers(3, 15)
    assert alone(problem) != NONE
    monkeypatch.setattr(beside, "_PAIRS", len(problem.graph.ops) * 3 - 1)
    assert alone(problem) == NONE


def test_a_set_grows_where_that_pays():
    """By hand: two of 5 us beside ops of 1 and 2 each gain 4 and 3, together 7."""
    (channel,) = (each for each in resources_of(layers(2, None)) if each.parts[0].least)
    may = np.array([[True, False, False], [False, True, False]])
    found = beside._values(channel, np.array([1.0, 2.0, 9.0]), may)
    assert max(value for value, _ in found) == 12.0 + 10.0 - 3.0
