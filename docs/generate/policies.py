"""The policies with their parameters."""

from collections.abc import Iterator

from docs.generate.markdown import number, sections, table
from solver.policies import POLICIES
from solver.policies.choice import PARAMETERS, ParameterRange, defaults


def policies() -> str:
    """Write a section for each policy."""
    return "\n\n".join(part for name in POLICIES for part in _policy(name))


def _policy(name: str) -> Iterator[str]:
    written = sections(POLICIES[name].__doc__)
    yield f"### `{name}`\n\n{written['']}"
    rows = [
        (f"`{key}`", number(default), _range(rule), rule.meaning)
        for key, default in defaults(name).items()
        for rule in [PARAMETERS[key]]
    ]
    if rows:
        yield table(["parameter", "default", "range", "meaning"], rows)
    for section in ("Notes", "References"):
        if section in written:
            yield written[section]


def _range(rule: ParameterRange) -> str:
    if rule.kind is bool:
        return "false or true"
    return f"{number(rule.least)} to {number(rule.most)}"
