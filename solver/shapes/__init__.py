"""The shape of a job: how many ways its model is split, and what a step then takes.

A transformer by its numbers, a cluster by its levels and a shape become the order in which each
stage of the pipeline works, with times and messages (:mod:`solver.shapes.step`), and the memory
that this takes (:mod:`solver.shapes.memory`).
"""
