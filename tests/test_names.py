"""A class name means one thing: in the service, the solver and what is written of the client."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent

PARTS = ("app", "solver", "interlace", "client/interlace_client")

#: Made of the codes of errors and of the OpenAPI document, whose names they have.
GENERATED = frozenset(
    f"client/interlace_client/{name}.py" for name in ("answers", "client", "problems")
)

#: Whoever has one of the two packages catches all that it refuses by this name; a plan of Python is
#: the solver's, and shows itself.
TWICE = {
    "InterlaceError": ["client/interlace_client/errors.py", "solver/errors.py"],
    "Plan": ["interlace/results/plan.py", "solver/planning/result.py"],
}


def homes() -> dict[str, list[str]]:
    """List the modules that define a class, by its name."""
    found = defaultdict(list)
    for part in PARTS:
        for path in sorted((ROOT / part).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if place in GENERATED:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(place)
    return found


def test_a_class_name_is_defined_once() -> None:
    repeated = {name: sorted(places) for name, places in homes().items() if len(places) > 1}
    assert repeated == TWICE
