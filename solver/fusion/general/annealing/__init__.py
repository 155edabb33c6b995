"""Random changes of plans in flat arrays: compiled where a compiler is."""
