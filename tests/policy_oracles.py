"""Policies as plain loops over lists: no engine, no heap, no code of the solver.

Each takes release [us], bytes and tail [us] of the tensors in release order and the time of a
launch, and returns its launches (tensors, start, end, bytes).
"""

MIB = 2**20


def horovod(
    release,
    sizes,
    tail,
    time,
    cycle_time_us,
    fusion_threshold_bytes,
    waits_for_sends,
    tensor_time_us,
):
    sent: list[tuple] = []
    first, tick, channel = 0, 0.0, 0.0
    while first < len(sizes):
        idle = 0
        while release[first] > tick + idle * cycle_time_us:
            idle += 1
        loop = tick = tick + idle * cycle_time_us
        ready = [i for i in range(first, len(sizes)) if release[i] <= tick]
        while ready:
            bucket = [ready.pop(0)]
            while ready and sum(sizes[i] for i in (*bucket, ready[0])) <= fusion_threshold_bytes:
                bucket.append(ready.pop(0))
            first = bucket[-1] + 1
            size = sum(sizes[i] for i in bucket)
            loop += len(bucket) * tensor_time_us
            start = max(loop, channel)
            channel = start + time(size)
            sent.append((tuple(bucket), start, channel, size))
            if waits_for_sends:
                loop = channel
        tick = max(tick + cycle_time_us, loop)
    return sent


def ddp(release, sizes, tail, time, bucket_cap_mb, first_bucket_mb):
    if first_bucket_mb is None:
        first_bucket_mb = 1 if bucket_cap_mb is None else bucket_cap_mb
    if bucket_cap_mb is None:
        bucket_cap_mb = 25
    sent: list[tuple] = []
    bucket: list[int] = []
    now = 0.0
    for i in range(len(sizes)):
        bucket.append(i)
        size = sum(sizes[j] for j in bucket)
        cap = bucket_cap_mb if sent else first_bucket_mb
        if size >= cap * MIB or i == len(sizes) - 1:
            start = max(now, release[i])
            now = start + time(size)
            sent.append((tuple(bucket), start, now, size))
            bucket = []
    return sent


def bytescheduler(
    release,
    sizes,
    tail,
    time,
    partition_bytes,
    credit_bytes,
    cycle_time_us=None,
    tensor_time_us=0.0,
):
    left, sent = list(sizes), []
    issued: list[tuple] = []  # slices that no tick took
    handed: list[tuple] = []  # since when, and what goes as one launch
    now, flying, wire, tick = 0.0, 0, None, 0.0
    while any(left) or issued or handed or wire:
        if wire and wire[2] == now:  # a launch has ended
            flying -= wire[3]
            sent.append(wire)
            wire = None
            continue
        ready = [i for i, r in enumerate(release) if r <= now and left[i]]
        if ready:
            best = min(ready, key=lambda i: (-tail[i], -release[i], i))
            size = min(partition_bytes, left[best])
            if flying == 0 or flying + size <= credit_bytes:
                left[best] -= size
                flying += size
                issued.append((best, size))
                continue
        if issued and cycle_time_us is None:
            handed += [(now, (tensor,), size) for tensor, size in issued]
            issued = []
        if handed and not wire and handed[0][0] <= now:
            _, bucket, size = handed.pop(0)
            wire = (bucket, now, now + time(size), size)
            continue
        if issued and tick == now:
            over = now + len(issued) * tensor_time_us
            handed += [(over, *launch) for launch in fused(issued, sizes)]
            issued, tick = [], max(now + cycle_time_us, over)
            continue
        if tick == now and cycle_time_us is not None:  # nothing more by now
            tick += cycle_time_us
        times = [r for i, r in enumerate(release) if r > now and left[i]]
        times += [wire[2]] if wire else []
        times += [over for over, *_ in handed if over > now]
        if cycle_time_us is not None and (issued or times):
            times.append(tick)
        now = min(times)
    return sent


def fused(slices, sizes):
    """Slices of one tensor side by side are one, then whole tensors side by side are."""
    runs: list[list] = []
    for tensor, size in slices:
        if runs and runs[-1][0] == [tensor]:
            runs[-1][1] += size
        else:
            runs.append([[tensor], size])
    launches: list[list] = []
    for bucket, size in runs:
        whole = size == sizes[bucket[0]]
        if launches and whole and launches[-1][2]:
            launches[-1][0] += bucket
            launches[-1][1] += size
        else:
            launches.append([[*bucket], size, whole])
    return [(tuple(sorted(bucket)), size) for bucket, size, _ in launches]


def mg_wfbp(release, sizes, tail, time, startup):
    sent: list[tuple] = []
    first, free = 0, 0.0
    while first < len(sizes):
        last = first
        while last + 1 < len(sizes) and release[last + 1] < max(free, release[last]) + startup:
            last += 1
        size = sum(sizes[first : last + 1])
        start = max(free, release[last])
        free = start + time(size)
        sent.append((tuple(range(first, last + 1)), start, free, size))
        first = last + 1
    return sent
