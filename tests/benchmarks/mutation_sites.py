"""Where the solver's code can be given a small fault, and how the same fault is found again.

The faults are those of cosmic-ray's operators. One is known by the text of its line, so it is found
where code has moved to another module meanwhile.
"""

import ast
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT = Path(__file__).parents[2]
PACKAGE = "solver"
#: An operator gives way to one of the same kind: others raise TypeError wherever they are run.
KINDS = (
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
    {"UAdd", "USub"},
    {"Not", "Nothing"},
)

_NAME = re.compile(r"[^\W\d]\w*")

#: First and last line.
Lines = tuple[int, int]


@dataclass(frozen=True)
class Mutant:
    """A fault: what it does to which line; of several that are alike in one scope, the ``nth``."""

    module: str
    scope: str
    line: str
    operator: str
    nth: int


@dataclass(frozen=True)
class Site:
    """Where the code has a mutant: which of all that its operator can change in the module.

    ``around`` are the lines of its statement, then of each function and class outwards.
    """

    module: str
    operator: str
    occurrence: int
    start: tuple[int, int]
    around: tuple[Lines, ...]


def sites() -> dict[Mutant, Site]:
    """Return all mutants of the code on what behaviour depends on."""
    modules = sorted((ROOT / PACKAGE).rglob("*.py"))
    return dict(pair for path in modules for pair in _sites(path.relative_to(ROOT).as_posix()))


def _sites(module: str) -> Iterator[tuple[Mutant, Site]]:
    source = (ROOT / module).read_text()
    lines = source.splitlines()
    outline = ast.parse(source)
    statements = [node for node in ast.walk(outline) if isinstance(node, ast.stmt)]
    silent = list(_without_behaviour(outline))
    nodes = list(ast_nodes(get_ast(source)))
    alike: Counter[tuple[str, ...]] = Counter()
    for name in _operators():
        operator = get_operator(name)()
        starts = ((node, start) for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (node, start) in enumerate(starts):
            separates_parameters = node.parent is not None and node.parent.type == "parameters"
            if separates_parameters or any(first <= start < last for first, last in silent):
                continue
            scope, around = _around(statements, start[0])
            known = (scope, lines[start[0] - 1].strip(), name)
            mutant = Mutant(module, *known, nth=alike[known])
            yield mutant, Site(module, name, occurrence, start, around)
            alike[known] += 1


def _operators() -> list[str]:
    """Return cosmic-ray's operators that need no arguments and stay within a kind."""
    names = [name for name in operator_names() if not get_operator(name).arguments()]
    return [name for name in names if _is_of_one_kind(name.split("_")[1:])]


def _is_of_one_kind(signs: Sequence[str]) -> bool:
    return not signs or any(kind.issuperset(signs) for kind in KINDS)


def _without_behaviour(outline: ast.Module) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Return where annotations, ``__all__`` and ``if TYPE_CHECKING`` begin and end.

    And what dataclasses and ``zip`` are told to refuse: nothing in the solver asks them for it.
    """
    for node in ast.walk(outline):
        part: ast.stmt | ast.expr | None = None
        match node:
            case ast.AnnAssign(annotation=part) | ast.arg(annotation=part):
                pass
            case ast.FunctionDef(returns=part):
                pass
            case ast.keyword(arg="frozen" | "slots" | "strict", value=part):
                pass
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                part = node
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                part = node
            case ast.Assign(value=ast.BinOp(op=ast.BitOr())) if node in outline.body:
                part = node  # a name for a union of types
        if part is not None:
            yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)


def _around(statements: Sequence[ast.stmt], line: int) -> tuple[str, tuple[Lines, ...]]:
    """Return the scope of a line and what is around it; statements come from the outside inwards.

    Of a statement that has others in it, only the line itself counts.
    """
    names: list[str] = []
    around: list[Lines] = []
    statement = (line, line)
    for node in statements:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        if first <= line <= node.end_lineno:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.append(node.name)
                around.insert(0, (first, node.end_lineno))
            elif not hasattr(node, "body") and not hasattr(node, "cases"):
                statement = (first, node.end_lineno)
    return ".".join(names), (statement, *around)


def sample(everything: dict[Mutant, Site], count: int, seed: int) -> list[Mutant]:
    """Draw spots in the code, each as likely as any other, and of each one mutant that parses."""
    spots: dict[tuple[str, tuple[int, int]], list[Mutant]] = defaultdict(list)
    for mutant, site in everything.items():
        spots[site.module, site.start].append(mutant)
    draw = random.Random(seed)
    drawn: list[Mutant] = []
    for spot in draw.sample(sorted(spots), len(spots)):
        mutant = draw.choice(spots[spot])
        if len(drawn) < count and _parses(mutated(everything[mutant])):
            drawn.append(mutant)
    return drawn


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def mutated(site: Site) -> str:
    """Return the text of a mutant's module."""
    source = (ROOT / site.module).read_text()
    return str(mutate_code(source, get_operator(site.operator)(), site.occurrence))


def found_again(mutant: Mutant, everything: dict[Mutant, Site]) -> Mutant | None:
    """Return the mutant of the same line in the code as it is now.

    That is the one in the same module and scope, or else the only one in a scope of that name, in
    the module, or anywhere; or else the only one in the function or the module whose line differs
    in names alone. ``None`` when there is none.
    """
    views: tuple[Callable[[Mutant], Any], ...] = (
        lambda each: each,
        lambda each: astuple(each)[1:],
        lambda each: (each.module, each.line, each.operator),
        lambda each: (each.line, each.operator),
        lambda each: (each.scope.rpartition(".")[2], *_nameless(each), each.nth),
        lambda each: (each.module, *_nameless(each)),
    )
    for view in views:
        matches = [each for each in everything if view(each) == view(mutant)]
        if len(matches) == 1:
            return matches[0]
    return None


def _nameless(mutant: Mutant) -> tuple[str, str]:
    return _NAME.sub("_", mutant.line), mutant.operator
