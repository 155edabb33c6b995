"""What every part of a request has in common: no coercion, no unknown field, no NaN."""

from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from app.limits import MAX_NAME_CHARACTERS
from app.schemas.building import when_built

#: A text without control characters.
PLAIN = r"^[^\x00-\x1f\x7f]*$"


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARACTERS, pattern=PLAIN)]


#: What a source has not got; None is a value.
_MISSING = object()


def is_unknown(value: Any) -> bool:
    """Tell whether a field is left out of what is written."""
    return value is None


def is_one(value: float) -> bool:
    """Tell whether a factor that changes nothing is left out of what is written."""
    return value == 1


@dataclass(frozen=True)
class OneOf:
    """A string that must be one of these names."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(
        self, _source: type[Any], _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Validate as a literal, so that the names appear in OpenAPI."""
        return core_schema.literal_schema(list(self.names))


@dataclass(frozen=True)
class ShownAs:
    """A JSON value that we made: described as a model, and not checked again."""

    model: type[BaseModel]

    def __get_pydantic_core_schema__(
        self, _source: type[Any], _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Take any value."""
        return core_schema.any_schema()

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Describe the model."""
        return handler(self.model.__pydantic_core_schema__)


class RequestModel(BaseModel):
    """A part of a request."""

    model_config = (
        ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False) | when_built()
    )


class AnswerModel(BaseModel):
    """A part of an answer; its fields are attributes of what the solver returned."""

    model_config = ConfigDict(frozen=True, from_attributes=True) | when_built()

    @classmethod
    def of(cls, *sources: object, **fields: Any) -> Self:
        """Take each field by name, from ``fields`` or else from the first source that has it."""
        own = {}
        for name in cls.model_fields:
            if name not in fields:
                values = (getattr(source, name, _MISSING) for source in sources)
                own[name] = next((value for value in values if value is not _MISSING), _MISSING)
        known = {name: value for name, value in own.items() if value is not _MISSING}
        return cls.model_validate(known | fields)

    @classmethod
    def always(cls) -> tuple[str, ...]:
        """Name the fields that are written whatever they hold."""
        return tuple(name for name, info in cls.model_fields.items() if info.exclude_if is None)
