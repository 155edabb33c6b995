"""Jobs: submitted, claimed by child processes, followed, ended."""
