"""The commands with ``--server``: they print what they print without."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from app.services.examples import TWO_LAYERS
from tests.app.command import Done, Run
from tests.app.long import layers, search
from tests.app.service import ROOT, Json, Service, environment
from tests.app.test_cli import PROFILE
from tests.app.test_cli_scaling import LAYERS, SAMPLES
from tests.waiting import until

DATA = ROOT / "tests" / "data"
pytestmark = pytest.mark.live
LINEAR = {"name": "measured", "algorithm": "linear", "workers": 8, "us_per_byte": 0.001}


def lasting(done: Done) -> Done:
    """Leave out how long the work took."""
    return replace(done, stdout=re.sub(r'"runtime_s": .*', "", done.stdout))


@pytest.fixture
def run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in a folder of files."""
    for name, content in {
        "two.json": TWO_LAYERS,
        "layers.json": LAYERS,
        "plan.json": {
            "buckets": [{"id": "all", "tensors": ["g2", "g1"]}],
            "schedule": {"parts": [{"bucket": "all", "bytes": 5_000_000}]},
        },
        "other.json": {"buckets": [{"id": "b", "tensors": ["x"]}], "schedule": {"parts": []}},
        "model.json": {"constant_us": 50.0, "measured_bytes": [1, 2**30], **LINEAR},
        "empty.json": {"ops": []},
        "wide.json": {"ops": layers(9)},
        "wrong.json": [["g", 0]],
        "search.json": search(600, options={"time_limit_s": 60}),
    }.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "samples.csv").write_text(SAMPLES)
    (tmp_path / "profile.txt").write_text(PROFILE)
    (tmp_path / "prose.md").write_text("this is no profile\n")
    monkeypatch.chdir(tmp_path)
    return run


def url(service: Service) -> str:
    return str(service.client.base_url)


def tagged(service: Service, tag: str, kind: str = "plans") -> list[Json]:
    found: list[Json] = service.client.get(f"/v1/{kind}", params={"tag": tag}).json()[kind]
    return found


JSON_COMMANDS = [
    "plan two.json",
    "plan two.json --workers 4 --barrier --baseline ddp:bucket_cap_mb=0.5 --what-if g1=remove",
    "plan two.json --cost-model model.json --schedule lp",
    "plan profile.txt --fusion maxmin",  # with what the reader dropped
    "simulate two.json --policy horovod:cycle_time_us=500 --jitter 0.1 --runs 9 --rival ddp",
    "simulate two.json --plan plan.json --what-if g1=bytes*0.5",
    "predict two.json --workers 2,8",
    "predict layers.json --workers 8 --buffers-bytes 0",
    "placements --model-bytes 1000000 --batch-time-us 1000 --workers 4 --bandwidth-gbps 16",
    "placements two.json --prices baseline_samples_per_s=9,hub_samples_per_s=8,hub.switch_ports=64",
    "sweep two.json --workers 2,8 --bandwidths-gbps 10,25 --policy p3 --policy plan",
    "import profile.txt --name net",
    f"import {DATA}/kineto_gloo_0.json.gz {DATA}/kineto_gloo_1.json.gz "
    f"--parameters {DATA}/kineto_parameters.json --step 1",
    f"import {DATA}/et_gloo.json.gz",  # holds nothing to plan
    f"dlc {DATA}/dlc_w0.txt {DATA}/dlc_w1.txt {DATA}/dlc_s0.txt",
    f"dlc {DATA}/dlc_s0.txt",
    "calibrate samples.csv --workers 8",
]


@pytest.mark.parametrize("command", JSON_COMMANDS)
def test_prints_what_is_printed_without(service: Service, run: Run, command: str) -> None:
    arguments = command.split()
    for form in ([], ["--json"]):
        here = run(*arguments, *form)
        there = run(*arguments, *form, "--server", url(service))
        assert (here.returncode, here.stderr) == (0, "")
        assert lasting(there) == lasting(here)


def test_a_sweep_is_written_as_without(service: Service, run: Run, tmp_path: Path) -> None:
    asked = ("sweep", "two.json", "--workers", "2,8", "--policy", "ddp")
    run(*asked, "--csv", "here.csv")
    assert run(*asked, "--csv", "there.csv", "--server", url(service)).returncode == 0
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_an_export_is_that_without(service: Service, run: Run, tmp_path: Path) -> None:
    (tmp_path / "made.json").write_text(run("plan", "two.json", "--json").stdout)
    for flags in (["--workers", "4"], ["--plan", "made.json"]):
        asked = ("export", "two.json", "--format", "horovod", *flags, "--out")
        here = run(*asked, "here")
        assert (here.returncode, here.stderr) == (0, "")
        assert run(*asked, "there", "--server", url(service)) == here
        for file in (tmp_path / "here").iterdir():
            assert (tmp_path / "there" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize(
    ("command", "code", "line"),
    [
        ("plan no.json", 1, "no.json: No such file"),
        ("plan empty.json", 1, "empty.json /graph/ops: The graph has no"),
        ("plan two.json --workers 0", 2, "--workers: Cluster: workers"),
        ("plan two.json --slot-us 0.1", 2, "--slot-us: slot_us 0.1 needs"),  # the solver's
        ("simulate two.json --policy ddp:bucket_cap_mb=0", 2, "--policy: "),
        ("simulate two.json --policy p3:slice_bytes=4", 2, "--policy: p3: slice_bytes"),
        ("simulate two.json --plan other.json", 2, "--plan: "),
        ("predict two.json --workers 8,8", 2, "--workers: workers: 8 stands there twice"),
        ("placements two.json --servers 200000", 2, "--servers: All servers have 200,000"),
        ("placements --workers 4 --batch-time-us 1", 1, "--model-bytes: Give model_bytes, keys"),
        ("sweep wide.json --startups-us 1,1", 2, "--startups-us: "),
        ("import prose.md", 1, "prose.md: The file is of none of the known formats"),
        ("import profile.txt --parameters wrong.json", 2, "--parameters: Parameters: a JSON list"),
        ("calibrate two.json", 1, "two.json: The file is JSON of no known log"),
        ("calibrate samples.csv prose.md", 1, "prose.md: Not a log of launches"),
        ("calibrate samples.csv --kind samples.csv=gather", 2, "--kind: "),
        ("calibrate samples.csv --fit cubic", 2, "--fit: "),
    ],
)
def test_faults_are_those_without(
    service: Service, run: Run, command: str, code: int, line: str
) -> None:
    here = run(*command.split())
    assert (here.returncode, here.stdout) == (code, "")
    assert here.stderr.startswith(f"interlace: {line}")
    assert run(*command.split(), "--server", url(service)) == here


@pytest.mark.parametrize(
    ("flags", "code", "line"),
    [
        ("--server http://127.0.0.1:9", 1, "http://127.0.0.1:9: cannot be reached: "),
        ("--server http://me:secret@127.0.0.1:9", 1, "http://127.0.0.1:9: cannot be reached: "),
        ("--server SERVER/docs", 1, "SERVER/docs: does not answer as an Interlace service: "),
        ("--server 127.0.0.1:8000", 2, "Invalid value for --server: '127.0.0.1:8000' is no URL"),
        ("--server ftp://x", 2, "Invalid value for --server: 'ftp://x' is no URL"),
        (f"--server SERVER --tag {'x' * 65}", 2, "--tag: Query parameter tag: "),
        ("--tag x", 2, "Invalid value for --tag: needs --server"),
        ("--fresh", 2, "Invalid value for --fresh: needs --server"),
    ],
)
def test_one_line_errors(service: Service, run: Run, flags: str, code: int, line: str) -> None:
    done = run("plan", "two.json", *flags.replace("SERVER", url(service)).split())
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"interlace: {line.replace('SERVER', url(service))}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("plans", "plan two.json --seed 4711"),
        ("simulations", "simulate two.json --policy tictac"),
        ("sweeps", "sweep two.json --policy tictac"),
        ("imports", "import profile.txt --name tagged"),
    ],
)
def test_tags_and_fresh(service: Service, run: Run, kind: str, command: str) -> None:
    asked = (*command.split(), "--tag", "nightly", "--tag", "two layers", "--server", url(service))
    first = run(*asked)
    [job] = tagged(service, "two layers", kind)
    assert job["tags"] == ["nightly", "two layers"]
    assert run(*asked) == first
    assert len(tagged(service, "nightly", kind)) == 1  # answered from storage
    assert run(*asked, "--fresh") == first
    assert len(tagged(service, "nightly", kind)) == 2


def test_the_server_may_come_from_the_environment(service: Service, run: Run) -> None:
    done = run("plan", "two.json", "--tag", "environment", INTERLACE_SERVER=url(service))
    assert done.returncode == 0
    assert len(tagged(service, "environment")) == 1


class _Told(BaseHTTPRequestHandler):
    """Answers that it is Interlace, if it is, and otherwise what it is told to."""

    name = "interlace"
    answers: list[tuple[int, Json]]

    def do_GET(self) -> None:
        self._answer(200, {"name": self.name})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(*self.answers.pop(0))

    def _answer(self, status: int, body: Json) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def told(*answers: tuple[int, Json], name: str = "interlace") -> Iterator[str]:
    handler = type("_", (_Told,), {"answers": [*answers], "name": name})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_another_service_answers(run: Run) -> None:
    with told(name="other") as there:
        done = run("plan", "two.json", "--server", there)
    assert done == Done(1, "", f"interlace: {there}: is no Interlace service\n")


def test_another_version_answers(run: Run) -> None:
    with told((201, {"name": "x", "model": 7})) as there:
        done = run("calibrate", "samples.csv", "--server", there)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"interlace: {there}: answers as another version does: at /model")


def test_a_problem_without_faults_is_a_line(run: Run) -> None:
    problem = {"status": 500, "code": "internal_error", "detail": "The server\nfailed."}
    with told((500, problem)) as there:
        done = run("plan", "two.json", "--server", there)
    line = f"interlace: {there}: The server failed. (internal_error, 500)\n"
    assert done == Done(1, "", line)


def test_retries_are_told(run: Run) -> None:
    problem = {"status": 500, "code": "internal_error", "detail": "No."}
    with told((502, {}), (500, problem)) as there:
        done = run("plan", "two.json", "--server", there)
    # a test before may have had all that is logged printed, too
    first, last = [line for line in done.stderr.splitlines() if line.startswith("interlace: ")]
    assert re.fullmatch(r"interlace: POST /v1/plans: 502; again in 0\.\d s \(1 of 5\)", first)
    assert last.startswith(f"interlace: {there}: No.")


def test_progress_is_shown_and_an_interrupt_cancels_the_job(
    service: Service, tmp_path: Path
) -> None:
    file = tmp_path / "search.json"
    file.write_text(json.dumps(search(options={"time_limit_s": 100})))
    flags = ("--tag", "terminal", "--json", "--server", url(service))
    ours, theirs = pty.openpty()
    shown = ""

    def shows(pattern: str) -> bool:
        nonlocal shown
        if select.select([ours], [], [], 0)[0]:
            shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(ours, 10_000).decode())
        return re.search(pattern, shown) is not None

    with subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "app", "plan", str(file), *flags],
        env={**environment(tmp_path), "COLUMNS": "80", "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=theirs,
    ) as process:
        try:
            until(lambda: shows(r"search \S+ best [\d,]+\.\d{3} ms, gap \d+\.\d\d % 0:00:\d\d"))
            process.send_signal(signal.SIGINT)
            until(lambda: shows("interlace: .*\n"))
            printed, _ = process.communicate()
        finally:
            process.kill()
    os.close(theirs)
    os.close(ours)
    [job] = tagged(service, "terminal")
    assert job["state"] == "cancelled"
    assert (process.returncode, printed) == (130, b"")  # not even the plan in hand
    assert re.search(r"policies \S+ \d of \d, best ", shown)
    assert shown.splitlines()[-1].strip() == f"interlace: cancelled; {job['id']}"


@pytest.fixture
def interrupting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Interrupt when requests to these paths, in this order, have been answered."""

    def when(*ends: str) -> None:
        left, send = [*ends], httpx.Client.send

        def sent(client: httpx.Client, request: httpx.Request) -> httpx.Response:
            answer = send(client, request)
            if left and request.url.path.endswith(left[0]):
                del left[0]
                raise KeyboardInterrupt
            return answer

        monkeypatch.setattr(httpx.Client, "send", sent)

    return when


@pytest.mark.parametrize(
    ("path", "kind", "command", "states"),
    [
        ("/v1/plans", "plans", "plan search.json", {"cancelled"}),
        ("/v1/graphs", "imports", "import profile.txt", {"cancelled", "succeeded"}),  # soon done
    ],
)
def test_interrupted_before_the_job_is_known(
    service: Service,
    run: Run,
    interrupting: Callable[..., None],
    path: str,
    kind: str,
    command: str,
    states: set[str],
) -> None:
    interrupting(path)
    done = run(*command.split(), "--fresh", "--tag", "unknown", "--server", url(service))
    [job] = tagged(service, "unknown", kind)  # the same key: no second one
    assert job["state"] in states
    lines = [f"{job['state']}; {job['id']}"]
    if job["state"] == "succeeded":  # perhaps before it was asked for again: no job is told then
        lines.append("interrupted")
    assert done in [Done(130, "", f"interlace: {line}\n") for line in lines]


def test_interrupted_twice_it_leaves(
    service: Service, run: Run, interrupting: Callable[..., None]
) -> None:
    interrupting("/plans", "/cancel")
    done = run("plan", "two.json", "--fresh", "--tag", "twice", "--server", url(service))
    [job] = tagged(service, "twice")
    assert done == Done(130, "", f"interlace: interrupted; {job['id']}\n")


def test_interrupted_before_anything_is_asked(
    service: Service, run: Run, interrupting: Callable[..., None]
) -> None:
    interrupting("/version")
    done = run("plan", "wide.json", "--tag", "nothing", "--server", url(service))
    assert (done.returncode, done.stdout) == (130, "")
    assert tagged(service, "nothing") == []


def test_without_a_server_no_client_is_imported() -> None:
    code = "import app.cli.main, sys; assert not {'httpx', 'interlace_client'} & {*sys.modules}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0
