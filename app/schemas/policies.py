"""Policies of a request: a name, or an object with its parameters.

The bodies, one a policy, are made from the signatures of the policies and the ranges of
:data:`solver.policies.choice.PARAMETERS`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, create_model
from pydantic_core import CoreSchema, core_schema

from app.schemas.base import OneOf, RequestModel
from solver.policies import POLICIES
from solver.policies.bytescheduler import AUTO
from solver.policies.choice import PARAMETERS, Choice, keywords


class BaselineBody(RequestModel):
    """A policy of today to compare with."""

    policy: str
    barrier: Annotated[
        bool,
        Field(description="Simulate it with a barrier, as `options.barrier` does for the plan."),
    ] = False

    def to_choice(self) -> Choice:
        """Return the policy as the solver knows it, with the parameters that were given."""
        parameters = self.model_dump(
            exclude={"policy", "barrier"}, exclude_unset=True, exclude_none=True
        )
        return Choice(self.policy, self.barrier, tuple(parameters.items()))


class _OrAuto:
    """A number or "auto"; a union would put its tags in the place of an error."""

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        number = handler(source)
        word = core_schema.literal_schema([AUTO])
        return core_schema.no_info_wrap_validator_function(
            lambda value, inner: value if value == AUTO else inner(value),
            number,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value),
            json_schema_input_schema=core_schema.union_schema([number, word]),
        )


@dataclass(frozen=True)
class Choices:
    """One of the bodies, told apart by ``policy``; a name stands for the body with its defaults."""

    more: tuple[type[BaselineBody], ...] = ()

    def __get_pydantic_core_schema__(
        self, _source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Tell the bodies apart, so that a fault is one of the body that was meant."""
        bodies = [*map(_body, POLICIES), *self.more]
        named = {_policy_of(body): handler.generate_schema(body) for body in bodies}
        tagged = core_schema.tagged_union_schema(named, discriminator="policy")
        names = core_schema.literal_schema(list(named))
        return core_schema.no_info_before_validator_function(
            lambda value: {"policy": value} if isinstance(value, str) else value,
            tagged,
            json_schema_input_schema=core_schema.union_schema([tagged, names]),
        )


def named_bodies(names: Iterable[str]) -> tuple[type[BaselineBody], ...]:
    """Make a body for each of these policies, which have no parameters."""
    return tuple(
        create_model(
            f"{''.join(word.capitalize() for word in name.split('_'))}Baseline",
            __base__=BaselineBody,
            __doc__="A rule of today that makes a program.",
            policy=(Annotated[str, OneOf((name,))], ...),
        )
        for name in names
    )


def _policy_of(body: type[BaselineBody]) -> str:
    """Return the one value of a body's ``policy``."""
    allowed = next(rule for rule in body.model_fields["policy"].metadata if isinstance(rule, OneOf))
    return allowed.names[0]


@cache
def _body(policy: str) -> type[BaselineBody]:
    """Make the body of a policy, once: each parameter with its range, default and meaning."""
    fields: dict[str, Any] = {"policy": (Annotated[str, OneOf((policy,))], ...)}
    for name, default in keywords(policy).items():
        rule = PARAMETERS[name]
        least, most = rule.kind(rule.least), rule.kind(rule.most)
        ranged = rule.kind is not bool
        limits = Field(
            ge=least if ranged else None, le=most if ranged else None, description=rule.meaning
        )
        value: Any = Annotated[rule.kind, limits]
        if rule.auto:
            value = Annotated[value, _OrAuto()]
        fields[name] = (value if default is not None else value | None, default)
    title = "".join(word.capitalize() for word in policy.split("_"))
    summary = (POLICIES[policy].__doc__ or "").split("\n", 1)[0]
    return create_model(f"{title}Baseline", __base__=BaselineBody, __doc__=summary, **fields)


def _by_name(parameters: Any) -> Any:
    """Let the solver's pairs of name and value be an object."""
    return dict(parameters) if isinstance(parameters, tuple) else parameters


#: In the place of a type: its values are the solver's pairs, too.
PAIRS = BeforeValidator(_by_name)


#: A policy as it is posted.
PolicyBody = Annotated[BaselineBody, Choices()]
