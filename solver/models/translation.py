"""Encoder-decoder models for translation, with tensors as the Sockeye toolkit makes them.

Tokens are pairs of a source and a target word; a sample is a sentence of each.
"""

from collections.abc import Iterator

from solver.graph import Graph
from solver.models.steps import SINGLE, ForwardStep, graph_of, linear

#: Words of a sentence.
SENTENCE = 32


def transformer(batch: int = 64, vocabulary: int = 31_000) -> Graph:
    """Build the base Transformer with three embeddings: 91,750,680 parameters, 164 tensors.

    References
    ----------
    .. [1] A. Vaswani et al., Attention Is All You Need, NIPS 2017, Table 3.
    .. [2] F. Hieber et al., Sockeye: A Toolkit for Neural Machine Translation, 2017.
    """
    return graph_of(
        "Transformer (generated)", list(transformer_steps(vocabulary)), batch, SINGLE, 4
    )


def seq2seq(batch: int = 128, vocabulary: int = 32_768) -> Graph:
    """Build LSTMs of 3 layers on each side, the first both ways: 67,170,304 in 32 tensors.

    References
    ----------
    .. [1] I. Sutskever, O. Vinyals, Q. V. Le, Sequence to Sequence Learning, NIPS 2014.
    .. [2] F. Hieber et al., Sockeye: A Toolkit for Neural Machine Translation, 2017.
    """
    return graph_of("Seq2Seq (generated)", list(seq2seq_steps(vocabulary)), batch, SINGLE, 4)


def transformer_steps(vocabulary: int, tokens: int = SENTENCE) -> Iterator[ForwardStep]:
    """Six layers of 512 on each side, 2,048 inside; norm before each block and after each side.

    Queries, keys and values of a self-attention are one weight without bias, those of the
    attention to the encoder three.
    """
    d, hidden, depth = 512, 2048, 6
    for side in ("encoder", "decoder"):
        yield _embedding(f"{side}.embed", vocabulary, d, tokens)
        for i in range(depth):
            name = f"{side}.{i}"
            yield _norm(f"{name}.self.norm", d, tokens)
            yield linear(f"{name}.self.qkv", d, 3 * d, tokens)
            yield _scores(f"{name}.self.scores", d, tokens)
            yield linear(f"{name}.self.o", d, d, tokens)
            if side == "decoder":
                yield _norm(f"{name}.cross.norm", d, tokens)
                for part in ("q", "k", "v"):
                    yield linear(f"{name}.cross.{part}", d, d, tokens)
                yield _scores(f"{name}.cross.scores", d, tokens)
                yield linear(f"{name}.cross.o", d, d, tokens)
            yield _norm(f"{name}.ffn.norm", d, tokens)
            yield linear(f"{name}.ffn.in", d, hidden, tokens, bias=True)
            yield linear(f"{name}.ffn.out", hidden, d, tokens, bias=True)
        yield _norm(f"{side}.norm", d, tokens)
    yield linear("head", d, vocabulary, tokens, bias=True)


def seq2seq_steps(vocabulary: int, tokens: int = SENTENCE) -> Iterator[ForwardStep]:
    """Embedding and three LSTM layers on each side, and the head, all of 512 units.

    The encoder's first layer is a cell of 512 units each way. The decoder's first layer reads the
    attention's context beside the word; the attention is a dot product without parameters. A
    cell's gradients are complete after its last word, and its weights are needed for the first.
    """
    d = 512
    yield _embedding("encoder.embed", vocabulary, d, tokens)
    yield _lstm("encoder.0.forward", d, d, tokens)
    yield _lstm("encoder.0.backward", d, d, tokens)
    yield _lstm("encoder.1", 2 * d, d, tokens)
    yield _lstm("encoder.2", d, d, tokens)
    yield _embedding("decoder.embed", vocabulary, d, tokens)
    yield _lstm("decoder.0", 2 * d, d, tokens)
    yield _lstm("decoder.1", d, d, tokens)
    yield _lstm("decoder.2", d, d, tokens)
    yield _scores("attention", d, tokens)
    yield linear("head", d, vocabulary, tokens, bias=True)


def _embedding(name: str, vocabulary: int, d: int, tokens: int) -> ForwardStep:
    return ForwardStep(name, float(d * tokens), (("weight", vocabulary * d),))


def _norm(name: str, d: int, tokens: int) -> ForwardStep:
    return ForwardStep(name, 4.0 * d * tokens, (("gamma", d), ("beta", d)))


def _scores(name: str, d: int, tokens: int) -> ForwardStep:
    return ForwardStep(name, 4.0 * tokens**2 * d)


def _lstm(name: str, inputs: int, units: int, tokens: int) -> ForwardStep:
    """Four gates from the input and from the cell's last state, each with a bias."""
    gates = 4 * units
    return ForwardStep(
        name,
        2.0 * gates * (inputs + units) * tokens,
        (
            ("i2h_weight", gates * inputs),
            ("i2h_bias", gates),
            ("h2h_weight", gates * units),
            ("h2h_bias", gates),
        ),
    )
