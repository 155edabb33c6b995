"""Parts of a request for allocations from what the command is given."""

from pathlib import Path
from typing import Any

import typer

from app.reading.parsing import read_json
from app.schemas.allocations import TOPOLOGY_FORMS


def topology_of_file(path: Path) -> dict[str, Any]:
    """Return the form of a topology that a file has.

    A file of JSON or YAML is our own form, Slurm's ``topology.yaml`` or a list of Kubernetes;
    anything else is Slurm's ``topology.conf``.
    """
    content = path.read_bytes()
    if path.suffix in (".yaml", ".yml"):
        return _form_of(_yaml(path, content))
    if path.suffix == ".json" or content.lstrip()[:1] in (b"{", b"["):
        return _form_of(read_json(content))
    return {"slurm": content.decode("utf-8", "replace")}


def _form_of(found: Any) -> dict[str, Any]:
    if isinstance(found, dict) and any(field in found for field in TOPOLOGY_FORMS):
        return found
    return {"document": found}


def _yaml(path: Path, content: bytes) -> Any:
    import yaml

    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise typer.BadParameter(f"{path}: {said}", param_hint="TOPOLOGY") from None


def job_of(text: str | None) -> dict[str, Any]:
    """Return a job from a file of JSON, its own form or a graph, or an example's name."""
    if text is None:
        return {}
    path = Path(text)
    if not path.exists() and not path.suffix:
        return {"graph": text}
    found = read_json(path.read_bytes())
    if isinstance(found, dict) and "ops" in found:
        return {"graph": found}
    if not isinstance(found, dict):
        raise typer.BadParameter(f"{text} is no JSON object", param_hint="JOB")
    return found


def list_of(path: Path | None, flag: str) -> list[Any] | None:
    """Return a JSON list of a file; of text, the host list of each line."""
    if path is None:
        return None
    content = path.read_bytes()
    if content.lstrip()[:1] == b"[":
        found = read_json(content)
        if isinstance(found, list):
            return found
    if flag != "--candidates":
        raise typer.BadParameter(f"{path} is no JSON list", param_hint=flag)
    lines = content.decode("utf-8", "replace").splitlines()
    sets = [named_hosts(line.strip(), flag) for line in lines if line.strip()]
    if not sets:
        raise typer.BadParameter(f"{path} names no node set", param_hint=flag)
    return sets


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


def by_level(text: str | None, flag: str) -> dict[str, float]:
    """Return ``leaf=400,spine=800`` as figures by level."""
    found: dict[str, float] = {}
    for piece in (text or "").split(",") if text else ():
        level, equals, value = piece.partition("=")
        try:
            found[level.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            detail = f"{piece!r} is no LEVEL=NUMBER, such as leaf=400"
            raise typer.BadParameter(detail, param_hint=flag)
    return found
