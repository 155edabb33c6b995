"""Changes of a graph, as a what-if asks for them: ops removed, scaled, compressed or in chunks."""

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError, core_schema

from app.limits import MAX_CHANGE_FACTOR, MAX_CHANGES, MAX_CODING_US_PER_BYTE
from app.schemas.base import OneOf, RequestModel, is_unknown
from solver.graph import KINDS
from solver.limits import MAX_BLOCK_CHUNKS, MAX_BYTES, MAX_DURATION_US
from solver.simulation.chunking import LEAST_BYTES, OVERHEAD_US, Chunking
from solver.simulation.compression import COMPRESSIONS, Compression
from solver.simulation.what_if import Change


class CompressionBody(RequestModel):
    """What a compression does to a collective; accuracy is not modelled."""

    bytes_factor: Annotated[
        float, Field(gt=0, le=1, description="The collective has so many times the bytes.")
    ]
    encode_us_per_byte: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_CODING_US_PER_BYTE,
            description="Encoding before it, on the compute stream, for each byte as it was [us].",
        ),
    ] = 0
    decode_us_per_byte: Annotated[
        float,
        Field(ge=0, le=MAX_CODING_US_PER_BYTE, description="Decoding after it, likewise [us]."),
    ] = 0


class ChunkingBody(RequestModel):
    """In how many chunks blocks of experts are cut, and what that costs."""

    count: Annotated[
        int,
        Field(ge=1, le=MAX_BLOCK_CHUNKS, description="Chunks of each block; 1 changes nothing."),
    ]
    overhead_us: Annotated[
        float,
        Field(
            ge=0,
            le=MAX_DURATION_US,
            description="What each chunk of an op that takes time takes beyond its share [us].",
        ),
    ] = OVERHEAD_US
    least_bytes: Annotated[
        int,
        Field(ge=1, le=MAX_BYTES, description="Collectives of fewer bytes are sent whole."),
    ] = LEAST_BYTES

    def to_chunking(self) -> Chunking:
        """Return the chunks as the solver knows them."""
        return Chunking(self.count, self.overhead_us, self.least_bytes)


class _OrName:
    """Figures, or the name of a compression; a union would put tags in the place of an error."""

    def __get_pydantic_core_schema__(
        self, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        figures, names = handler(source), list(COMPRESSIONS)

        def checked(value: Any, inner: Callable[[Any], Any]) -> Any:
            if not isinstance(value, str):
                return inner(value)
            if value not in names:
                raise PydanticKnownError("literal_error", {"expected": ", ".join(map(repr, names))})
            return value

        return core_schema.no_info_wrap_validator_function(
            checked,
            figures,
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value),
            json_schema_input_schema=core_schema.union_schema(
                [figures, core_schema.literal_schema(names)]
            ),
        )


class ChangeBody(RequestModel):
    """One change of all ops that a pattern matches: layers replaced, compressed or in chunks."""

    match: Annotated[
        str,
        Field(
            min_length=1,
            max_length=512,
            description="Shell pattern of op ids: `*`, `?`, `[abc]`; upper and lower case differ.",
            examples=["grad:fc*"],
        ),
    ]
    remove: Annotated[
        bool, Field(description="The ops take no time and send nothing; their order stays.")
    ] = False
    bytes_factor: Annotated[
        float,
        Field(
            ge=0, le=MAX_CHANGE_FACTOR, description="Times the bytes of collectives, at least 1."
        ),
    ] = 1
    duration_factor: Annotated[
        float, Field(ge=0, le=MAX_CHANGE_FACTOR, description="Times the duration of compute ops.")
    ] = 1
    kind: Annotated[
        Annotated[str, OneOf(KINDS)] | None,
        Field(exclude_if=is_unknown, description="Only ops of this kind; null for all."),
    ] = None
    compression: Annotated[
        Annotated[CompressionBody | str, _OrName()] | None,
        Field(
            exclude_if=is_unknown,
            description="Collectives are sent compressed, with an op on the compute stream before "
            "and after each. By figures; or by a name, with these of an H100's memory: `fp16` and "
            "`bf16` (2 bytes an element), `fp8` and `int8` (1), `topk` (a hundredth of the "
            "elements, each with an index). What each assumes is in the documentation; accuracy is "
            "not modelled.",
        ),
    ] = None

    chunks: Annotated[
        ChunkingBody | None,
        Field(
            exclude_if=is_unknown,
            description="The collectives that match are the ends of blocks, one that dispatches "
            "and the next after it, which combines: both and all ops between are cut in chunks "
            "that follow each other independently. Assumed: tokens are spread evenly, an op's "
            "chunk takes its share and the overhead, and cutting copies nothing.",
        ),
    ] = None

    def said(self) -> str:
        """Say what is changed, as it was asked for."""
        asked = self.model_dump(exclude_defaults=True, exclude={"match"})
        rest = ", ".join(f"{name} {value}" for name, value in asked.items())
        return f"{self.match}: {rest or 'nothing'}"

    def to_change(self) -> Change:
        """Return the change as the solver knows it."""
        by = self.compression
        return Change(
            self.match,
            self.remove,
            self.bytes_factor,
            self.duration_factor,
            self.kind,
            Compression(**by.model_dump()) if isinstance(by, CompressionBody) else by,
            None if self.chunks is None else self.chunks.to_chunking(),
        )


Changes = Annotated[
    list[ChangeBody],
    Field(
        max_length=MAX_CHANGES,
        description="What if these ops were changed: applied one after another, and the changed "
        "graph answered as well, for comparison.",
    ),
]
