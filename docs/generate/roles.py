"""What mkdocstrings does with each docstring before it reads it."""

from typing import Any

import griffe

from docs.generate.markdown import markdown


class Roles(griffe.Extension):
    """Write RST's roles and literals as Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of a module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
