"""``interlace run``: predicted beside measured."""

import json

from app.routers.runs import EXAMPLE, PLAN_EXAMPLE
from tests.app.command import Run
from tests.app.service import Json, Service

PAGE = """\
two layers, first try: 8 workers, PlannedDDP 0.1.0, PyTorch 2.13.0
running; 4 steps, last heard of ...
predictions off by 12.50 % in the median, 23.12 % at 95 %

  from step  steps  predicted   measured   off by  why
  0              3   8.750 ms  10.000 ms  12.50 %  start
  200            1  15.750 ms  12.600 ms  25.00 %  drift

  step  predicted   measured    off by  note
  2      8.750 ms  10.000 ms  -12.50 %  slow disk
  200   15.750 ms  12.600 ms  +25.00 %
"""


def test_a_run_is_shown(service: Service, run: Run) -> None:
    url = str(service.client.base_url)
    path = service.client.post("/v1/runs", json=EXAMPLE).headers["location"]
    name = path.rpartition("/")[2]
    begun = run("run", name, "--server", url)
    assert (begun.returncode, begun.stderr) == (0, "")
    assert begun.stdout.splitlines()[-1].split() == ["0", "0", "8.750", "ms", "-", "-", "start"]
    first: list[Json] = [{"step": i, "measured_us": 10_000, "plan": 0} for i in range(3)]
    first[2]["note"] = "slow disk"
    service.client.post(f"{path}/steps", json={"steps": first})
    service.client.post(f"{path}/plans", json=PLAN_EXAMPLE)
    last = {"step": 200, "measured_us": 12_600, "plan": 1}
    service.client.post(f"{path}/steps", json={"steps": [last]})
    shown = run("run", name, "--steps", "2", "--server", url)
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    lines[1] = f"{lines[1].partition('last heard of')[0]}last heard of ..."
    # of 1/8, 1/8, 1/8, 1/4 the median is 1/8; 0.95 of three steps is 1/8 + 0.85 / 8
    assert lines == PAGE.splitlines()
    in_json = run("run", name, "--json", INTERLACE_SERVER=url)
    assert json.loads(in_json.stdout)["history"] == service.client.get(path).json()["history"]


def test_a_run_that_cannot_be_shown(service: Service, run: Run) -> None:
    url = str(service.client.base_url)
    unknown = run("run", "0" * 16, "--server", url)
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "No run has this id." in unknown.stderr
    alone = run("run", "0" * 16)
    assert alone.returncode == 2
    assert "--server" in alone.stderr
