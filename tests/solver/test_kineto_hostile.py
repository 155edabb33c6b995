"""Traces with values that no profiler should write, but that must not mislead or break a thing."""

import pytest

from solver.errors import InvalidTrace
from solver.traces import TraceOptions, kineto
from tests.kineto_events import small, text


def read(*files, **asked):
    return kineto.read(files, TraceOptions("x", **asked))


def noted(dims, types='["float"]'):
    """The small step; the size of its first collective is only in the text given."""
    events = small(first={})
    next(e for e in events if e["name"] == "nccl:all_reduce")["args"] = {
        "Input Dims": "DIMS",
        "Input type": "TYPES",
    }
    whole = text(events).replace(b'"DIMS"', dims.encode("latin-1"))
    return whole.replace(b'"TYPES"', types.encode("latin-1"))


@pytest.mark.parametrize(
    ("dims", "types"),
    [
        ("[" * 600 + "25" + "]" * 600, '["float"]'),
        ("[[25]]", '["\xff"]'),
        ("[[1e999]]", '["float"]'),
        ("[[25]]", "[1e999]"),
        ("[[-25]]", '["float"]'),
        ('{"a": [25]}', '["float"]'),
    ],
)
def test_shapes_that_are_none_are_unknown(dims, types):
    assert read(noted("[[25]]")).report.collectives["all_reduce"].bytes == 300
    with pytest.raises(InvalidTrace) as caught:
        read(noted(dims, types))
    assert "have no size" in caught.value.faults[0].detail
