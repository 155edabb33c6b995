"""Which server has which tensor."""

from collections.abc import Sequence


def shards_of(sizes: Sequence[int], servers: int) -> list[int]:
    """Give each tensor in turn to the server with the fewest bytes so far, of equals the first.

    Parameters
    ----------
    sizes
        Of the tensors [bytes].
    servers
        How many.

    Returns
    -------
    list of int
        The server of each tensor.
    """
    if servers < 1:
        raise ValueError(f"servers must be 1 or more, got {servers}.")
    loads, chosen = [0] * servers, []
    for size in sizes:
        least = loads.index(min(loads))
        loads[least] += size
        chosen.append(least)
    return chosen
