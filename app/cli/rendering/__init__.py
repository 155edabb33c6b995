"""Answers as pages of text for a reader: a module for each answer, and the parts they share."""
