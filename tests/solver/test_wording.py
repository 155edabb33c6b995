"""Words of faults: values as JSON has them, and the one rule for which name may be meant."""

import math
import pickle
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.reading.parsing import read_json
from solver.wording import meant, must_be, nearest, number, ranged, shown

KNOWN = ("ring", "recursive_doubling", "halving_doubling", "startup_us", "duration_us")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("rng", "ring"),
        ("RING", "ring"),
        ("start_up_us", "startup_us"),
        ("duration", "duration_us"),
        ("halving", "halving_doubling"),
        # words or units in common alone, near to nothing, too long to compare, no name
        ("time_limit_us", None),
        ("xyzzy", None),
        ("", None),
        ("ring" * 100, None),
        (3, None),
        (["ring"], None),
    ],
)
def test_which_name_may_be_meant(name: object, near: str | None) -> None:
    assert nearest(name, KNOWN) == near
    assert meant(name, KNOWN) == (f" Did you mean {near}?" if near else "")


@given(st.sampled_from(KNOWN), st.data())
def test_one_wrong_letter_is_forgiven(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 1))
    if len(name) > 4:
        assert nearest(name[:at] + name[at + 1 :], KNOWN) == name


def test_names_that_share_words_alone_are_not_near() -> None:
    limits = ["memory_limit_bytes", "memory_limits_bytes", "workers"]
    assert nearest("time_limit_s", limits) is None
    assert nearest("memory_limit", limits) == "memory_limit_bytes"
    assert nearest("graph_sha256", ["graph_id"]) is None


def test_a_name_keeps_its_own_case() -> None:
    assert nearest("worker", ["WORKERS", "DATA_DIR"]) == "WORKERS"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (None, "null"),
        (-10, "-10"),
        (float("nan"), "NaN"),
        ("10", '"10"'),
        ("x" * 100, f'"{"x" * 56}...'),
        ([1, 2], "2 items"),
        ((1, 2), "2 items"),
        ({"a": 1}, "1 fields"),
        (1j, "1j"),  # what JSON has not
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    assert shown(value) == text


def test_rules_and_sentences() -> None:
    assert (number(2**60), number(1_000_000), number(1e9)) == ("2^60", "1,000,000", "1e+09")
    assert ranged(0, 1e9) == "0 to 1e+09"
    said = must_be("Policy", "one of ddp, wfbp", "dpd", ("ddp", "wfbp"))
    assert said == 'Policy must be one of ddp, wfbp, got "dpd". Did you mean ddp?'


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_integer_that_is_too_long_is_shown_as_it_was_written(sign: str) -> None:
    digits = sign + "123456789" * 600
    (value,) = read_json(f"[{digits}]".encode())
    assert (math.isinf(value), value < 0) == (True, sign == "-")
    for each in (value, deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert shown(each) == f"{digits[:57]}..."
    said = must_be("Workers", "1 to 8", value)
    assert said == f"Workers must be 1 to 8, got {digits[:57]}...."
