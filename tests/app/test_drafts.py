"""Answers of a plan in the making: whole, and simulated as what they say."""

import json

import pytest

from app.reading.requests import problem_of, read_parsed
from app.schemas.explanations import UNEXPLAINED, ExplainedAnswer
from app.schemas.plans import PlanAnswer, PlanRequest
from app.schemas.simulations import SimulationRequest
from app.services import simulations
from app.services.drafts import Following
from app.services.examples import CLUSTER, TWO_LAYERS, example
from app.services.plans import solve
from solver.units import slack

#: Two channels, and a collective that comes after another.
BEHIND = {
    "graph": {
        "name": "behind",
        "ops": [
            {"id": "gather", "kind": "all_gather", "bytes": 9_000_000, "channel": "nvlink"},
            {"id": "f", "kind": "compute", "duration_us": 900, "after": ["gather"]},
            {"id": "other", "kind": "all_gather", "bytes": 9_000_000, "channel": "nvlink"},
            {"id": "b", "kind": "compute", "duration_us": 900, "after": ["f", "other"]},
            {"id": "sum", "kind": "all_reduce", "bytes": 1_000_000, "after": ["b"]},
            {"id": "rest", "kind": "all_reduce", "bytes": 500_000, "after": ["f"]},
        ],
    },
    "cluster": CLUSTER | {"channels": {"nvlink": {"workers": 8, "bandwidth_gbps": 100}}},
}
BARRIER = {"barrier": True, "baselines": ["ddp", {"policy": "horovod", "barrier": True}]}
CHANGED = TWO_LAYERS | {"what_if": [{"match": "g2", "bytes_factor": 0.5}]}


class Notes:
    """Writes down all that it is told; makes each text at once."""

    def __init__(self):
        self.reports = []
        self.texts = []
        self.makers = []

    def progress(self, phase, completed, total, incumbent_us, lower_bound_us):
        self.reports.append((phase, completed, total, incumbent_us, lower_bound_us))

    def draft(self, text_of):
        self.texts.append(text_of())
        self.makers.append(text_of)


def of(request):
    return problem_of(read_parsed(request, PlanRequest))


def simulated(request, text):
    """Simulate a draft's own buckets and parts."""
    body = {
        "graph": request["graph"],
        "cluster": request["cluster"],
        "barrier": request.get("options", {}).get("barrier", False),
        "plan": json.loads(text),
    }
    return simulations.run(problem_of(read_parsed(body, SimulationRequest)))


@pytest.mark.parametrize(
    "request_body",
    [
        TWO_LAYERS,
        CHANGED,
        TWO_LAYERS | {"options": BARRIER},
        TWO_LAYERS | {"options": {"fusion": "maxmin", "schedule": "lp"}},
        BEHIND,
        BEHIND | {"options": {"fusion": "none", "baselines": ["tictac"]}},
        json.loads(example("vgg16").model_dump_json()),
    ],
)
def test_drafts_are_whole_answers_and_true(request_body):
    notes = Notes()
    answer = solve(of(request_body), notes)
    assert notes.texts
    late = [text_of() for text_of in notes.makers]  # by now the bound is known
    for text in (*notes.texts, *late):
        draft = PlanAnswer.model_validate_json(text)
        assert simulated(request_body, text).iteration_time_us == draft.iteration_time_us
        assert draft.lower_bound_us <= answer.iteration_time_us + slack(answer.iteration_time_us)
        assert (draft.status == "optimal") == (draft.gap == 0)
        assert draft.request == answer.request
        assert (
            draft.model_dump(include=set(ExplainedAnswer.model_fields)) == UNEXPLAINED.model_dump()
        )
        assert (draft.brief, draft.headline, draft.what_if, draft.osf) == (None,) * 4
    for text in late:
        bound = PlanAnswer.model_validate_json(text).lower_bound_us
        assert bound == pytest.approx(answer.lower_bound_us)
    rest = {
        "brief",
        "headline",
        "off_calibration",
        "runtime_s",
        "what_if",
        "osf",
        *ExplainedAnswer.model_fields,
    }
    last = PlanAnswer.model_validate_json(late[-1])
    assert last.model_dump(exclude=rest) == answer.model_dump(exclude=rest)


@pytest.mark.parametrize("request_body", [CHANGED, BEHIND])
def test_who_follows_changes_nothing(request_body):
    answers = [solve(of(request_body), watch) for watch in (Notes(), None)]
    mine, theirs = (answer.model_dump(exclude={"runtime_s"}) for answer in answers)
    assert mine == theirs


def test_progress_goes_on_from_phase_to_phase():
    notes = Notes()
    answer = solve(of(CHANGED), notes)
    phases = [phase for phase, *_ in notes.reports]
    assert list(dict.fromkeys(phases)) == [
        "policies",
        "bound",
        "search",
        "slots",
        "what_if",
        "explanation",
    ]
    assert phases == sorted(phases, key=list(dict.fromkeys(phases)).index)
    assert notes.reports[0] == ("policies", None, None, None, answer.compute_time_us)
    assert ("policies", 2, 2) in [report[:3] for report in notes.reports]
    incumbents = [report[3] for report in notes.reports if report[3] is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    last = ("explanation", None, None, answer.iteration_time_us, answer.lower_bound_us)
    assert notes.reports[-1] == last


class Reports(Notes):
    """Wants no draft."""

    def draft(self, text_of):
        pass


def test_a_bound_is_never_above_what_is_in_hand():
    reports = Reports()
    following = Following(of(TWO_LAYERS), 0.0, reports)
    following.bound(100.0)
    following.incumbent(99.9999, lambda: None)  # equal but for rounding
    assert reports.reports[-1][3:] == (99.9999, 99.9999)
