"""The markup of pages: templates, with the names that their scripts show and choose from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import VERSION, names
from solver.glossary import EXAMPLES, LABELS, PROVEN, TERMS

if TYPE_CHECKING:
    from jinja2 import Environment

#: The documentation as a site, where a checkout has built it.
SITE = Path(__file__).parents[2] / "site"


#: What each state of a job is called.
STATES: dict[str, str] = {
    "queued": "waiting",
    "running": "running",
    "succeeded": "done",
    "failed": "failed",
    "cancelled": "cancelled",
    "timed_out": "stopped by its time limit",
}

#: Names that the service knows, for pages that let one be chosen or explain one.
_NAMES = {
    "algorithms": names.ALGORITHMS,
    "bounds": names.BOUND_KINDS,
    "compressions": names.COMPRESSIONS,
    "devices": names.DEVICES,
    "examples": EXAMPLES,
    "exports": names.EXPORTS,
    "fifo": names.FIFO,
    "fits": names.FITS,
    "glossary": TERMS,
    "has_docs": SITE.is_dir(),
    "labels": LABELS,
    "measured": names.MEASURED,
    "policies": names.POLICIES,
    "program_exports": names.PROGRAM_EXPORTS,
    "program_policies": names.PROGRAM_POLICIES,
    "proven": PROVEN,
    "readers": names.READERS,
    "states": STATES,
    "verdicts": names.VERDICTS,
    "what_runs": names.WHAT_RUNS,
}


def markup(template: str, **values: Any) -> str:
    """Fill a template with what it asks for besides names and version."""
    text: str = _templates().get_template(template).render(names=_NAMES, version=VERSION, **values)
    return text


def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - for pages alone

    templates = Environment(
        loader=PackageLoader("app.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    templates.policies["json.dumps_kwargs"] = {"sort_keys": False}  # names keep their order
    return templates
