"""Rankings of shapes as they are asked for: in Python, and by the command."""

import json
import re
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

import pytest
from typer import BadParameter

import interlace
from app.calls.shapes import ranking, timeline
from app.cli.rendering.shapes import best_shape
from app.cli.shape_requests import rows_of
from app.errors import InvalidRequest
from app.routers.shapes import EXAMPLE
from app.schemas.shapes import ShapeAnswer, ShapeBody
from solver.shapes.efficiency import ASSUMED
from solver.shapes.hardware import ACCELERATORS, NetworkLevel, joined
from solver.shapes.job_shape import JobShape
from solver.shapes.published import PUBLISHED
from solver.shapes.step import simulate_step
from tests.app.command import Run
from tests.app.service import Service, posted

LEVELS: list[dict[str, Any]] = [
    {"name": "node", "gpus": 8, "bandwidth_gbps": 3600},
    {"name": "network", "gpus": 16, "bandwidth_gbps": 400},
]
JOB: dict[str, Any] = {
    "model": "llama3-8b",
    "gpu": "h100",
    "gpus": 16,
    "levels": LEVELS,
    "global_batch": 64,
    "micro_batch": [1, 2],
    "count": 3,
    "planned": 0,
}
#: One multiplication of each kind, at half of the GPU's rate.
KERNELS: dict[str, Any] = {
    "matmuls": [
        {"computes": computes, "tokens": 8192, "inputs": 4096, "outputs": 4096, "share": 0.5}
        for computes in ("outputs", "input_gradients", "weight_gradients")
    ]
}
SCORES = {"computes": "scores", "sequence": 4096, "heads": 8, "kv_heads": 8, "share": 0.5}
#: A model that every small count divides, and these.
MANY: dict[str, Any] = {
    "layers": 720,
    "hidden": 720720,
    "heads": 720720,
    "feed_forward": 720720,
    "vocabulary": 1000,
    "sequence": 720720,
}
WAYS = [n for n in range(1, 129) if 720720 % n == 0]
FLAGS = (
    *("--model", "llama3-8b", "--gpu", "h100", "--gpus", "16", "--node-gbps", "3600"),
    *("--network-gbps", "400", "--global-batch", "64", "--micro-batch", "1,2", "--count", "3"),
    *("--planned", "0"),
)


def test_the_best_in_python_is_what_is_simulated() -> None:
    answer = interlace.shape(JOB)
    assert answer.is_proven
    levels = tuple(NetworkLevel(**level) for level in LEVELS)
    cluster = joined(ACCELERATORS["h100"], 16, levels)
    times = [row.time_us for row in answer.best]
    assert len(times) == 3
    assert times == sorted(times)
    best = answer.best[0]
    step = simulate_step(PUBLISHED["llama3-8b"], cluster, best.shape, ASSUMED)
    assert best.time_us == step.time_us
    assert best.predicted_us is None
    assert any("No measured step" in note for note in answer.notes)


def test_the_command_answers_as_python_does(run: Run) -> None:
    done = run("shape", *FLAGS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = interlace.shape(JOB | {"levels": [LEVELS[0], LEVELS[1] | {"gpus": 1_048_576}]})
    assert ShapeAnswer.model_validate_json(done.stdout).model_dump() == found.model_dump()


def test_flags_that_are_missing_or_wrong_are_named_with_what_is_known(run: Run) -> None:
    missing = run("shape")
    said = [line.split(": ")[1] for line in missing.stderr.splitlines()]
    assert said == ["--model", "--gpu", "--gpus", "--node-gbps, --network-gbps", "--global-batch"]
    wrong = run("shape", *FLAGS, "--model", "7b", "--gpu", "rtx4090")
    model, gpu = wrong.stderr.splitlines()
    assert model.startswith("interlace: --model: ")
    assert all(name in model for name in PUBLISHED)
    assert gpu.startswith("interlace: --gpu: ")
    assert all(name in gpu for name in ACCELERATORS)
    alone = run("shape", *FLAGS[:8], "--global-batch", "64")
    assert alone.stderr.startswith("interlace: --node-gbps, --network-gbps: Level 'node', the last")
    assert [wrong.returncode, alone.returncode] == [2, 2]


def test_the_command_says_how_far_it_is(run: Run) -> None:
    done = run("shape", *FLAGS, "--progress")
    first, *_, last = done.stderr.splitlines()
    assert re.fullmatch(r"interlace: bounds: [\d,]+, best [\d,.]+ ms", first)
    line = r"interlace: simulation: [\d,]+ of [\d,]+, best [\d,.]+ ms, gap [\d.]+ %"
    assert re.fullmatch(line, last)


def test_the_schedules_that_may_be_faster_than_what_is_proven_are_named() -> None:
    node, network = LEVELS
    levels = [node | {"bandwidth_gbps": 2400}, network | {"bandwidth_gbps": 3.125}]
    job = JOB | {"model": "llama2-7b", "gpu": "a100", "levels": levels, "tp": [2], "pp": [2]}
    given = interlace.shape(job)
    wider = interlace.shape(job | {"schedules": ["1f1b", "interleaved", "zero_bubble"]})
    assert wider.best[0].time_us < given.best[0].time_us
    assert "no other shape of this space has" in next(best_shape(given))
    said = "This space has no pipelines of the schedules "
    for answer, names in ((given, "gpipe, zero_bubble, zb_v"), (wider, "gpipe, zb_v, dualpipe")):
        assert any(note.startswith(f"{said}{names}, ") for note in answer.notes)
    assert not any(said in note for note in interlace.shape(job | {"pp": [1]}).notes)


def test_a_page_of_the_command(run: Run) -> None:
    done = run("shape", *FLAGS, "--price-per-gpu-hour", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\n\nllama3-8b, 8.03 billion parameters, on 16 GPUs: " in done.stdout
    assert "price of 1e9 tokens" in done.stdout
    assert "Proven: no shape of this space has a shorter simulated step" in done.stdout


def test_arguments_of_a_training_program(run: Run) -> None:
    done = run("shape", *FLAGS, "--launch", "megatron")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--global-batch-size 64 \\" in done.stdout
    asked = interlace.shape(JOB | {"launch": "megatron"})
    assert all(row.launch is not None for row in (*asked.best, *asked.front))
    assert interlace.shape(JOB).best[0].launch is None


def test_measured_steps_give_intervals(tmp_path: Path, run: Run) -> None:
    rows = tmp_path / "rows.csv"
    lines = ["tp,dp,micro_batch,micro_batches,sequence_parallel,sharding,time_us"]
    lines += [
        f"{tp},{16 // tp},{micro},{32 // (16 // tp) // micro * 2},true,optimizer,{time}"
        for tp, micro, time in ((2, 1, 5.2e6), (4, 1, 5.9e6), (4, 2, 5.5e6))
    ]
    rows.write_text("\n".join(lines) + "\n")
    done = run("shape", *FLAGS, "--rows", str(rows))
    assert (done.returncode, done.stderr) == (0, "")
    assert "predicted ms (90 %)" in done.stdout
    assert "fitted to 3 measured steps" in done.stdout
    assert "In the median a row is off by " in done.stdout
    assert "Not determined by the rows: " in done.stdout
    assert "Intervals from so few rows are rough" in done.stdout
    stated = run("shape", *FLAGS, "--rows", str(rows), "--set", "efficiencies.matmul=0.6")
    assert "Stated figures give way to the rows: matmul." in " ".join(stated.stdout.split())


def test_the_best_is_planned_and_its_gain_is_judged(run: Run) -> None:
    piped = {"pp": [2], "shardings": ["optimizer"], "planned": 2, "micro_batch": [1]}
    answer = interlace.shape(JOB | piped)
    first, second, third = answer.best
    assert third.plan is None
    for row in (first, second):
        assert row.plan is not None
        assert row.plan.headline is not None
        (gain,) = row.plan.headline.gains
        assert (gain.over, gain.verdict) == ("fifo", "too_close")
        assert "figures are assumed" in gain.why
        assert gain.lower_bound_us <= gain.plan_us
    stated = interlace.shape(JOB | piped | {"efficiencies": {"matmul": 0.5, "reductions": 1.0}})
    plan = stated.best[0].plan
    assert plan is not None
    assert plan.headline is not None
    assert plan.headline.gains[0].gain == first.plan.headline.gains[0].gain
    assert "assumed" not in plan.headline.gains[0].why
    done = run(
        *("shape", *FLAGS, "--pp", "2", "--micro-batch", "1", "--planned", "2"),
        *("--set", 'shardings=["optimizer"]', "--progress"),
    )
    assert done.returncode == 0
    assert f"Inside {first.name}:\nGain over what you run: " in done.stdout
    assert done.stderr.splitlines()[-1].startswith("interlace: plans: ")


def test_measured_steps_decide_which_gains_are_claimed() -> None:
    rows = [
        {"shape": {"tp": tp, "dp": 16 // tp, "micro_batches": 4 * tp}, "time_us": us}
        for tp, us in ((2, 5.2e6), (4, 5.9e6), (8, 6.4e6))
    ]
    shape = {"tp": [2], "pp": [2], "shardings": ["none"], "micro_batch": [1], "planned": 1}
    answer = interlace.shape(JOB | shape | {"rows": rows})
    plan = answer.best[0].plan
    assert plan is not None
    assert plan.headline is not None
    assert all(gain.verdict in ("too_close", "nothing") for gain in plan.headline.gains)


def test_rows_that_do_not_fit_as_they_are_given_are_said_and_what_is_stated_is_kept() -> None:
    unsaid = {"dp": 16, "micro_batches": 4}
    note = "1 of 1 measured steps on node and network do not fit in memory as they are given: "
    for stated, said in (
        ({}, "where they do not say otherwise, all are taken to have sharding optimizer"),
        ({"sharding": "none", "recomputation": "none"}, "1 do not fit even so."),
        ({"sharding": "parameters"}, None),
    ):
        answer = interlace.shape(JOB | {"rows": [{"shape": unsaid | stated, "time_us": 9e6}]})
        notes = [each for each in answer.notes if "as they are given" in each]
        assert [each.startswith(f"{note}{said}") for each in notes] == [True] * (said is not None)


def test_sums_that_wait_are_said_where_without_them_another_shape_is_first() -> None:
    said = "Sums of gradients are counted after the last pass"
    node, network = LEVELS
    levels = [node | {"bandwidth_gbps": 2400}, network | {"gpus": 32, "bandwidth_gbps": 25}]
    job = JOB | {"model": "llama2-7b", "gpu": "a100", "gpus": 32, "levels": levels}
    job |= {"global_batch": 16, "tp": [2], "pp": [1], "micro_batch": [1]}
    first, *_ = [each for each in interlace.shape(job).notes if each.startswith(said)]
    faster = interlace.shape(job | {"overlapped_buckets": 8})
    assert f"such as {faster.best[0].name}. " in first
    for other in (faster, interlace.shape(job | {"shardings": ["parameters"]})):
        assert not any(each.startswith(said) for each in other.notes)


def test_a_table_of_steps_may_be_as_a_spreadsheet_writes_it(tmp_path: Path) -> None:
    told = tmp_path / "rows.csv"
    told.write_bytes(
        b"\xef\xbb\xbftp, dp ,sequence_parallel,reshard,time_us\r\n"
        b"2,8,1,FALSE,5e6\r\n,,,,\r\n4,4,True,,6e6\r\n"
    )
    assert rows_of(told) == [
        {"shape": {"tp": 2, "dp": 8, "sequence_parallel": True, "reshard": False}, "time_us": 5e6},
        {"shape": {"tp": 4, "dp": 4, "sequence_parallel": True}, "time_us": 6e6},
    ]
    yes_or_no = {name for name, each in ShapeBody.model_fields.items() if each.annotation is bool}
    for name in yes_or_no:
        told.write_text(f"{name},time_us\n0,1\n")
        assert rows_of(told) == [{"shape": {name: False}, "time_us": 1}]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("tp,time_us,tp\n2,5e6,4\n", "column tp is there twice"),
        ("tp,time_us\n2,5e6\n2,5,000,000\n", "line 3: at most 2 cells, one a column, got 4"),
        ("tp,time_us\n,\n", "no rows"),
    ],
)
def test_a_table_of_steps_that_says_too_much_is_refused(
    text: str, detail: str, tmp_path: Path
) -> None:
    told = tmp_path / "rows.csv"
    told.write_text(text)
    with pytest.raises(BadParameter, match=detail):
        rows_of(told)


def test_what_the_rows_predict_is_said_first() -> None:
    rows = [
        {"shape": {"tp": tp, "dp": 16 // tp, "micro_batches": 4 * tp}, "time_us": us}
        for tp, us in ((2, 5.2e6), (4, 5.9e6), (8, 6.4e6))
    ]
    answer = interlace.shape(JOB | {"rows": rows, "price_per_gpu_hour": 2})
    for row in (*answer.best, *answer.front):  # 64 sequences of 8,192 tokens by 16 GPUs
        assert row.predicted_us is not None
        rate = 64 * 8192 / (row.predicted_us / 1e6) / 16
        assert row.tokens_per_s_per_gpu == pytest.approx(rate)
        assert row.price_per_billion_tokens == pytest.approx(1e9 / rate / 3600 * 2)
    unfitted = interlace.shape(JOB).best[0]
    operations = unfitted.mfu * unfitted.time_us  # of the model: of no shape
    assert answer.best[0].mfu * answer.best[0].predicted_us == pytest.approx(operations)
    first, *others = best_shape(answer)
    assert f"{answer.best[0].predicted_us / 1e3:,.1f} (" in first
    assert " ms a step predicted, " in first
    fastest = min(answer.best, key=lambda row: row.predicted_us or inf)
    assert any(each.startswith(f"By the rows {fastest.name} may be faster") for each in others) is (
        fastest.name != answer.best[0].name
    )


def test_measured_kernels_tell_the_time_of_multiplications(tmp_path: Path, run: Run) -> None:
    half = interlace.shape(JOB | {"kernels": KERNELS})
    shares = [each | {"share": 1.0} for each in KERNELS["matmuls"]]
    whole = interlace.shape(JOB | {"kernels": {"matmuls": shares}})
    assert whole.best[0].time_us < half.best[0].time_us
    assert any(note.startswith("Multiplications reach what 3 measured") for note in half.notes)
    file = tmp_path / "kernels.json"
    file.write_text(json.dumps(KERNELS))
    job = tmp_path / "job.json"
    job.write_text(json.dumps(JOB))
    answer = json.loads(run("shape", str(job), "--kernels", str(file), "--json").stdout)
    assert answer["best"][0]["time_us"] == half.best[0].time_us


def test_kernels_of_a_system_file_that_are_not_understood_are_named(
    tmp_path: Path, run: Run
) -> None:
    file = tmp_path / "system.json"
    shares = {"matmul": {"accurate_efficient_factor": {"m=4096, layout=TN": 0.5}}}
    file.write_text(json.dumps({"accelerator": {"op": shares}}))
    refused = run("shape", "--model", "llama3-8b", "--kernels", str(file))
    assert refused.returncode == 2
    assert "--kernels" in refused.stderr
    assert "m=4096, layout=TN" in refused.stderr
    file.write_text("{")
    assert "not JSON" in run("shape", "--kernels", str(file)).stderr


def test_a_request_from_a_file_with_a_field_set(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(JOB))
    done = run("shape", str(path), "--set", "efficiencies.matmul=0.62", "--json")
    figures = {each["name"]: each for each in json.loads(done.stdout)["figures"]}
    assert figures["matmul"]["value"] == 0.62
    assert figures["matmul"]["is_determined"]
    assert not figures["memory"]["is_determined"]


def test_a_measured_table_is_taken() -> None:
    table = [[size, 20.0 + 2 * 7 / 8 * size * 8 / 3.6e6] for size in (2**20, 2**30)]
    levels = [LEVELS[0] | {"table": table, "table_ranks": 8}, LEVELS[1]]
    slower = interlace.shape(JOB | {"levels": levels})
    assert slower.best[0].time_us > interlace.shape(JOB).best[0].time_us


def test_equal_choices_are_one() -> None:
    one = interlace.shape(JOB | {"tp": [2], "schedules": ["1f1b"], "vpp": [2]})
    twice = interlace.shape(JOB | {"tp": [2, 2], "schedules": ["1f1b"] * 2, "vpp": [2, 2]})
    assert one == twice


def test_shapes_that_are_too_much_work_are_said() -> None:
    answer = interlace.shape(
        JOB | {"global_batch": 1_048_576, "micro_batch": [1], "tp": [8], "pp": [2]}
    )
    assert answer.best == []
    assert answer.cut == answer.shapes - answer.too_large > 0
    assert answer.lower_bound_us is not None
    assert not answer.is_proven
    assert answer.notes[0].startswith("No shape was simulated")


def test_no_combination_keeps_the_batch() -> None:
    answer = interlace.shape(JOB | {"global_batch": 1, "micro_batch": [1], "tp": [1], "pp": [1]})
    assert answer.shapes == 0
    assert answer.notes[0].startswith("No combination of the choices")


def test_choices_that_the_batch_rules_out_are_said() -> None:
    answer = interlace.shape(JOB | {"global_batch": 63, "micro_batch": [1, 2], "tp": [1, 2, 3]})
    assert answer.notes[1] == (
        "Ruled out: tp 3 (must divide the GPUs, heads and feed_forward); micro_batch 2 (must "
        "divide the global batch); dp 2, 4, 8, 16 (must divide the global batch, "
        "times a micro-batch)."
    )
    assert {row.shape.dp for row in answer.best} == {1}
    assert not any(note.startswith("Ruled out") for note in interlace.shape(JOB).notes)


def test_the_command_fails_where_no_shape_is_given(run: Run) -> None:
    done = run("shape", *FLAGS, "--model", "llama3-405b", "--json")
    assert (done.returncode, done.stderr) == (
        1,
        "interlace: no shape is given: the notes say why\n",
    )
    assert json.loads(done.stdout)["best"] == []
    none = run(
        "shape", *FLAGS, "--micro-batch", "1", "--global-batch", "1", "--tp", "1", "--pp", "1"
    )
    assert none.returncode == 1
    assert none.stdout.startswith("No shape fits.")


def test_nothing_fits() -> None:
    answer = interlace.shape(JOB | {"model": "llama3-405b"})
    assert answer.best == []
    assert answer.lower_bound_us is None
    assert answer.notes[0].startswith("No shape of the space fits")


@pytest.mark.parametrize(
    ("changes", "pointers"),
    [
        ({"model": "llama", "gpu": "h1000"}, ["/model", "/gpu"]),  # unknown, both at once
        ({"gpus": 0}, ["/gpus"]),  # none
        ({"levels": []}, ["/levels"]),  # none
        ({"levels": [LEVELS[1], LEVELS[0]]}, ["/levels/1/gpus"]),  # inside out
        ({"schedules": ["2f2b"]}, ["/schedules/0"]),  # no such
        ({"efficiencies": {"speed": 1.0}}, ["/efficiencies/speed"]),  # no such
        (
            {"rows": [{"shape": {"tp": 3}, "time_us": 1.0}]},
            ["/rows/0/shape/tp"] * 2,
        ),
        ({"rows": [{"shape": {}, "time_us": 0}]}, ["/rows/0/time_us"]),  # no time
        ({"rows": [{"shape": {"dp": 8}, "time_us": 5_200}]}, ["/rows/0/time_us"]),  # in ms
        ({"gpu": {"tflops": {"fp8": 1.0}, "memory_gib": 1, "memory_gbps": 1}}, ["/gpu/tflops"]),
        ({"tp": [0]}, ["/tp/0"]),  # no ways
        # of a part no choice is left, or a name is not the GPU's; all at once
        ({"tp": [3], "pp": [64], "precision": "fp64"}, ["/precision", "/tp", "/pp"]),
        ({"micro_batch": [5], "cp": [3], "ep": [2]}, ["/cp", "/ep", "/micro_batch"]),
        ({"kernels": KERNELS | {"precision": "fp64"}}, ["/kernels/precision"]),
        (
            {"kernels": {"matmuls": KERNELS["matmuls"][:2]}},
            ["/kernels/matmuls"],
        ),  # a kind is missing
        (
            {"kernels": KERNELS | {"attention": [SCORES]}},
            ["/kernels/attention/0/computes"],
        ),
        ({"kernels": KERNELS, "efficiencies": {"matmul": 0.6}}, ["/efficiencies/matmul"]),
        ({"gradient_bytes": 3}, ["/gradient_bytes"]),
        ({"levels": LEVELS[:1]}, ["/levels"]),  # nothing joins the two nodes
        ({"rows": [{"shape": {"dp": 32}, "time_us": 1e9}]}, ["/rows/0/shape"]),  # more GPUs yet
        ({"efficiencies": {"matmul": 1e-300}}, ["/efficiencies/matmul"]),
        (
            {
                "rows": [
                    {"shape": {}, "time_us": 1.0, "model": "no"},
                    {"shape": {"tp": 3}, "time_us": 1.0},
                ]
            },
            ["/rows/0/model", "/rows/1/shape/tp", "/rows/1/shape/tp"],
        ),
        ({"rows": [{"shape": {"micro_batches": 1_000_000}, "time_us": 1e12}]}, ["/rows"]),  # work
        (
            {"levels": [LEVELS[0] | {"table": [[2, 1.0], [1, 2.0]], "table_ranks": 1}, LEVELS[1]]},
            ["/levels/0/table_ranks", "/levels/0/table"],
        ),
        (
            {"gpus": 720720, "levels": [LEVELS[0] | {"gpus": 720720}], "global_batch": 720720}
            | {"model": MANY, "tp": WAYS, "cp": WAYS, "pp": WAYS, "micro_batch": WAYS},
            [""],
        ),  # more combinations than are tried
    ],
)
def test_what_is_refused(changes, pointers) -> None:
    with pytest.raises(interlace.InterlaceError) as caught:
        interlace.shape(JOB | changes)
    assert [fault.pointer for fault in caught.value.faults] == pointers


def test_a_call_answers_as_python_does() -> None:
    """Over HTTP the same work is done: of the route's own example."""
    body = json.dumps(EXAMPLE).encode()
    answered = ranking(None, body)
    answer = ShapeAnswer.model_validate_json(answered.content)
    assert answer.model_dump() == interlace.shape(EXAMPLE).model_dump()


def test_over_the_wire(service: Service) -> None:
    answer = service.client.post("/v1/shapes", json=EXAMPLE)
    assert answer.status_code == 200
    assert answer.json() == interlace.shape(EXAMPLE).model_dump(mode="json")
    refused = service.client.post("/v1/shapes", json=EXAMPLE | {"gpus": 0})
    assert refused.status_code == 422


def test_the_command_asks_a_service(service: Service, run: Run) -> None:
    here = run("shape", *FLAGS, "--json")
    there = run("shape", *FLAGS, "--json", "--server", str(service.client.base_url))
    assert (there.returncode, there.stderr) == (0, "")
    assert there.stdout == here.stdout


def test_flags_that_do_not_go_together(run: Run) -> None:
    done = run("shape", "--node-gpus", "4")
    assert done.returncode == 2
    assert "--node-gbps" in done.stderr


def drawn(fields: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(timeline(None, json.dumps(JOB | fields).encode()).content)
    return found


def test_the_best_shape_is_drawn_as_it_is_simulated() -> None:
    answer = interlace.shape(JOB)
    for shape, row in ((None, answer.best[0]), (answer.best[1].shape, answer.best[1])):
        trace = drawn({} if shape is None else {"shape": asdict(shape)})
        assert trace["otherData"]["iteration_time_us"] == pytest.approx(row.time_us, rel=1e-9)
        spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        assert max(e["ts"] + e["dur"] for e in spans) <= row.time_us * (1 + 1e-9)
    piped = drawn({"shape": {"pp": 2, "dp": 8, "micro_batches": 8}})
    names = {e["args"]["name"] for e in piped["traceEvents"] if e["name"] == "thread_name"}
    assert {"0/compute", "1/compute", "0-1", "1-0"} <= names
    passes = [e for e in piped["traceEvents"] if e.get("cat") == "compute" and e["name"][0] in "FB"]
    assert len(passes) == 2 * 2 * 8


def test_what_cannot_be_drawn_is_said() -> None:
    for shape, pointer, said in (
        ({"pp": 2, "dp": 4}, "/shape", "must be the GPUs of the job, 16; 8"),
        ({"tp": 3, "dp": 16}, "/shape/tp", "divide"),
        ({"pp": 2, "dp": 8, "micro_batches": 10_000}, "/shape/micro_batches", "30,000 passes"),
        ({"pp": 2, "dp": 8, "precision": "int3"}, "/shape/precision", "one of the GPU's"),
        ({"pp": 2, "dp": 8, "layers_of_stages": [3, 4]}, "/shape/layers_of_stages", "32"),
    ):
        with pytest.raises(InvalidRequest) as caught:
            drawn({"shape": shape})
        faults = {fault.pointer: fault.detail for fault in caught.value.faults}
        assert said in faults[pointer], faults


def test_the_command_writes_the_timeline_of_the_best(
    service: Service, run: Run, tmp_path: Path
) -> None:
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    url = str(service.client.base_url)
    assert run("shape", *FLAGS, "--timeline", str(here)).returncode == 0
    assert run("shape", *FLAGS, "--timeline", str(there), "--server", url).returncode == 0
    assert json.loads(here.read_text()) == json.loads(there.read_text())


#: So many shapes that ranking them takes seconds.
MANY_SHAPES: dict[str, Any] = {
    "model": "llama3-70b",
    "gpu": "h100",
    "gpus": 1024,
    "levels": [LEVELS[0], LEVELS[1] | {"gpus": 1024}],
    "global_batch": 2048,
    "cp": [1, 2, 4],
    "schedules": ["gpipe", "1f1b", "interleaved", "zero_bubble"],
    "shardings": ["none", "optimizer", "gradients", "parameters"],
}
RANKINGS = "/v1/shapes/rankings"


def test_a_job_answers_as_the_call_does(service: Service) -> None:
    made = posted(service.client, RANKINGS, json=JOB, params={"tag": "of this test"})
    assert made.status_code == 201
    job = made.json()
    answer = service.client.post("/v1/shapes", json=JOB).json()
    assert {name: job[name] for name in answer} == answer
    assert job["state"] == "succeeded"
    [row] = service.client.get(RANKINGS, params={"tag": "of this test"}).json()["rankings"]
    best = answer["best"][0]
    assert (row["name"], row["shape"]) == ("llama3-8b on 16 GPUs", best["name"])
    assert (row["iteration_time_us"], row["gap"]) == (best["time_us"], 0.0)
    again = service.client.post(RANKINGS, json=JOB, headers={"cache-control": "max-age=0"})
    assert again.headers["cache-status"] == "interlace; hit"


@pytest.mark.parametrize(
    ("changes", "pointer"), [({"gpus": 0}, "/gpus"), ({"tp": [3]}, "/tp"), ({"gpu": "x"}, "/gpu")]
)
def test_what_is_wrong_with_a_request_makes_no_job(
    service: Service, changes: dict[str, Any], pointer: str
) -> None:
    refused = service.client.post(RANKINGS, json=JOB | changes, params={"wait": 0})
    assert refused.status_code == 422
    assert [fault["pointer"] for fault in refused.json()["errors"]] == [pointer]


def test_a_ranking_tells_how_far_it_is_and_keeps_what_it_has(service: Service) -> None:
    begun = service.client.post(RANKINGS, json=MANY_SHAPES, params={"wait": 0})
    assert begun.status_code == 202
    place = begun.headers["location"]
    told = []
    with service.client.stream("GET", f"{place}/events") as events:
        for line in events.iter_lines():
            if not line.startswith("data: "):
                continue
            progress = json.loads(line.removeprefix("data: "))["progress"]
            if progress is None or progress["phase"] is None:
                continue
            told.append(progress)
            if progress["phase"] != "bounds" or progress["completed"] > 1000:
                break
    assert all(each["lower_bound_us"] is None for each in told if each["phase"] == "bounds")
    assert told[-1]["incumbent"]
    assert told[-1]["incumbent_us"] > 0
    job = service.client.post(f"{place}/cancel").json()
    assert job["state"] == "cancelled"
    assert job["progress"]["incumbent"] == job["best"][0]["name"]
    assert job["progress"]["incumbent_us"] == job["best"][0]["time_us"]
    assert job["shapes"] >= told[-1]["completed"]
    assert any(note.startswith("Stopped ") for note in job["notes"])
    levels = tuple(NetworkLevel(**level) for level in MANY_SHAPES["levels"])
    cluster = joined(ACCELERATORS["h100"], 1024, levels)
    shape = JobShape(**job["best"][0]["shape"])
    step = simulate_step(PUBLISHED["llama3-70b"], cluster, shape, ASSUMED)
    assert job["best"][0]["time_us"] == step.time_us
