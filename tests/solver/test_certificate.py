"""Certificates: what proves a bound, checked by a package that knows nothing of the solver."""

import json

import numpy as np
import pytest

from interlace_check import NotCovered, Refuted
from interlace_check.__main__ import main
from interlace_check.nested import is_beaten
from solver.costs import Cluster
from solver.graph import ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from solver.planning import certificate
from solver.planning.options import Options
from tests import oracles
from tests.dag_graphs import case
from tests.false_claims import checked, false_claims, files_of, is_refuted
from tests.sampling import cases
from tests.solver.test_joint import drawn

#: A byte takes 1 us each way.
SLOW = Cluster(2, bandwidth_gbps=0.008, startup_us=4, channels=(("nvlink", Cluster(2, 0.016)),))
TWO = [
    Op("b2", COMPUTE, 500.0),
    Op("b1", COMPUTE, 300.0, None, ("b2",)),
    Op("g2", ALL_REDUCE, None, 1000, ("b2",)),
    Op("g1", ALL_REDUCE, None, 100, ("b1",)),
    Op("f1", COMPUTE, 200.0, None, ("b1", "g1")),
    Op("f2", COMPUTE, 200.0, None, ("f1", "g2")),
]
TABLE = ((1, 50.0), (1000, 60.0), (100_000, 400.0), (1_000_000, 2000.0))


@pytest.mark.parametrize(
    ("model", "cluster", "options"),
    [
        ("vgg16", Cluster(8, bandwidth_gbps=10, startup_us=50), Options()),
        ("vgg16", Cluster(64, bandwidth_gbps=10, startup_us=500), Options(launch_tolerance=0)),
        ("vgg16", Cluster(8, bandwidth_gbps=25), Options(barrier=True)),
        ("vgg16", Cluster(1), Options()),
        ("vgg16", Cluster(6, bandwidth_gbps=1e5, reduction_gbps=800, hop_us=2), Options()),
        ("vgg16", Cluster(12, 10, 50, algorithm="double_binary_tree"), Options()),
        ("vgg16", Cluster(16, 10, 50, algorithm="recursive_doubling"), Options()),
        ("vgg16", Cluster(16, 10, 50, algorithm="in_network"), Options()),
        ("vgg16", Cluster(8, startup_us=9, algorithm="table", table=TABLE), Options()),
    ],
)
def test_what_is_planned_is_proven(model, cluster, options):
    found, files = files_of(MODELS[model](), cluster, options)
    assert "no_portable_certificate" not in files[2]
    assert checked(files).startswith("yes")
    for name, claim in false_claims(files, 1, 12):
        assert is_refuted(claim), name
    assert found.status != "feasible" or found.gap > 0


def test_general_graphs():
    """All that have a portable certificate are proven; windows have none."""
    kinds = set()
    for seed in range(cases(40)):
        graph = case(seed, 3, 8).graph
        channels = tuple((op.channel, SLOW) for op in graph.ops if op.channel != "network")
        cluster = Cluster(
            2, bandwidth_gbps=0.008, startup_us=4, channels=tuple(dict(channels).items())
        )
        found, files = files_of(graph, cluster)
        kinds.add(found.bound.kind)
        if found.bound.kind == "windows":
            assert files[2]["no_portable_certificate"]
            with pytest.raises(NotCovered, match="no portable certificate"):
                checked(files)
            continue
        assert checked(files).startswith("yes")
        for name, claim in false_claims(files, seed, 12):
            assert is_refuted(claim), name
    assert {"path", "packing"} <= kinds


def test_by_hand():
    # 1000 bytes from 500 on, 100 from 800 on, which 200 + 200 us follow; 4 us a launch. All in
    # one: 800 + 4 + 1100 + 400 = 2304. g2 in two launches, around g1: all work is 1100, three
    # launches 12, from 500 on, and 200 us of f2 follow: 1812.
    found, files = files_of(build("two", TWO), SLOW, Options(launch_tolerance=0))
    assert found.iteration_time_us == pytest.approx(1812)
    assert "no plan less than 1812.000 us" in checked(files)
    (line,) = files[2]["lines"]
    assert (line["bound"], line["of"]) == ("nested", [["g2"], ["g1"]])
    line["us"] = 1812.01
    with pytest.raises(Refuted, match="line 1 of the certificate: the plan itself takes 1812"):
        checked(files)


@pytest.mark.parametrize("is_layered", [True, False])
def test_nothing_that_a_plan_reaches_is_ruled_out(is_layered):
    """Against every plan of a few tensors: a goal above the best one is never called out of reach.

    A goal at the best one is ruled out where no two buckets in two parts share an account.
    """
    generator = np.random.default_rng(7)
    ruled_out = 0
    for _ in range(cases(150)):
        chain, cost = drawn(generator, 5, layered=is_layered)
        best = oracles.best_plan(chain, cost, np.inf)
        ((a, c),) = cost.minorants(1)
        unit = 1e3
        work = [round(c * size * unit) for size in chain.bytes.tolist()]
        times = ([round(t * unit) for t in some.tolist()] for some in (chain.release, chain.tail))
        alone = [False] * len(work)
        r, q = times
        slack = len(work) + 5
        assert is_beaten(r, q, work, alone, round(a * unit), round(best * unit) + slack)
        ruled_out += not is_beaten(r, q, work, alone, round(a * unit), round(best * unit) - slack)
    assert ruled_out > (cases(150) / 2 if is_layered else 0)


def test_what_is_not_portable(monkeypatch):
    _, files = files_of(build("two", TWO), Cluster(2, 0.008, compute_slowdown=1.5))
    assert "slow down" in files[2]["no_portable_certificate"]
    monkeypatch.setattr(certificate, "MOST_CHARACTERS", 10)
    _, files = files_of(build("two", TWO), SLOW)
    assert "10 at most" in files[2]["no_portable_certificate"]


def test_the_command(tmp_path, capsys):
    _, files = files_of(build("two", TWO), SLOW)
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    for path, text in zip(paths, files, strict=True):
        path.write_text(json.dumps(text))
    assert main(list(map(str, paths))) == 0
    assert "yes" in capsys.readouterr().out
    files[1]["iteration_time_us"] /= 2
    paths[1].write_text(json.dumps(files[1]))
    assert main(list(map(str, paths))) == 1
    assert "no: /iteration_time_us" in capsys.readouterr().out
    paths[0].write_text("{}")
    assert main(list(map(str, paths))) == 2
    assert main([]) == 2


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        (lambda text: "[" * 100_000 + "]" * 100_000, 2, "RecursionError"),
        (lambda text: f'{{"lower_bound_us": 9, {text[1:]}', 2, "twice"),
        (lambda text: text.replace('"gap": 0', '"gap": 0.25', 1), 1, "/gap"),
        (lambda text: text.replace('"gap": 0', '"gap": 1e999999999', 1), 2, "no number"),
        (lambda text: text.replace('"gap": 0', '"gap": NaN', 1), 2, "NaN"),
        (lambda text: text[:-9], 2, "JSONDecodeError"),
    ],
)
def test_a_plan_of_another_form_is_not_checked_or_refused(tmp_path, capsys, changed, code, said):
    _, files = files_of(build("two", TWO), SLOW)
    files[1]["gap"] = 0
    paths = [tmp_path / f"{i}.json" for i in range(3)]
    for path, text in zip(paths, files, strict=True):
        path.write_text(json.dumps(text))
    assert main(list(map(str, paths))) == 0
    paths[1].write_text(changed(paths[1].read_text()))
    capsys.readouterr()
    assert main(list(map(str, paths))) == code
    told = capsys.readouterr()
    assert said in told.out + told.err
