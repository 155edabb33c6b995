"""Which tensors travel together, in which parts and order."""
