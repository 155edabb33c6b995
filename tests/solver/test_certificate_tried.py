"""Certificates of what was tried: the checker tries every beginning of launches itself."""

import json
from fractions import Fraction

import numpy as np
import pytest

import interlace_check.beginnings as module
from interlace_check import NotCovered, Refuted
from interlace_check.__main__ import main
from interlace_check.beginnings import Collectives, EveryBeginning
from interlace_check.costs import Table
from interlace_check.graph import Work
from interlace_check.tried import may_end
from solver.chain import chain_of
from solver.costs import Affine
from solver.graph import COMPUTE
from solver.planning import certificate
from solver.planning.options import Options
from solver.planning.plan import plan
from tests import dag_graphs, dag_oracles, oracles
from tests.false_claims import checked, false_claims, files_of, is_refuted
from tests.families import cluster
from tests.families import drawn as drawn_family
from tests.sampling import cases
from tests.solver.test_core_bound import drawn

EXACT = Options(baselines=(), launch_tolerance=0)


def work_of(case):
    """Write a case as the checker reads a request."""
    ops = case.graph.ops
    after = dag_oracles.after_of(case.graph)
    sent = {op.id: op for op in ops if op.kind != COMPUTE}
    lanes = {name: (op.channel, op.kind) for name, op in sent.items()}
    of_lane = {(lane.channel, lane.kind): cost for lane, cost in case.costs.items()}
    tables = {
        lane: Table([(0, Fraction(cost.startup))], Fraction(cost.per_byte))
        for lane, cost in of_lane.items()
    }
    return Work(
        {op.id: [ops[i].id for i in after[k]] for k, op in enumerate(ops)},
        {op.id: Fraction(op.duration_us) for op in ops if op.kind == COMPUTE},
        {name: op.bytes for name, op in sent.items()},
        set(),
        lanes,
        {name: tables[lane] for name, lane in lanes.items()},
        {},
    )


def may_take(case, time):
    """Tell whether the checker leaves it open that a plan takes less."""
    work = work_of(case)
    return may_end(work, list(work.bytes), Fraction(time))


def wrong_of_graphs(count, least=3, most=8):
    """Seeds of graphs of which the time of their plan is ruled out; how many times below were.

    The time is that of an executor that shares no code with the solver or the checker.
    """
    ruled_out, proven = [], 0
    for seed in range(count):
        case = dag_graphs.case(seed, least, most)
        best = plan(case.graph, case.network, EXACT)
        positions = chain_of(case.graph).positions.tolist()
        sent = [(tuple(positions[i] for i in each.bucket), each.bytes) for each in best.launches]
        time = Fraction(dag_oracles.time_of(case, sent))
        if not may_take(case, time + Fraction(1, 10**9)):
            ruled_out.append(seed)
        proven += not may_take(case, time)
    return ruled_out, proven


def wrong_of_chains(count):
    """Seeds of chains of which a time is ruled out that a plan takes."""
    ruled_out = []
    for seed in range(count):
        chain, cost = drawn(seed)
        if isinstance(cost, Affine):
            best = oracles.best_plan(chain, cost, np.inf)
            figures = (chain.release, chain.tail)
            release, tail = ([round(1e3 * t) for t in some.tolist()] for some in figures)
            work = [round(1e3 * cost.per_byte * size) for size in chain.bytes.tolist()]
            one = [0] * len(work)
            nothing: list[dict[int, int]] = [{} for _ in work]
            startup = [round(1e3 * cost.startup)] * len(work)
            these = Collectives(release, tail, startup, work, one, one, nothing, nothing)
            if not EveryBeginning(these, round(1e3 * best) + 1).some_end():
                ruled_out.append(seed)
    return ruled_out


def test_no_time_is_ruled_out_that_a_plan_takes():
    assert not wrong_of_chains(cases(500))


def test_no_time_is_ruled_out_that_a_plan_of_any_graph_takes():
    ruled_out, proven = wrong_of_graphs(cases(300))
    assert not ruled_out
    assert proven > 0.9 * cases(300)


def test_no_time_is_ruled_out_that_some_plan_of_a_few_collectives_takes():
    """Over all buckets and orders, with one cut of each bucket."""
    for seed in range(cases(100)):
        case = dag_graphs.case(seed, 2, 3)
        best = dag_oracles.brute_force(case, cut=len(case.graph.collectives) < 3)
        assert may_take(case, Fraction(best) + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("rule", "instead"),
    [
        ("_is_late", lambda self, state: any(state.free)),
        ("_figures", lambda self, state: []),
        ("_end", lambda self, state, c, some: sum(self.these.work) + state.free[c]),
        ("_ended", lambda self, state, c: iter(())),
        ("_waits", lambda self, state, c, start: state._replace(free=(start,) * len(state.free))),
    ],
)
def test_a_rule_that_leaves_out_too_much_is_noticed(rule, instead, monkeypatch):
    monkeypatch.setattr(EveryBeginning, rule, instead)
    assert wrong_of_chains(40)


def test_by_hand():
    # 100 and 1 us of work, 10 a launch: the long one is begun at 0, the urgent one, released at 60,
    # goes from 60 to 71; the rest of the long one, less 50 us of credit, takes 60: 131, and 40
    # follow.
    release, tail, work = [0, 60], [40, 60], [100, 1]
    alone = Collectives(release, tail, [10, 10], work, [0, 0], [0, 0], [{}, {}], [{}, {}])
    assert not EveryBeginning(alone, 171).some_end()
    assert EveryBeginning(alone, 172).some_end()


def small_files():
    """A general graph whose plan is proven by nothing else, and what a stranger gets of it."""
    case = dag_graphs.case(65, 3, 8)
    return files_of(case.graph, case.cluster, EXACT)


def test_a_plan_proven_by_what_was_tried_has_a_certificate():
    best, files = small_files()
    assert (best.status, best.bound.kind) == ("optimal", "tried")
    (line,) = files[2]["lines"]
    assert line["bound"] == "tried"
    assert checked(files).startswith("yes")


def test_a_bound_of_another_kind_has_one_where_beginnings_are_few():
    case = dag_graphs.case(36, 3, 8)
    best, files = files_of(case.graph, case.cluster, EXACT)
    assert (best.bound.kind, files[2]["lines"][-1]["bound"]) == ("windows", "tried")
    assert checked(files).startswith("yes")


def test_false_claims_are_refused():
    """Of all kinds, and of graphs of 16 to 18 collectives: a thousand in all."""
    drawn_cases = [dag_graphs.case(seed, 3, 8) for seed in range(cases(60))]
    problems = [(case.graph, case.cluster) for case in drawn_cases]
    problems += [(drawn_family(name, 16), cluster(500, 100)) for name in ("moe-2", "pipeline")]
    bounds = set()
    for seed, (graph, network) in enumerate(problems):
        _, files = files_of(graph, network, EXACT)
        if "lines" in files[2]:
            bounds.add(files[2]["lines"][-1]["bound"])
            for name, claim in false_claims(files, seed, 17):
                assert is_refuted(claim), (seed, name)
    assert bounds >= {"path", "chain", "tried"}


def test_many_beginnings_are_not_checked(tmp_path, capsys, monkeypatch):
    _, files = small_files()
    monkeypatch.setattr(module, "MOST_LOOKS", 5)
    with pytest.raises(NotCovered, match="too many beginnings: 5 were looked at"):
        checked(files)
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    for path, text in zip(paths, files, strict=True):
        path.write_text(json.dumps(text))
    assert main(list(map(str, paths))) == 2
    assert "not checked" in capsys.readouterr().err


def test_a_certificate_is_written_only_where_beginnings_are_few(monkeypatch):
    monkeypatch.setattr(certificate, "MOST_LOOKS", 5)
    _, files = small_files()
    assert files[2]["no_portable_certificate"].startswith("more than 5 beginnings")


def test_what_is_tried_are_some_of_the_graph_at_straight_costs():
    case = dag_graphs.case(65, 3, 8)
    work = work_of(case)
    first = next(iter(work.bytes))
    for names in ([first, first], ["nobody"]):
        with pytest.raises(Refuted, match="one is there twice"):
            may_end(work, names, Fraction(1))
    bent = Table([(0, Fraction(1)), (9, Fraction(2))], Fraction(1))
    with pytest.raises(Refuted, match="no straight line"):
        may_end(work._replace(costs=dict.fromkeys(work.bytes, bent)), [first], Fraction(1))
