"""How many cases the randomized tests try: all with ``pytest --full``, else a sample of them."""

#: One case in so many is tried, but never fewer than this.
ONE_IN, LEAST = 5, 30

full = False  # set once, before any other module of tests is read


def cases(count: int, least: int = LEAST) -> int:
    """Return how many of ``count`` cases to try."""
    return count if full else min(count, max(least, count // ONE_IN))
