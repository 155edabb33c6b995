"""Rows for NCCL's tuner plugin: read back by its rules, they name the fastest way of each size."""

from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.calibration.fastest import FastestRange, compared_sizes, fastest_at, fastest_ranges
from solver.errors import InvalidMeasurements
from solver.exports.nccl_tuner import AlgorithmRun, tuner_table
from tests.sampling import cases

RING = AlgorithmRun("Ring", "Simple", {"all_reduce": [(1000, 50.0), (9000, 90.0)]}, 8, 16)
TREE = AlgorithmRun("TREE", "LL", {"all_reduce": [(1000, 20.0), (9000, 180.0)]}, 8)


def configured(text):
    """The plugin's reading: comments, fields by comma, the two last optional; -1 is any."""
    rows = []
    for line in text.splitlines():
        assert len(line) < 255
        if line and not line.startswith("#"):
            fields = line.split(",")
            assert 8 <= len(fields) <= 10
            what, least, most, algorithm, protocol, *numbers = fields
            rows.append((what, int(least), int(most), algorithm, protocol, *map(int, numbers)))
    return rows


def chosen(text, what, size, nodes=1, ranks=8):
    """The first row that fits, as the plugin takes it."""
    for kind, least, most, algorithm, protocol, channels, n, r, *_ in configured(text):
        if kind == what and least <= size <= most and n in {-1, nodes} and r in {-1, ranks}:
            return algorithm, protocol, channels
    return None


def test_two_algorithms_on_paper():
    """Lines from 50 to 90 and from 20 to 180 cross after a quarter of the way: at 3,000."""
    table = tuner_table([RING, TREE], nodes=1)
    assert table.text.splitlines()[1:] == [
        "allreduce,0,2999,tree,ll,-1,1,8,-1,-1",
        "allreduce,3000,18446744073709551615,ring,simple,16,1,8,-1,-1",
    ]
    assert (table.format, table.file) == ("nccl-tuner", "nccl_tuner.conf")
    assert table.notes[0] == (
        "allreduce of 8 ranks: ring/simple/16, tree/ll compared at 2 sizes, 1,000 to 9,000 bytes; "
        "smaller and larger ones are as the nearest."
    )
    assert "has NCCL take one" in table.notes[-1]
    whole = tuner_table([RING, replace(TREE, channels=8)])
    assert [row.channels for row in whole.rows] == [8, 16]
    assert not any("has NCCL take one" in note for note in whole.notes)
    assert chosen(table.text, "allreduce", 2**33) == ("ring", "simple", 16)
    assert chosen(table.text, "allreduce", 2**33, ranks=4) is None


def test_collectives_and_ranks_are_compared_apart():
    sizes = [(8, 1.0), (64, 9.0)]
    slow = [(8, 2.0), (64, 5.0)]
    runs = [
        AlgorithmRun("ring", "ll", {"all_gather": sizes, "all_reduce": sizes}, None),
        AlgorithmRun("pat", "simple", {"all_gather": slow, "broadcast": slow}, None),
        AlgorithmRun("ring", "ll", {"all_gather": slow, "all_to_all": slow}, 16),
        AlgorithmRun("nvls_tree", "simple", {"all_gather": sizes}, 16),
    ]
    table = tuner_table(runs)
    assert [(row.collective, row.ranks, row.algorithm) for row in table.rows] == [
        ("allgather", 16, "nvls_tree"),
        ("allgather", 16, "ring"),
        ("allgather", -1, "ring"),
        ("allgather", -1, "pat"),
    ]
    said = " ".join(table.notes)
    assert "all_to_all: NCCL lets nobody choose its algorithm." in said
    assert "broadcast was measured with pat/simple alone: run broadcast_perf again" in said
    assert "allreduce was measured with ring/ll alone" in said
    assert "NCCL_ALGO=Tree NCCL_PROTO=Simple" in said
    assert "Rows are for any number of ranks" in said


def test_repeated_sizes_have_their_median_and_near_ones_are_said():
    ring = [(8, 5.0), (8, 9.0), (8, 1.0), (64, 4.0), (99, 1.0)]
    more = AlgorithmRun("ring", "simple", {"all_reduce": [(8, 5.0), (8, 5.0)]}, 2)
    tree = [(8, 4.99), (64, 9.0)]
    runs = [
        AlgorithmRun("ring", "simple", {"all_reduce": ring}, 2),
        AlgorithmRun("tree", "simple", {"all_reduce": tree}, 2),
        more,
    ]
    table = tuner_table(runs)
    assert chosen(table.text, "allreduce", 8, ranks=2) == ("tree", "simple", -1)
    assert "allreduce of 2 ranks: at 1 sizes another one is within 1 % of the fastest." in (
        table.notes
    )
    assert "allreduce of 2 ranks: 1 sizes were measured in one way alone, and left out." in (
        table.notes
    )


@pytest.mark.parametrize(
    ("runs", "nodes", "faults"),
    [
        # one algorithm alone: what to measure is said
        ([RING], None, [("/runs", "not_compared", "NCCL_ALGO=Tree NCCL_PROTO=Simple")]),
        ([RING, RING], None, [("/runs", "not_compared", "ring/simple alone")]),
        # two that have no size in common
        (
            [RING, AlgorithmRun("tree", "ll", {"all_reduce": [(7, 1.0)]}, 8)],
            None,
            [("/runs", "not_compared", "no size in common: run all with the same -b, -e and -f")],
        ),
        # of other ranks, or of another collective
        (
            [RING, AlgorithmRun("tree", "ll", RING.samples, 4)],
            None,
            [("/runs", "not_compared", "")],
        ),
        (
            [AlgorithmRun("ring", "ll", {"all_to_all": [(8, 1.0)]})] * 2,
            None,
            [("/runs", "not_compared", "all_to_all: NCCL lets nobody choose")],
        ),
        ([], None, [("/runs", "not_compared", "Nothing was measured.")]),
        # names and numbers that NCCL does not have, all at once
        (
            [
                AlgorithmRun("rings", "Simpel", RING.samples),
                AlgorithmRun("ring", "ll", RING.samples, channels=65),
            ],
            None,
            [
                ("/runs/0/algorithm", "out_of_range", "Did you mean ring?"),
                ("/runs/0/protocol", "out_of_range", "Did you mean simple?"),
                ("/runs/1/channels", "out_of_range", "1 to 64"),
            ],
        ),
        # more nodes than ranks, none, and of several numbers of ranks
        ([RING, TREE], 9, [("/nodes", "out_of_range", "1 to the 8 ranks")]),
        ([RING, TREE], 0, [("/nodes", "out_of_range", "1 to the 8 ranks")]),
        (
            [RING, TREE, AlgorithmRun("tree", "ll", RING.samples, 4)],
            2,
            [("/nodes", "out_of_range", "the runs are of 4, 8")],
        ),
    ],
)
def test_refused(runs, nodes, faults):
    with pytest.raises(InvalidMeasurements) as caught:
        tuner_table(runs, nodes)
    found = [(fault.pointer, fault.code) for fault in caught.value.faults]
    assert found == [(pointer, code) for pointer, code, _ in faults]
    for fault, (_, _, said) in zip(caught.value.faults, faults, strict=True):
        assert said in fault.detail


def test_names_are_those_of_nccl_in_any_case():
    for name, word in (("CollnetDirect", "collnet_direct"), ("NVLSTree", "nvls_tree")):
        other = AlgorithmRun(name, "LL128", TREE.samples, 8)
        assert (word, "ll128", -1) == chosen(tuner_table([RING, other]).text, "allreduce", 5)


ways = st.lists(
    st.dictionaries(st.integers(1, 40), st.integers(1, 6).map(float), max_size=8),
    min_size=1,
    max_size=3,
)


@settings(max_examples=cases(300))
@given(ways)
def test_ranges_are_contiguous_and_name_a_fastest_way_in_fewest_rows(found):
    ranges = fastest_ranges(found)
    sizes = compared_sizes(found)
    if not sizes:
        assert ranges == []
        return
    assert ranges[0].least == 0
    assert ranges[-1].most is None
    for one, after in pairwise(ranges):
        assert one.most is not None
        assert one.least <= one.most == after.least - 1
    for size in sizes:
        (own,) = [r for r in ranges if r.least <= size and (r.most is None or size <= r.most)]
        assert own.way in fastest_at(found, size)
    best = [fastest_at(found, size) for size in sizes]
    fewest = min(1 + sum(a != b for a, b in pairwise(row)) for row in product(*best))
    assert len(ranges) == fewest


@pytest.mark.parametrize(
    ("found", "ranges"),
    [
        # the first of equals, for as long as it lasts
        ([{4: 1.0, 8: 1.0}, {4: 1.0, 8: 1.0}], [FastestRange(0, 0, None)]),
        ([{4: 1.0, 8: 2.0}, {4: 1.0, 8: 1.0}], [FastestRange(1, 0, None)]),
        # not measured at both sides: the geometric mean of 4 and 100
        (
            [{4: 1.0}, {4: 2.0, 100: 9.0}, {100: 3.0}],
            [FastestRange(0, 0, 19), FastestRange(2, 20, None)],
        ),
    ],
)
def test_ranges_by_hand(found, ranges):
    assert fastest_ranges(found) == ranges


@settings(max_examples=cases(100))
@given(ways)
def test_the_file_read_back_names_the_fastest(found):
    names = [("ring", "simple"), ("tree", "ll"), ("nvls", "simple")]
    runs = [
        AlgorithmRun(*name, {"all_reduce": list(times.items())}, 8)
        for name, times in zip(names, found, strict=False)
    ]
    if not compared_sizes(found):
        with pytest.raises(InvalidMeasurements):
            tuner_table(runs)
        return
    text = tuner_table(runs).text
    for size in compared_sizes(found):
        winner = chosen(text, "allreduce", size)
        assert winner is not None
        assert names.index(winner[:2]) in fastest_at(found, size)
    assert text == tuner_table(runs).text
