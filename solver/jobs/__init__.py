"""Jobs that train beside one another on shared links: simulated, bounded, planned together."""
