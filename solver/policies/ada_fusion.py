"""adaFusion: fuse a tensor when waiting for it costs less than a launch of its own."""

from solver.chain import Chain
from solver.costs import Cost
from solver.policies.rules import Queue, first_in_first_out, whole
from solver.simulate import Rule


def ada_fusion(chain: Chain, cost: Cost) -> Rule:
    """Fuse the next tensor when t(buffer + D) + wait < t(buffer) + t(D), first in, first out.

    The wait is the gap between the release of the buffer's last member and that of the tensor of
    D bytes; t is the cost of a launch as given, linear or piecewise. A buffer has no limit and
    leaves when its last member is released.

    References
    ----------
    .. [1] OSF, Section 4.2, eq. 17 (adaptive tensor fusion).
    """
    release, sizes = chain.release.tolist(), chain.bytes.tolist()
    buffers = [[0]]
    held = sizes[0]
    for tensor in range(1, len(chain)):
        size = sizes[tensor]
        wait = release[tensor] - release[tensor - 1]
        if cost.time(held + size) + wait < cost.time(held) + cost.time(size):
            buffers[-1].append(tensor)
            held += size
        else:
            buffers.append([tensor])
            held = size
    return Queue(whole(buffers, chain), first_in_first_out)
