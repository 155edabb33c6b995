"""Every example of the README and the docs is run, and prints what the page says."""

import contextlib
import gzip
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.routers.mixes import EXAMPLE as MIX
from app.routers.parameter_servers import EXAMPLE
from docs.generate.command import command
from tests import sampling
from tests.app.compiled import COMPILED
from tests.app.service import Service, two_layers
from tests.docs.blocks import ROOT, Block, blocks_of, pages
from tests.horovod_events import steps, text
from tests.nsys_bytes import Export, step

#: The addresses that examples name.
_ADDRESS = re.compile(r"(?:localhost|127\.0\.0\.1|planner):8000")
_DATA = ROOT / "tests" / "data"
#: Examples in the help of the command that are not run.
_NOT_RUN = {
    "interlace serve": "it goes on until it is stopped; the suite starts one for all examples",
    "INTERLACE_DATA_DIR=/var/lib/interlace": "it needs that folder",
    "interlace backup /backups": "it needs that folder",
    "INTERLACE_DATABASE_URL=postgresql://": "it needs that database",
    "interlace delete": "it needs the id of a graph; tests/app makes one",
    "interlace keys revoke": "it needs the id of a key; tests/app makes one",
    "interlace keys rotate": "it needs the id of a key; tests/app makes one",
    "interlace demo": "tests/app runs it",
    "interlace open": "it needs the id of an answer; tests/app opens one",
    "interlace run": "it needs a run; tests/app shows one",
}
_PROFILE = """\
node1 -- Conv2d(3, 64) -- forward_compute_time=1.000, backward_compute_time=2.000, \
activation_size=100.0, parameter_size=4000.000
node2 -- Linear(64, 10) -- forward_compute_time=0.500, backward_compute_time=1.000, \
activation_size=100.0, parameter_size=8000.000
\tnode1 -- node2
"""
_TIMES = "model,workers,policy,time_ms\nvgg16,1,wfbp,1018\nvgg16,4,wfbp,1343\nvgg16,16,ddp,1528\n"
_LAYERS = [{"bytes": 1_000_000, "forward_us": 400, "backward_us": 900}] * 4
_NET = [
    {"name": "l1", "forward_us": 9, "backward_us": 20, "gradients": [["a", 200], ["b", 100]]},
    {"name": "l2", "forward_us": 30, "backward_us": 40, "gradients": [["c", 400]]},
]
pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's folder, with what he has before he begins: recordings, a benchmark, a graph."""
    for rank in range(2):
        shutil.copy(_DATA / f"kineto_gloo_{rank}.json.gz", tmp_path / f"rank{rank}.json.gz")
    for node in ("w0", "w1", "s0"):
        shutil.copy(_DATA / f"dlc_{node}.txt", tmp_path / f"{node}.txt")
    shutil.copy(_DATA / "kineto_parameters.json", tmp_path / "parameters.json")
    shutil.copy(_DATA / "jax_profile.json.gz", tmp_path / "vm.trace.json.gz")
    shutil.copy(_DATA / "jax_hlo.txt.gz", tmp_path / "module.txt")
    shutil.copy(_DATA / "jax_planes.xplane.pb.gz", tmp_path / "vm.xplane.pb")
    shutil.copy(_DATA / "hlo_sharded.txt", tmp_path / "step.txt")
    (tmp_path / "report.sqlite").write_bytes(step(Export()).bytes)
    shutil.copy(_DATA / "tensorflow_timeline.json.gz", tmp_path / "session.json")
    (tmp_path / "timeline.json").write_bytes(text(steps(3)))
    (tmp_path / "layers.json").write_text(json.dumps({"layers": _NET}))
    (tmp_path / "sizes.json").write_text('{"a": 200, "b": 100}')
    (tmp_path / "nccl.log").write_text(_nccl_log())
    for kind, shares, operation, file in (
        ("all_reduce", 2, "sum", "ar"),
        ("all_gather", 1, "none", "ag"),
        ("reduce_scatter", 1, "sum", "rs"),
        ("alltoall", 1, "none", "a2a"),
    ):
        log = _nccl_log(shares, operation)
        (tmp_path / f"{kind}.log").write_text(f"$ ./{kind}_perf -b 1K\n{log}")
        (tmp_path / f"{file}.log").write_text(log)
    (tmp_path / "graph.txt").write_text(_PROFILE)
    (tmp_path / "graph.json").write_text(json.dumps(two_layers()["graph"]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _nccl_log(shares: int = 2, operation: str = "sum") -> str:
    """What all_reduce_perf prints of 8 ranks with a start-up of 20 us and 100 GB/s.

    With one share, what all_gather_perf, reduce_scatter_perf and alltoall_perf do.
    """
    lines = [
        "#       size         count      type   redop    root     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)",
    ]
    for size in (2**power for power in range(10, 27)):
        time = 20 + size / 1e5
        speed = size / time / 1e3
        lines.append(
            f"{size:12} {size // 4:12}     float  {operation:>6}      -1 {time:8.2f} {speed:7.2f}"
            f" {speed * shares * 7 / 8:7.2f}      0"
        )
    return "\n".join(lines) + "\n"


class Reader:
    """Someone who does what a page says, block by block."""

    def __init__(self, folder: Path, service: Service, shell: dict[str, str]) -> None:
        self._folder = folder
        self._server = service
        self._shell = shell
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._printed: str | None = None

    def do(self, block: Block) -> None:
        """Run a block, or compare it with what the one before it printed."""
        match block:
            case Block(language="sh"):
                self._printed = self._in_shell(self._here(block.text))
            case Block(language="python"):
                self._printed = self._in_python(self._here(block.text))
            case Block(language="text"):
                assert self._printed is not None, "nothing printed this"
                assert _pattern(block.text).fullmatch(self._printed), self._printed
            case Block(language="json", mark="answer"):
                assert self._printed is not None, "nothing answered this"
                _compare(json.loads(block.text), json.loads(self._printed))
            case Block(language="json", mark=mark) if mark.startswith("POST "):
                path = mark.removeprefix("POST ")
                answer = self._server.client.post(path, json=json.loads(block.text))
                assert answer.status_code in {200, 201}, answer.text
            case _:
                pytest.fail(f"what is to be done with {block.language or 'this'}?")

    def _here(self, text: str) -> str:
        url = self._server.client.base_url
        return _ADDRESS.sub(f"{url.host}:{url.port}", text)

    def _in_shell(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self._folder,
            env=self._shell,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _in_python(self, text: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(text, "<example>", "exec"), self._names)
        return printed.getvalue()


def _pattern(text: str) -> re.Pattern[str]:
    """Match a text in which ``...`` stands for anything: lines, or the rest of one."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
        for line in text.splitlines()
    ]
    return re.compile("".join(lines))


def _compare(said: Any, answered: Any) -> None:
    """Check that what a page shows is part of an answer, with figures as far as they are shown."""
    match said:
        case dict():
            for key, value in said.items():
                _compare(value, answered[key])
        case list():
            for each, other in zip(said, answered, strict=True):
                _compare(each, other)
        case float():
            digits = len(repr(said).partition(".")[2])
            assert round(answered, digits) == said
        case _:
            assert answered == said


@pytest.mark.parametrize("page", pages())
def test_page(page: str, folder: Path, service: Service, shell: dict[str, str]) -> None:
    reader = Reader(folder, service, shell)
    for block in blocks_of((ROOT / page).read_text("utf-8")):
        if block.is_run:
            try:
                reader.do(block)
            except (AssertionError, Exception) as error:
                error.add_note(f"{page}:{block.line}")
                raise


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, shell: dict[str, str]) -> Path:
    """What the command itself has made before: a graph, its plan, a cost model."""
    found = tmp_path_factory.mktemp("made")
    (found / "nccl.log").write_text(_nccl_log())
    for line in (
        "interlace example vgg16 > graph.json",
        "interlace plan graph.json --json > plan.json",
        "interlace calibrate nccl.log --json > model.json",
    ):
        subprocess.run(["bash", "-c", line], cwd=found, env=shell, check=True)
    return found


@pytest.fixture
def desk(folder: Path, made: Path) -> Path:
    """The files that the help of the command speaks of."""
    (folder / "times.csv").write_text(_TIMES)
    (folder / "layers.json").write_text(json.dumps({"layers": _LAYERS}))
    (folder / "steps.json").write_text(json.dumps(EXAMPLE))
    (folder / "jobs.json").write_text(json.dumps(MIX))
    (folder / "topology.conf").write_text("SwitchName=a Nodes=n[1-32]\n")
    (folder / "compiled.json.gz").write_bytes(gzip.compress(json.dumps(COMPILED).encode()))
    (folder / "trace.json.gz").symlink_to("rank0.json.gz")
    shutil.copy(_DATA / "hlo_tensor_parallel.txt", folder / "module.hlo.txt")
    (folder / "resnet50").mkdir()
    (folder / "resnet50" / "graph.txt").symlink_to(folder / "graph.txt")
    shutil.copytree(made, folder, dirs_exist_ok=True)
    return folder


def _examples_of_help() -> list[str]:
    """Return the examples in the help of the command; without ``--full`` one of each command."""
    blocks = [
        [line for line in block.text.splitlines() if not line.startswith(tuple(_NOT_RUN))]
        for block in blocks_of(command())
    ]
    return [line for lines in blocks for line in (lines if sampling.full else lines[:1])]


@pytest.mark.parametrize("line", dict.fromkeys(_examples_of_help()))
def test_help(line: str, desk: Path, service: Service, shell: dict[str, str]) -> None:
    Reader(desk, service, shell).do(Block(0, "sh", line, ""))
