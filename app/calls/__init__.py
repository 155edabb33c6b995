"""What a call waits for and may take long: worked out in children of its own, and ended with it."""
