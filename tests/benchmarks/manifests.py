"""The examples for Kubernetes beside the published schemas of all kinds that they use.

Run it with ``python -m tests.benchmarks.manifests [--kubernetes 1.31 1.37]``. The validators and
their schemas come from PyPI into a venv of a temporary directory, for they are no dependencies.
Manifests are rendered by ``kubectl kustomize`` where that is installed, else taken as they stand.
Kinds of Kubernetes are held against its own schemas, a ServiceMonitor and a ScaledObject against
models made from the definitions of their operators, a DaskCluster and a DaskAutoscaler against the
definitions in dask-kubernetes. A field that its schema does not know is a fault. Fails with one.
"""

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_PACKAGES = (
    "kubernetes-validate==1.37.0",
    "cloudcoil-models-keda==2.16.1.0",
    "cloudcoil-models-prometheus-operator==0.80.1.0",
)
#: Installed without what it needs to run: its definitions alone are read.
_DEFINITIONS = "dask-kubernetes==2026.3.0"
_MANIFESTS = Path(__file__).parents[2] / "deploy" / "kubernetes"
#: Modules with the models of operators' kinds, by API.
_MODELS = {
    "monitoring.coreos.com/v1": "cloudcoil.models.prometheus_operator.v1",
    "keda.sh/v1alpha1": "cloudcoil.models.keda.v1alpha1",
}
_DASK = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds"


def render(folder: Path) -> list[Path]:
    """Write all manifests to files; return these."""
    copied = folder / "manifests"
    shutil.copytree(_MANIFESTS, copied)
    shutil.copy(copied / "secret.example.yaml", copied / "secret.yaml")
    if shutil.which("kubectl") is None:
        print("kubectl is not installed: the manifests are taken as they stand.")
        return sorted(path for path in copied.rglob("*.yaml") if path.name != "kustomization.yaml")
    found = sorted((copied / "operator").glob("*.yaml"))
    for name in (".", "monitoring"):
        told = subprocess.run(
            ["kubectl", "kustomize", copied / name], check=True, capture_output=True
        )
        found.append(folder / f"{name.strip('.') or 'servers'}.yaml")
        found[-1].write_bytes(told.stdout)
    return found


def check(files: list[str], versions: list[str]) -> int:
    """Print a line for each object and what it was held against; return how many faults there are.

    Runs in the venv of the validators.
    """
    yaml = importlib.import_module("yaml")
    faults = 0
    for path in files:
        for found in filter(None, yaml.safe_load_all(Path(path).read_text("utf-8"))):
            for against, wrong in _held(found, versions):
                named = f"{found['kind']} {found['metadata']['name']}"
                print(f"  {named}, {against}: {wrong or 'fits'}")
                faults += bool(wrong)
    print(f"{faults} faults")
    return faults


def _held(found: Any, versions: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what an object is held against, and what is wrong with it."""
    api, kind = found["apiVersion"], found["kind"]
    if api in _MODELS:
        model = getattr(importlib.import_module(_MODELS[api]), kind)
        try:
            known = model.model_validate(found).model_dump(by_alias=True, exclude_unset=True)
            unknown = list(_unknown(found, known, ""))
        except ValueError as error:
            yield api, str(error)
        else:
            yield api, ", ".join(f"unknown field {each}" for each in unknown)
    elif api.startswith("kubernetes.dask.org/"):
        yield api, _unlike_definition(found)
    else:
        validate = importlib.import_module("kubernetes_validate")
        for version in versions:
            wrong = ""
            try:
                validate.validate(found, version, strict=True)
            except (validate.ValidationError, validate.SchemaNotFoundError) as error:
                wrong = error.message
            yield f"Kubernetes {version}", wrong


def _unknown(found: Any, known: Any, place: str) -> Iterator[str]:
    """Yield where an object has fields that its kind has not: a model forgets them."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name in known:
                yield from _unknown(value, known[name], f"{place}/{name}")
            else:
                yield f"{place}/{name}"
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from _unknown(value, known[i], f"{place}/{i}")


def _unlike_definition(found: Any) -> str:
    """Say what is wrong with an object of dask-kubernetes; empty when nothing is."""
    yaml, jsonschema = map(importlib.import_module, ("yaml", "jsonschema"))
    (folder,) = (Path(each) / _DASK for each in sys.path if (Path(each) / _DASK).is_dir())
    definition = yaml.safe_load((folder / f"{found['kind'].lower()}.yaml").read_text("utf-8"))
    (version,) = definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
    errors = jsonschema.Draft202012Validator(_closed(schema)).iter_errors(found)
    return "; ".join(f"/{'/'.join(map(str, each.path))}: {each.message}" for each in errors)


def _closed(schema: Any) -> Any:
    """Return a schema whose objects have no other fields than it names."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: _closed(each) for name, each in schema.items()}
    is_object = schema.get("type") == "object" and isinstance(schema.get("properties"), dict)
    if is_object and not schema.get("x-kubernetes-preserve-unknown-fields"):
        closed.setdefault("additionalProperties", False)
    return closed


def main() -> None:
    """Install the validators, and have them look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubernetes", nargs="+", default=["1.31", "1.37"], help="versions")
    parser.add_argument("--rendered", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.rendered:
        sys.exit(min(check(asked.rendered, asked.kubernetes), 1))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv", with_pip=True)
        python = folder / "venv" / "bin" / "python"
        alone = {each: value for each, value in os.environ.items() if each != "PYTHONPATH"}
        for words in (_PACKAGES, ("--no-deps", _DEFINITIONS)):
            command = [python, "-m", "pip", "install", "--quiet", *words]
            subprocess.run(command, check=True, env=alone)
        rendered = ["--rendered", *render(folder)]
        command = [python, __file__, "--kubernetes", *asked.kubernetes, *rendered]
        sys.exit(subprocess.run(command, check=False, env=alone).returncode)


if __name__ == "__main__":
    main()
