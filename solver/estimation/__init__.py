"""Costs estimated from measured iteration times."""
