"""Process groups: who shares a collective, and what people call its channel."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, count, islice
from typing import Any

from solver.graph import NETWORK
from solver.traces.kineto.communication_kernels import NVLINK
from solver.traces.kineto.events import Args

#: How the default group is described; those without a description are "undefined".
_DEFAULT, _UNDEFINED = "default_pg", ("", "undefined")
#: Megatron-LM's descriptions, by how they begin.
_MEGATRON = {
    "tensor_model_parallel_group": "tp",
    "tensor_and": "tp",
    "data_parallel_group": "dp",
    "intra_partial_data_parallel_group": "dp shard",
    "inter_partial_data_parallel_group": "dp replicate",
    "pipeline_model_parallel_group": "pp",
    "context_parallel_group": "cp",
    "expert_model_parallel_group": "ep",
    "expert_tensor_parallel_group": "etp",
    "expert_data_parallel_group": "edp",
    "embedding_group": "embedding",
}
#: Threads of a group of gloo's, and choices of groups that are tried for them.
_POOL, _TRIED = 2, 1000
_LONGEST = 80
#: What is written of a group most often, and how long it is in all.
_PLAIN, _LONG = {int, str, type(None)}, 500
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NUMBERS = re.compile(r"\[\s*\d+(\s*,\s*\d+)*\s*\]")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """A process group.

    Attributes
    ----------
    name
        PyTorch's: most often a number, in the order of creation.
    description
        As who made it described it.
    workers
        Ranks in it; None when unknown.
    ranks
        Their numbers; empty when unknown.
    """

    name: str
    description: str
    workers: int | None
    ranks: tuple[int, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether it is the group of all ranks."""
        return self.description == _DEFAULT or (not self.description and self.name == "0")

    @property
    def title(self) -> str:
        """What people call its channel: ``tp`` for ``mesh_tp``, ``network`` for the default."""
        if self.is_default:
            return NETWORK
        described = plain(self.description)
        lower = described.lower()
        known = (short for begin, short in _MEGATRON.items() if lower.startswith(begin))
        short = next(known, described.removeprefix("mesh_"))
        return f"group {plain(self.name)}" if short.lower() in _UNDEFINED else short


def groups_of(config: Any) -> tuple[ProcessGroup, ...]:
    """Return the groups of a trace's ``pg_config``; what does not look like one is passed over."""
    rows = config if isinstance(config, list) else []
    found = [
        _group(row.get("pg_name"), row.get("pg_desc"), row.get("pg_size"), row.get("ranks"))
        for row in rows
        if isinstance(row, dict)
    ]
    return tuple({group.name: group for group in found if group is not None}.values())


def group_in(args: Args | None) -> ProcessGroup | None:
    """Return the group that is written beside an event; None when there is none."""
    if args is None:
        return None
    fields = args.group_name, args.group_description, args.workers, args.group_ranks
    is_plain = _PLAIN.issuperset(map(type, fields))
    is_short = is_plain and sum(map(len, map(str, fields))) <= _LONG
    return _same_group(*fields) if is_short else _group(*fields)


def _group(name: Any, description: Any, workers: Any, ranks: Any) -> ProcessGroup | None:
    if not isinstance(name, str | int) or name == "":
        return None
    members = _ranks(ranks)
    size = workers if type(workers) is int and workers > 0 else len(members) or None
    return ProcessGroup(
        str(name), description if isinstance(description, str) else "", size, members
    )


#: One object for each of few groups, as each collective names its own.
_same_group = lru_cache(maxsize=4_096, typed=True)(_group)


def _ranks(value: Any) -> tuple[int, ...]:
    """Read a list of ranks, or one that was written as text and not cut short."""
    if isinstance(value, str) and _NUMBERS.fullmatch(value.strip()):
        value = [int(number) for number in re.findall(r"\d{1,9}", value)]
    if isinstance(value, list) and all(type(rank) is int and rank >= 0 for rank in value):
        return tuple(value)
    return ()


def titles(groups: Sequence[ProcessGroup]) -> dict[str, str]:
    """Return a channel's name for each group, by the group's name; no two are the same.

    None but the default group's is a name that kernels of no group have.
    """
    result: dict[str, str] = {}
    taken = {NETWORK, NVLINK}
    for group in groups:
        title, name = group.title, plain(group.name)
        is_network = group.is_default and NETWORK not in result.values()
        numbered = (f"{title} {name} {number}" for number in count(2))
        choices = chain([title, f"{title} {name}"], numbered)
        result[group.name] = NETWORK if is_network else next(c for c in choices if c not in taken)
        taken.add(result[group.name])
    return result


def plain(text: str) -> str:
    """Return a text as a name: one line without control characters, cut where it is long."""
    line = " ".join(_CONTROL.sub(" ", text).split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}..."


def pools(
    threads: Mapping[str, frozenset[tuple[str, int]]],
    sizes: Mapping[str, int],
    groups: Sequence[ProcessGroup],
) -> dict[str, ProcessGroup] | None:
    """Tell which group each thread of gloo's works for; None when it cannot be told.

    Every group has two threads of its own, which take its collectives in turn. They are numbered
    in the order in which the groups were made. So threads next to each other with a collective of
    one kind and size work for one group, and the groups that work are, in order, some of those of
    the trace; the default group is one of them only if no other choice is left. Where the workers
    of a thread's collectives are known they must fit, and one choice must be left.

    Parameters
    ----------
    threads
        Kinds and bytes of each thread's collectives.
    sizes
        Workers of a thread's collectives, where known.
    groups
        Those of the trace.
    """
    if len(groups) == 1:
        return dict.fromkeys(threads, groups[0])
    runs: list[list[str]] = []
    for name in sorted(threads, key=lambda name: (len(name), name)):
        if runs and len(runs[-1]) < _POOL and threads[runs[-1][-1]] & threads[name]:
            runs[-1].append(name)
        else:
            runs.append([name])
    in_order = sorted(groups, key=lambda group: (len(group.name), group.name))
    for candidates in ([group for group in in_order if not group.is_default], in_order):
        fits = [
            choice
            for choice in islice(combinations(candidates, len(runs)), _TRIED)
            if all(
                sizes.get(name, group.workers) == group.workers
                for run, group in zip(runs, choice, strict=True)
                for name in run
            )
        ]
        if fits:
            names = {name: group for run, group in zip(runs, fits[0], strict=True) for name in run}
            return names if len(fits) == 1 else None
    return None
