"""The commands, a module each: what it is asked, in what words, and which work answers it.

A module names its flags at once, and imports what the work needs when the command runs: help,
completion and a wrong flag wait for none of it.
"""
