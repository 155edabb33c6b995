"""Published models as iterations: layer shapes from the papers, time split by FLOPs.

These are made by the project, not measured: each layer takes its FLOPs divided by the sustained
speed of the worker, the backward pass twice its forward. Shapes and parameter counts are those of
the published models.
"""

from collections.abc import Callable

from solver.graph import Graph
from solver.models.gpt import tp_gpt_8b
from solver.models.language import bert_base, bert_large, gpt2, llama_7b, t5_small
from solver.models.sharded import fsdp_llama_7b
from solver.models.translation import seq2seq, transformer
from solver.models.vision import resnet50, resnet101, resnet152, vgg16, vgg19

#: The generated iterations by name, with their default batch; add one here.
MODELS: dict[str, Callable[[], Graph]] = {
    "vgg16": vgg16,
    "resnet50": resnet50,
    "t5_small": t5_small,
    "bert_base": bert_base,
    "bert_large": bert_large,
    "gpt2": gpt2,
    "llama_7b": llama_7b,
    "fsdp_llama_7b": fsdp_llama_7b,
    "tp_gpt_8b": tp_gpt_8b,
    "seq2seq": seq2seq,
    "transformer": transformer,
}

__all__ = [
    "MODELS",
    "bert_base",
    "bert_large",
    "fsdp_llama_7b",
    "gpt2",
    "llama_7b",
    "resnet50",
    "resnet101",
    "resnet152",
    "seq2seq",
    "t5_small",
    "tp_gpt_8b",
    "transformer",
    "vgg16",
    "vgg19",
]
