"""Clusters as they are wired: nodes, links, and where on them a job runs best."""
