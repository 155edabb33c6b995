"""Training through parameter servers: profiled steps, and what many workers make of them."""
