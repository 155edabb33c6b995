"""What pytest notes while ``mutants`` records the tests: which of them pass, in what CPU time."""

import json
import os
from pathlib import Path

import pytest

FILE = "seconds.jsonl"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    failed, began = item.session.testsfailed, _cpu_s()
    result = yield
    if item.session.testsfailed == failed:
        with (item.config.rootpath / FILE).open("a") as file:
            file.write(json.dumps([item.nodeid, _cpu_s() - began]) + "\n")
    return result


def _cpu_s() -> float:
    """CPU time of this process and of those it has waited for [s]."""
    return sum(os.times()[:4])


def seconds(folder: Path) -> dict[str, float]:
    """Return the CPU time of each test that passed [s]."""
    return dict(json.loads(line) for line in (folder / FILE).read_text().splitlines())
