"""What a watchdog cut is said, and that it took long for want of a compiler; nothing else is."""

import pytest

from app.cli.rendering import explanations
from app.services import warnings
from solver.bounds.status import OPTIMAL
from solver.planning.options import Options
from solver.planning.plan import plan
from tests.dag_graphs import case

CUT = "its limit of 60 s of CPU time"
SHORT, PLAIN = "search_cut_short", "search_not_compiled"


@pytest.mark.parametrize(
    ("compiled", "cuts", "found"),
    [
        (False, {"this plan": None}, []),
        (True, {"this plan": None}, []),
        (True, {"this plan": CUT}, [SHORT]),
        (False, {"this plan": CUT}, [SHORT, PLAIN]),
        (True, {"this plan": CUT, "another": None, "a third": CUT}, [SHORT, SHORT]),
    ],
)
def test_a_search_that_was_cut_short_is_said(monkeypatch, compiled, cuts, found):
    monkeypatch.setattr(warnings, "IS_COMPILED", compiled)
    said = warnings.search_of(cuts)
    assert [warning.code for warning in said] == found
    if found:
        assert said[0].pointer == "/options/time_limit_s"
        assert said[0].detail.startswith(f"The search for this plan was cut short by {CUT}: ")


def test_a_plan_knows_that_its_search_was_cut_short():
    drawn = case(3, 30, 40)
    late = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=1e-9))
    whole = plan(drawn.graph, drawn.network, Options(baselines=(), time_limit_s=1000.0))
    assert (late.cut is None) == (late.status == OPTIMAL)
    assert whole.cut is None
    assert whole.iteration_time_us < late.iteration_time_us


def test_what_was_cut_short_stands_first_in_the_commands_answer():
    said = warnings.search_of({"this plan": CUT})
    first = next(iter(explanations.cuts([*warnings.units_of(case(0).graph), *said])))
    assert first == said[0].detail
    assert not list(explanations.cuts([]))
