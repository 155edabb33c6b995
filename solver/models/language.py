"""Language models."""

from collections.abc import Iterator
from dataclasses import replace

from solver.codes import FaultCode
from solver.errors import Fault, InvalidGraph
from solver.graph import Graph
from solver.models.parallel import not_positive
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


def bert_base(batch: int = 32, tokens: int = 128) -> Graph:
    """BERT-base in pre-training: 110,106,428 parameters in 206 tensors, fp32.

    See :func:`bert_steps`.
    """
    return _bert("BERT-base (generated)", 12, 768, batch, tokens)


def bert_large(batch: int = 32, tokens: int = 128) -> Graph:
    """BERT-large in pre-training: 336,226,108 parameters in 398 tensors, fp32.

    See :func:`bert_steps`.
    """
    return _bert("BERT-large (generated)", 24, 1024, batch, tokens)


def gpt2(batch: int = 8, tokens: int = 1024) -> Graph:
    """GPT-2 of 12 layers: 124,439,808 parameters in 148 tensors, fp32.

    See :func:`gpt2_steps`.
    """
    _check(batch, tokens, GPT2_POSITIONS)
    return graph_of("GPT-2 (generated)", list(gpt2_steps(tokens)), batch, SINGLE, 4)


#: The longest sequences of which positions are learned.
BERT_POSITIONS, GPT2_POSITIONS = 512, 1024

#: Of this share of the words BERT's head tells what they were.
_MASKED = 0.15


def bert_steps(depth: int, d: int, tokens: int) -> Iterator[ForwardStep]:
    """Embeddings of 30,522 pieces of words, 512 positions and 2 segments, layers, and both heads.

    A layer has queries, keys and values apart, all with biases, an inside of 4 d, and a norm after
    each block. The words' head shares the embedding's weight and is applied to 15 % of the words;
    the next sentence's head reads what is pooled of the first word.

    References
    ----------
    .. [1] J. Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language
           Understanding, NAACL 2019, Section 3.
    """
    vocabulary, masked = 30_522, max(1, round(_MASKED * tokens))
    tables = (
        ("words", vocabulary * d),
        ("positions", BERT_POSITIONS * d),
        ("segments", 2 * d),
    )
    yield ForwardStep("embed", 3.0 * d * tokens, tables)
    yield _biased_norm("embed.norm", d, tokens)
    for i in range(depth):
        name = f"layers.{i}"
        for part in ("q", "k", "v"):
            yield linear(f"{name}.attention.{part}", d, d, tokens, bias=True)
        yield ForwardStep(f"{name}.attention.scores", 4.0 * tokens**2 * d)
        yield linear(f"{name}.attention.o", d, d, tokens, bias=True)
        yield _biased_norm(f"{name}.attention.norm", d, tokens)
        yield linear(f"{name}.ffn.in", d, 4 * d, tokens, bias=True)
        yield linear(f"{name}.ffn.out", 4 * d, d, tokens, bias=True)
        yield _biased_norm(f"{name}.ffn.norm", d, tokens)
    yield linear("pooler", d, d, bias=True)
    yield linear("words.transform", d, d, masked, bias=True)
    yield _biased_norm("words.norm", d, masked)
    yield replace(linear("words", d, vocabulary, masked), parameters=(("bias", vocabulary),))
    yield linear("next", d, 2, bias=True)


def gpt2_steps(tokens: int) -> Iterator[ForwardStep]:
    """Embeddings of 50,257 pieces of words and 1,024 positions, 12 layers of 768, and the head.

    A layer has queries, keys and values in one weight, all with biases, an inside of 3,072, and a
    norm before each block. The head shares the embedding's weight.

    References
    ----------
    .. [1] A. Radford et al., Language Models are Unsupervised Multitask Learners, 2019, Section 2.
           Its code has the dimensions of the smallest model, which the paper counts as 117 million.
    """
    d, vocabulary = 768, 50_257
    tables = (("words", vocabulary * d), ("positions", GPT2_POSITIONS * d))
    yield ForwardStep("embed", 2.0 * d * tokens, tables)
    for i in range(12):
        name = f"layers.{i}"
        yield _biased_norm(f"{name}.attention.norm", d, tokens)
        yield linear(f"{name}.attention.qkv", d, 3 * d, tokens, bias=True)
        yield ForwardStep(f"{name}.attention.scores", 4.0 * tokens**2 * d)
        yield linear(f"{name}.attention.o", d, d, tokens, bias=True)
        yield _biased_norm(f"{name}.ffn.norm", d, tokens)
        yield linear(f"{name}.ffn.in", d, 4 * d, tokens, bias=True)
        yield linear(f"{name}.ffn.out", 4 * d, d, tokens, bias=True)
    yield _biased_norm("norm", d, tokens)
    yield ForwardStep("head", 2.0 * d * vocabulary * tokens)


def _bert(name: str, depth: int, d: int, batch: int, tokens: int) -> Graph:
    _check(batch, tokens, BERT_POSITIONS)
    return graph_of(name, list(bert_steps(depth, d, tokens)), batch, SINGLE, 4)


def _check(batch: int, tokens: int, positions: int) -> None:
    """Refuse what is no sequence.

    Raises
    ------
    InvalidGraph
        When batch or tokens is not positive, or there are more tokens than positions.
    """
    faults = not_positive(batch=batch, tokens=tokens)
    if tokens > positions:
        detail = f"tokens must be at most {positions:,}, the positions that are learned."
        faults.append(Fault("/tokens", FaultCode.OUT_OF_RANGE, detail))
    if faults:
        raise InvalidGraph(faults)


def _biased_norm(name: str, d: int, tokens: int) -> ForwardStep:
    return ForwardStep(name, 4.0 * d * tokens, (("weight", d), ("bias", d)))


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
