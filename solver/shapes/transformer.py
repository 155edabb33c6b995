"""A transformer by its numbers: what there is to store, to compute and to keep."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from solver.codes import FaultCode
from solver.errors import Fault


@dataclass(frozen=True, slots=True)
class Transformer:
    """A decoder-only transformer, whose layers are alike, but for dense ones before experts.

    Attributes
    ----------
    name
        What it is called.
    layers
        Transformer layers.
    hidden
        Width of the residual stream.
    heads
        Heads of queries.
    feed_forward
        Width of the feed-forward block; with experts, of each expert.
    vocabulary
        Entries of the embedding, as padded.
    sequence
        Tokens of a sequence.
    kv_heads
        Heads of keys and values; None for as many as of queries.
    head_size
        Width of a head; None for ``hidden / heads``.
    gated
        The feed-forward block has three matrices (SwiGLU) instead of two.
    experts
        Experts of a layer; 0 for a dense model.
    top_k
        Experts that a token is sent to.
    shared_feed_forward
        Width of what every token passes beside its experts; 0 for none.
    dense_layers, dense_feed_forward
        First layers that have no experts, and the width of their feed-forward block.
    attention_parameters
        Weights of a layer's attention where heads do not tell them (latent attention); None where
        they do.
    tied
        The head uses the embedding's weights.
    source
        Where the numbers were published; None for a model of one's own.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    feed_forward: int
    vocabulary: int
    sequence: int
    kv_heads: int | None = None
    head_size: int | None = None
    gated: bool = False
    experts: int = 0
    top_k: int = 0
    shared_feed_forward: int = 0
    dense_layers: int = 0
    dense_feed_forward: int = 0
    attention_parameters: int | None = None
    tied: bool = False
    source: str | None = None

    @property
    def query_width(self) -> int:
        """Width of all queries of a token."""
        return self.heads * (self.head_size or self.hidden // self.heads)

    @property
    def key_width(self) -> int:
        """Width of all keys of a token; values are as wide."""
        return self.query_width // self.heads * (self.kv_heads or self.heads)

    def split(self, ranks: int) -> "Transformer":
        """Return the model as so many tensor-parallel ranks hold it.

        Of fewer heads of keys and values than ranks each rank has a whole one, several the same.
        """
        if ranks <= (self.kv_heads or self.heads):
            return self
        return replace(self, kv_heads=ranks)

    @property
    def matrices(self) -> int:
        """Matrices of a feed-forward block."""
        return 3 if self.gated else 2

    @property
    def attention_weights(self) -> int:
        """Weights of a layer's attention: queries, keys, values and the projection after it."""
        if self.attention_parameters is not None:
            return self.attention_parameters
        return self.hidden * (2 * self.query_width + 2 * self.key_width)

    @property
    def expert_weights(self) -> int:
        """Weights of all experts of a layer; 0 for a dense model."""
        return self.experts * self.matrices * self.hidden * self.feed_forward

    @property
    def dense_weights(self) -> int:
        """Weights of a layer that every token passes: attention, router, what is shared."""
        blocks = self.shared_feed_forward if self.experts else self.feed_forward
        router = self.hidden * self.experts
        return self.attention_weights + router + self.matrices * self.hidden * blocks

    @property
    def layer_parameters(self) -> int:
        """Parameters of a layer, with its two norms."""
        return self.dense_weights + self.expert_weights + 2 * self.hidden

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the embedding; those of the head are as many, unless tied."""
        return self.vocabulary * self.hidden

    @property
    def without_experts(self) -> "Transformer":
        """The same model as if all its layers were as its dense ones."""
        if not self.dense_layers:
            return self
        return replace(
            self,
            feed_forward=self.dense_feed_forward,
            experts=0,
            top_k=0,
            shared_feed_forward=0,
            dense_layers=0,
            dense_feed_forward=0,
        )

    def dense_among(self, first: int, count: int) -> int:
        """Count the dense ones of the layers ``first`` to ``first + count`` before the others."""
        return max(0, min(self.dense_layers - first, count))

    def layer_counts(self, first: int, count: int) -> tuple[tuple["Transformer", int], ...]:
        """Split the layers ``first`` to ``first + count`` in dense ones and the others."""
        dense = self.dense_among(first, count)
        if not dense:
            return ((self, count),)
        return ((self.without_experts, dense), (self, count - dense))

    @property
    def parameters(self) -> int:
        """Parameters of the whole model."""
        ends = self.embedding_parameters * (1 if self.tied else 2)
        layers = sum(n * each.layer_parameters for each, n in self.layer_counts(0, self.layers))
        return layers + ends + self.hidden

    @property
    def active_weights(self) -> int:
        """Weights of a layer that a token is multiplied with."""
        routed = self.top_k * self.matrices * self.hidden * self.feed_forward
        return self.dense_weights + routed

    def training_flops(self, tokens: float) -> float:
        """Operations of a step over so many tokens, without recomputation.

        Six for each weight and token (two forward, four backward) and those of attention over the
        causal half of the sequence: what MFU counts.

        References
        ----------
        .. [1] A. Chowdhery et al., PaLM, 2022, appendix B, with the causal half.
        """
        counts = self.layer_counts(0, self.layers)
        weights = sum(n * each.active_weights for each, n in counts) + self.embedding_parameters
        return tokens * (6 * weights + 6 * self.layers * self.sequence * self.query_width)


def faults_of_transformer(model: Transformer) -> Iterator[Fault]:
    """Yield what is wrong with a model's numbers."""
    sizes = ("layers", "hidden", "heads", "feed_forward", "vocabulary", "sequence")
    for field in sizes:
        yield from _at_least(model, field, 1)
    for field in ("kv_heads", "head_size", "attention_parameters"):
        if getattr(model, field) is not None:
            yield from _at_least(model, field, 1)
    for field in ("experts", "top_k", "shared_feed_forward", "dense_layers", "dense_feed_forward"):
        yield from _at_least(model, field, 0)
    if model.heads > 0 and model.head_size is None and model.hidden % model.heads:
        yield Fault(
            "/heads",
            FaultCode.OUT_OF_RANGE,
            f"Model {model.name!r}: heads must divide hidden, {model.hidden}, or head_size be "
            f"given; got {model.heads}.",
        )
    kv_heads = model.kv_heads or model.heads
    if kv_heads > 0 and model.heads > 0 and model.heads % kv_heads:
        yield Fault(
            "/kv_heads",
            FaultCode.OUT_OF_RANGE,
            f"Model {model.name!r}: kv_heads must divide heads, {model.heads}, got {kv_heads}.",
        )
    if (model.experts > 0) != (model.top_k > 0) or model.top_k > model.experts:
        yield Fault(
            "/top_k",
            FaultCode.OUT_OF_RANGE,
            f"Model {model.name!r}: top_k must be 1 to experts, {model.experts}, and 0 without "
            f"experts; got {model.top_k}.",
        )
    goes_with_experts = model.experts > 0 and model.dense_feed_forward > 0
    has_dense = model.dense_layers > 0 or model.dense_feed_forward > 0
    if has_dense and not (goes_with_experts and 0 < model.dense_layers <= model.layers):
        yield Fault(
            "/dense_layers",
            FaultCode.OUT_OF_RANGE,
            f"Model {model.name!r}: dense_layers go before layers with experts, at most "
            f"{model.layers}, and need dense_feed_forward; got {model.dense_layers}.",
        )


def _at_least(model: Transformer, field: str, least: int) -> Iterator[Fault]:
    value = getattr(model, field)
    if value < least:
        detail = f"Model {model.name!r}: {field} must be at least {least}, got {value}."
        yield Fault(f"/{field}", FaultCode.OUT_OF_RANGE, detail)
