"""A class name means one thing: in the service, the solver and what is written of the client."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent

PARTS = ("app", "solver", "interlace", "client/interlace_client")

#: Made from the codes of errors, which are named as the situations of the service are.
GENERATED = "client/interlace_client/problems.py"

#: The client's own forms of what the service answers, until it has names or forms in common with
#: the solver; none is to be added.
OF_THE_CLIENT = {
    *("Baseline", "Bucket", "Part", "Plan"),
    *("Cell", "Knee"),
    *("Placement", "Placements", "SharedJob"),
    *("Throughput", "ThroughputRow"),
    *("Fault", "InterlaceError", "PredictionError", "Progress"),
}


def homes() -> dict[str, list[str]]:
    """List the modules that define a class, by its name."""
    found = defaultdict(list)
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if place == GENERATED:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(place)
    return found


def test_a_class_name_is_defined_once() -> None:
    found = homes()
    repeated = {name: places for name, places in found.items() if len(places) > 1}
    ours = {
        name: [place for place in repeated.get(name, []) if not place.startswith("client/")]
        for name in OF_THE_CLIENT
    }
    assert {name: places for name, places in repeated.items() if name not in ours} == {}
    assert all(len(places) == 1 for places in ours.values()), ours  # else take the name out
