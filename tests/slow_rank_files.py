"""Files of made-up runs, as tools write them of each rank; rows as in ``tests.slow_ranks``."""

import json

from tests import horovod_events as hvd
from tests.kineto_events import AUTOGRAD, NCCL, kernel, note, sized, text

#: All clocks count from later than 0.
_LATER = 2e7


def described(channel):
    return "default_pg" if channel == "network" else channel


def by_rank(rows):
    found: dict[int, list] = {}
    for row in sorted(rows, key=lambda row: (row[0], row[8])):
        found.setdefault(row[0], []).append(row)
    return found


def kineto_files(rows, members):
    """A file for each rank: a kernel of compute before each collective, then the collective.

    members: the ranks of each group.
    """
    names = {group: str(i) for i, group in enumerate(members)}
    world = len(by_rank(rows))
    files = []
    for rank, own in by_rank(rows).items():
        begun: dict[int, float] = {}
        events, number, at = [], 0, own[0][8] - 100.0
        for _, step, _, channel, group, _, _, size, start, end in own:
            begun.setdefault(step, at)
            number += 2
            launch = max(start, at + 1)
            events += kernel(number, at + 0.2 + _LATER, at + 0.5 + _LATER, launch - 0.2 + _LATER)
            launched, ran = kernel(number + 1, at + 0.3 + _LATER, launch + _LATER, end + _LATER,
                                   AUTOGRAD, NCCL, "ncclDevKernel_AllReduce")  # fmt: skip
            ran["args"] |= sized(size // 4) | {
                "Process Group Name": names[group],
                "Process Group Description": described(channel),
                "Process Group Ranks": str(list(members[group])),
                "Group size": len(members[group]),
            }
            events += [launched, ran]
            at = end
        ends = [*list(begun.values())[1:], at]
        for (step, first), last in zip(begun.items(), ends, strict=True):
            events.append(note(f"ProfilerStep#{step}", first + _LATER, last - first - 0.1))
        files.append(text(events, distributedInfo={"world_size": world, "rank": rank}))
    return files


def flight_dumps(rows, members):
    """PyTorch's flight recorder's dump of each rank, as JSON; its times are whole ns."""
    names = {group: str(i) for i, group in enumerate(members)}
    files = []
    for rank, own in by_rank(rows).items():
        config = {
            names[group]: {
                "name": names[group],
                "desc": described(group.split()[0]),
                "ranks": str(list(ranks)),
            }
            for group, ranks in members.items()
            if rank in ranks
        }
        sent: dict[str, int] = {}
        entries = []
        for i, (_, _, _, channel, group, _, kind, size, start, end) in enumerate(own):
            number = sent[group] = sent.get(group, 0) + 1
            begin, over = (10**18 + int(1e3 * time) for time in (start, end))
            pair = members[group]
            other = next(r for r in pair if r != rank)
            name = kind
            if kind == "send":
                name = f"send {rank}->{other}" if rank == pair[0] else f"recv {rank}<-{other}"
            entries.append(
                {
                    "record_id": i,
                    "pg_id": int(names[group]),
                    "process_group": [names[group], described(channel)],
                    "collective_seq_id": number,
                    "p2p_seq_id": number if kind == "send" else 0,
                    "op_id": i + 1,
                    "profiling_name": f"nccl:{name}",
                    "time_created_ns": begin - 900,
                    "time_discovered_started_ns": begin,
                    "time_discovered_completed_ns": over,
                    "duration_ms": (over - begin) / 1e6,
                    "input_sizes": [[size // 4]],
                    "input_dtypes": ["Float"],
                    "output_sizes": [[size // 4]],
                    "output_dtypes": ["Float"],
                    "state": "completed",
                    "is_p2p": kind == "send",
                    "retired": True,
                }
            )
        content = {"version": "2.10", "rank": str(rank), "pg_config": config, "entries": entries}
        files.append(json.dumps(content).encode())
    return files


def horovod_file(rows):
    """The coordinator's timeline: when each rank was ready for each tensor, by one clock."""
    tensors: dict[str, int] = {}
    together: dict[int, list] = {}
    events = [*hvd.HEAD]
    for row in rows:
        together.setdefault(row[5], []).append(row)
    for own in sorted(together.values(), key=lambda own: min(row[8] for row in own)):
        _, _, op, _, _, _, _, size, _, end = own[0]
        if op not in tensors:
            tensors[op] = len(tensors) + 1
            events += hvd.named(tensors[op], f"allreduce.{op}")
        pid = tensors[op]
        ticks = sorted((row[8] + _LATER, row[0]) for row in own)
        ready, decided = ticks[0][0], ticks[-1][0] + 1
        over = end + _LATER
        events += hvd.negotiated(pid, ready, decided, [(rank, at) for at, rank in ticks])
        part = [("NCCL_ALLREDUCE", decided + 1, over - 1)]
        events += hvd.operated([pid], "ALLREDUCE", part, over, [f"[{size // 4}]"], decided + 0.5)
    return hvd.text(events)
