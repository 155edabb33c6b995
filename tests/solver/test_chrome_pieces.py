"""A list of events decoded piece by piece: the same events, cuts and faults as decoded at once."""

import json
from random import Random
from typing import Any

import msgspec
import pytest

from solver.errors import InvalidTrace
from solver.traces import chrome
from solver.traces.chrome import ChromeEvent, decode, decode_each
from tests.sampling import cases

DECODER = msgspec.json.Decoder(list[ChromeEvent])


def at_once(content):
    try:
        events, cut = decode(content, "/files/0", DECODER)
    except InvalidTrace as error:
        return error.faults
    return events, cut and (cut.events, cut.left_out, cut.is_list_alone)


def piece_by_piece(content):
    events = []

    def taking():
        cut = yield from decode_each(content, "/files/0", DECODER)
        return cut

    pieces = taking()
    try:
        while True:
            events.append(next(pieces))
    except StopIteration as end:
        cut = end.value
        return events, cut and (cut.events, cut.left_out, cut.is_list_alone)
    except InvalidTrace as error:
        return error.faults


def written(draw):
    """Write events, some with objects in lists inside them and brackets in their names."""
    args = [None, {"a": [{"b": 1}, {"c": [{"d": 2}, {}]}]}, {"name": '}, {"ph": "B"}, {'}]
    events = [
        {"ph": draw.choice("BEXi"), "name": f"n{i}", "ts": i, "args": draw.choice(args)}
        for i in range(draw.randrange(12))
    ]
    between = draw.choice([",", ", ", ",\n", " ,\n"])
    end = draw.choice(["]", "\n]\n", "", ",", ",\n", ",]"])
    text = draw.choice(["", "\n", "\ufeff"]) + "[" + between.join(map(json.dumps, events)) + end
    return text.encode()


@pytest.mark.parametrize("piece", [20, 64, 150])
@pytest.mark.parametrize("part", range(cases(40, 4)))
def test_pieces_are_the_whole(piece, part, monkeypatch):
    monkeypatch.setattr(chrome, "_PIECE", piece)
    for seed in range(50 * part, 50 * part + 50):
        draw = Random(seed)
        content = bytearray(written(draw))
        for change in range(draw.randrange(3)):
            at = draw.randrange(len(content))
            content[at:at] = draw.choice([b"", b",", b"]", b"{", b'"', b"\xff", b"[1]", b"null,"])
            content = content[: draw.randrange(len(content) + 1)] if change else content
        whole = bytes(content)
        assert piece_by_piece(whole) == at_once(whole), (seed, whole)


def test_an_object_is_no_list_of_events(monkeypatch):
    monkeypatch.setattr(chrome, "_PIECE", 16)
    content = b'{"events": [' + b",".join([b'{"ph": "B", "ts": 1}'] * 9) + b"]}"
    assert piece_by_piece(content) == at_once(content)


def test_no_more_than_a_piece_is_held(monkeypatch):
    """By hand: of 9 events of 20 bytes, pieces of 64 bytes have three each."""
    monkeypatch.setattr(chrome, "_PIECE", 64)
    sizes = []

    class Counting:
        def decode(self, content):
            sizes.append(len(content))
            return DECODER.decode(content)

    content = b"[" + b",".join([b'{"ph": "B", "ts": 1}'] * 9) + b"]"
    counting: Any = Counting()
    assert len(list(decode_each(content, "", counting))) == 9
    assert max(sizes) == 64
    assert len(sizes) == 3
