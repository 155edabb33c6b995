"""What the child of each kind of job does: a request in, an answer out; a module each."""
