"""Who comes late, in the answer of an import, in the command's words, and in a posted graph."""

import json

from app.cli.rendering.reports import render
from app.reading.traces import read_files, report_of
from app.schemas.graphs import GraphBody
from app.schemas.problem import graph_json, graph_text
from app.services.graphs import graph_out
from solver.traces import TraceOptions
from tests.slow_rank_files import flight_dumps, kineto_files
from tests.slow_ranks import KINDS, made


def imported(files):
    options = TraceOptions("x")
    return graph_out(read_files(files, None, options), options)


def of_case(write):
    case = made(0, KINDS[0], steps=6)
    members = {"network 0": tuple(sorted({row[0] for row in case.rows}))}
    return case.truth, imported(write(case.rows, members))


def test_an_import_tells_who_is_slow():
    truth, answer = of_case(kineto_files)
    told = json.loads(answer.model_dump_json())
    cause = told["report"]["arrivals"]["causes"][0]
    assert (cause["kind"], cause["rank"]) == truth[:2]
    assert report_of(told["report"]) == answer.report
    lines = [line for line in render(answer.report).splitlines() if line.startswith("  ranks: ")]
    assert lines[0].startswith(f"  ranks: Rank {truth[1]} computes slower than the others")
    assert told["graph"]["recorded"]["late_rank"] == truth[1]


def test_a_posted_graph_keeps_what_was_lost():
    _, answer = of_case(kineto_files)
    body = GraphBody.model_validate(answer.graph)
    recorded = body.recorded_of()
    assert recorded.late_us == answer.report.arrivals.lost_us
    read = read_files([json.dumps(answer.graph).encode()], None, TraceOptions("x")).graph
    assert read.recorded == recorded
    assert json.loads(graph_text(read)) == graph_json(read)


def test_dumps_are_no_graph():
    truth, answer = of_case(flight_dumps)
    assert (answer.id, answer.graph) == (None, None)
    assert answer.report.arrivals.causes[0].rank == truth[1]
