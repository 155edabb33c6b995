"""Efficiencies and costs of a machine from measured steps, and what they leave unexplained."""
