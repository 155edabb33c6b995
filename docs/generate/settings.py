"""The settings of the service."""

from typing import Any

from app.operations.settings import Settings, described
from docs.generate.markdown import number, table


def settings() -> str:
    """Write a table of all settings with default and range."""
    meanings = {each["variable"]: each["meaning"] for each in described(Settings())}
    schema = Settings.model_json_schema()["properties"]
    prefix = str(Settings.model_config["env_prefix"])
    rows = []
    for name, field in Settings.model_fields.items():
        variable = f"{prefix}{name.upper()}"
        default = (
            "" if field.get_default() is None or field.default_factory else number(field.default)
        )
        rows.append((f"`{variable}`", default, _range(schema[name]), meanings[variable]))
    return table(["variable", "default", "range", "meaning"], rows)


def _range(field: dict[str, Any]) -> str:
    """Write what values are allowed."""
    choices = next(
        (part["enum"] for part in [field, *field.get("anyOf", [])] if "enum" in part), None
    )
    if choices:
        return ", ".join(f"`{choice}`" for choice in choices)
    bounds = []
    if "exclusiveMinimum" in field:
        bounds.append(f"more than {number(field['exclusiveMinimum'])}")
    if "minimum" in field:
        bounds.append(f"{number(field['minimum'])} or more")
    if "maximum" in field:
        bounds.append(f"{number(field['maximum'])} at most")
    return ", ".join(bounds)
