"""The documentation: pages in Markdown, and :mod:`docs.generate`, which writes the rest of them."""
