"""Where the search is not compiled the answer says so, and only there."""

import pytest

from app.services import warnings
from solver.bounds.status import FEASIBLE, OPTIMAL
from solver.planning.plan import Options, plan
from tests.dag_graphs import case


@pytest.mark.parametrize(
    ("compiled", "fusion", "status", "cut", "found"),
    [
        (False, "joint", FEASIBLE, False, [("/options/fusion", "search_not_compiled")]),
        (False, "joint", OPTIMAL, True, []),
        (False, "none", FEASIBLE, True, []),
        (True, "joint", FEASIBLE, False, []),
        (True, "joint", FEASIBLE, True, [("/options/time_limit_s", "search_cut_short")]),
    ],
)
def test_a_shorter_search_is_said(monkeypatch, compiled, fusion, status, cut, found):
    monkeypatch.setattr(warnings, "IS_COMPILED", compiled)
    said = warnings.search_of(fusion, status, is_cut_short=cut)
    assert [(warning.pointer, warning.code) for warning in said] == found


def test_a_plan_knows_that_its_search_was_cut_short():
    drawn = case(3, 30, 40)
    late = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=1e-9))
    whole = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=1000.0))
    assert late.is_cut_short == (late.status != OPTIMAL)
    assert not whole.is_cut_short
    assert whole.iteration_time_us < late.iteration_time_us
