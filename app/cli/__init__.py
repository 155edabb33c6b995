"""The command ``interlace``."""
