"""PyTorch execution traces: what each op was called with."""

from solver.traces.pytorch_et.reader import FORMAT, looks_like, read

__all__ = ["FORMAT", "looks_like", "read"]
