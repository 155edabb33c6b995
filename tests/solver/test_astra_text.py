"""Text workloads of ASTRA-sim: by hand, a real one, and broken ones."""

import pytest
from hypothesis import given

from solver.chain import chain_of
from solver.errors import InterlaceError, InvalidTrace
from solver.graph import ALL_REDUCE, REDUCE_SCATTER
from solver.traces import READERS, Total, TraceOptions, astra_text, detect
from tests.mangled import mangled

SMALL = """DATA
3
first\t-1\t1000\tNONE\t0\t7000\tNONE\t0\t2000\tALLREDUCE\t400\t50
plain -1 3000 NONE 0 500 NONE 0 0 NONE 0 9
last  -1 4000 ALLGATHER 64 5000 NONE 0 6000 REDUCESCATTER 800 0
"""


def read(text, name="small"):
    return astra_text.read([text.encode()], TraceOptions(name))


def test_a_small_workload_by_hand():
    trace = read(SMALL)
    found = [
        (op.id, op.duration_us, op.kind if op.bytes else "", op.bytes, op.after)
        for op in trace.graph.ops
    ]
    assert found == [
        ("weight:last", 6.0, "", None, ()),
        ("grad:last", None, REDUCE_SCATTER, 800, ("weight:last",)),
        ("input:last", 5.0, "", None, ("weight:last",)),
        ("weight:plain", 0.0, "", None, ("input:last",)),
        ("input:plain", 0.5, "", None, ("weight:plain",)),
        ("weight:first", 2.0, "", None, ("input:plain",)),
        ("grad:first", None, ALL_REDUCE, 400, ("weight:first",)),
        ("update:first", 0.05, "", None, ("grad:first",)),
        ("forward:first", 1.0, "", None, ("weight:first", "update:first")),
        ("forward:plain", 3.0, "", None, ("forward:first",)),
        ("forward:last", 4.0, "", None, ("forward:plain", "grad:last")),
    ]
    assert trace.report.dropped == (
        "first: 7000 cycles of input gradient that nothing uses",
        "last: ALLGATHER of 64 bytes in the forward pass, which the DATA loop does not send",
    )
    assert trace.report.collectives == {REDUCE_SCATTER: Total(1, 800), ALL_REDUCE: Total(1, 400)}


def test_a_first_layer_without_input_gradient_drops_nothing():
    assert read(f"DATA\n1\n{LAYER.replace('0 1 NONE 0 1', '0 0 NONE 0 1')}").report.dropped == ()


def test_blank_lines_line_ends_and_further_fields_do_not_matter():
    lines = SMALL.splitlines()
    loose = "\ufeff\r\n" + "\r\n\r\n".join(f"  {line} 5 6 \t" for line in lines) + "\r\n"
    assert read(loose) == read(SMALL)
    assert detect([loose.encode()]) == "astra_text"


def test_resnet_50(shared):
    folder = shared / "astra_text_workload" / "astra-sim+astra-sim"
    content = (folder / "Resnet50_DataParallel.txt").read_bytes()
    assert detect([content]) == "astra_text"
    trace = READERS["astra_text"]([content], TraceOptions("resnet50"))
    assert trace.report.collectives == {ALL_REDUCE: Total(54, 102_011_648)}
    chain = chain_of(trace.graph)
    rows = [line.split() for line in content.decode().splitlines()[2:]]
    backward = sum(int(row[8]) for row in rows) + sum(int(row[5]) for row in rows[1:])
    forward = sum(int(row[2]) for row in rows)
    assert chain.release[-1] == pytest.approx(backward / 1000)
    assert chain.tail.max() == pytest.approx((int(rows[0][11]) + forward) / 1000)


@given(mangled(SMALL.encode()))
def test_broken_files_are_refused_or_read(content):
    try:
        trace = astra_text.read([content], TraceOptions())
    except InterlaceError:
        return
    assert trace.graph.collectives


LAYER = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4 0"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        # no workload
        ("", [("/1", "wrong_format")]),
        ("hello\n1\n", [("/1", "wrong_format")]),
        # no number of layers, or another one
        ("DATA\n", [("/2", "wrong_format")]),
        (f"DATA\nx\n{LAYER}", [("/2", "wrong_format")]),
        (f"DATA\n2\n{LAYER}", [("", "truncated")]),
        (f"DATA\n0\n{LAYER}", [("", "truncated")]),
        ("DATA\n0\n", [("", "no_collective")]),
        # what the file does not tell enough of
        (f"HYBRID_DLRM 3\n1\n{LAYER}", [("/1", "not_supported")]),
        (f"\n\nMODEL\n1\n{LAYER}", [("/3", "not_supported")]),
        # values of layers
        ("DATA\n1\na -1 1 NONE", [("/3", "wrong_format")]),
        (f"DATA\n1\n{LAYER.replace('4', '-4')}", [("/3", "out_of_range")]),
        (f"DATA\n1\n{LAYER.replace('4', '4.5')}", [("/3", "out_of_range")]),
        (f"DATA\n1\n{LAYER.replace('4', '9' * 19)}", [("/3", "out_of_range")]),
        (f"DATA\n1\n{LAYER.replace('ALLREDUCE', 'GATHER')}", [("/3", "out_of_range")]),
        (f"DATA\n2\n{LAYER}\n{LAYER}", [("/4", "duplicate_id")]),
        # nothing to send
        (f"DATA\n1\n{LAYER.replace('4', '0')}", [("", "no_collective")]),
        (f"DATA\n1\n{LAYER.replace('ALLREDUCE', 'NONE')}", [("", "no_collective")]),
        # all faults at once
        ("DATA\n3\na\n\nb\n", [("/3", "wrong_format"), ("/5", "wrong_format"), ("", "truncated")]),
    ],
)
def test_rejected(text, faults):
    with pytest.raises(InvalidTrace) as caught:
        read(text)
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == faults


def test_a_fault_names_the_line_and_the_field():
    """Fields are counted from 1, as people do."""
    for place, word in ((3, "x"), (4, "GATHER"), (11, "-4")):
        fields = LAYER.split()
        fields[place - 1] = word
        with pytest.raises(InvalidTrace, match=rf"Line 3: field {place} must be "):
            read(f"DATA\n1\n{' '.join(fields)}")


@pytest.mark.parametrize("content", [b"", b"DATA", b"DATA\nx", b"OTHER\n3\n", b"\xff\x00", b"{}"])
def test_other_files_do_not_look_like_it(content):
    assert not astra_text.looks_like(content)
