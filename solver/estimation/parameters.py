"""What is estimated: costs of networks, speeds of models, parameters of policies.

All are positive and are estimated by their logarithm. Each has a median and a spread of what is
plausible before anything is measured; these decide only where the runs do not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from solver.codes import FaultCode
from solver.costs import MEASURED, Cluster
from solver.errors import Fault, InvalidOptions
from solver.estimation.runs import MeasuredRun
from solver.limits import MAX_COMPUTE_SLOWDOWN
from solver.policies.choice import PARAMETERS, defaults
from solver.wording import meant

COMPUTE, BANDWIDTH, SHARE = "compute_scale", "bandwidth_gbps", "bandwidth_share"
STARTUP, HOP, SLOWDOWN = "startup_us", "hop_us", "compute_slowdown"

#: A start-up or a hop below the first is none, none is longer than the second [us].
NO_TIME_US, _MOST_US = 1e-2, 1e7
_LEAST_GBPS, _MOST_GBPS = 1e-3, 1e6

#: Median where nobody says [us, Gbit/s, share of the nominal bandwidth, factor].
_TYPICAL = {STARTUP: 100.0, BANDWIDTH: 10.0, SHARE: 0.75, SLOWDOWN: 1.2}

#: Median of a hop where nobody says: so many us over Gbit/s, from least to most [us]. With the
#: start-up, what was measured of all-reduce: 523 and 908 us on Ethernet of 10 Gbit/s and 98 and 236
#: us on InfiniBand of 56 Gbit/s for 8 and 16 workers (MG-WFBP's code), 161 us for 16 on EFA of 400
#: Gbit/s (nccl-tests).
_HOP, _LEAST_HOP, _MOST_HOP = 300.0, 5.0, 40.0

#: Standard deviation of the logarithm. Generated models assume a speed, traces time their compute;
#: delays are within a factor of 3.
_SPREADS = {COMPUTE: 1.0, BANDWIDTH: 1.0, SHARE: 0.5, STARTUP: 1.1, HOP: 1.1, SLOWDOWN: 0.15}

#: The same above the median: a network may do far less than its nominal bandwidth, as InfiniBand of
#: 100 Gbit/s that carries 35 to 40, and hardly more.
_ABOVE = {SHARE: 0.25}
_SPREAD_OF_TRACES, _SPREAD_OF_POLICIES = 0.1, 1.0


@dataclass(frozen=True, slots=True)
class EstimatedParameter:
    """A figure to estimate.

    Attributes
    ----------
    name
        ``compute_scale``, ``bandwidth_gbps``, ``bandwidth_share`` (of the nominal bandwidth),
        ``startup_us``, ``hop_us``, or ``policy.parameter``.
    of
        The model or the network that it belongs to; empty for a policy, and for the one network.
    default
        What holds where no run depends on it.
    median, spread, above
        Of what is plausible; the spread is a standard deviation of the logarithm, below the median
        and above it.
    least, most
        Its range.
    """

    name: str
    of: str
    default: float
    median: float
    spread: float
    above: float
    least: float
    most: float

    @property
    def label(self) -> str:
        """The name, with what it belongs to."""
        return f"{self.name} of {self.of}" if self.of else self.name

    @property
    def is_of_policy(self) -> bool:
        """Whether a policy has it; times may then jump with it."""
        return "." in self.name

    def touches(self, run: MeasuredRun) -> bool:
        """Tell whether the time of a run may depend on it."""
        if self.name == COMPUTE:
            return run.model == self.of
        if run.workers == 1:
            return False
        if self.name == SLOWDOWN:
            return True
        if self.is_of_policy:
            return run.choice.policy == self.name.partition(".")[0]
        return run.network == self.of


def parameters_of(
    runs: Sequence[MeasuredRun], cluster: Cluster, of_policies: Sequence[str] = ()
) -> tuple[EstimatedParameter, ...]:
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
    networks: dict[str, list[float | None]] = {}
    for run in runs:
        networks.setdefault(run.network, []).append(run.bandwidth_gbps)
    return (
        *(_speed(model, is_timed=False) for model, timed in models if not timed),
        *(_bandwidth(cluster, name, nominal) for name, nominal in networks.items()),
        *(_startup(cluster, name) for name in networks),
        *([_slowdown(cluster)] if any(run.workers > 1 for run in runs) else []),
        *(_speed(model, is_timed=True) for model, timed in models if timed),
        *(_hop(cluster, name, nominal) for name, nominal in networks.items()),
        *map(_of_policy, of_policies),
    )


def _speed(model: str, *, is_timed: bool) -> EstimatedParameter:
    spread = _SPREAD_OF_TRACES if is_timed else _SPREADS[COMPUTE]
    return EstimatedParameter(COMPUTE, model, 1.0, 1.0, spread, spread, 1e-4, 1e4)


def _bandwidth(
    cluster: Cluster, network: str, nominal: Sequence[float | None]
) -> EstimatedParameter:
    """Return the share of the nominal bandwidth where all runs have one, else the bandwidth."""
    if None not in nominal:
        share = _TYPICAL[SHARE]
        spreads = _SPREADS[SHARE], _ABOVE[SHARE]
        return EstimatedParameter(SHARE, network, share, share, *spreads, 1e-4, 1e2)
    nominal_gbps = cluster.bandwidth_gbps or _TYPICAL[BANDWIDTH]
    spread = _SPREADS[BANDWIDTH]
    limits = (_LEAST_GBPS, _MOST_GBPS)
    return EstimatedParameter(
        BANDWIDTH, network, nominal_gbps, nominal_gbps, spread, spread, *limits
    )


def _startup(cluster: Cluster, network: str) -> EstimatedParameter:
    startup = cluster.startup_us or _TYPICAL[STARTUP]
    return _delay(STARTUP, network, startup)


def _delay(name: str, network: str, delay: float) -> EstimatedParameter:
    spread = _SPREADS[name]
    return EstimatedParameter(name, network, delay, delay, spread, spread, NO_TIME_US, _MOST_US)


def _slowdown(cluster: Cluster) -> EstimatedParameter:
    """Return how many times as long compute takes while launches run, the same on all networks."""
    slowdown = cluster.compute_slowdown if cluster.compute_slowdown > 1 else _TYPICAL[SLOWDOWN]
    spread, most = _SPREADS[SLOWDOWN], MAX_COMPUTE_SLOWDOWN
    return EstimatedParameter(SLOWDOWN, "", slowdown, slowdown, spread, spread, 1.0, most)


def _hop(cluster: Cluster, network: str, nominal: Sequence[float | None]) -> EstimatedParameter:
    """Return a hop; where nobody says its time, slow networks have slow ones."""
    stated = [each for each in nominal if each is not None]
    gbps = median(stated) if stated else cluster.bandwidth_gbps or _TYPICAL[BANDWIDTH]
    typical = min(_MOST_HOP, max(_LEAST_HOP, _HOP / gbps))
    hop = cluster.hop_us or typical
    return _delay(HOP, network, hop)


def _of_policy(name: str) -> EstimatedParameter:
    policy, _, parameter = name.partition(".")
    rule, default = PARAMETERS[parameter], float(defaults(policy)[parameter])
    least = max(rule.least, NO_TIME_US)
    middle = default if default > least else _LEAST_HOP
    spread = _SPREAD_OF_POLICIES
    return EstimatedParameter(name, "", default, middle, spread, spread, least, rule.most)


def _cluster_faults(cluster: Cluster) -> Iterator[Fault]:
    if cluster.algorithm in MEASURED:
        detail = (
            f"The cost of a {cluster.algorithm} was measured, so there is nothing to estimate; "
            "give an algorithm such as ring."
        )
        yield Fault("/cluster/algorithm", FaultCode.OUT_OF_RANGE, detail)


def _policy_faults(runs: Sequence[MeasuredRun], names: Sequence[str]) -> Iterator[Fault]:
    """List the parameters that no policy of the runs has, or that are no times."""
    used = {run.choice.policy for run in runs}
    estimable = [
        f"{policy}.{name}"
        for policy in sorted(used)
        for name in defaults(policy)
        if PARAMETERS[name].kind is float
    ]
    for i, name in enumerate(names):
        if name not in estimable:
            among = (
                f"one of {', '.join(estimable)}"
                if estimable
                else "none, of the policies of the rows"
            )
            detail = f"Parameter {name!r} cannot be estimated: it must be {among}."
            detail += meant(name, estimable)
            yield Fault(f"/parameters/{i}", FaultCode.OUT_OF_RANGE, detail)
        elif name in names[:i]:
            detail = f"Parameter {name!r} stands there twice."
            yield Fault(f"/parameters/{i}", FaultCode.DUPLICATE_ID, detail)
