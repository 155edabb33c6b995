"""A sweep, run."""

from functools import partial

from app.jobs.tasks.report import TaskFollower
from app.jobs.tasks.work import Done, Inputs
from app.reading.requests import problem_of, read_body
from app.schemas.sweeps import SweepRequest
from app.services.sweeps import run as sweeps


def run(inputs: Inputs, report: TaskFollower) -> Done:
    """Sweep."""
    problem = problem_of(read_body(inputs.body, SweepRequest, inputs.library))
    report.describe(problem.graph.name, problem.request.asked_s)
    tell = partial(report.progress, "cells")
    answer = sweeps.run(problem, tell, inputs.each, report.draft, inputs.kept)
    is_whole = sum(cell.lost is None for cell in answer.cells) == answer.cells_asked
    summary = {"cells": len(answer.cells)}
    return Done(answer.model_dump_json(), summary, is_repeated=is_whole)
