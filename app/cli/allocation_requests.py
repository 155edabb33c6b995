"""Parts of a request for allocations from what the command is given."""

from pathlib import Path
from typing import Any

import typer

from app.reading.parsing import read_json
from app.schemas.allocations import TOPOLOGY_FORMS


def topology_of_file(path: Path) -> tuple[dict[str, Any], str]:
    """Return the form of a topology that a file has, and what of a request the file is.

    A file of JSON or YAML is our own form, Slurm's ``topology.yaml`` or a list of Kubernetes;
    anything else is Slurm's ``topology.conf``.
    """
    content = path.read_bytes()
    if path.suffix in (".yaml", ".yml"):
        return _form_of(_yaml(path, content))
    if path.suffix == ".json" or content.lstrip()[:1] in (b"{", b"["):
        return _form_of(read_json(content))
    return {"slurm": content.decode("utf-8", "replace")}, "/topology/slurm"


def _form_of(found: Any) -> tuple[dict[str, Any], str]:
    if isinstance(found, dict) and any(field in found for field in TOPOLOGY_FORMS):
        return found, "/topology"
    return {"document": found}, "/topology/document"


def _yaml(path: Path, content: bytes) -> Any:
    import yaml

    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise typer.BadParameter(f"{path}: {said}", param_hint="TOPOLOGY") from None


def job_of(text: str | None) -> tuple[dict[str, Any], str]:
    """Return a job, and what of a request was given as such.

    It is a file of JSON, a job's own form or a graph, or an example's name.
    """
    if text is None:
        return {}, ""
    path = Path(text)
    if not path.exists() and not path.suffix:
        return {"graph": text}, "/job/graph"
    found = read_json(path.read_bytes())
    if isinstance(found, dict) and "ops" in found:
        return {"graph": found}, "/job/graph"
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{text} is no JSON object", param_hint="JOB")
    return found, "/job"


def list_of(path: Path | None, flag: str) -> list[Any] | None:
    """Return a JSON list of a file; of text, the host list of each line."""
    if path is None:
        return None
    content = path.read_bytes()
    if content.lstrip()[:1] == b"[":
        found = read_json(content)
        if isinstance(found, list):
            return [_with_hosts(each, flag) for each in found]
    if flag != "--candidates":
        raise typer.BadParameter(f"{path} is no JSON list", param_hint=flag)
    lines = content.decode("utf-8", "replace").splitlines()
    sets = [named_hosts(line.strip(), flag) for line in lines if line.strip()]
    if not sets:
        raise typer.BadParameter(f"{path} names no node set", param_hint=flag)
    return sets


def _with_hosts(entry: Any, flag: str) -> Any:
    """Return an entry of a list with host lists as names: of a job that runs, or a node set."""
    if isinstance(entry, str):
        return named_hosts(entry, flag)
    if isinstance(entry, dict) and isinstance(entry.get("on"), str):
        return {**entry, "on": named_hosts(entry["on"], flag)}
    return entry


def named_hosts(text: str, flag: str) -> list[str]:
    """Return the nodes of a host list as Slurm writes them."""
    from solver.clusters.readers.hostlist import hosts
    from solver.errors import InterlaceError

    try:
        found = list(hosts(text))
    except InterlaceError as error:
        raise typer.BadParameter(str(error), param_hint=flag) from None
    if not found:  # of a scheduler that has none: not the same as all
        raise typer.BadParameter("names no node", param_hint=flag)
    return found


def with_flags(wiring: dict[str, Any], figures: dict[str, Any]) -> dict[str, Any]:
    """Put what flags say over a topology's file; figures by level are added to those it has."""
    found = {**wiring, **figures}
    for name, by_levels in figures.items():
        if isinstance(by_levels, dict) and isinstance(of_file := wiring.get(name), dict):
            found[name] = {**of_file, **by_levels}
    return found


def by_level(text: str | None, flag: str) -> dict[str, float] | None:
    """Return ``leaf=400,spine=800`` as figures by level; None without a text."""
    if not text:
        return None
    found: dict[str, float] = {}
    for piece in text.split(","):
        level, equals, value = piece.partition("=")
        try:
            found[level.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            detail = f"{piece!r} is no LEVEL=NUMBER, such as leaf=400"
            raise typer.BadParameter(detail, param_hint=flag)
    return found
