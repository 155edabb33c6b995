"""Every program of a small problem, tried or ruled out."""
