"""Plans of a layer chain and their bound, from the core outwards."""
