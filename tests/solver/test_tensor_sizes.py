"""Sizes of tensors: by hand, and beside plain counting."""

from hypothesis import given, settings
from hypothesis import strategies as st

from solver.explanation.tensor_sizes import SizeShare, tensor_sizes
from solver.graph import ALL_GATHER, ALL_REDUCE, COMPUTE, Op, build
from solver.models import MODELS
from tests.sampling import cases


def test_by_hand():
    ops = [
        Op("b", COMPUTE, 1.0, None),
        Op("g1", ALL_REDUCE, None, 300, ("b",)),
        Op("g2", ALL_REDUCE, None, 100, ("b",)),
        Op("g3", ALL_REDUCE, None, 100, ("b",)),
        Op("a", ALL_GATHER, None, 7, (), "nvlink"),
    ]
    reduced, gathered = tensor_sizes(build("g", ops))
    assert (reduced.channel, reduced.kind, reduced.tensors, reduced.bytes) == (
        "network",
        "all_reduce",
        3,
        500,
    )
    assert reduced.median_bytes == 100
    assert reduced.shares == (SizeShare(100, 2, 200), SizeShare(300, 3, 500))
    assert reduced.up_to(299) == SizeShare(299, 2, 200)
    assert reduced.up_to(99) == SizeShare(99, 0, 0)
    assert (gathered.channel, gathered.kind, gathered.bytes) == ("nvlink", "all_gather", 7)


def test_half_of_the_transformers_tensors_are_small():
    """PACE, Fig. 4: over half of those of ResNet-50 and Transformer are less than 1 MB."""
    for name in ("resnet50", "transformer"):
        (found,) = tensor_sizes(MODELS[name]())
        assert 0.5 < found.up_to(999_999).tensors / found.tensors < 1


@settings(max_examples=cases(200))
@given(st.lists(st.integers(1, 9), min_size=1), st.integers(0, 10))
def test_as_counted_one_by_one(sizes, limit):
    ops = [Op(str(i), ALL_REDUCE, None, size, ("c",)) for i, size in enumerate(sizes)]
    (found,) = tensor_sizes(build("g", [Op("c", COMPUTE, 1.0, None), *ops]))
    small = [size for size in sizes if size <= limit]
    assert found.up_to(limit) == SizeShare(limit, len(small), sum(small))
    assert found.shares[-1] == SizeShare(max(sizes), len(sizes), sum(sizes))
    assert sum(size <= found.median_bytes for size in sizes) * 2 >= len(sizes)
    assert sum(size < found.median_bytes for size in sizes) * 2 < len(sizes)
