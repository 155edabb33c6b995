"""Fully sharded data parallelism: units of a graph, and the iteration as FSDP2 runs them."""
