"""Launches of one channel whose collectives are all of one kind and wait for none."""
