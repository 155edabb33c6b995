"""Pipeline schedules: the order of passes on each pipeline rank.

Every schedule is called alike: ``order(ranks, chunks, micro_batches)`` gives for each rank its
passes in order. Virtual stage k of ``ranks * chunks`` is on the rank that :func:`ranks_of_stages`
says.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

FORWARD: Final = 0
#: The whole backward pass, or where weights have a pass of their own, that of the inputs.
BACKWARD: Final = 1
WEIGHTS: Final = 2

GPIPE: Final = "gpipe"
ONE_F_ONE_B: Final = "1f1b"
INTERLEAVED: Final = "interleaved"
ZERO_BUBBLE: Final = "zero_bubble"
ZB_V: Final = "zb_v"
DUALPIPE: Final = "dualpipe"

#: Schedules in which weights have a pass of their own.
WEIGHTS_APART: Final = (ZERO_BUBBLE, ZB_V, DUALPIPE)

#: Schedules in which the virtual stages go over the ranks forth and back, two on each.
FORTH_AND_BACK: Final = (ZB_V, DUALPIPE)

#: Chunks of a rank whose stages go forth and back.
V_CHUNKS: Final = 2


class Pass(NamedTuple):
    """One pass of a micro-batch through a virtual stage: forward, backward, or of weights."""

    kind: int
    stage: int
    micro_batch: int


PassOrder = tuple[tuple[Pass, ...], ...]


def gpipe(ranks: int, chunks: int, micro_batches: int) -> PassOrder:
    """Run all forward passes, then all backward passes.

    References
    ----------
    .. [1] Y. Huang et al., GPipe, NeurIPS 2019, Figure 2c.
    """
    del chunks
    every = range(micro_batches)
    return tuple(
        (
            *(Pass(FORWARD, rank, j) for j in every),
            *(Pass(BACKWARD, rank, j) for j in every),
        )
        for rank in range(ranks)
    )


def one_f_one_b(ranks: int, chunks: int, micro_batches: int) -> PassOrder:
    """Run a backward pass as soon as there is one: rank i holds at most p - i micro-batches.

    References
    ----------
    .. [1] D. Narayanan et al., PipeDream-Flush (Memory-Efficient Pipeline-Parallel DNN Training),
           ICML 2021, Figure 2.
    """
    return tuple(
        _alternating(
            [Pass(FORWARD, rank, j) for j in range(micro_batches)],
            [Pass(BACKWARD, rank, j) for j in range(micro_batches)],
            min(ranks - 1 - rank, micro_batches),
        )
        for rank in range(ranks)
    )


def interleaved(ranks: int, chunks: int, micro_batches: int) -> PassOrder:
    """Run 1F1B over several chunks of layers a rank, ``ranks`` micro-batches of each at a time.

    References
    ----------
    .. [1] D. Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using
           Megatron-LM, SC 2021, Section 2.2.
    """
    if ranks == 1:  # no pipeline: the chunks are passed one after another
        chunks_of = range(chunks)
        return (
            tuple(
                step
                for j in range(micro_batches)
                for step in (
                    *(Pass(FORWARD, k, j) for k in chunks_of),
                    *(Pass(BACKWARD, k, j) for k in reversed(chunks_of)),
                )
            ),
        )
    total = micro_batches * chunks
    orders = []
    for rank in range(ranks):
        forward, backward = [], []
        for i in range(total):
            chunk = i // ranks % chunks
            j = i // (ranks * chunks) * ranks + i % ranks
            forward.append(Pass(FORWARD, chunk * ranks + rank, j))
            backward.append(Pass(BACKWARD, (chunks - 1 - chunk) * ranks + rank, j))
        ahead = min((ranks - 1 - rank) * 2 + (chunks - 1) * ranks, total)
        orders.append(_alternating(forward, backward, ahead))
    return tuple(orders)


def _alternating(forward: list[Pass], backward: list[Pass], ahead: int) -> tuple[Pass, ...]:
    """Run ``ahead`` forward passes, then one forward and one backward in turn."""
    order = forward[:ahead]
    for after, before in zip(forward[ahead:], backward, strict=False):
        order += [after, before]
    return (*order, *backward[len(forward) - ahead :])


def zero_bubble(ranks: int, chunks: int, micro_batches: int) -> PassOrder:
    """Run weights' passes apart: rank i runs those of a micro-batch i backward passes later.

    A micro-batch is held until its weights' pass, so no rank holds more than p, as 1F1B's first
    does; the weights' passes that are put off fill the wait at the end. With equal passes the
    bubble is (p - 1)(F + B - W).

    References
    ----------
    .. [1] P. Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, Section 2.2 (ZB-H1).
    """
    del chunks
    orders = []
    for rank in range(ranks):
        ahead = min(ranks - rank, micro_batches)
        order = [Pass(FORWARD, rank, j) for j in range(ahead)]
        for j in range(micro_batches):
            order.append(Pass(BACKWARD, rank, j))
            if j >= rank:
                order.append(Pass(WEIGHTS, rank, j - rank))
            if ahead + j < micro_batches:
                order.append(Pass(FORWARD, rank, ahead + j))
        late = range(max(0, micro_batches - rank), micro_batches)
        orders.append((*order, *(Pass(WEIGHTS, rank, j) for j in late)))
    return tuple(orders)


def zb_v(ranks: int, chunks: int, micro_batches: int) -> PassOrder:
    """Run stages forth and back: rank r has the stages r and 2 p - 1 - r, and weights apart.

    The last stage is on the first rank, so its backward pass follows at once. Each rank runs, as
    if all passes took equally long: a backward pass that is ready, of the lower stage first; else a
    forward pass, of the upper stage first, unless it holds 2 p of them, as much as p whole stages;
    else a weights' pass. With equal passes and p micro-batches or more, up to 4 ranks take
    6 m + p - 1 passes, which is the least; 5 to 8 ranks at most p / 2 more (tried up to 2 p + 8).

    References
    ----------
    .. [1] P. Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, ZB-V: the places of the
           stages and the memory; the order is found as said above.
    """
    del chunks
    ends: dict[Pass, int] = {}
    reached = {(kind, k): 0 for kind in (FORWARD, BACKWARD, WEIGHTS) for k in range(2 * ranks)}
    held = [0] * ranks
    orders: list[list[Pass]] = [[] for _ in range(ranks)]

    def ready(rank: int, now: int) -> Iterator[Pass]:
        low, high = rank, 2 * ranks - 1 - rank
        for kind, k in (
            *((BACKWARD, low), (BACKWARD, high)),
            *((FORWARD, high), (FORWARD, low)),
            *((WEIGHTS, high), (WEIGHTS, low)),
        ):
            step = Pass(kind, k, reached[kind, k])
            if step.micro_batch == micro_batches:
                continue
            if kind == FORWARD and held[rank] == 2 * ranks:
                continue
            if all(ends.get(other, now + 1) <= now for other in _before(step, 2 * ranks)):
                yield step

    now = 0
    left = 6 * ranks * micro_batches
    while left:
        for rank in range(ranks):
            step = next(ready(rank, now), None)
            if step is None:
                continue
            ends[step] = now + 1
            reached[step.kind, step.stage] += 1
            held[rank] += (step.kind == FORWARD) - (step.kind == WEIGHTS)
            orders[rank].append(step)
            left -= 1
        now += 1
    return tuple(map(tuple, orders))


def dualpipe(ranks: int, chunks: int, micro_batches: int) -> PassOrder:
    """Send half the micro-batches from either end through stages that two ranks each hold.

    Virtual stage k < p is stage k of the model for those from the first rank, on rank k; virtual
    stage p + k is the same stage for those from the last rank, on rank p - 1 - k. Needs an even p
    and an even number of micro-batches, of at least 2 p. In the middle of a step a forward pass
    of one way and a backward pass of the other take turns, which DualPipe runs beside each other.
    Here they run one after the other: what the one hides of the other's communication is not
    counted, and each hands over as soon as it ends.

    With equal stages, F&B of a forward and a backward pass that end together, B of a whole
    backward pass, the bubble is (p / 2 - 1)(F&B + B - 3 W); where each hands over by itself, less.

    References
    ----------
    .. [1] DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, Section 3.2.1, Table 2 and Figure 5.
    .. [2] DeepSeek-AI, DualPipe, https://github.com/deepseek-ai/DualPipe.
    """
    del chunks
    return tuple(_both_ways(rank, ranks, micro_batches // 2) for rank in range(ranks))


def _both_ways(rank: int, ranks: int, count: int) -> tuple[Pass, ...]:
    """Return the passes of a rank; its near way is that whose micro-batches reach it first."""
    depth = min(rank, ranks - 1 - rank)  # ranks between it and the near end
    inner = ranks // 2 - 1 - depth  # ranks between it and the middle
    forth, back = rank, 2 * ranks - 1 - rank
    near, far = (forth, back) if rank < ranks // 2 else (back, forth)
    reached = {(kind, k): 0 for kind in (FORWARD, BACKWARD) for k in (near, far)}
    order: list[Pass] = []
    late: list[Pass] = []

    def forward(k: int) -> None:
        order.append(Pass(FORWARD, k, reached[FORWARD, k]))
        reached[FORWARD, k] += 1

    def backward(k: int, *, is_late: bool = False) -> None:
        j = reached[BACKWARD, k]
        reached[BACKWARD, k] += 1
        order.append(Pass(BACKWARD, k, j))
        (late if is_late else order).append(Pass(WEIGHTS, k, j))

    for _ in range(2 * inner):
        forward(near)
    for _ in range(depth + 1):
        forward(near)
        forward(far)
    for _ in range(inner):
        backward(far, is_late=True)
        order.append(late.pop(0))
        forward(far)
    for _ in range(count - ranks + depth + 1):
        forward(near)
        backward(far)
        forward(far)
        backward(near)
    for _ in range(inner):
        backward(far)
        forward(far)
        backward(near)
    for i in range(2 * (depth + 1)):
        backward(near if i % 2 else far, is_late=i > depth)
    for _ in range(inner):
        order.append(late.pop(0))
        backward(near, is_late=True)
    return (*order, *late)


def _before(step: Pass, stages: int) -> Iterator[Pass]:
    """Yield the passes that a pass reads from."""
    kind, k, j = step
    if kind == FORWARD and k:
        yield Pass(FORWARD, k - 1, j)
    elif kind == BACKWARD:
        yield Pass(FORWARD, k, j)
        if k + 1 < stages:
            yield Pass(BACKWARD, k + 1, j)
    elif kind == WEIGHTS:
        yield Pass(BACKWARD, k, j)


@lru_cache(maxsize=1024)
def ranks_of_stages(schedule: str, ranks: int, chunks: int) -> tuple[int, ...]:
    """Return the rank of each virtual stage: round and round, or forth and back."""
    if schedule in FORTH_AND_BACK:
        return (*range(ranks), *reversed(range(ranks)))
    return tuple(k % ranks for k in range(ranks * chunks))


def stages_of_way(schedule: str, ranks: int, chunks: int) -> int:
    """Return how many virtual stages a micro-batch passes: all, but where there are two ways."""
    return ranks if schedule == DUALPIPE else ranks * chunks


#: Every schedule, called alike; add one here.
ORDERS: Final[dict[str, Callable[[int, int, int], PassOrder]]] = {
    GPIPE: gpipe,
    ONE_F_ONE_B: one_f_one_b,
    INTERLEAVED: interleaved,
    ZERO_BUBBLE: zero_bubble,
    ZB_V: zb_v,
    DUALPIPE: dualpipe,
}
