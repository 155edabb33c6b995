"""Chrome traces as the profiler writes them, made event by event; times in us."""

import json

STEP = "ProfilerStep#5"
GRAD = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
MAIN, AUTOGRAD, GPU, NCCL = (1, 1), (1, 2), (0, 7), (0, 20)


def event(name, cat, ts, dur, place=MAIN, **args):
    pid, tid = place
    args = {key.replace("_", " "): value for key, value in args.items()}
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def op(name, ts, dur, place=MAIN, seq=None, forward=None):
    found = event(name, "cpu_op", ts, dur, place)
    if seq is not None:
        found["args"]["Sequence number"] = seq
    if forward is not None:
        found["args"]["Fwd thread id"] = forward
    return found


def backward(name, ts, dur, seq, place=AUTOGRAD):
    return op(f"autograd::engine::evaluate_function: {name}", ts, dur, place, seq, 1)


def note(name, ts, dur, place=MAIN, **args):
    return event(name, "user_annotation", ts, dur, place, **args)


def kernel(number, launch, start, end, by=MAIN, on=GPU, name="gemm", **args):
    """A kernel and the call that launched it."""
    return [
        event("cudaLaunchKernel", "cuda_runtime", launch, 1, by, correlation=number),
        event(name, "kernel", start, end - start, on, correlation=number, **args),
    ]


def sized(count, name="allreduce", dtype="Float"):
    """What newer profilers write on a collective's kernel."""
    return {
        "Collective name": name,
        "In msg nelems": count,
        "Out msg nelems": count,
        "dtype": dtype,
    }


def total(number, launch, start, end, args, by=AUTOGRAD, name="ncclKernel_AllReduce_RING_LL"):
    """A collective's kernel, the call, the annotation, and its copy for the GPU."""
    launched, ran = kernel(number, launch, start, end, by, NCCL, name)
    ran["args"] |= args
    copy = event("nccl:all_reduce", "gpu_user_annotation", start - 1, end - start + 2, NCCL)
    return [launched, ran, note("nccl:all_reduce", launch - 1, 3, by), copy]


def small(first=None, second=None):
    """Two layers, two buckets of 100 and 200 bytes, one step of 100 us."""
    first = sized(25) if first is None else first
    second = sized(50) if second is None else second
    return [
        note(STEP, 0, 100),
        op("aten::a", 2, 4, seq=1),
        *kernel(1, 3, 5, 15),
        op("aten::b", 8, 4, seq=2),
        *kernel(2, 9, 15, 25),
        backward("BBackward0", 26, 4, 2),
        *kernel(3, 27, 30, 40, AUTOGRAD),
        op(GRAD, 31, 5, AUTOGRAD),
        *total(4, 33, 41, 61, first),
        backward("ABackward0", 37, 3, 1),
        *kernel(5, 38, 40, 50, AUTOGRAD),
        op(GRAD, 42, 6, AUTOGRAD),
        *total(6, 44, 61, 71, second),
        note("Optimizer.step#SGD.step", 60, 20),
        *kernel(7, 62, 73, 83),
    ]


def text(events, **top):
    return json.dumps({"schemaVersion": 1, "traceEvents": events, **top}).encode()
