"""One training job, written as a file of every format that is read: times us, sizes bytes.

A step computes layer by layer, and all-reduces each layer's gradient when it is there, one after
the other; then it updates. So what a file says follows from the job, and a job with another time,
size or number of workers is another file.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from tests import chakra_bytes, horovod_events
from tests.kineto_events import AUTOGRAD, kernel, note, sized, total
from tests.kineto_events import text as profile
from tests.nsys_bytes import ALL_REDUCE, Export, made, payload
from tests.solver import test_flexflow as task_graph
from tests.solver.test_dnn_partitioning import edge, node
from tests.solver.test_pytorch_et import new, summed, trace
from tests.solver.test_schedule_simulator import layer as network_layer
from tests.solver.test_schedule_simulator import text as network
from tests.solver.test_tensorflow import HEAD, op, shown
from tests.solver.test_tensorflow import text as timeline
from tests.solver.test_xla import CPU, on_cpu
from tests.solver.test_xla import text as profile_of_xla

UPDATE = 15


class Job(NamedTuple):
    """What is trained.

    Attributes
    ----------
    computes
        Of the layers, in the order in which their gradients are ready [us].
    sizes
        Of their gradients [bytes], whole floats.
    workers, steps
        How many.
    early
        How long before the first launch of a step is over the second one begins [us].
    """

    computes: tuple[int, ...]
    sizes: tuple[int, ...]
    workers: int = 4
    steps: int = 3
    early: int = 0


class Sending(NamedTuple):
    """A layer of a step: computed from start to ready, sent from begin to end [us]."""

    layer: int
    start: int
    ready: int
    begin: int
    end: int
    size: int


def drawn(draw: Random) -> Job:
    layers = draw.randrange(2, 5)
    computes = tuple(draw.randrange(20, 90) for _ in range(layers))
    return Job(computes, tuple(4 * draw.randrange(200, 2_000) for _ in range(layers)))


def run(job: Job) -> Iterator[tuple[int, list[Sending], int]]:
    """Yield start, layers and end of each step."""
    now = 1_000
    for _ in range(job.steps):
        start, free, layers = now, now, []
        for layer, (compute, size) in enumerate(zip(job.computes, job.sizes, strict=True)):
            begin = max(now + compute, free) - (job.early if layer == 1 else 0)
            free = begin + 10 + size // 50
            layers.append(Sending(layer, now, now + compute, begin, free, size))
            now += compute
        now = max(now, free) + UPDATE
        yield start, layers, now


def kineto(job: Job, is_sized: bool = True) -> list[bytes]:
    events, number = [], 0
    for i, (start, layers, end) in enumerate(run(job)):
        events.append(note(f"ProfilerStep#{i + 1}", start, end - start))
        for one in layers:
            args = sized(one.size // 4) if is_sized else {"External id": number + 2}
            args["Group size"] = job.workers
            events += kernel(number + 1, one.start, one.start, one.ready, AUTOGRAD)
            sent = total(number + 2, one.ready - 1, one.begin, one.end, args)
            events += (
                sent
                if is_sized
                else [note("record_param_comms", one.ready - 2, 4, AUTOGRAD), *sent]
            )
            number += 2
        events += [note("Optimizer.step#SGD.step", end - UPDATE, UPDATE)]
        events += kernel(number + 1, end - UPDATE, end - UPDATE, end)
        number += 1
    return [profile(events, distributedInfo={"rank": 0, "world_size": job.workers})]


def pytorch_et(job: Job) -> list[bytes]:
    nodes, ident = [], 2
    for i in range(job.steps):
        nodes.append(new(ident, f"ProfilerStep#{i + 1}", 1))
        nodes += [summed(ident + 1 + k, 1, size // 4) for k, size in enumerate(job.sizes)]
        ident += 1 + len(job.sizes)
    return [trace(*nodes), *kineto(job, is_sized=False)]


def horovod(job: Job) -> list[bytes]:
    events = list(horovod_events.HEAD)
    for layer in range(len(job.sizes)):
        events += horovod_events.named(layer + 1, f"allreduce.layer{layer}")
    for _, layers, _ in run(job):
        for one in layers:
            ready = [(rank, one.ready) for rank in range(job.workers)]
            parts = [("NCCL_ALLREDUCE", one.begin, one.end)]
            events += horovod_events.negotiated(one.layer + 1, one.ready, one.begin, ready)
            shape = [f"[{one.size // 4}]"]
            events += horovod_events.operated(
                (one.layer + 1,), "ALLREDUCE", parts, one.end, shape, one.begin
            )
    return [horovod_events.text(events)]


def tensorflow(job: Job) -> list[bytes]:
    events, shows = [], []
    _, layers, end = next(run(job))
    for one in layers:
        took = (f"g{one.layer - 1}",) if one.layer else ()
        events.append(op(1, f"g{one.layer}", "MatMul", one.start, one.ready - one.start, *took))
        if not one.size:
            continue
        sent = (f"sum{one.layer}", "CollectiveReduceV2", one.begin, one.end - one.begin)
        events.append(op(1, *sent, f"g{one.layer}"))
        shows.append(shown(2, f"sum{one.layer}", one.size))
    waits = (f"^sum{one.layer}" for one in layers if one.size)
    events.append(op(1, "apply", "ApplyGradientDescent", end - UPDATE, UPDATE, *waits))
    return [timeline([*HEAD, *shows, *events])]


def xla(job: Job) -> list[bytes]:
    events, number = list(CPU), len(job.sizes)
    for i, (_, layers, end) in enumerate(run(job)):
        for one in layers:
            ran = (f"fusion.{one.layer}", one.start, one.ready - one.start)
            sent = (f"all-reduce.{one.layer}", one.begin, one.end - one.begin)
            events += [on_cpu(0, *ran, str(i)), on_cpu(0, *sent, str(i))]
        events.append(on_cpu(0, f"fusion.{number}", end - UPDATE, UPDATE, str(i)))
    groups = ",".join(map(str, range(job.workers)))
    lines = [
        f"  %all-reduce.{i} = f32[{size // 4}]{{0}} all-reduce(%a), replica_groups={{{{{groups}}}}}"
        for i, size in enumerate(job.sizes)
    ]
    hlo = "\n".join(["HloModule jit_step, num_partitions=4", "ENTRY %main {", *lines, "}", ""])
    return [profile_of_xla(events), hlo.encode()]


def chakra(job: Job) -> list[bytes]:
    nodes: list[bytes] = []
    before: list[int] = []
    ident = 1
    for compute, size in zip(job.computes, job.sizes, strict=True):
        nodes.append(chakra_bytes.node(ident, 4, compute, before, name=f"layer{ident}"))
        if size:
            sent = {"comm_type": 0, "comm_size": size}
            nodes.append(chakra_bytes.node(ident + 1, 7, size // 50, [ident], **sent))
        before, ident = [ident], ident + 2
    return [chakra_bytes.file(*nodes)]


def dlc(job: Job) -> list[bytes]:
    server = job.workers
    rows = [
        f"==\t\t num_workers: = {job.workers}     num_servers: = 1     hostname:= w0",
        "ID\tsrc\tdst\tlength\t\tDep_PP\t\tOperation\t\tOP_ID\t\tdep_Type\t\tdTime\t\ttime_sec\t\t"
        "time_usec\t\tIDdep",
    ]
    keys = range(len(job.sizes))
    messages = [(10 * k, k, 2 + i, 403 if i else 28) for k in keys for i in range(2)]
    for i, (_, layers, end) in enumerate(run(job)):
        for one in layers:
            first = 4 + 4 * i
            times = (one.ready, one.end, one.end + 2, end - 2)
            lengths = (one.size, 19, 28, one.size + 3)
            messages += [
                (t, one.layer, first + n, size)
                for n, (t, size) in enumerate(zip(times, lengths, strict=True))
            ]
    what = ("Push_Send", "Push_Recv", "Pull_Send", "Pull_Recv")
    for ident, (time, key, number, length) in enumerate(messages):
        ends = (0, server) if number % 2 == 0 else (server, 0)
        operation = f"OP:= {what[number % 4]}_Worker\t\t{key}-{number}-s0"
        after = f"\t\t1\t\t7\t\t{1_500_000_000 + time // 10**6}\t\t{time % 10**6}\t\t-1"
        rows.append(f"{ident}\t{ends[0]}\t{ends[1]}\t{length}\t\t{number}\t\t{operation}{after}")
    return ["\n".join([*rows, ""]).encode()]


def pipedream(job: Job) -> list[bytes]:
    lines = [
        f"node{i} -- Linear -- forward_compute_time={compute / 2}, backward_compute_time={compute},"
        f" activation_size=8.0, parameter_size={size}"
        for i, (compute, size) in enumerate(zip(job.computes, job.sizes, strict=True), start=1)
    ]
    lines += [f"\tnode{i} -- node{i + 1}" for i in range(1, len(job.sizes))]
    return ["\n".join(lines).encode()]


def dnn_partitioning(job: Job) -> list[bytes]:
    last = len(job.sizes)
    nodes, edges = [], []
    for i, (compute, size) in enumerate(zip(job.computes, job.sizes, strict=True), start=1):
        nodes += [
            node(i, compute / 2, size + 32, i),
            node(10**7 + i, compute, size + 32, i, backward=True),
        ]
        if i < last:
            edges += [edge(i, i + 1, 32), edge(10**7 + i, 10**7 + i + 1, 32)]
    return [json.dumps({"maxFPGAs": 6, "nodes": nodes, "edges": edges}).encode()]


def astra_text(job: Job) -> list[bytes]:
    lines = [
        f"layer{i} -1 {500 * compute} NONE 0 1000 NONE 0 {1000 * compute} ALLREDUCE {size} 10"
        for i, (compute, size) in enumerate(zip(job.computes, job.sizes, strict=True))
    ]
    return ["\n".join(["DATA", str(len(lines)), *lines, ""]).encode()]


def schedule_simulator(job: Job) -> list[bytes]:
    layers = {
        str(i): network_layer(
            f"layer{i}", compute * 500, compute * 1000, size, [i - 1] if i else []
        )
        for i, (compute, size) in enumerate(zip(job.computes, job.sizes, strict=True))
    }
    return [network(layers=layers)]


def flexflow(job: Job) -> list[bytes]:
    """Of two devices, one of which computes; layers are three nodes apart."""
    _, layers, _ = next(run(job))
    rows = [task_graph.ran(3 * len(layers), 0, UPDATE / 1000, "Update", "Update")]
    for one in layers:
        ident = 3 * one.layer
        took = 10 + one.size // 50
        rows.append(task_graph.ran(ident, 0, (one.ready - one.start) / 1000))
        rows.append(task_graph.sent(ident + 1, 0, 1, one.size, took / 1000))
        rows += [task_graph.edge(ident, ident + 1), task_graph.edge(ident + 1, 3 * len(layers))]
        rows += [task_graph.edge(ident - 3, ident)] if one.layer else []
    return [task_graph.text(*rows)]


def nsys(job: Job) -> list[bytes]:
    export = Export().range("ncclCommInitRank", -9, -8, made(job.workers, 0))
    number = 0
    for i, (start, layers, end) in enumerate(run(job)):
        export.range(f"step {i + 1}", start, end)
        for one in layers:
            export.kernel(number + 1, one.start, one.start, one.ready)
            export.range("ncclAllReduce", one.ready - 2, one.ready, payload(one.size))
            export.kernel(number + 2, one.ready - 1, one.begin, one.end, ALL_REDUCE, 20)
            number += 2
        export.kernel(number + 1, end - UPDATE, end - UPDATE, end)
        number += 1
    return [export.bytes]


def flight_recorder(job: Job) -> list[bytes]:
    """A dump of one rank: its launches alone."""
    group = {"name": "0", "desc": "default_pg", "ranks": str(list(range(job.workers)))}
    entries = [
        {
            "record_id": i,
            "collective_seq_id": i,
            "process_group": ["0", "default_pg"],
            "profiling_name": "nccl:all_reduce",
            "time_created_ns": (one.ready + 1) * 1000,
            "time_discovered_started_ns": one.begin * 1000,
            "time_discovered_completed_ns": one.end * 1000,
            "input_sizes": [[one.size // 4]],
            "input_dtypes": ["Float"],
            "state": "completed",
        }
        for i, one in enumerate(one for _, layers, _ in run(job) for one in layers)
    ]
    dump = {"version": "2.10", "pg_config": {"0": group}, "rank": 0, "world_size": job.workers}
    return [json.dumps({**dump, "entries": entries}).encode()]


#: A writer of files for each format.
WRITERS: dict[str, Callable[[Job], list[bytes]]] = {
    "kineto": kineto,
    "pytorch_et": pytorch_et,
    "horovod": horovod,
    "tensorflow": tensorflow,
    "xla": xla,
    "chakra": chakra,
    "dlc": dlc,
    "pipedream": pipedream,
    "dnn_partitioning": dnn_partitioning,
    "astra_text": astra_text,
}
#: Those of formats that tests of their own change and break.
MORE_WRITERS: dict[str, Callable[[Job], list[bytes]]] = {
    "nsys": nsys,
    "flexflow": flexflow,
    "schedule_simulator": schedule_simulator,
}
#: All of them, and that of a format that tells of launches alone.
ALL_WRITERS = {**WRITERS, **MORE_WRITERS, "flight_recorder": flight_recorder}
