"""The parts of the reference that are written from the code, each time the site is built.

A page says where such a part belongs: ``<!-- generate: errors -->`` stands for what the function of
that name in :data:`PARTS` returns, and ``<!-- include: solver/MODEL.md -->`` for a page that lies
elsewhere in the repository. Up to ``<!-- end: errors -->`` the part is in the committed page too:
``make reference`` writes it there.
"""

from collections.abc import Callable
from functools import partial

from docs.generate.bounds import bound_kinds
from docs.generate.command import command
from docs.generate.costs import algorithms, cluster_fields
from docs.generate.errors import errors
from docs.generate.formats import exporters, program_exporters, read_formats, readers
from docs.generate.glossary import glossary, labels
from docs.generate.limits import limits
from docs.generate.names import names
from docs.generate.policies import policies
from docs.generate.requests import calls, schemas
from docs.generate.settings import settings

#: What can be generated, in Markdown; add a part here.
PARTS: dict[str, Callable[[], str]] = {
    "algorithms": algorithms,
    "bound_kinds": bound_kinds,
    "calls": calls,
    "cluster_fields": cluster_fields,
    "client": partial(names, "interlace_client"),
    "command": command,
    "errors": errors,
    "exporters": exporters,
    "program_exporters": program_exporters,
    "glossary": glossary,
    "labels": labels,
    "limits": limits,
    "names": partial(names, "interlace"),
    "policies": policies,
    "read_formats": read_formats,
    "readers": readers,
    "schemas": schemas,
    "settings": settings,
}
