"""Why a program takes as long as it does, and why its launches start no earlier."""
