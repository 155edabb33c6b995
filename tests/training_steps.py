"""Profiled steps that look like those of published models."""

from solver.parameter_server.steps import DOWNLINK, SERVER, UPLINK, WORKER, StepOp, build_step

#: Inception-v3 after Table 3 of PHub: bytes, and time of a batch of 32 on its GPU [us].
INCEPTION_BYTES, INCEPTION_US = 91_000_000, 225_000.0


def layered(layers=120, size=INCEPTION_BYTES, compute_us=INCEPTION_US, update_us=0.0):
    """A chain of layers, later ones larger: five ops each, 600 in all by default.

    Forward passes wait for their downlink, a third of the time; backward passes in reverse order,
    their uplinks and the server's updates behind them.
    """
    weights = [1 + i for i in range(layers)]
    sizes = [size * weight // sum(weights) for weight in weights]
    forward = compute_us / 3 / layers
    ops = [StepOp(f"down{i}", DOWNLINK, None, sizes[i]) for i in range(layers)]
    before: tuple[str, ...] = ()
    for i in range(layers):
        ops.append(StepOp(f"forward{i}", WORKER, forward, None, (f"down{i}", *before)))
        before = (f"forward{i}",)
    for i in reversed(range(layers)):
        ops.append(StepOp(f"backward{i}", WORKER, 2 * forward, None, before))
        before = (f"backward{i}",)
        ops.append(StepOp(f"up{i}", UPLINK, None, sizes[i], before))
        ops.append(StepOp(f"update{i}", SERVER, update_us, None, (f"up{i}",)))
    return build_step(ops)
