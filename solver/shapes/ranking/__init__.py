"""All shapes of a job, ranked, with the proof that none is better."""
