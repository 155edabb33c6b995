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


def bytescheduler(release, sizes, tail, time, partition_bytes, credit_bytes):
    left, sent = list(sizes), []
    queue: list[tuple[int, int]] = []
    now, flying, wire = 0.0, 0, None
    while any(left) or queue or wire:
        later = [r for i, r in enumerate(release) if r > now and left[i]]
        ready = [i for i, r in enumerate(release) if r <= now and left[i]]
        if wire and wire[2] == now:  # a slice has ended
            flying -= wire[3]
            sent.append(wire)
            wire = None
            continue
        if ready:
            best = min(ready, key=lambda i: (-tail[i], -release[i], i))
            size = min(partition_bytes, left[best])
            if flying == 0 or flying + size <= credit_bytes:
                left[best] -= size
                flying += size
                queue.append((best, size))
                continue
        if queue and not wire:
            tensor, size = queue.pop(0)
            wire = ((tensor,), now, now + time(size), size)
            continue
        now = min([*later, *([wire[2]] if wire else [])])
    return sent


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
