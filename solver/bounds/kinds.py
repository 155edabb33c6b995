"""The kinds of lower bounds, of graphs and of programs, each with what attains it."""

from collections.abc import Iterator

COMPUTE = "compute"


PATH = "path"


CHAIN = "chain"


PACKING = "packing"


NESTED = "nested"


CORE = "core"


TRIED = "tried"


SLOWED = "slowed"


SHARED = "shared"


WINDOWS = "windows"


LOAD = "load"


OVERLAP = "overlap"


BESIDE = "beside"


EXACT = "exact"


#: What attains a bound of each kind; add one here. ``{these}`` are its tensors, of a program its
#: ops; ``{release}`` and ``{tail}`` what comes before and after them.
BOUND_KINDS: dict[str, str] = {
    COMPUTE: "compute alone takes that long",
    PATH: "the longest path, {these} on it, with each collective at its least cost",
    CHAIN: "{these} in release order, then {tail}",
    PACKING: "the bytes of {these} after {release}, then {tail}",
    NESTED: "{these} between their releases and the compute after each",
    CORE: "{these}: what cannot be sent before {release} or in the last {tail} lies between",
    TRIED: "every beginning of launches of {these} was tried, or takes that long at least",
    SLOWED: "compute alone, slowed down by sending {these}",
    SHARED: "{these} on one network card after {release} and a start-up, then {tail}",
    WINDOWS: "in less, {these} would not fit between what comes before and after each",
    LOAD: "{these} one after another on one stream or channel after {release}, then {tail}",
    OVERLAP: "all of a stream or channel, and what cannot run beside {these} at its ends",
    BESIDE: "all of a stream, and what {these} take longer than all that may run beside them",
    EXACT: "every beginning of a program was tried, or takes that long at least",
}


def reason(kind: str, these: str, release: str, tail: str) -> str:
    """Say what attains a bound of a kind, in words for what it is about."""
    return BOUND_KINDS[kind].format(these=these, release=release, tail=tail)


def kind_sentences() -> Iterator[tuple[str, str]]:
    """Yield each kind with what attains a bound of it, in general."""
    for kind in BOUND_KINDS:
        yield kind, reason(kind, "these tensors", "the release", "the tail")
