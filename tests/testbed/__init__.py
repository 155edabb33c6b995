"""Training runs on a network of hosts within this machine, each beside its prediction."""
