"""Frameworks, which send each bucket whole: what they make of a plan, and what they lose of it."""
