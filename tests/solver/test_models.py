"""Generated iterations."""

import pytest

from solver.costs import Cluster, network_of
from solver.errors import InvalidGraph
from solver.models import (
    MODELS,
    bert_base,
    bert_large,
    fsdp_llama_7b,
    gpt2,
    resnet101,
    resnet152,
    seq2seq,
    transformer,
    vgg19,
)
from solver.models.language import bert_steps, gpt2_steps
from solver.models.steps import HALF, SINGLE
from solver.models.vision import resnet, vgg
from solver.policies import POLICIES
from solver.simulation.engine import simulate
from tests.solver.totals import flops, moved

#: Parameters of LLaMA-7B.
LLAMA = 6_738_415_616


@pytest.mark.parametrize(
    ("name", "tensors", "parameters", "width"),
    [
        # counts published for each model, at its bytes per parameter
        ("vgg16", 32, 138_357_544, 4),
        ("resnet50", 161, 25_557_032, 4),
        ("t5_small", 131, 60_506_624, 4),
        ("llama_7b", 291, 6_738_415_616, 2),
        # of its pre-training; without the heads 109,482,240 and 335,141,888
        ("bert_base", 206, 110_106_428, 4),
        ("bert_large", 398, 336_226_108, 4),
        ("gpt2", 148, 124_439_808, 4),
    ],
)
def test_published_sizes(name, tensors, parameters, width):
    sizes = [op.bytes for op in MODELS[name]().ops if op.bytes]
    assert len(sizes) == tensors
    assert sum(sizes) == parameters * width


@pytest.mark.parametrize(
    ("model", "tensors", "parameters"),
    [
        # counts published for each model
        (vgg19, 38, 143_667_240),
        (resnet101, 314, 44_549_160),
        (resnet152, 467, 60_192_808),
        # PACE, Table II: 91.8 million in 164 tensors, 67.2 million in 32
        (transformer, 164, 91_750_680),
        (seq2seq, 32, 67_170_304),
    ],
)
def test_published_sizes_of_models_that_are_no_examples(model, tensors, parameters):
    sizes = [op.bytes for op in model().ops if op.bytes]
    assert len(sizes) == tensors
    assert sum(sizes) == parameters * 4


@pytest.mark.parametrize(
    ("steps", "parameters", "multiply_adds"),
    [
        # 10^9 multiply-adds of an image, published
        (vgg(11), 132_863_336, 7.61),
        (vgg(19), 143_667_240, 19.63),
        (resnet(50), 25_557_032, 4.09),
        (resnet(101), 44_549_160, 7.80),
        (resnet(152), 60_192_808, 11.51),
    ],
)
def test_published_work_of_an_image(steps, parameters, multiply_adds):
    steps = list(steps)
    assert sum(count for step in steps for _, count in step.parameters) == parameters
    # normalisations are counted beside the published convolutions and matrix products
    work = sum(step.flops for step in steps if not step.name.endswith(".bn"))
    assert work / 2e9 == pytest.approx(multiply_adds, rel=0.005)


@pytest.mark.parametrize("model", [transformer, seq2seq])
def test_translation_takes_six_flops_per_weight_and_word(model):
    """Embeddings are looked up; biases, norms and scores are small beside the products."""
    graph = model(batch=2)
    sizes = {op.id: op.bytes // 4 for op in graph.ops if op.bytes}
    multiplied = sum(count for name, count in sizes.items() if "embed" not in name)
    assert flops(graph, 7e6) == pytest.approx(6 * multiplied * 2 * 32, rel=0.02)


@pytest.mark.parametrize(
    ("steps", "encoder", "layers"),
    [
        # published: the encoder without heads, its layers without embeddings
        (bert_steps(12, 768, 128), 108_891_648, 85_054_464),
        (bert_steps(24, 1024, 128), 334_092_288, 302_309_376),
        (gpt2_steps(1024), 124_439_808, 85_054_464),
    ],
)
def test_published_tensors_of_transformers(steps, encoder, layers):
    """BERT's names and shapes by its code; its pooler and heads are not in the encoder."""
    sizes = {f"{step.name}.{name}": count for step in steps for name, count in step.parameters}
    heads = ("pooler.", "words.", "next.")
    assert sum(n for name, n in sizes.items() if not name.startswith(heads)) == encoder
    assert sum(n for name, n in sizes.items() if name.startswith("layers.")) == layers
    d = sizes["layers.0.ffn.norm.weight"]
    assert sizes["layers.7.ffn.in.weight"] == sizes["layers.7.ffn.out.weight"] == 4 * d * d
    assert sizes["layers.7.ffn.in.bias"] == 4 * sizes["layers.7.ffn.out.bias"] == 4 * d
    projections = [n for name, n in sizes.items() if name.startswith("layers.7.attention.")]
    assert sum(projections) == 4 * (d * d + d) + 2 * d  # q, k, v, o and a norm


@pytest.mark.parametrize("tokens", [128, 512])
@pytest.mark.parametrize(
    ("model", "depth", "d"), [(bert_base, 12, 768), (bert_large, 24, 1024), (gpt2, 12, 768)]
)
def test_transformers_take_six_flops_per_weight_and_token(model, depth, d, tokens):
    """And 12 T^2 d a layer for the scores; the head for the words that are told."""
    told = round(0.15 * tokens) if model is not gpt2 else tokens
    vocabulary = 30_522 * d + d * d if model is not gpt2 else 50_257 * d
    expected = 6 * (12 * depth * d * d * tokens + vocabulary * told)
    expected += 12 * tokens**2 * d * depth
    assert flops(model(batch=2, tokens=tokens), SINGLE) == pytest.approx(2 * expected, rel=5e-3)


@pytest.mark.parametrize(
    ("model", "arguments", "pointers"),
    [
        (bert_base, {"tokens": 513}, ["/tokens"]),  # no position is learned for the last
        (gpt2, {"tokens": 1025}, ["/tokens"]),
        (bert_large, {"batch": 0, "tokens": -1}, ["/batch", "/tokens"]),
    ],
)
def test_what_is_no_sequence(model, arguments, pointers):
    with pytest.raises(InvalidGraph) as refused:
        model(**arguments)
    assert [fault.pointer for fault in refused.value.faults] == pointers


def test_a_recurrent_cell_has_four_gates():
    sizes = {op.id: op.bytes // 4 for op in seq2seq().ops if op.bytes}
    cell = "grad:decoder.0"
    assert sizes[f"{cell}.i2h_weight"] == 4 * 512 * (512 + 512)  # word and context
    assert sizes[f"{cell}.h2h_weight"] == 4 * 512 * 512
    assert sizes[f"{cell}.i2h_bias"] == sizes[f"{cell}.h2h_bias"] == 4 * 512


def test_time_is_split_by_flops():
    graph = MODELS["vgg16"]()
    forward = sum(op.duration_us or 0 for op in graph.ops if op.id.startswith("forward:"))
    backward = sum(op.duration_us or 0 for op in graph.ops if op.id.startswith("backward:"))
    assert backward == pytest.approx(2 * forward)
    # VGG-16 takes 15.5 GMAC an image: 64 images at 7 TFLOP/s
    assert forward == pytest.approx(64 * 2 * 15.47e9 / 7e6, rel=0.001)


def test_what_sharded_llama_moves():
    """Embedding, 32 x (attention, feed-forward), head: 66 units, only the last gathered once."""
    graph = fsdp_llama_7b()
    counts, sizes = moved(graph)
    assert counts == {
        ("all_gather", "nvlink"): 66 + 65,
        ("reduce_scatter", "nvlink"): 66,
        ("all_reduce", "network"): 66,
    }
    head = 32_000 * 4096 + 4096
    assert sizes == {
        ("all_gather", "nvlink"): 2 * (2 * LLAMA - head),
        ("reduce_scatter", "nvlink"): 2 * LLAMA,
        ("all_reduce", "network"): 2 * LLAMA // 8,
    }


def test_units_of_sharded_llama():
    sizes = {op.id: op.bytes for op in fsdp_llama_7b().ops}
    assert sizes["gather:embed"] == 2 * 32_000 * 4096
    assert sizes["gather:layers.31.attention"] == 2 * (4 * 4096**2 + 4096)
    assert sizes["gather:layers.31.ffn"] == 2 * (3 * 4096 * 11_008 + 4096)
    assert sizes["grad:layers.31.ffn"] == 2 * (3 * 4096 * 11_008 + 4096) // 8


def test_sharded_llama_takes_six_flops_per_parameter_and_token():
    # the embedding is looked up, not multiplied; scores take 4 T^2 d a layer and pass, in 3 passes
    tokens, multiplied = 2 * 1024, LLAMA - 32_000 * 4096
    scores = 3 * 4 * 1024**2 * 4096 * 32 * 2
    graph = fsdp_llama_7b(batch=2, tokens=1024, flops_per_us=1e8)
    assert flops(graph, 1e8) == pytest.approx(6 * multiplied * tokens + scores, rel=1e-4)


def test_the_embedding_copies_a_row_for_each_token():
    times = {op.id: op.duration_us for op in fsdp_llama_7b(batch=2, tokens=1024).ops}
    assert times["forward:embed"] == pytest.approx(2 * 1024 * 4096 / HALF)


def test_the_step_passes_over_the_shard_at_the_speed_of_memory():
    step = next(op for op in fsdp_llama_7b(shards=4, bytes_per_parameter=4).ops[::-1])
    assert step.id == "optimizer"
    assert step.duration_us == pytest.approx(28 * LLAMA / 4 / 2e6)


def test_arguments_of_sharded_llama():
    counts, sizes = moved(fsdp_llama_7b(shards=16, bytes_per_parameter=4))
    assert sizes["all_reduce", "network"] == 4 * LLAMA // 16
    deep = {op.id: op.after for op in fsdp_llama_7b(limit=3).ops}
    assert deep["gather:layers.0.ffn"] == ()
    assert deep["gather:layers.1.attention"] == ("forward:embed",)
    assert counts["all_gather", "nvlink"] == 131


def test_what_is_no_iteration_of_llama():
    with pytest.raises(InvalidGraph) as refused:
        fsdp_llama_7b(0, 0, 0, -1, 0.0, 0)
    assert [(fault.pointer, fault.code) for fault in refused.value.faults] == [
        (f"/{field}", "out_of_range")
        for field in ("batch", "tokens", "shards", "limit", "flops_per_us", "bytes_per_parameter")
    ]


@pytest.mark.parametrize("name", ["fsdp_llama_7b", "tp_gpt_8b"])
def test_more_bandwidth_never_hurts_today_s_policies(name):
    """From no network to none that is felt: the time falls to the compute of the one stream."""
    graph = MODELS[name]()
    for policy in ("wfbp", "tictac"):
        times = []
        for gbps in (1, 10, 1000, 1e5):
            node = Cluster(8, 10 * gbps)
            network = network_of(Cluster(16, gbps, channels=(("nvlink", node),)))
            times.append(simulate(graph, network, POLICIES[policy]).iteration_time)
        assert times == sorted(times, reverse=True)
        assert times[-1] == pytest.approx(sum(graph.durations), rel=0.01)
