"""``python -m app`` is the command ``interlace``."""

from app.cli import main

main()
