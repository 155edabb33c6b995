"""The search for a program: rules that make one, changes that better it."""
