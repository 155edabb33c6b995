"""Tensor-parallel GPT models against the published sizes."""

from dataclasses import replace

import pytest

from solver.errors import InvalidGraph
from solver.models.gpt import MEGATRON, Gpt, tensor_parallel_gpt, tp_gpt_8b
from tests.solver.totals import flops, moved

GPT_8B = MEGATRON["8.3"][0]


@pytest.mark.parametrize("size", sorted(MEGATRON))
def test_published_sizes_of_megatron(size):
    """All parts together have the parameters of the paper's table, to its two digits."""
    gpt, ways = MEGATRON[size]
    d = gpt.width
    _, sizes = moved(tensor_parallel_gpt("gpt", gpt, ways))
    held = sizes["all_reduce", "network"] / 2
    # on every GPU: positions, two norms and two biases a layer, the last norm
    everywhere = gpt.tokens * d + gpt.depth * 6 * d + 2 * d
    parameters = (held - everywhere) * ways + everywhere
    # 12 d^2 + 13 d a layer, embedding and positions, the last norm
    published = gpt.depth * (12 * d**2 + 13 * d) + (51_200 + 1024) * d + 2 * d
    assert parameters == published
    assert f"{parameters / 1e9:.1f}" == size


@pytest.mark.parametrize(("batch", "tokens"), [(8, 1024), (1, 512)])
def test_what_a_tensor_parallel_gpt_moves(batch, tokens):
    graph = tensor_parallel_gpt("gpt", replace(GPT_8B, tokens=tokens), 8, batch)
    counts, sizes = moved(graph)
    # 4 a layer, the embedding's output, the head's input, the loss; gradients by block
    assert counts == {("all_reduce", "nvlink"): 4 * 72 + 3, ("all_reduce", "network"): 2 * 72 + 2}
    activations = 2 * batch * tokens * 3072
    assert sizes["all_reduce", "nvlink"] == (4 * 72 + 2) * activations + 4 * batch * tokens


def test_two_all_reduces_a_layer_in_each_pass():
    ids = [op.id for op in tp_gpt_8b().ops if op.channel == "nvlink" and "layers.7." in op.id]
    assert ids == [
        "forward:layers.7.attention.output",
        "forward:layers.7.ffn.output",
        "backward:layers.7.ffn.input",
        "backward:layers.7.attention.input",
    ]


@pytest.mark.parametrize("ways", [1, 4, 8])
def test_flops_of_megatron(ways):
    """72 B T l d^2 (1 + T/(6 d) + V/(12 l d)), Narayanan et al.'s formula without recomputation."""
    layers, d, tokens, vocabulary, batch = 72, 3072, 1024, 51_200, 4
    expected = 72.0 * batch * tokens * layers * d**2
    expected *= 1 + tokens / (6 * d) + vocabulary / (12 * layers * d)
    graph = tensor_parallel_gpt("gpt", GPT_8B, ways, batch, flops_per_us=1e7)
    assert flops(graph, 1e7, ways) == pytest.approx(expected, rel=1e-4)
    assert expected == pytest.approx(6 * 8.3e9 * batch * tokens, rel=0.06)  # about 6 N D


@pytest.mark.parametrize(
    ("call", "pointers"),
    [
        (  # every argument out of range at once
            lambda: tensor_parallel_gpt("gpt", Gpt(0, 0, 0, 0, 0), 0, 0, 0.0),
            {
                f"/{field}"
                for field in (
                    *("depth", "width", "heads", "vocabulary", "tokens"),
                    *("ways", "batch", "flops_per_us"),
                )
            },
        ),
        # 20 heads do not go on 8 GPUs
        (lambda: tensor_parallel_gpt("gpt", MEGATRON["2.5"][0], 8), {"/heads"}),
        # 10 heads of no whole size, over 4, and a vocabulary that was not padded
        (
            lambda: tensor_parallel_gpt("gpt", Gpt(2, 64, 10, 50_257), 4),
            {"/width", "/heads", "/vocabulary"},
        ),
    ],
)
def test_dimensions_that_do_not_fit(call, pointers):
    with pytest.raises(InvalidGraph) as refused:
        call()
    assert {fault.pointer for fault in refused.value.faults} == pointers
    assert {fault.code for fault in refused.value.faults} == {"out_of_range"}
