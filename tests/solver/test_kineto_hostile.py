"""Traces with values that no profiler should write, but that must not mislead or break a thing."""

import pytest

from solver.errors import InvalidTrace
from solver.traces import TraceOptions, kineto
from tests.kineto_events import sized, small, text


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


@pytest.mark.parametrize(
    ("name", "is_same"), [("allreduce", False), ("broadcast", False), ("all_to_all", True)]
)
def test_ranks_reduce_the_same_bytes(name, is_same):
    """Two all-reduces of one job are of the same tensor; an exchange may be uneven."""
    first = text(small(second=sized(2**20, name)))
    other = text(small(second=sized(2**10, name)))
    if is_same:
        assert read(first, other).graph is not None
        return
    with pytest.raises(InvalidTrace) as caught:
        read(first, first, other)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/files/2", "ranks_differ")
    assert fault.detail.startswith("Collective 2 of this rank's step, a")
    assert "is of 4,096 bytes, in the first file of 4,194,304" in fault.detail


@pytest.mark.parametrize("counts", [{"In msg nelems": -5}, {"Out msg nelems": -5}])
def test_counts_below_zero_are_unknown(counts):
    with pytest.raises(InvalidTrace, match="1 of 2 collectives have no size"):
        read(text(small(second=sized(50) | counts)))
