"""Runs: training jobs that execute plans, and what they report."""
