"""Objects of the solver as they are posted: what people have in Python, for whoever reads JSON."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from solver.costs import MEASURED, TABLE, Cluster
from solver.planning.options import Options
from solver.policies.choice import Choice
from solver.prediction.scaling import ScalingOptions
from solver.simulation.what_if import Change

Json = dict[str, Any]

#: What a cluster has on top of its cost model, and what was measured.
_BESIDE = (
    "workers",
    "shares",
    "path",
    "priority",
    "launch_slowdown",
    "links",
    "extrapolate",
    "channels",
    "compute_slowdown",
)
_MEASURED = ("measured_workers", "measured_gbps")

#: Fields of options that a request has elsewhere, or in another form, or not at all.
NOT_POSTED = ("share", "believed", "robust")

_DEFAULTS = {field.name: field.default for field in fields(Cluster)}


def cluster_json(cluster: Cluster) -> Json:
    """Return a cluster as it is posted, whatever is wrong with it; defaults are left out."""
    found = _network_json(cluster)
    if cluster.channels:
        found["channels"] = {
            name: _network_json(each) for name, each in dict(cluster.channels).items()
        }
    return found


def _network_json(cluster: Cluster) -> Json:
    """Return one network: measured costs as a cost model, where they say of what."""
    given = {
        name: getattr(cluster, name)
        for name, default in _DEFAULTS.items()
        if name not in {"channels", "cost_error", *_MEASURED} and getattr(cluster, name) != default
    }
    if "links" in given:
        given["links"] = {name: {"capacity_gbps": gbps} for name, gbps in cluster.links}
    if "path" in given:
        given["path"] = list(cluster.path)
    for name in ("tables", "piecewise"):
        if name in given:
            given[name] = _plain(given[name])
    of_what = cluster.measured_workers, cluster.measured_gbps
    is_scaled = cluster.extrapolate or of_what != (None, None)
    is_measured = cluster.algorithm in MEASURED and (cluster.algorithm != TABLE or is_scaled)
    if not is_measured and cluster.cost_error is None:
        return given
    own = {name: given.pop(name) for name in _BESIDE if name in given}
    if cluster.measured_gbps is not None and "bandwidth_gbps" in given:
        own["bandwidth_gbps"] = given.pop("bandwidth_gbps")
    measured = dict(zip(("workers", "bandwidth_gbps"), of_what, strict=True))
    if (error := cluster.cost_error) is not None:
        measured |= {"error_median": error.median, "error_p90": error.p90, "spread": error.spread}
    return {**own, "cost_model": {**given, **{k: v for k, v in measured.items() if v is not None}}}


def _plain(value: Any) -> Any:
    """Return the tables of other kinds by kind, and a curve by its figures."""
    if isinstance(value, tuple):
        return dict(value)
    return {field.name: getattr(value, field.name) for field in fields(value)}


def choice_json(choice: Choice | str | Mapping[str, Any]) -> Any:
    """Return a policy as it is posted."""
    if not isinstance(choice, Choice):
        return choice
    barrier = {"barrier": choice.barrier} if choice.barrier else {}
    own = {**barrier, **dict(choice.parameters)}
    return {"policy": choice.policy, **own} if own else choice.policy


def change_json(change: Change | Mapping[str, Any]) -> Any:
    """Return a change of ops as it is posted."""
    return asdict(change) if isinstance(change, Change) else change


def options_json(options: Options) -> Json:
    """Return options of a plan as they are posted; :data:`NOT_POSTED` are none of them."""
    names = [field.name for field in fields(options) if field.name not in NOT_POSTED]
    own = {name: getattr(options, name) for name in names}
    return {**own, "baselines": [choice_json(choice) for choice in options.baselines]}


def scaling_json(options: ScalingOptions) -> Json:
    """Return options of a prediction as they are posted."""
    return {
        "buffers_bytes": list(options.buffers),
        "timeout_us": options.timeout,
        "paper_eq15": options.paper_eq15,
        "time_limit_s": options.time_limit_s,
    }
