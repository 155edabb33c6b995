"""schedule-simulator's networks: a small one by hand, any chain, and broken ones."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solver.errors import InterlaceError, InvalidTrace
from solver.traces import TraceOptions, detect, read_trace, schedule_simulator
from tests.mangled import mangled
from tests.sampling import cases

UNITS = {
    "name": "net",
    "$local$comm_unit": "B",
    "$local$forward_pass_unit": "ns",
    "$local$backward_pass_unit": "ns",
}


def layer(name, forward, backward, sent, inputs=(), outputs=()):
    return {
        "forward_pass_units": forward,
        "backward_pass_units": backward,
        "communication_units": sent,
        "input_layers": list(inputs),
        "output_layers": list(outputs),
        "extras": {"name": name, "type": "Dense"},
    }


#: From the output to the input, as some are written; one edge is said by its head alone.
SMALL = {
    "extras": UNITS,
    "layers": {
        "0": layer("fc2", 3000, 5000.5, 400, [1]),
        "1": layer("relu", 1000, 2000, 0, [2], [0]),
        "2": layer("fc1", 4000, 6000, 800, [], [1]),
    },
}


def text(content=None, **fields):
    return json.dumps((SMALL if content is None else content) | fields).encode()


def read(*files):
    return schedule_simulator.read(files, TraceOptions("run"))


def test_a_network_by_hand():
    trace = read(text())
    assert [(op.id, op.duration_us, op.bytes, op.after) for op in trace.graph.ops] == [
        ("backward:fc2", 5.0005, None, ()),
        ("grad:fc2", None, 400, ("backward:fc2",)),
        ("backward:relu", 2, None, ("backward:fc2",)),
        ("backward:fc1", 6, None, ("backward:relu",)),
        ("grad:fc1", None, 800, ("backward:fc1",)),
        ("forward:fc1", 4, None, ("backward:fc1", "grad:fc1")),
        ("forward:relu", 1, None, ("forward:fc1",)),
        ("forward:fc2", 3, None, ("forward:relu", "grad:fc2")),
    ]
    assert trace.report.format == detect([text()]) == "schedule_simulator"
    assert trace.report.collectives["all_reduce"].bytes == 1200
    assert read(b"\xef\xbb\xbf" + text()) == trace


@pytest.mark.parametrize(
    ("unit", "scale"), [("ns", 0.001), ("us", 1), ("ms", 1000), ("s", 1_000_000)]
)
def test_units_of_time(unit, scale):
    units = UNITS | {"$local$forward_pass_unit": unit, "$local$comm_unit": "KiB"}
    trace = read(text(extras=units))
    assert trace.graph.ops[-1].duration_us == 3000 * scale
    assert trace.graph.ops[0].duration_us == 5.0005
    assert trace.report.collectives["all_reduce"].bytes == 1200 * 1024


def test_layers_without_names_or_of_one_name():
    layers = {
        "7": layer("a", 1, 1, 1, [], [8]),
        "8": layer("a", 1, 1, 1),
        "9": layer(None, 1, 1, 1),
    }
    names = [op.id for op in read(text(layers=layers)).graph.ops if op.bytes]
    assert names == ["grad:layer9", "grad:a #2", "grad:a"]


def test_what_only_json_of_python_reads_is_read_the_same():
    """NaN is no JSON, extras of a layer may be anything, and a name may be half a character."""
    assert read(text(note=float("nan"))) == read(text())
    for extras, name in (
        (None, "layer0"),
        ("x", "layer0"),
        ({"name": 3}, "layer0"),
        ({"name": "\ud800"}, "\ud800"),
    ):
        layers = SMALL["layers"] | {"0": SMALL["layers"]["0"] | {"extras": extras}}
        found = read(text(layers=layers))
        assert found == read(text(layers=layers, note=float("nan")))
        assert found.graph.ops[0].id == f"backward:{name}"


def changed(number, **fields):
    return text(layers=SMALL["layers"] | {number: SMALL["layers"][number] | fields})


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"{", [("", "not_json")]),
        (b"\xff", [("", "not_text")]),
        (b"[1]", [("", "wrong_format")]),
        (text(layers={}), [("", "wrong_format")]),  # nothing to run
        (text(layers={"x": {}}), [("/layers", "wrong_format")]),  # a key that is no number
        (text(layers={"01": {}}), [("/layers", "wrong_format")]),  # that another may be, too
        (text(layers={"1": 3}), [("/layers/1", "wrong_type")]),
        (text(extras=None), [(f"/extras/{name}", "not_supported") for name in sorted(UNITS)[:0]]),
        (
            text(extras=UNITS | {"$local$comm_unit": "KB"}),  # of 1,000 or of 1,024
            [("/extras/$local$comm_unit", "not_supported")],
        ),
        (
            text(extras=UNITS | {"$local$backward_pass_unit": None}),  # not profiled
            [("/extras/$local$backward_pass_unit", "not_supported")],
        ),
        (changed("1", forward_pass_units=-1), [("/layers/1/forward_pass_units", "out_of_range")]),
        (
            changed("1", backward_pass_units="3"),
            [("/layers/1/backward_pass_units", "out_of_range")],
        ),
        (
            changed("1", communication_units=True),
            [("/layers/1/communication_units", "out_of_range")],
        ),
        (
            changed("1", communication_units=2**61),
            [("/layers/1/communication_units", "out_of_range")],
        ),
        *(
            (
                changed("1", communication_units=no_size),
                [("/layers/1/communication_units", "out_of_range")],
            )
            for no_size in (10**400, float("nan"), float("inf"))  # the first is no float
        ),
        (changed("1", input_layers=3), [("/layers/1/input_layers", "wrong_type")]),
        (changed("1", output_layers=["0"]), [("/layers/1/output_layers", "wrong_type")]),
        (changed("1", input_layers=[9]), [("/layers/1/input_layers/0", "unknown_op")]),
        (changed("2", input_layers=[0]), [("", "cycle")]),
        (text(layers={"0": layer("a", 0, 0, 5)}), [("/layers", "no_compute")]),  # no times
        (text(layers={"0": layer("a", 1, 1, 0)}), [("", "no_collective")]),  # nothing is sent
        (  # all at once
            text(layers={"0": layer("a", -1, None, 5), "1": []}),
            [
                ("/layers/0/forward_pass_units", "out_of_range"),
                ("/layers/0/backward_pass_units", "out_of_range"),
                ("/layers/1", "wrong_type"),
            ],
        ),
        (  # no time, no unit of bytes and an edge to no layer
            text(
                layers={"0": layer("a", 0, 0.0, 5, [7]), "1": layer("b", 0, 0, 5, [0], [9, 0])},
                extras=UNITS | {"$local$comm_unit": "KB"},
            ),
            [
                ("/extras/$local$comm_unit", "not_supported"),
                ("/layers", "no_compute"),
                ("/layers/0/input_layers/0", "unknown_op"),
                ("/layers/1/output_layers/0", "unknown_op"),
            ],
        ),
    ],
)
def test_broken_files(content, found):
    with pytest.raises(InvalidTrace) as caught:
        read(content)
    faults = [(fault.pointer, fault.code) for fault in caught.value.faults]
    assert faults == (found or [(f"/extras/{name}", "not_supported") for name in ORDER])


#: Units as they are looked for.
ORDER = ("$local$forward_pass_unit", "$local$backward_pass_unit", "$local$comm_unit")


@settings(max_examples=cases(30))
@given(
    st.lists(st.tuples(*[st.integers(0, 99)] * 3), min_size=1, max_size=6),
    st.permutations(range(6)),
)
def test_any_chain_comes_back(rows, numbers):
    """Layers in a chain, whatever their numbers are and wherever they stand in the file."""
    numbers = numbers[: len(rows)]
    chain = list(zip(numbers, rows, strict=True))
    layers = {
        str(n): layer(f"l{n}", forward, backward, size, [chain[i - 1][0]] if i else [])
        for i, (n, (forward, backward, size)) in enumerate(chain)
    }
    content = text(layers=dict(sorted(layers.items())))
    if not any(forward + backward for forward, backward, _ in rows) or not any(r[2] for r in rows):
        with pytest.raises(InvalidTrace):
            read(content)
        return
    ops = read(content).graph.ops
    passes = [op.id for op in ops if op.bytes is None]
    assert passes == [f"backward:l{n}" for n in reversed(numbers)] + [
        f"forward:l{n}" for n in numbers
    ]
    assert {op.id: op.bytes for op in ops if op.bytes} == {
        f"grad:l{n}": row[2] for n, row in chain if row[2]
    }
    assert sum(op.duration_us or 0 for op in ops) * 1000 == pytest.approx(
        sum(forward + backward for forward, backward, _ in rows)
    )


@settings(max_examples=cases(40))
@given(mangled(text()))
def test_mangled_files_are_read_or_refused(content):
    with suppress(InterlaceError):
        read_trace([content])
