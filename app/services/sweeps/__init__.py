"""Sweeps: checked, computed on all cores, told in sentences, tabled and drawn."""
