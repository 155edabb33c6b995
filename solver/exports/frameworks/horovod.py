"""Horovod: the plan's buckets as groups, each one all-reduce, and the environment for it."""

from collections.abc import Sequence
from functools import partial

from solver.costs import Network
from solver.exports.explicit_plan import ExplicitPlan, Export
from solver.exports.frameworks.forms import losses, simulate_own_buckets, sizes_of, whole_buckets
from solver.exports.frameworks.names import NAMES_NOTE, check_names, parameter_name, python_list
from solver.graph import Graph
from solver.policies.horovod import horovod

FORMAT = "horovod"

#: HOROVOD_CYCLE_TIME [ms], the default of Horovod 0.21 and later.
_CYCLE_MS = 1
_MIB = 2**20
#: Horovod may pad each tensor of a buffer to so many bytes.
_PADDED = 64

_SNIPPET = '''\
"""Groups of a plan for Horovod 0.21 or later.

    optimizer = hvd.DistributedOptimizer(
        optimizer, named_parameters=model.named_parameters(), groups=groups(model)
    )

Set the variables of horovod.env for every worker.
"""

#: Names of parameters by group; each group is one all-reduce.
GROUPS = {groups}


def groups(model):
    """Return the groups as lists of a model's parameters."""
    parameters = dict(model.named_parameters())
    return [[parameters[name] for name in names] for names in GROUPS]
'''


def export(graph: Graph, network: Network, plan: ExplicitPlan) -> Export:
    """Write a plan for Horovod: ``horovod.env`` and ``horovod_groups.py``.

    Simulated as cycles of the default length, each of which sends the buckets that are ready one
    by one, first released first, before the optimizer's step.

    Raises
    ------
    InvalidPlan
        When the plan does not send the graph's collectives, sends no all-reduce, or sends what is
        sharded or exchanged; when its tensors have no names of parameters.
    """
    whole = whole_buckets(graph, network, plan)
    # Each bucket is one op of the graph simulated: of one byte, a buffer holds no second one.
    cycles = partial(horovod, cycle_time_us=1000.0 * _CYCLE_MS, fusion_threshold_bytes=1)
    form = simulate_own_buckets(graph, network, whole, cycles)
    notes = (
        *losses(graph, whole, form),
        NAMES_NOTE,
        f"A bucket waits for the next cycle of {_CYCLE_MS} ms after its last gradient.",
        "HOROVOD_DISABLE_GROUP_FUSION keeps buckets apart that are ready in one cycle.",
    )
    check_names(plan, {tensor for bucket in form.order for tensor in bucket})
    names = [[parameter_name(tensor) for tensor in bucket] for bucket in form.order]
    return Export(
        format=FORMAT,
        files={
            "horovod.env": _environment(sizes_of(graph, form.order), form.order),
            "horovod_groups.py": _SNIPPET.format(groups=python_list(names)),
        },
        media_type="text/plain",
        notes=notes,
        iteration_time_us=form.time,
        plan_time_us=whole.time,
    )


def _environment(sizes: Sequence[int], groups: Sequence[Sequence[str]]) -> str:
    """Set a buffer that holds the largest group, a cycle, and groups that stay apart."""
    padded = max(s + _PADDED * len(g) for s, g in zip(sizes, groups, strict=True))
    values = {
        "HOROVOD_FUSION_THRESHOLD": -(-padded // _MIB) * _MIB,
        "HOROVOD_CYCLE_TIME": _CYCLE_MS,
        "HOROVOD_DISABLE_GROUP_FUSION": 1,
    }
    return "".join(f"{name}={value}\n" for name, value in values.items())
