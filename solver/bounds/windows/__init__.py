"""A lower bound by contradiction: windows that launches would have in a shorter iteration."""
