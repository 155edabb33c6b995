"""Launches of graphs whose channels are not problems of their own."""
