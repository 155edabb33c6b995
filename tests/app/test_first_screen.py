"""What the command's answers begin with: words everywhere, colours and a picture in a terminal."""

import sys

import pytest

from app.cli.rendering.first_screen import first_of_simulation, first_screen
from app.cli.rendering.page import page
from solver.evidence.brief import Brief
from solver.explanation.critical import PathStep

PATH = [
    PathStep("compute", ("a",), 0.0, 500.0, "start", None, None),
    PathStep("wait", ("g",), 500.0, 510.0, "policy", "network", None),
    PathStep("all_reduce", ("g",), 510.0, 1_000.0, "after", "network", 1),
]
FOUND = Brief(
    *("worth_it", "DDP", 2_000.0, 1_000.0, 900.0, 0.5, 0.4, 0.6, False),
    *("Worth it: half the time.", "Bandwidth limits it.", "Next: run it.", "At its best: less."),
)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return monkeypatch


def test_piped_it_is_plain() -> None:
    assert page(first_screen(FOUND, PATH)) == (
        "Worth it: half the time.\nAt its best: less.\nBandwidth limits it.\nNext: run it."
    )
    assert page(first_screen(None, PATH)) == ""


def test_a_terminal_has_colours_and_a_picture(terminal: pytest.MonkeyPatch) -> None:
    verdict, *_, picture, legend = page(first_screen(FOUND, PATH)).split("\n")
    assert verdict == "\x1b[1;32mWorth it\x1b[0m: half the time."
    assert picture.startswith("critical path \x1b[36m")
    assert picture.count("█") == picture.count("▓") == 23
    assert legend.strip() == "█ compute 50 %, ▓ communication 49 %, ░ wait 1 %"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colours_are_not_for_all(terminal: pytest.MonkeyPatch, name: str, value: str) -> None:
    terminal.setenv(name, value)
    text = page(first_screen(FOUND, PATH))
    assert "\x1b" not in text
    assert "█" in text


def test_a_simulation_and_one_without_a_path() -> None:
    said = page(first_of_simulation("DDP", 1_000.0, 500.0, "bandwidth", None, None))
    assert said == (
        "1.000 ms: one iteration with DDP.\n"
        "Bandwidth limits it: communication adds 0.500 ms of its 1.000 ms (50.0 %)."
    )
