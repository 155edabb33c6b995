"""Rows for NVIDIA's example tuner plugin: which algorithm and protocol NCCL takes for which sizes.

The plugin (``plugins/tuner/example`` of NCCL, in older releases ``ext-tuner/example``) reads CSV
since NCCL 2.27.5: ``collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,
numPipeOps,regBuff``, of which the last two may be left out, both sizes included, and -1 for any.
The first row that fits counts; lines that begin with ``#`` are comments. It cuts lines of 256
characters. Sizes are those of nccl-tests: the whole tensor's, of a gather and a scatter likewise.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from solver.calibration.fastest import compared_sizes, fastest_ranges
from solver.calibration.fits import Samples
from solver.codes import FaultCode
from solver.errors import Fault, InvalidMeasurements
from solver.graph import ALL_GATHER, ALL_REDUCE, BROADCAST, REDUCE_SCATTER
from solver.wording import must_be, one_of, ranged

FORMAT = "nccl-tuner"
#: What the plugin reads where nobody names another file.
FILE = "nccl_tuner.conf"
#: Collectives that NCCL lets be tuned, in the plugin's words.
COLLECTIVES = {
    ALL_REDUCE: "allreduce",
    ALL_GATHER: "allgather",
    REDUCE_SCATTER: "reducescatter",
    BROADCAST: "broadcast",
}
#: Algorithms and protocols in the plugin's words, each as NCCL_ALGO and NCCL_PROTO have it.
ALGORITHMS = {
    "ring": "Ring",
    "tree": "Tree",
    "collnet_direct": "CollnetDirect",
    "collnet_chain": "CollnetChain",
    "nvls": "NVLS",
    "nvls_tree": "NVLSTree",
    "pat": "PAT",
}
PROTOCOLS = {"simple": "Simple", "ll": "LL", "ll128": "LL128"}
#: What NCCL may take at most.
MAX_TUNED_CHANNELS = 64
_HEAD = (
    "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
    "regBuff"
)
#: The largest size that the plugin knows.
_ALL = 2**64 - 1
_NEAR = 0.01


@dataclass(frozen=True, slots=True)
class AlgorithmRun:
    """What one algorithm with one protocol took.

    Attributes
    ----------
    algorithm, protocol
        As NCCL_ALGO and NCCL_PROTO were set, in whatever case.
    samples
        Bytes and time [us] of launches, by collective.
    workers
        Ranks; None where nobody knows.
    channels
        How many NCCL used; None leaves them to NCCL.
    """

    algorithm: str
    protocol: str
    samples: Mapping[str, Samples]
    workers: int | None = None
    channels: int | None = None


@dataclass(frozen=True, slots=True)
class TunerRow:
    """A row of the file; -1 is any.

    Attributes
    ----------
    collective, algorithm, protocol
        In the plugin's words.
    min_bytes, max_bytes
        Both included.
    channels, nodes, ranks
        To use; of the communicators that it is for.
    """

    collective: str
    min_bytes: int
    max_bytes: int
    algorithm: str
    protocol: str
    channels: int
    nodes: int
    ranks: int

    def line(self) -> str:
        """Write the row as CSV, for any number of pipelined ops and any buffers."""
        sizes = f"{self.min_bytes},{self.max_bytes}"
        way = f"{self.algorithm},{self.protocol},{self.channels}"
        return f"{self.collective},{sizes},{way},{self.nodes},{self.ranks},-1,-1"


@dataclass(frozen=True, slots=True)
class TunerTable:
    """The file, and what it was made of.

    Attributes
    ----------
    format, file
        Of the text, and what it is called.
    text
        What is in it.
    rows
        Its rows, in order.
    notes
        What was left out or assumed, a sentence each.
    """

    format: str
    file: str
    text: str
    rows: tuple[TunerRow, ...]
    notes: tuple[str, ...]


#: Algorithm, protocol and channels.
_Way = tuple[str, str, int | None]
#: A collective and its ranks: the median time [us] of each size, by way.
_Group = dict[_Way, dict[int, float]]


def tuner_table(runs: Sequence[AlgorithmRun], nodes: int | None = None) -> TunerTable:
    """Compare what algorithms took, and write for each size the fastest one.

    Parameters
    ----------
    runs
        What was measured, in the order in which equals are preferred; a way may be there twice.
    nodes
        Of the communicators that the rows are for; None for any.

    Raises
    ------
    InvalidMeasurements
        With every algorithm, protocol and number of channels that NCCL does not have, at
        ``/runs/i``, and where no collective was measured at one size in two ways
        (``not_compared``), with what to measure.

    Notes
    -----
    A way has the median of its times at a size. O(n log n) for n samples.
    """
    if faults := [*_faults(runs), *_node_faults(runs, nodes)]:
        raise InvalidMeasurements(faults)
    rows: list[TunerRow] = []
    notes: list[str] = []
    missing: list[str] = []
    for (kind, ranks), group in _groups(runs).items():
        what = COLLECTIVES.get(kind)
        if what is None:
            missing.append(f"{kind}: NCCL lets nobody choose its algorithm.")
        elif compared_sizes(list(group.values())):
            rows += _rows(what, group, nodes or -1, ranks or -1)
            notes += _compared(what, ranks, group)
        else:
            missing.append(_to_measure(kind, what, ranks, group))
    if not rows:
        detail = " ".join(missing) or "Nothing was measured."
        raise InvalidMeasurements([Fault("/runs", FaultCode.NOT_COMPARED, detail)])
    notes += missing
    if any(row.channels == -1 for row in rows):
        notes.append(
            "Where a row has no channels (-1), the plugin's code has NCCL take one, though its "
            "page says that NCCL chooses: give the channels that NCCL used."
        )
    if any(row.ranks == -1 for row in rows):
        notes.append("Rows are for any number of ranks where the files do not tell it.")
    text = "\n".join([_HEAD, *(row.line() for row in rows), ""])
    return TunerTable(FORMAT, FILE, text, tuple(rows), tuple(notes))


def word_of(given: str, known: Mapping[str, str]) -> str | None:
    """Return the plugin's word for an algorithm or a protocol; None for what is none of these."""
    plain = given.lower().replace("_", "")
    return next((word for word in known if word.replace("_", "") == plain), None)


def _faults(runs: Sequence[AlgorithmRun]) -> Iterator[Fault]:
    for i, run in enumerate(runs):
        for field, given, known in (
            ("algorithm", run.algorithm, ALGORITHMS),
            ("protocol", run.protocol, PROTOCOLS),
        ):
            if word_of(given, known) is None:
                detail = must_be(field.capitalize(), one_of(known), given, known)
                yield Fault(f"/runs/{i}/{field}", FaultCode.OUT_OF_RANGE, detail)
        if run.channels is not None and not 1 <= run.channels <= MAX_TUNED_CHANNELS:
            detail = must_be("Channels", ranged(1, MAX_TUNED_CHANNELS), run.channels)
            yield Fault(f"/runs/{i}/channels", FaultCode.OUT_OF_RANGE, detail)


def _node_faults(runs: Sequence[AlgorithmRun], nodes: int | None) -> Iterator[Fault]:
    counts = sorted({run.workers for run in runs if run.workers is not None})
    if nodes is None:
        return
    if len(counts) > 1:
        detail = f"Nodes are of one number of ranks, the runs are of {', '.join(map(str, counts))}."
        yield Fault("/nodes", FaultCode.OUT_OF_RANGE, detail)
    elif nodes < 1 or (counts and nodes > counts[0]):
        detail = must_be("Nodes", f"1 to the {counts[0] if counts else ''} ranks", nodes)
        yield Fault("/nodes", FaultCode.OUT_OF_RANGE, " ".join(detail.split()))


def _groups(runs: Sequence[AlgorithmRun]) -> dict[tuple[str, int | None], _Group]:
    """Return times by collective and ranks, those of known ranks first, and then by way."""
    times: dict[tuple[str, int | None], dict[_Way, dict[int, list[float]]]] = {}
    for run in sorted(runs, key=lambda run: run.workers is None):
        algorithm, protocol = word_of(run.algorithm, ALGORITHMS), word_of(run.protocol, PROTOCOLS)
        assert algorithm is not None, "it was checked"
        assert protocol is not None, "it was checked"
        way = algorithm, protocol, run.channels
        for kind, samples in run.samples.items():
            sizes = times.setdefault((kind, run.workers), {}).setdefault(way, {})
            for size, time in samples:
                sizes.setdefault(size, []).append(time)
    return {
        about: {
            way: {size: median(some) for size, some in sizes.items()} for way, sizes in ways.items()
        }
        for about, ways in times.items()
    }


def _rows(what: str, group: _Group, nodes: int, ranks: int) -> Iterator[TunerRow]:
    ways = list(group)
    for each in fastest_ranges(list(group.values())):
        algorithm, protocol, channels = ways[each.way]
        most = _ALL if each.most is None else each.most
        yield TunerRow(what, each.least, most, algorithm, protocol, channels or -1, nodes, ranks)


def _said(way: _Way) -> str:
    algorithm, protocol, channels = way
    return f"{algorithm}/{protocol}" + ("" if channels is None else f"/{channels}")


def _of(ranks: int | None) -> str:
    return "" if ranks is None else f" of {ranks:,} ranks"


def _compared(what: str, ranks: int | None, group: _Group) -> Iterator[str]:
    """Say what was compared, what was not, and where it hardly matters."""
    ways = list(group.values())
    sizes = compared_sizes(ways)
    yield (
        f"{what}{_of(ranks)}: {', '.join(map(_said, group))} compared at {len(sizes):,} sizes, "
        f"{sizes[0]:,} to {sizes[-1]:,} bytes; smaller and larger ones are as the nearest."
    )
    near = sum(_is_near([times[size] for times in ways if size in times]) for size in sizes)
    if near:
        yield f"{what}{_of(ranks)}: at {near:,} sizes another one is within 1 % of the fastest."
    alone = len({size for times in ways for size in times}) - len(sizes)
    if alone:
        yield f"{what}{_of(ranks)}: {alone:,} sizes were measured in one way alone, and left out."


def _is_near(times: Sequence[float]) -> bool:
    first, second, *_ = sorted(times)
    return second <= first * (1 + _NEAR)


def _to_measure(kind: str, what: str, ranks: int | None, group: _Group) -> str:
    """Say which runs are missing."""
    if len(group) > 1:
        return (
            f"{what}{_of(ranks)}: {', '.join(map(_said, group))} have no size in common: run all "
            "with the same -b, -e and -f."
        )
    ((algorithm, protocol, _),) = group
    other = next(
        f"NCCL_ALGO={ALGORITHMS[word]} NCCL_PROTO={PROTOCOLS[way]}"
        for word, way in (("tree", "simple"), ("ring", "ll"), ("ring", "simple"))
        if (word, way) != (algorithm, protocol) and (kind == ALL_REDUCE or word != "tree")
    )
    return (
        f"{what}{_of(ranks)} was measured with {algorithm}/{protocol} alone: run {kind}_perf again "
        f"with another algorithm or protocol, such as {other}, at the same sizes, and give both."
    )
