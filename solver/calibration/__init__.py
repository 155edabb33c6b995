"""From measurements of a collective to its cost."""
