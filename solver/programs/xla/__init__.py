"""A program as XLA runs it: what its flags say, its combiners make, and its scheduler orders."""
