"""What five papers measured, as models, clusters and claims; ``reproduce.py`` prints them."""
