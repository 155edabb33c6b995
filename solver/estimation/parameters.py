"""What is estimated: costs of networks, speeds of models, parameters of policies.

All are positive and are estimated by their logarithm. Each has a median and a spread of what is
plausible before anything is measured; these decide only where the runs do not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from solver.codes import FaultCode
from solver.costs import MEASURED, Cluster
from solver.errors import Fault, InvalidOptions
from solver.estimation.runs import Run
from solver.policies.choice import PARAMETERS, defaults

COMPUTE, BANDWIDTH, SHARE = "compute_scale", "bandwidth_gbps", "bandwidth_share"
STARTUP, HOP = "startup_us", "hop_us"

#: A start-up or a hop below the first is none, none is longer than the second [us].
NO_TIME_US, _MOST_US = 1e-2, 1e7
_LEAST_GBPS, _MOST_GBPS = 1e-3, 1e6

#: Median where the cluster says 0, or nothing [us, us, Gbit/s].
_TYPICAL = {STARTUP: 50.0, HOP: 5.0, BANDWIDTH: 10.0}

#: Standard deviation of the logarithm. Traces time their compute; generated models assume a speed.
_SPREADS = {COMPUTE: 1.0, BANDWIDTH: 1.0, SHARE: 0.5, STARTUP: 1.0, HOP: 1.0}
_SPREAD_OF_TRACES, _SPREAD_OF_POLICIES = 0.1, 1.0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A figure to estimate.

    Attributes
    ----------
    name
        ``compute_scale``, ``bandwidth_gbps``, ``bandwidth_share`` (of the nominal bandwidth),
        ``startup_us``, ``hop_us``, or ``policy.parameter``.
    of
        The model or the network that it belongs to; empty for a policy, and for the one network.
    default
        What holds where the runs do not determine it.
    median, spread
        Of what is plausible; the spread is a standard deviation of the logarithm.
    least, most
        Its range.
    """

    name: str
    of: str
    default: float
    median: float
    spread: float
    least: float
    most: float

    @property
    def label(self) -> str:
        """The name, with what it belongs to."""
        return f"{self.name} of {self.of}" if self.of else self.name

    def touches(self, run: Run) -> bool:
        """Tell whether the time of a run may depend on it."""
        if self.name == COMPUTE:
            return run.model == self.of
        if run.workers == 1:
            return False
        policy, dot, _ = self.name.partition(".")
        return run.choice.policy == policy if dot else run.network == self.of


def parameters_of(
    runs: Sequence[Run], cluster: Cluster, of_policies: Sequence[str] = ()
) -> tuple[Parameter, ...]:
    """List what is to be estimated, in the order in which it is kept.

    Of two figures that the runs tell only together the first is kept: speeds of generated models,
    bandwidths, start-ups, speeds of traces, hops, parameters of policies.

    Raises
    ------
    InvalidOptions
        When the cost of the cluster was measured, or a policy's parameter cannot be estimated.
    """
    faults = [*_cluster_faults(cluster), *_policy_faults(runs, of_policies)]
    if faults:
        raise InvalidOptions(faults)
    models = dict.fromkeys((run.model, run.is_timed) for run in runs)
    networks: dict[str, bool] = {}
    for run in runs:
        is_nominal = run.bandwidth_gbps is not None
        networks[run.network] = networks.get(run.network, True) and is_nominal
    return (
        *(_speed(model, is_timed=False) for model, timed in models if not timed),
        *(_bandwidth(cluster, name, is_nominal=nominal) for name, nominal in networks.items()),
        *(_delay(cluster, STARTUP, name) for name in networks),
        *(_speed(model, is_timed=True) for model, timed in models if timed),
        *(_delay(cluster, HOP, name) for name in networks),
        *map(_of_policy, of_policies),
    )


def _speed(model: str, *, is_timed: bool) -> Parameter:
    spread = _SPREAD_OF_TRACES if is_timed else _SPREADS[COMPUTE]
    return Parameter(COMPUTE, model, 1.0, 1.0, spread, 1e-4, 1e4)


def _bandwidth(cluster: Cluster, network: str, *, is_nominal: bool) -> Parameter:
    if is_nominal:
        return Parameter(SHARE, network, 1.0, 1.0, _SPREADS[SHARE], 1e-4, 1e2)
    given = cluster.bandwidth_gbps or _TYPICAL[BANDWIDTH]
    limits = (_LEAST_GBPS, _MOST_GBPS)
    return Parameter(BANDWIDTH, network, given, given, _SPREADS[BANDWIDTH], *limits)


def _delay(cluster: Cluster, name: str, network: str) -> Parameter:
    given = float(getattr(cluster, name))
    median = given if given > NO_TIME_US else _TYPICAL[name]
    return Parameter(name, network, given, median, _SPREADS[name], NO_TIME_US, _MOST_US)


def _of_policy(name: str) -> Parameter:
    policy, _, parameter = name.partition(".")
    rule, given = PARAMETERS[parameter], float(defaults(policy)[parameter])
    least = max(rule.least, NO_TIME_US)
    median = given if given > least else _TYPICAL[STARTUP]
    return Parameter(name, "", given, median, _SPREAD_OF_POLICIES, least, rule.most)


def _cluster_faults(cluster: Cluster) -> Iterator[Fault]:
    if cluster.algorithm in MEASURED:
        detail = (
            f"The cost of a {cluster.algorithm} was measured, so there is nothing to estimate; "
            "give an algorithm such as ring."
        )
        yield Fault("/cluster/algorithm", FaultCode.OUT_OF_RANGE, detail)


def _policy_faults(runs: Sequence[Run], names: Sequence[str]) -> Iterator[Fault]:
    """List the parameters that no policy of the runs has, or that are no times."""
    used = {run.choice.policy for run in runs}
    known = [
        f"{policy}.{name}"
        for policy in sorted(used)
        for name in defaults(policy)
        if PARAMETERS[name].kind is float
    ]
    for i, name in enumerate(names):
        if name not in known:
            among = f"one of {', '.join(known)}" if known else "none, of the policies of the rows"
            detail = f"Parameter {name!r} cannot be estimated: it must be {among}."
            yield Fault(f"/parameters/{i}", FaultCode.OUT_OF_RANGE, detail)
        elif name in names[:i]:
            detail = f"Parameter {name!r} stands there twice."
            yield Fault(f"/parameters/{i}", FaultCode.DUPLICATE_ID, detail)
