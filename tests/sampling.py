"""How many cases the randomized tests try: all in ``make test-long``, else a sample of them."""

#: One case in so many is tried, but never fewer than this.
ONE_IN, LEAST = 10, 12

full = False  # set once, before any other module of tests is read


def cases(count: int, least: int = LEAST, one_in: int = ONE_IN) -> int:
    """Return how many of ``count`` cases to try; of dear ones, one in more."""
    return count if full else min(count, max(least, count // one_in))
