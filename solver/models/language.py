"""Language models."""

from collections.abc import Iterator

from solver.graph import Graph
from solver.models.steps import HALF, SINGLE, ForwardStep, graph_of, linear


def t5_small(batch: int = 16, tokens: int = 512) -> Graph:
    """T5-small, an encoder-decoder Transformer: 60,506,624 parameters in 131 tensors, fp32.

    References
    ----------
    .. [1] C. Raffel et al., Exploring the Limits of Transfer Learning, JMLR 2020, Section 3.
    """
    d, hidden, vocabulary, depth, heads, distances = 512, 2048, 32128, 6, 8, 32
    steps = [ForwardStep("shared", float(d * tokens), (("weight", vocabulary * d),))]
    for side in ("encoder", "decoder"):
        for i in range(depth):
            attentions = ("self",) if side == "encoder" else ("self", "cross")
            for attention in attentions:
                name = f"{side}.{i}.{attention}"
                relative = (("distances", distances * heads),) if i == 0 else ()
                extra = relative if attention == "self" else ()
                steps += _attention(name, d, tokens, extra)
            steps.append(_norm(f"{side}.{i}.ffn.norm", d, tokens))
            steps.append(linear(f"{side}.{i}.ffn.wi", d, hidden, tokens))
            steps.append(linear(f"{side}.{i}.ffn.wo", hidden, d, tokens))
        steps.append(_norm(f"{side}.norm", d, tokens))
    steps.append(
        ForwardStep("head", 2.0 * d * vocabulary * tokens)
    )  # shares the embedding's weight
    return graph_of("T5-small (generated)", steps, batch, SINGLE, 4)


def llama_7b(batch: int = 1, tokens: int = 2048) -> Graph:
    """LLaMA-7B, a 32-layer language model: 6,738,415,616 parameters in 291 tensors, 16 bit.

    References
    ----------
    .. [1] H. Touvron et al., LLaMA: Open and Efficient Foundation Language Models, 2023, Table 2.
    """
    steps = [step for _, unit in llama_units(tokens) for step in unit]
    return graph_of("LLaMA-7B (generated)", steps, batch, HALF, 2)


def llama_units(tokens: int) -> Iterator[tuple[str, list[ForwardStep]]]:
    """Embedding, attention and feed-forward block of each layer, and the head, by name."""
    d, hidden, vocabulary, depth = 4096, 11008, 32000, 32
    yield "embed", [ForwardStep("embed", float(d * tokens), (("weight", vocabulary * d),))]
    for i in range(depth):
        yield f"layers.{i}.attention", _attention(f"layers.{i}.attention", d, tokens)
        yield (
            f"layers.{i}.ffn",
            [
                _norm(f"layers.{i}.ffn.norm", d, tokens),
                linear(f"layers.{i}.ffn.gate", d, hidden, tokens),
                linear(f"layers.{i}.ffn.up", d, hidden, tokens),
                linear(f"layers.{i}.ffn.down", hidden, d, tokens),
            ],
        )
    yield "head", [_norm("norm", d, tokens), linear("head", d, vocabulary, tokens)]


def _norm(name: str, d: int, tokens: int) -> ForwardStep:
    return ForwardStep(name, 4.0 * d * tokens, (("weight", d),))


def _attention(
    name: str, d: int, tokens: int, extra: tuple[tuple[str, int], ...] = ()
) -> list[ForwardStep]:
    """Norm, projections, scores and output; ``extra`` parameters belong to the scores."""
    return [
        _norm(f"{name}.norm", d, tokens),
        *(linear(f"{name}.{part}", d, d, tokens) for part in ("q", "k", "v")),
        ForwardStep(f"{name}.scores", 4.0 * tokens**2 * d, extra),
        linear(f"{name}.o", d, d, tokens),
    ]
