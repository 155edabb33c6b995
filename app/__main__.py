"""``python -m app`` is the command ``interlace``."""

from app.cli.main import main

main()
