"""Write ``app/names.py``: ``python -m app.write_names`` in the root of a checkout.

The server and the help of the command show names and import nothing that computes; so the keys of
the solver's tables are written down for them.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from app.schemas.networks import COUNTING
from solver.bounds.kinds import BOUND_KINDS
from solver.calibration.fits import FITS
from solver.calibration.measurements import READERS as BENCHMARKS
from solver.costs import ALGORITHMS, MEASURED
from solver.evidence.gain import VERDICTS, WHAT_RUNS
from solver.exports import EXPORTS
from solver.exports.nccl_tuner import FORMAT as TUNER
from solver.exports.programs import PROGRAM_EXPORTS
from solver.fusion.layered import FUSIONS
from solver.policies import POLICIES
from solver.programs.policies import POLICIES as PROGRAM_POLICIES
from solver.schedule import SCHEDULERS
from solver.simulation.compression import COMPRESSIONS
from solver.traces import READERS
from solver.traces.hlo.devices import DEVICES

#: What is written.
MODULE = Path("app/names.py")
_HEAD = '''\
"""The names of the solver's choices, where they are shown and the choices themselves not needed.

The tables that they are the keys of import what computes; made of these by
``python -m app.write_names``.
"""

'''
_TAIL = """\
#: The graph's own collectives in the order of their release.
FIFO = "fifo"


#: What may be drawn beside a plan; what is of programs alone, beside programs alone.
RIVALS = tuple(dict.fromkeys((FIFO, *POLICIES, *PROGRAM_POLICIES)))
"""
_NAMES: dict[str, tuple[str, Iterable[str]]] = {
    "EXPORTS": ("Formats that plans are written in (``solver.exports``).", EXPORTS),
    "PROGRAM_EXPORTS": (
        "Formats that programs are written in (``solver.exports.programs``).",
        PROGRAM_EXPORTS,
    ),
    "TUNERS": ("Formats that measured algorithms are written in.", (TUNER,)),
    "DEVICES": ("Devices whose rooflines are known (``solver.traces.hlo``).", DEVICES),
    "READERS": ("Formats that are read (``solver.traces``).", READERS),
    "BENCHMARKS": (
        "Formats of benchmarks that are read (``solver.calibration.measurements``).",
        BENCHMARKS,
    ),
    "FITS": ("What costs are fitted by (``solver.calibration.fits``).", FITS),
    "FUSIONS": ("How tensors are grouped (``solver.fusion.layered``).", FUSIONS),
    "SCHEDULERS": ("How given buckets are ordered (``solver.schedule``).", SCHEDULERS),
    "POLICIES": ("What runs today (``solver.policies``).", POLICIES),
    "PROGRAM_POLICIES": (
        "The rules of today for programs (``solver.programs.policies``).",
        PROGRAM_POLICIES,
    ),
    "COMPRESSIONS": ("Compressions (``solver.simulation.compression``).", COMPRESSIONS),
    "MEASURED": ("Algorithms of costs that were measured (``solver.costs``).", MEASURED),
}


def module() -> str:
    """Return the module's text: names in the order of the tables."""
    fields = {
        name: tuple(field for field, algorithms in COUNTING.items() if name in algorithms)
        for name in ALGORITHMS
    }
    kinds = {kind: _text(why) for kind, why in BOUND_KINDS.items()}
    parts = [
        *((name, about, _row(words)) for name, (about, words) in _NAMES.items()),
        (
            "ALGORITHMS: dict[str, tuple[str, ...]]",
            "Algorithms of costs (``solver.costs``), each with the fields that some only have.",
            _table({name: _row(own, "    ") for name, own in fields.items()}),
        ),
        (
            "BOUND_KINDS: dict[str, str]",
            "What attains a bound of each kind (``solver.bounds.kinds``).",
            _table(kinds),
        ),
        (
            "VERDICTS: dict[str, str]",
            "What each verdict on a gain is called (``solver.evidence.gain``).",
            _table({name: _text(said) for name, said in VERDICTS.items()}),
        ),
        (
            "WHAT_RUNS: dict[str, str]",
            "What each is called that a plan is compared with (``solver.evidence.gain``).",
            _table({name: _text(said) for name, said in WHAT_RUNS.items()}),
        ),
    ]
    return _HEAD + "\n\n".join(
        [*(f"#: {about}\n{name} = {value}\n" for name, about, value in parts), _TAIL]
    )


def _row(words: Iterable[str], indent: str = "") -> str:
    """Write a tuple as ruff formats it: a name a line, where there are several."""
    texts = [_text(word) for word in words]
    if len(texts) == 1:
        return f"({texts[0]},)"
    lines = "".join(f"\n{indent}    {text}," for text in texts)
    return f"({lines}\n{indent})" if lines else "()"


def _table(rows: Mapping[str, str]) -> str:
    lines = "".join(f"    {_text(key)}: {value},\n" for key, value in rows.items())
    return f"{{\n{lines}}}"


def _text(word: str) -> str:
    return f'"{word}"'


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
