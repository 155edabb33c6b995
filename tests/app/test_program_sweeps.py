"""Sweeps of programs: clusters, limits of memory, and axes that no launch follows."""

import copy
import csv
import io
import itertools
import json
from pathlib import Path

import pytest

from app.errors import InvalidRequest
from app.reading.compiled_graphs import compiled_request
from app.reading.requests import problem_of, read_parsed
from app.schemas.plans import PlanRequest
from app.schemas.sweeps import SweepAnswer, SweepRequest
from app.services.plans import solve
from app.services.sweeps.run import run as swept
from app.services.sweeps.views import table
from solver.programs.policies import POLICIES
from tests.app.command import Run
from tests.app.compiled import COMPILED
from tests.app.service import Json, Service, faults, two_layers

PATH = "/v1/sweeps"

RULES = list(POLICIES)


def body(**fields: object) -> Json:
    return copy.deepcopy(compiled_request(COMPILED)) | fields


def gathers(**fields: object) -> Json:
    """Three layers whose weights are gathered on the network before they are used."""
    ops: list[Json] = []
    buffers: list[Json] = []
    for i in range(3):
        after = [f"c{i - 1}"] if i else []
        ops.append({"id": f"w{i}", "kind": "all_gather", "bytes": 4000, "cut": False, "after": []})
        c = {"id": f"c{i}", "kind": "compute", "duration_us": 10, "stream": "gpu"}
        ops.append(c | {"after": [f"w{i}", *after]})
        buffers.append({"id": f"b{i}", "bytes": 4000, "written_by": f"w{i}", "read_by": [f"c{i}"]})
    graph = {"name": "three", "ops": ops, "buffers": buffers}
    graph["streams"] = [{"name": "gpu", "order": "free"}]
    cluster = {"workers": 2, "bandwidth_gbps": 10, "startup_us": 5}
    return {"graph": graph, "cluster": cluster, "time_limit_s": 60} | fields


def ran(asked: Json) -> SweepAnswer:
    return swept(problem_of(read_parsed(asked, SweepRequest)))


def refused(asked: Json) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as error:
        ran(asked)
    return {fault.pointer: fault.detail for fault in error.value.faults}


def test_cells_are_what_plans_say() -> None:
    axes = {"workers": [2], "bandwidths_gbps": [40, 1], "memory_limits_bytes": [12000, 8000]}
    answer = ran(gathers(**axes))
    assert [p.label for p in answer.policies] == [*RULES, "plan"]
    at = [(c.workers, c.bandwidth_gbps, c.memory_limit_bytes) for c in answer.cells]
    assert at == [(2, b, m) for b in (1, 40) for m in (8000, 12000)]
    assert answer.axes.memory_limits_bytes == [8000, 12000]
    for cell in answer.cells:
        cluster = {
            "workers": cell.workers,
            "bandwidth_gbps": cell.bandwidth_gbps,
            "startup_us": cell.startup_us,
        }
        asked = gathers(cluster=cluster)
        del asked["time_limit_s"]
        limit = {"memory_limit_bytes": cell.memory_limit_bytes, "time_limit_s": 60}
        plan = solve(problem_of(read_parsed(asked | {"options": limit}, PlanRequest)))
        assert cell.iteration_time_us["plan"] <= plan.iteration_time_us
        assert cell.lower_bound_us == plan.lower_bound_us
        assert cell.compute_time_us == plan.compute_time_us
        assert cell.peak_bytes["plan"] <= cell.memory_limit_bytes
        assert cell.status in {"optimal", "feasible"}
        for baseline in plan.baselines:
            assert cell.iteration_time_us[baseline.policy] == baseline.iteration_time_us
            assert cell.peak_bytes[baseline.policy] == baseline.peak_bytes
    for less, more in zip(answer.cells[::2], answer.cells[1::2], strict=True):
        assert more.iteration_time_us["plan"] <= less.iteration_time_us["plan"]
    again = ran(gathers(**axes))
    text = answer.model_copy(update={"runtime_s": 0}).model_dump_json()
    assert again.model_copy(update={"runtime_s": 0}).model_dump_json() == text
    assert SweepAnswer.model_validate_json(text).model_dump_json() == text


def test_memory_that_is_too_little() -> None:
    """b and its gather need 1000 and 7 and 3 bytes; the rule in order takes them anyhow."""
    answer = ran(body(memory_limits_bytes=[500, 1010, 2000], time_limit_s=1))
    none, *some = answer.cells
    assert (none.status, none.best, none.iteration_time_us["plan"]) == ("infeasible", None, None)
    assert none.iteration_time_us["in_order"] == 28
    assert none.peak_bytes["in_order"] == 1010
    assert [cell.best for cell in some] != [None, None]
    assert "No program was found within the limit of memory in 1 of 3 cells." in answer.summary
    assert not any("does the work of" in each for each in answer.summary)
    assert {knee.along for knee in answer.knees} == {"memory_limit_bytes"}
    knees = {knee.policy: knee.value for knee in answer.knees}
    assert knees["plan"] == 1010
    rows = list(csv.DictReader(io.StringIO(table(answer))))
    assert next(row["status"] for row in rows if row["policy"] == "plan") == "infeasible"
    assert {row["memory_limit_bytes"] for row in rows} == {"500", "1010", "2000"}
    assert [row["peak_bytes"] for row in rows if row["policy"] == "in_order"] == ["1010"] * 3


def test_a_sweep_of_rules_alone_and_one_without_limits() -> None:
    answer = ran(gathers(policies=["xla_lhs", "in_order"], workers=[2, 4, 8]))
    assert [cell.status for cell in answer.cells] == [None] * 3
    assert answer.axes.memory_limits_bytes is None
    assert {knee.along for knee in answer.knees} == {"workers"}
    told = json.loads(answer.model_dump_json())
    assert "memory_limit_bytes" not in told["cells"][0]
    assert list(told["cells"][0]["peak_bytes"]) == ["xla_lhs", "in_order"]


@pytest.mark.parametrize(
    ("asked", "pointer", "words"),
    [
        # the channel of the compiled graph states its workers and its costs
        (body(workers=[2, 4]), "/workers", "channel 'pg' has workers of its own"),
        (body(bandwidths_gbps=[1, 2]), "/bandwidths_gbps", "channel 'pg' has costs of its own"),
        (body(startups_us=[1, 2]), "/startups_us", "channel 'pg' has costs of its own"),
        (gathers(policies=["ddp"]), "/policies/0", "ddp is not defined where programs are swept"),
        (gathers(policies=["plan", "plan"]), "/policies/1", "each is swept once"),
        (
            gathers(policies=[{"policy": "xla_lhs", "barrier": True}]),
            "/policies/0/barrier",
            "no barrier",
        ),
        (gathers(barrier=True), "/barrier", "no barrier"),
        (gathers(memory_limits_bytes=[5, 5]), "/memory_limits_bytes/1", "must be distinct"),
        (
            gathers(workers=[2, 3, 4, 5], time_limit_s=60)
            | {"memory_limits_bytes": [*range(1, 201)]},
            "/time_limit_s",
            "are planned",
        ),
    ],
)
def test_what_is_refused(asked: Json, pointer: str, words: str) -> None:
    assert words in refused(asked)[pointer]


def test_a_table_that_follows_no_number_of_workers() -> None:
    asked = gathers(workers=[2, 4])
    asked["cluster"] = {"workers": 2, "algorithm": "table"}
    asked["cluster"]["tables"] = {"all_gather": [[1000, 10], [9000, 20]]}
    asked["cluster"]["table"] = [[1000, 10], [9000, 20]]
    assert "the network has the costs of its table" in refused(asked)["/workers"]
    assert len(ran(asked | {"workers": [1, 2]}).cells) == 2


def test_limits_need_buffers_and_ask_for_programs() -> None:
    chain = two_layers()
    del chain["options"]
    assert (
        "needs a graph with buffers"
        in refused(chain | {"memory_limits_bytes": [7]})["/memory_limits_bytes"]
    )
    answer = ran(chain | {"policies": ["plan", "in_order"], "workers": [2, 4], "time_limit_s": 1})
    assert [cell.best for cell in answer.cells] == ["plan"] * 2
    told = json.loads(ran(chain | {"policies": ["wfbp"], "workers": [2]}).model_dump_json())
    assert {"peak_bytes", "status", "memory_limit_bytes"}.isdisjoint(told["cells"][0])
    assert "options" not in told["request"]
    assert "memory_limits_bytes" not in told["axes"]


def test_options_count() -> None:
    fused = gathers(policies=["inductor"], workers=[2], options={"copy_gbps": 0.1})
    slow, fast = ran(fused), ran(gathers(policies=["inductor"], workers=[2]))
    assert slow.request.options.copy_gbps == 0.1
    assert [w.code for w in slow.warnings] == []
    assert [w.code for w in fast.warnings] == ["copy_speed_assumed"]
    assert (
        slow.cells[0].iteration_time_us["inductor"] >= fast.cells[0].iteration_time_us["inductor"]
    )


def test_over_http(service: Service) -> None:
    answer = service.post(gathers(memory_limits_bytes=[8000, 12000]), PATH)
    assert answer.status_code == 201
    told = answer.json()
    at = f"{PATH}/{told['id']}"
    rows = list(csv.DictReader(io.StringIO(service.client.get(f"{at}/table.csv").text)))
    assert len(rows) == 2 * len([*POLICIES, "plan"])
    drawn = service.client.get(f"{at}/speed-by-memory.svg")
    assert drawn.headers["content-type"].startswith("image/svg")
    assert b"memory limit" in drawn.content
    one = service.client.get(f"{at}/speed-by-workers.svg?memory_limit_bytes=8000")
    assert one.status_code == 200
    wrong = service.client.get(f"{at}/speed-by-workers.svg?memory_limit_bytes=9")
    assert faults(wrong) == {("/query/memory_limit_bytes", "out_of_range")}
    plain = service.post(gathers(workers=[2, 4], policies=["in_order"]), PATH).json()
    gone = service.client.get(f"{PATH}/{plain['id']}/speed-by-memory.svg")
    assert gone.status_code == 404
    assert faults(service.post(body(workers=[2, 4]), PATH)) == {("/workers", "extra_field")}


def test_by_the_command(run: Run, tmp_path: Path) -> None:
    graph, cells = tmp_path / "small.json", tmp_path / "cells.csv"
    graph.write_text(json.dumps(COMPILED))
    each = (("--memory-limit-gib", limit) for limit in ("0.0000001", "1", "2"))
    limits = (*itertools.chain(*each), "--time-limit", "1")
    done = run("sweep", str(graph), *limits, "--csv", str(cells), "--svg", str(tmp_path / "d"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "limit" in done.stdout
    assert "none within the limit" in done.stdout
    assert "!" in done.stdout
    assert cells.read_text().splitlines()[0].endswith("memory_limit_bytes,peak_bytes,status")
    assert [each.name for each in (tmp_path / "d").iterdir()] == ["speed-by-memory.svg"]
    told = json.loads(run("sweep", str(graph), *limits, "--policy", "plan", "--json").stdout)
    assert told["axes"]["memory_limits_bytes"] == [107, 2**30, 2**31]
    asked = tmp_path / "asked.json"
    plan = body(options={"memory_limits_bytes": [2000, 3000], "copy_gbps": 9, "seed": 3})
    asked.write_text(json.dumps(plan))
    told = json.loads(run("sweep", str(asked), "--policy", "plan", "--json").stdout)
    assert told["axes"]["memory_limits_bytes"] == [2000, 3000]
    assert told["request"]["options"] == {"copy_gbps": 9}
    wrong = run("sweep", str(graph), "--workers", "2,4")
    assert (wrong.returncode, "--workers: Sweep: no launch" in wrong.stderr) == (2, True)
