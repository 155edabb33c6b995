"""Iterations under the rules of today, compiled: each .pxd gives the types of the .py beside it.

Without a compiler the same lines run as Python, slower, and give the same figures.
"""
