"""``XSpace`` files of the events that a profiler's JSON has: a process a plane, a thread a line."""

from typing import Any

from tests.protobuf_bytes import message, number

PS = 1_000_000


class Table:
    """Numbers for names, from 1, in the order in which they are asked for."""

    def __init__(self):
        self.numbers = {}

    def __getitem__(self, name):
        return self.numbers.setdefault(name, len(self.numbers) + 1)

    def entries(self, write):
        return [message({1: n, 2: write(n, key)}) for key, n in self.numbers.items()]


def stat(fields, name, value):
    """Write a field: a number as one, a text of a step as it is, any other as a name's number."""
    if isinstance(value, bytes):
        return message({1: fields[name], 6: value})
    if isinstance(value, float):
        return message({1: fields[name], 2: value})
    if str(value).isdecimal():
        return message({1: fields[name], 4: int(value)})
    if len(value) % 2:
        return message({1: fields[name], 5: value})
    return message({1: fields[name], 7: fields[value]})


def plane(name, lines):
    """Write a plane of lines: name, number, start [ns] and events, each of name and fields."""
    fields, names = Table(), Table()
    written = []
    for label, thread, begin, events in lines:
        rows = []
        for event, ts, dur, given in events:
            args = dict(given)
            key = (args.pop("long_name"), event) if "long_name" in args else (event, "")
            stats = [stat(fields, *one) for one in args.items()]
            offset = round(ts * PS) - begin * 1000
            rows.append(message({1: names[key], 2: offset, 3: round(dur * PS), 4: stats}))
        written.append(message({1: thread, 2: label, 3: begin, 4: rows}))
    events = names.entries(lambda n, key: message({1: n, 2: key[0], 4: key[1] or None}))
    stats = fields.entries(lambda n, key: message({1: n, 2: key}))
    return message({2: name, 3: written, 4: events, 5: stats})


def space(*planes):
    """Write the file of planes."""
    return message({1: list(planes), 4: "host"})


def planes_of(events):
    """Write the file of a profile's events as JSON has them, in the order of its processes."""
    names: dict[Any, Any] = {}
    threads: dict[Any, Any] = {}
    rows: dict[Any, Any] = {}
    for event in events:
        where = event.get("pid"), event.get("tid")
        if event.get("name") == "process_name":
            names[where[0]] = event["args"]["name"]
        elif event.get("name") == "thread_name":
            threads[where] = event["args"]["name"]
        elif event.get("ph") == "X":
            row = event["name"], event["ts"], event["dur"], event.get("args", {})
            rows.setdefault(where, []).append(row)
    return space(
        *(
            plane(
                name,
                [
                    (threads.get(where, ""), where[1], 3, some)
                    for where, some in rows.items()
                    if where[0] == pid
                ],
            )
            for pid, name in names.items()
        )
    )


def program(name, instructions):
    """Write a plane with a program: name, opcode, shapes (type, lengths) and groups of each."""
    rows = []
    for label, opcode, shapes, groups in instructions:
        arrays = [message({2: kind, 3: packed(lengths)}) for kind, lengths in shapes]
        whole = message({2: 13, 4: arrays}) if len(arrays) > 1 else arrays[0]
        rows.append(message({1: label, 2: opcode, 3: whole, **groups}))
    module = message({1: name, 3: message({1: "main", 2: rows})})
    value = message({1: 1, 6: message({1: module})})
    kept = message({1: 7, 2: message({1: 7, 2: f"{name}(7)", 5: value})})
    known = message({1: 1, 2: message({1: 1, 2: "hlo_proto"})})
    return message({1: 1, 2: "/host:metadata", 4: kept, 5: known})


def packed(numbers):
    """Write a list of numbers as one field."""
    return b"".join(number(one) for one in numbers)
