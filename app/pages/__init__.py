"""Pages for people: templates, and scripts that ask the public API; they know nothing else."""
