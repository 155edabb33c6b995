"""From a graph and a network to a plan with its evidence."""
