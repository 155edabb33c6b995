"""DLC traces by csv and plain loops: texts made of rows, and the figures of section 4.2."""

import csv
import math
from itertools import pairwise
from statistics import NormalDist, fmean

HEADS = {
    "paper": "id src dst length num_pp operation op_id dep_type d_time time_sec time_usec id_dep",
    "recorder": "ID src dst length Dep_PP Operation OP_ID dep_Type dTime time_sec time_usec IDdep",
}
WORKER = ["Push_Send_Worker", "Push_Recv_Worker", "Pull_Send_Worker", "Pull_Recv_Worker"]
SERVER = ["Push_Recv_Server", "Push_Send_Server", "Pull_Recv_Server", "Pull_Send_Server"]


def text_of(node, workers, servers, messages, spelling="recorder"):
    """Write rows ``(iteration, key, stage, peer, time, length)`` of a node such as ``w0``."""
    number, is_server = int(node[1:]), node[0] == "s"
    me = number + (workers if is_server else 0)
    lines = [f"== num_workers:= {workers} num_servers:= {servers} hostname:= x", ""]
    lines.append("\t".join(HEADS[spelling].split()))
    for i, (iteration, key, stage, peer, time, length) in enumerate(messages):
        other = peer if is_server else peer + workers
        name = (SERVER if is_server else WORKER)[stage]
        src, dst = (me, other) if "Send" in name else (other, me)
        counted = 4 * iteration + stage + (4 if node == "w0" else 2)
        op = f"{key}-{counted}-{'w' if is_server else 's'}{peer}"
        row = [i, src, dst, length, 1, f"OP:= {name}", op, 1, 0, *divmod(time, 10**6), "-1"]
        lines.append("\t".join(map(str, row)))
    return "\n".join(lines) + "\n"


def rows_of(text):
    """Yield iteration, key, stage, peer, time and length of each row with twelve columns."""
    for fields in csv.reader(text.splitlines(), delimiter="\t"):
        row = [field for field in fields if field]
        name = row[5].removeprefix("OP:= ") if len(row) == 12 else ""
        if name not in WORKER + SERVER:
            continue
        stage = (WORKER if name in WORKER else SERVER).index(name)
        key, number, peer = row[6].replace("--", "-~").split("-")
        begin = int(number.replace("~", "-")) - stage
        first = 4 if name in WORKER and begin % 4 == 0 else 2
        time = int(row[9]) * 10**6 + int(row[10])
        yield (begin - first) // 4, int(key), stage, peer, time, int(row[3])


def phases(text):
    """Return iteration -> phases 1, 2, 3, computation, wait, overlap; None where not known."""
    times: dict = {}
    pushed, pulled = set(), set()
    for iteration, key, stage, peer, time, _ in rows_of(text):
        times.setdefault((iteration, stage), {})[key, peer] = time
        if iteration >= 0 and stage == 0:
            pushed.add((key, peer))
        if iteration >= 0 and stage == 3:
            pulled.add((key, peer))
    measured = {}
    for iteration in sorted(i for i, stage in times if i >= 0 and stage == 0):
        sends = times[iteration, 0]
        before, gets = times.get((iteration - 1, 3), {}), times.get((iteration, 3), {})
        first = last = start = end = wait = None
        if set(sends) == pushed:
            first, last = min(sends.values()), max(sends.values())
        if pulled and pulled <= set(before) and not (first is not None and _most(before) > first):
            start = _most(before)
        if pulled and set(gets) == pulled and not (first is not None and _most(gets) < first):
            end, wait = _most(gets), _most(gets) - min(gets.values())
        one, two, three = _minus(first, start), _minus(last, first), _minus(end, first)
        overlap = None
        if one is not None and three is not None and one + three:
            overlap = two / (one + three)
        measured[iteration] = (one, two, three, _minus(last, start), wait, overlap)
    return measured


def _most(times):
    return max(times.values())


def _minus(end, begin):
    return None if end is None or begin is None else end - begin


def of_servers(text, workers):
    """Return search, synchronization and update overheads of a server, as lists by key."""
    search: dict = {}
    synchronization: dict = {}
    update: dict = {}
    pushes: dict = {}
    confirmed: dict = {}
    asked, sent = {}, {}
    for iteration, key, stage, peer, time, _ in rows_of(text):
        if iteration < 0:
            continue
        if stage == 0:
            pushes.setdefault((key, iteration), []).append(time)
        elif stage == 1:
            confirmed.setdefault((key, iteration), []).append(time)
        elif stage == 2:
            asked[key, iteration, peer] = time
        else:
            sent[key, iteration, peer] = time
    for each, time in sent.items():
        if each in asked:
            search.setdefault(each[0], []).append(time - asked[each])
    for each, times in pushes.items():
        if len(times) == workers and each in confirmed:
            synchronization.setdefault(each[0], []).append(max(times) - min(times))
            update.setdefault(each[0], []).append(min(confirmed[each]) - max(times))
    return search, synchronization, update


def volume(text, iterations):
    """Return the mean bytes of the four messages over some iterations."""
    sums = [0, 0, 0, 0]
    for iteration, _, stage, _, _, length in rows_of(text):
        if iteration in iterations:
            sums[stage] += length
    return [size / len(iterations) for size in sums]


def distance(values, cdf):
    """Return Kolmogorov and Smirnov's distance of values from a distribution."""
    ordered, most = sorted(values), 0.0
    for i, value in enumerate(ordered):
        share = cdf(value)
        most = max(most, abs((i + 1) / len(ordered) - share), abs(i / len(ordered) - share))
    return most


def nearest(values):
    """Return name, error and both parameters of the nearer distribution."""
    mean = fmean(values)
    deviation = math.sqrt(fmean((value - mean) ** 2 for value in values))
    fits = [("normal", distance(values, NormalDist(mean, deviation).cdf), mean, deviation)]
    if min(values) > 0:
        logs = [math.log(value) for value in values]
        center = fmean(logs)
        width = math.sqrt(fmean((value - center) ** 2 for value in logs))
        of_logs = NormalDist(center, width)
        error = distance(values, lambda value: of_logs.cdf(math.log(value)))
        fits.append(("log_normal", error, math.exp(center), width))
    return min(fits, key=lambda fit: fit[1])


def histogram(values, bins):
    """Count values in equal bins, the last one with its end."""
    least, most = min(values), max(values)
    edges = [least + (most - least) * i / bins for i in range(bins + 1)]
    counts = [sum(a <= value < b for value in values) for a, b in pairwise(edges)]
    counts[-1] += sum(value == most for value in values)
    return counts
