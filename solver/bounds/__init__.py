"""Lower bounds on the iteration time over all fusions, partitions and orders."""
