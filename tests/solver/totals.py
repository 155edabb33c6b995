"""What a generated iteration holds in all."""

from collections import Counter

from solver.graph import Graph


def moved(graph: Graph) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """Count and bytes of the collectives of each kind on each channel."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for op in graph.ops:
        if op.bytes:
            counts[op.kind, op.channel] += 1
            sizes[op.kind, op.channel] += op.bytes
    return counts, sizes


def flops(graph: Graph, flops_per_us: float, ranks: int = 1) -> float:
    """FLOPs of the forward and backward passes, over all GPUs that share them."""
    own = sum(op.duration_us or 0 for op in graph.ops if op.id != "optimizer")
    return own * flops_per_us * ranks
