"""The examples of deployments: they parse, and name settings, ports and options that there are."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from app import VERSION
from app.operations.metrics import Metrics
from app.operations.settings import Settings
from tests.docs.blocks import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML, which comes with Dask, is not installed")

DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file() and path.name != "secret.yaml")
MANIFESTS = sorted((DEPLOY / "kubernetes").rglob("*.yaml"))
SETTINGS = {f"INTERLACE_{name.upper()}" for name in Settings.model_fields}
#: Asks for names of machines.
DNS = 53


def read(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text("utf-8")) if each]


def objects(*kinds: str) -> Iterator[dict[str, Any]]:
    """Return the plain manifests of some kinds."""
    for path in MANIFESTS:
        if path.parent.name == "kubernetes" and path.name != "secret.yaml":
            yield from (each for each in read(path) if each["kind"] in kinds)


def pods() -> dict[str, dict[str, Any]]:
    """Return the specification of each pod by its app."""
    templates = [each["spec"]["template"] for each in objects("Deployment", "StatefulSet", "Job")]
    return {each["metadata"]["labels"]["app"]: each["spec"] for each in templates}


def ports(pod: dict[str, Any]) -> dict[str, int]:
    (container,) = pod["containers"]
    return {each["name"]: each["containerPort"] for each in container.get("ports", [])}


def services() -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each["spec"] for each in objects("Service")}


def variables(app: str) -> dict[str, Any]:
    (container,) = pods()[app]["containers"]
    return {each["name"]: each for each in container.get("env", [])}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(DEPLOY).as_posix())
def test_settings_are_there(path: Path) -> None:
    assert set(re.findall(r"INTERLACE_\w+", path.read_text("utf-8"))) <= SETTINGS


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_are_objects(path: Path) -> None:
    for each in read(path):
        assert each["apiVersion"]
        assert each["kind"] == "Kustomization" or each["metadata"]["name"]


def test_all_manifests_are_applied() -> None:
    (asked,) = objects("Kustomization")
    here = {path.name for path in MANIFESTS if path.parent.name == "kubernetes"}
    example = {"secret.example.yaml", "kustomization.yaml"}
    assert set(asked["resources"]) == here - example | {"secret.yaml"}


def test_services_and_policies_name_pods_and_their_ports() -> None:
    for service in services().values():
        there = ports(pods()[service["selector"]["app"]])
        for port in service["ports"]:
            target = port.get("targetPort", port["port"])
            assert target in there or target in there.values()
    for policy in objects("NetworkPolicy"):
        app = policy["spec"]["podSelector"].get("matchLabels", {}).get("app")
        for rule in policy["spec"].get("ingress", []):
            assert {each["port"] for each in rule["ports"]} == set(ports(pods()[app]).values())
        for rule in policy["spec"].get("ingress", []) + policy["spec"].get("egress", []):
            for peer in rule.get("from", []) + rule.get("to", []):
                assert peer["podSelector"]["matchLabels"]["app"] in pods()


def test_what_listens_on_a_port_is_told_so() -> None:
    for app, option, name in (
        ("interlace", "--port", "http"),
        ("scheduler", "--port", "scheduler"),
        ("worker", "--worker-port", "worker"),
        ("worker", "--nanny-port", "nanny"),
    ):
        (container,) = pods()[app]["containers"]
        told = dict(pairwise(container["command"]))
        assert int(told[option]) == ports(pods()[app])[name]


def test_addresses_are_those_of_services() -> None:
    (port,) = (each["port"] for each in services()["scheduler"]["ports"])
    address = f"tcp://scheduler:{port}"
    assert variables("interlace")["INTERLACE_SCHEDULER"]["value"] == address
    (worker,) = pods()["worker"]["containers"]
    assert address in worker["command"]
    (secret,) = objects("Secret")
    (port,) = (each["port"] for each in services()["postgresql"]["ports"])
    url = secret["stringData"]["INTERLACE_DATABASE_URL"]
    assert f"@postgresql:{port}/" in url
    assert f":{secret['stringData']['POSTGRES_PASSWORD']}@" in url


def test_values_of_settings_are_taken() -> None:
    pytest.importorskip("distributed", reason="Dask is not installed: interlace[cluster]")
    pytest.importorskip("psycopg", reason="psycopg is not installed: interlace[postgresql]")
    (secret,) = objects("Secret")
    for app in pods():
        for name, each in variables(app).items():
            if "secretKeyRef" in each.get("valueFrom", {}):
                assert each["valueFrom"]["secretKeyRef"]["key"] in secret["stringData"]
            if name in SETTINGS:
                value = each.get("value") or secret["stringData"][name]
                Settings(**{name.removeprefix("INTERLACE_").lower(): value})


def test_the_ingress_and_prometheus_are_let_in_by_the_names_they_use() -> None:
    (ingress,) = objects("Ingress")
    hosts = variables("interlace")["INTERLACE_ALLOWED_HOSTS"]["value"].split(",")
    for rule in ingress["spec"]["rules"]:
        assert rule["host"] in hosts
        for path in rule["http"]["paths"]:
            asked = path["backend"]["service"]
            named = {each["name"] for each in services()[asked["name"]]["ports"]}
            assert asked["port"]["name"] in named
    names = {name for each in ingress["spec"]["tls"] for name in each["hosts"]}
    assert names == {rule["host"] for rule in ingress["spec"]["rules"]}
    most = ingress["metadata"]["annotations"]["nginx.ingress.kubernetes.io/proxy-body-size"]
    assert int(most.removesuffix("m")) * 2**20 >= Settings.model_fields["max_body_bytes"].default
    # Prometheus calls a pod by its address
    address = variables("interlace")["POD_IP"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert (address, hosts[-1]) == ("status.podIP", "$(POD_IP)")


def test_what_is_monitored_is_there() -> None:
    monitor, scaled = (
        each
        for name in ("service-monitor.yaml", "autoscaling.yaml")
        for each in read(DEPLOY / "kubernetes/monitoring" / name)
    )
    labels = monitor["spec"]["selector"]["matchLabels"].items()
    (service,) = (
        each for each in objects("Service") if labels <= each["metadata"].get("labels", {}).items()
    )
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {each["name"] for each in service["spec"]["ports"]}
    assert scaled["spec"]["scaleTargetRef"]["name"] in pods()
    (trigger,) = scaled["spec"]["triggers"]
    told = Metrics(["plan"]).render([("plan", "queued", 3)]).decode()
    ((labels_of, metric),) = re.findall(r"by \(([\w, ]+)\) \((\w+)", trigger["metadata"]["query"])
    assert f'{metric}{{kind="plan",state="queued"}} 3.0' in told
    assert labels_of == "kind, state"


def test_workers_have_room_for_a_job() -> None:
    told = int(variables("interlace")["INTERLACE_JOB_MEMORY_BYTES"]["value"])
    for pod in (pods()["worker"], pods()["interlace"]):
        (container,) = pod["containers"]
        limit = container["resources"]["limits"]["memory"]
        assert int(limit.removesuffix("Gi")) * 2**30 > told


def test_probes_ask_what_there_is() -> None:
    paths = json.loads((ROOT / "openapi" / "openapi.json").read_text("utf-8"))["paths"]
    (container,) = pods()["interlace"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        asked = container[probe]["httpGet"]
        assert asked["path"] in paths
        assert asked["port"] in ports(pods()["interlace"])


def test_images_are_of_this_release() -> None:
    for path in MANIFESTS:
        named = re.findall(r"image: interlace:(\S+)", path.read_text("utf-8"))
        assert set(named) <= {VERSION}


def test_commands_are_understood() -> None:
    cli = pytest.importorskip("distributed.cli", reason="Dask is not installed")
    from distributed.cli import dask_scheduler, dask_worker  # noqa: PLC0415

    assert cli
    mains = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    (operated,) = (
        each
        for each in read(DEPLOY / "kubernetes/operator/cluster.yaml")
        if each["kind"] == "DaskCluster"
    )
    by_operator = [operated["spec"][app]["spec"] for app in mains]
    for pod in [pods()["scheduler"], pods()["worker"], *by_operator]:
        (container,) = pod["containers"]
        _, app, *words = container.get("command") or container["args"]
        mains[app].make_context(app, words)  # raises of an option that there is not


def test_the_operator_s_service_has_its_ports() -> None:
    (cluster,) = (
        each
        for each in read(DEPLOY / "kubernetes/operator/cluster.yaml")
        if each["kind"] == "DaskCluster"
    )
    scheduler = cluster["spec"]["scheduler"]
    there = ports(scheduler["spec"])
    assert {each["targetPort"] for each in scheduler["service"]["ports"]} == there.keys()
    assert there["tcp-comm"] in {each["port"] for each in scheduler["service"]["ports"]}


def test_proxies_take_what_servers_take() -> None:
    nginx = (DEPLOY / "proxy/nginx.conf").read_text("utf-8")
    (most,) = re.findall(r"client_max_body_size (\d+)m;", nginx)
    assert int(most) * 2**20 >= Settings.model_fields["max_body_bytes"].default
    assert nginx.count("{") == nginx.count("}")
    assert "GET uri /readyz" in (DEPLOY / "proxy/haproxy.cfg").read_text("utf-8")


def test_the_example_for_slurm_is_a_program() -> None:
    text = (DEPLOY / "slurm/cluster.py").read_text("utf-8")
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert "SLURMCluster" in names
    jobqueue = pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    assert jobqueue.SLURMCluster
