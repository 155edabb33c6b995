"""The one simulator, and what is asked of it: jitter, what-ifs, timelines."""
