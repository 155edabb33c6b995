"""Write ``app/cli/request_fields.py``: ``python -m app.write_fields`` in the root of a checkout.

The command tells of the fields of requests in its help, and imports no model for it; so what it
tells is written down here from the models.
"""

import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.cli.failures import flag_of
from app.cli.request_field import RequestField
from app.reading.wording import rules_at
from app.schemas.allocations import AllocationRequest
from app.schemas.base import RequestModel
from app.schemas.cost_models import CostModelRequest
from app.schemas.mixes import MixRequest
from app.schemas.parameter_servers import ParameterServerRequest
from app.schemas.placements import PlacementsRequest
from app.schemas.plans import PlanRequest
from app.schemas.predictions import PredictionRequest
from app.schemas.shapes import ShapeRequest
from app.schemas.simulations import SimulationRequest
from app.schemas.sweeps import SweepRequest

#: What is written.
MODULE = Path("app/cli/request_fields.py")

#: The request that each command makes.
_REQUESTS: dict[str, type[RequestModel]] = {
    "plan": PlanRequest,
    "simulate": SimulationRequest,
    "predict": PredictionRequest,
    "sweep": SweepRequest,
    "parameter-server": ParameterServerRequest,
    "placements": PlacementsRequest,
    "shape": ShapeRequest,
    "mix": MixRequest,
    "allocate": AllocationRequest,
    "calibrate": CostModelRequest,
}
#: Objects of requests whose fields have flags, or are completed.
_OBJECTS = ("cluster", "believed", "options", "jitter", "topology", "job")
_HEAD = '''\
"""The fields of requests, for the help of their flags.

Made of the models of requests by ``python -m app.write_fields``.
"""

from app.cli.request_field import RequestField

#: The objects of the request that a command makes: how paths of their fields begin, their models.
REQUESTS: dict[str, dict[str, str]] = {
'''
_NAME = re.compile(r"`(\w+)`")
_UNIT = re.compile(r" \[[^\]]*\]")
_END = re.compile(r"[.:;](?: |$)")
#: How a description begins that is about a word first.
_OF_WORD = re.compile(r"`\w+`: ")
#: Flags that the first clauses of descriptions name as fields.
_FLAGS = {name: flag_of(name) for name in ("memory_limit_bytes",)}
#: So many characters stand in a line, between quotes and before a comma.
_WIDTH = 89


def module() -> str:
    """Return the module's text: a line for each object of a request, and each field of these."""
    found: dict[str, RequestField] = {}
    lines = [_HEAD]
    for command, request in _REQUESTS.items():
        schema = request.model_json_schema()
        parts = dict(_parts(request, schema))
        rows = "".join(f'        "{prefix}": "{model}",\n' for prefix, model in parts.items())
        lines.append(f'    "{command}": {{\n{rows}    }},\n')
        for prefix, model in parts.items():
            place = [prefix.rstrip(".")] if prefix else []
            for name, field in rules_at(schema, place)["properties"].items():
                rules = rules_at(schema, [*place, name])
                if rules.get("type") == "array":
                    rules = rules_at(schema, [*place, name, 0])
                found[f"{model}.{name}"] = _field(field, rules)
    lines.append("}\n\n\n#: The fields of these.\nFIELDS: dict[str, RequestField] = {\n")
    return "".join([*lines, *(_row(name, field) for name, field in sorted(found.items())), "}\n"])


def _parts(request: type[RequestModel], schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how paths of the fields of each object of a request begin, and its model."""
    yield "", request.__name__
    for name, field in schema["properties"].items():
        if name in _OBJECTS:
            yield f"{name}.", re.findall(r'"#/\$defs/(\w+)"', json.dumps(field))[0]


def _field(field: Mapping[str, Any], rules: Mapping[str, Any]) -> RequestField:
    usual = field.get("default")
    choices = tuple(rules.get("enum", ()))
    about = field.get("description", "")
    return RequestField(
        "" if choices and _OF_WORD.match(about) else _text(about),
        rules.get("minimum", rules.get("exclusiveMinimum")),
        rules.get("maximum"),
        "exclusiveMinimum" in rules,
        choices,
        "" if usual is None or isinstance(usual, bool | dict) or usual == [] else _default(usual),
    )


def _text(description: str) -> str:
    """Return the first clause, in the words of the command: flags for fields, without units."""
    word = _OF_WORD.match(description)
    start = word.end() if word else 0
    clause = description[:start] + _END.split(description[start:], maxsplit=1)[0]
    return _NAME.sub(lambda name: _FLAGS.get(name[1], name[1]), _UNIT.sub("", clause))


def _default(value: Any) -> str:
    return ", ".join(map(_default, value)) if isinstance(value, list) else f"{value}"


def _row(name: str, field: RequestField) -> str:
    lines = [field.text]
    if len(field.text) > _WIDTH:
        lines = textwrap.wrap(field.text, _WIDTH, drop_whitespace=False)
    quoted = [json.dumps(line, ensure_ascii=False) for line in lines]
    body = "".join(f"        {line}\n" for line in quoted[:-1]) + f"        {quoted[-1]},\n"
    for key in RequestField._fields[1:]:
        value = getattr(field, key)
        if value != RequestField._field_defaults[key]:
            body += f"        {key}={_shown(value)},\n"
    return f'    "{name}": RequestField(\n{body}    ),\n'


def _shown(value: object) -> str:
    """Write a value as ruff formats it."""
    if isinstance(value, tuple):
        return "(" + "".join(f'\n            "{word}",' for word in value) + "\n        )"
    return json.dumps(value) if isinstance(value, str) else repr(value).replace("e+", "e")


if __name__ == "__main__":
    MODULE.write_text(module(), encoding="utf-8")
