"""What the commands print for a reader: columns that hold in any window, and whole figures."""

import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from app.cli.rendering.page import page
from app.cli.rendering.tables import shortened, table, time, times
from app.routers.parameter_servers import EXAMPLE
from app.services.examples import TWO_LAYERS
from tests.app.command import Run
from tests.app.service import ROOT

DATA = ROOT / "tests" / "data"
#: A number, and the unit that belongs to it.
FIGURE = re.compile(r"\*?\d[\d,.]*(?: (?:ms|us|s|%|MB|B|Gbit/s)(?!\w))?")
ESCAPES = re.compile(r"\x1b\[[\d;]*m")
#: The line of the critical path, and those of its shares below it.
PATH = re.compile(r"^ *critical path .*\n(?: .*\n)*", re.MULTILINE)
#: As frameworks make them; the last is not to be read as markup.
LONG = [
    "grad:_fsdp_wrapped_module.model.layers.31.self_attn.q_proj._flat_param.weight",
    "grad:_fsdp_wrapped_module.model.layers.30.self_attn.q_proj._flat_param.weight",
    "grad:" + 100 * "層",
    "grad:[bold]:smile:[/bold]\\" + 200 * "x",
]


class Window(io.StringIO):
    """A terminal that keeps what is printed."""

    def isatty(self) -> bool:
        return True


def printed() -> str:
    assert isinstance(sys.stdout, Window)
    return sys.stdout.getvalue()


@contextmanager
def window(columns: int) -> Iterator[None]:
    """Print on a terminal of so many columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        patch.setattr(sys, "stdout", Window())
        yield


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the commands are tried on."""
    ops = []
    for i, name in enumerate(LONG):
        after = [f"b{i - 1}"] if i else []
        ops.append({"id": f"b{i}", "kind": "compute", "duration_us": 500, "after": after})
        ops.append({"id": name, "kind": "all_reduce", "bytes": 10**6, "after": [f"b{i}"]})
    (tmp_path / "long.json").write_text(json.dumps({"name": "long", "ops": ops}))
    (tmp_path / "two.json").write_text(json.dumps(TWO_LAYERS))
    (tmp_path / "steps.json").write_text(json.dumps(EXAMPLE))
    sizes = "".join(f"{10**k},{50 + 10**k / 1000}\n" for k in range(2, 8))
    (tmp_path / "samples.csv").write_text(f"size(B),time(us)\n{sizes}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


COMMANDS = [
    "plan long.json --what-if b0=duration*0.5 --fusion maxmin",
    "plan two.json --baseline bytescheduler:credit_bytes=auto,partition_bytes=12345 --barrier",
    "simulate long.json --policy ddp --jitter 0.1 --runs 9 --rival p3:slice_bytes=123456",
    "predict two.json --workers 8,32 --buffers-bytes 0,1,104857600",
    "sweep two.json --workers 2,8",
    "sweep two.json --workers 2,8 --policy ddp:bucket_cap_mb=0.5,first_bucket_mb=0.25 --policy p3",
    "parameter-server steps.json --bandwidths-gbps 1,10 --simulated-steps 40 --dropped-steps 4",
    "placements two.json --servers 3 --racks racks=2,workers_per_rack=2,worker_gbps=10,pbox_gbps=9,"
    "core_gbps=8 --prices baseline_samples_per_s=9,hub_samples_per_s=8 --chunk-bytes 100000 "
    "--job model_bytes=100000,batch_time_us=100,workers=2",
    "calibrate samples.csv --workers 8",
    "import two.json",
    f"dlc {DATA}/dlc_w0.txt {DATA}/dlc_w1.txt {DATA}/dlc_s0.txt",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_window_changes_no_figure(files: Path, run: Run, command: str) -> None:
    piped = run(*command.split()).stdout
    for columns in (80, 200):
        with window(columns):
            run(*command.split())
            shown = printed()
        # a terminal has a picture of the critical path besides, and colours
        shown = PATH.sub("", ESCAPES.sub("", shown))
        assert max(map(cell_len, shown.splitlines())) <= columns
        # tables that go on below say again what their rows are about
        assert {*FIGURE.findall(shown)} == {*FIGURE.findall(piped)}
        if columns == 200:
            assert Counter(FIGURE.findall(shown)) == Counter(FIGURE.findall(piped))


@pytest.mark.parametrize("command", COMMANDS)
def test_elsewhere_it_is_plain_and_always_the_same(files: Path, run: Run, command: str) -> None:
    plain = run(*command.split())
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "\x1b" not in plain.stdout
    assert plain.stdout == "".join(f"{line.rstrip()}\n" for line in plain.stdout.splitlines())
    settings = {"COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    assert run(*command.split(), **settings) == plain


LISTING = ("simulate", "long.json", "--policy", "wfbp", "--bandwidth-gbps", "0.01")


@pytest.mark.parametrize("columns", [0, 80, 200])
def test_long_names_do_not_break_the_columns(files: Path, run: Run, columns: int) -> None:
    if columns:
        with window(columns):
            run(*LISTING)
            shown = printed()
    else:
        shown = run(*LISTING).stdout
    rows = [line for line in shown.splitlines() if re.search(r" ms  \d\.000 MB$", line)]
    assert len(rows) == len(LONG)
    assert len({cell_len(row[: row.index(" ms")]) for row in rows}) == 1
    names = [row.split()[0] for row in rows]
    assert len({*names}) == len(LONG)  # told apart by their ends
    for name in names:
        head, tail = name.split("...")
        assert head
        assert any(long.startswith(head) and long.endswith(tail) for long in LONG)


NAMES = st.text(st.characters(exclude_categories=("C", "Z", "M")), max_size=60)


@given(st.lists(st.builds("{}{}{}".format, NAMES, st.integers(0, 99), NAMES), min_size=1))
def test_names_are_cut_in_the_middle_and_stay_apart(names: list[str]) -> None:
    cut = shortened(names)
    assert len({*cut}) == len({*names})
    for short, name in zip(cut, names, strict=True):
        if short != name:
            assert 46 <= cell_len(short) <= 48  # a wide character may not fit
            head, _, tail = short.partition("...")
            assert name.startswith(head)
            assert name.endswith(tail)
    assert shortened([name]) != [name] or cell_len(name) <= 48


@pytest.mark.parametrize(
    ("names", "cut"),
    [
        (["bias"], ["bias"]),
        (LONG[:1], ["grad:_fsdp_wrap...attn.q_proj._flat_param.weight"]),
        (  # the ends are alike
            LONG[:2],
            [
                "grad:...s.31.self_attn.q_proj._flat_param.weight",
                "grad:...s.30.self_attn.q_proj._flat_param.weight",
            ],
        ),
        (
            ["a" + 60 * "x", "b" + 60 * "x"],
            ["a" + 14 * "x" + "..." + 30 * "x", "b" + 14 * "x" + "..." + 30 * "x"],
        ),
        (
            [20 * "x" + "a" + 60 * "x", 20 * "x" + "b" + 60 * "x"],
            [20 * "x" + "a" + 60 * "x", 20 * "x" + "b" + 60 * "x"],
        ),
    ],
)
def test_names_are_cut(names: list[str], cut: list[str]) -> None:
    assert shortened(names) == cut


WORDS = st.text("abc_=:,[]", min_size=1, max_size=40)
NUMBERS = st.from_regex(r"\*?[0-9]{1,7}\.[0-9]{1,3}( %| ms)?", fullmatch=True)


@given(st.data(), st.integers(1, 6), st.integers(10, 150))
def test_figures_are_never_broken(data: st.DataObject, columns: int, width: int) -> None:
    heads = data.draw(st.lists(WORDS, min_size=columns + 1, max_size=columns + 1))
    rows = data.draw(
        st.lists(st.lists(NUMBERS, min_size=columns, max_size=columns), min_size=1, max_size=5)
    )
    drawn = table(heads, [[f"row{i}", *figures] for i, figures in enumerate(rows)])
    with window(width):
        parts = page([drawn]).split("\n\n")
    shown: list[list[str]] = [[] for _ in rows]
    for part in parts:
        lines = part.splitlines()
        assert width < 40 or max(map(len, lines)) <= width
        cells = [[*re.finditer(r"\S+(?: %| ms)?", line)] for line in lines[-len(rows) :]]
        assert [first[0] for first, *_ in cells] == [f"row{i}" for i in range(len(rows))]
        assert len({tuple(each.end() for each in line) for line in cells}) == 1  # below each other
        for row, (_, *others) in zip(shown, cells, strict=True):
            row += [each[0] for each in others]
    assert shown == rows


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=5), WORDS, st.integers(10, 150))
def test_times_are_never_broken(values: list[float], what: str, width: int) -> None:
    with window(width):
        lines = page([times([time(what, value, "and a remark") for value in values])]).splitlines()
    shown = [each[0] for line in lines for each in re.finditer(r"\d+\.\d{3} ms", line)]
    assert shown == [f"{value / 1e3:.3f} ms" for value in values]
    assert len({line.index(" ms") for line in lines if " ms" in line}) == 1


def test_prose_keeps_its_indentation_and_its_figures() -> None:
    line = "  assumed: " + "word " * 9 + "1234567890 % " + "word " * 9
    with window(66):
        first, second = page([line]).splitlines()
    assert first == ("  assumed: " + "word " * 9).rstrip()
    assert second == ("    1234567890 % " + "word " * 9).rstrip()
