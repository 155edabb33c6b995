"""How an iteration scales: by OSF, simulated, planned, and swept over clusters."""
