"""Programs: the order of compute, launches and waits on one rank's host, and their memory."""
