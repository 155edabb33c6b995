"""From bytes to a checked problem, or to every fault in the user's words."""
