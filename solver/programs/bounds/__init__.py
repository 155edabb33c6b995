"""Lower bounds on the time of a program, over all orders of compute, launches, buckets, waits."""
