"""Published transformers by their numbers, each with its source."""

from typing import Final

from solver.shapes.transformer import Transformer

_LLAMA2 = "H. Touvron et al., Llama 2, 2023; config.json of the weights"
_LLAMA3 = "A. Dubey et al., The Llama 3 Herd of Models, 2024, table 3"
_GPT3 = "T. Brown et al., Language Models are Few-Shot Learners, 2020, table 2.1"
_MIXTRAL = "A. Jiang et al., Mixtral of Experts, 2024, table 1"
_DEEPSEEK = "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, section 4.2"
_QWEN3 = "Qwen Team, Qwen3 Technical Report, 2025; config.json of the weights"

#: Weights of DeepSeek-V3's latent attention: down and up projections of queries (1536) and of
#: keys and values (512 and 64), and the projection after it.
_LATENT: Final = 7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168

#: Published models, by name.
PUBLISHED: Final[dict[str, Transformer]] = {
    model.name: model
    for model in (
        Transformer("gpt3-175b", 96, 12288, 96, 49152, 51200, 2048, tied=True, source=_GPT3),
        Transformer("llama2-7b", 32, 4096, 32, 11008, 32000, 4096, gated=True, source=_LLAMA2),
        Transformer("llama2-70b", 80, 8192, 64, 28672, 32000, 4096, 8, gated=True, source=_LLAMA2),
        Transformer("llama3-8b", 32, 4096, 32, 14336, 128256, 8192, 8, gated=True, source=_LLAMA3),
        Transformer("llama3-70b", 80, 8192, 64, 28672, 128256, 8192, 8, gated=True, source=_LLAMA3),
        Transformer(
            "llama3-405b", 126, 16384, 128, 53248, 128256, 8192, 8, gated=True, source=_LLAMA3
        ),
        Transformer(
            "mixtral-8x7b",
            32,
            4096,
            32,
            14336,
            32000,
            4096,
            8,
            gated=True,
            experts=8,
            top_k=2,
            source=_MIXTRAL,
        ),
        Transformer(
            "qwen3-30b-a3b",
            48,
            2048,
            32,
            768,
            151936,
            4096,
            4,
            128,
            gated=True,
            experts=128,
            top_k=8,
            source=_QWEN3,
        ),
        Transformer(
            "qwen3-235b-a22b",
            94,
            4096,
            64,
            1536,
            151936,
            4096,
            4,
            128,
            gated=True,
            experts=128,
            top_k=8,
            source=_QWEN3,
        ),
        Transformer(
            "deepseek-v3",
            61,
            7168,
            128,
            2048,
            129280,
            4096,
            128,
            128,
            gated=True,
            experts=256,
            top_k=8,
            shared_feed_forward=2048,
            dense_layers=3,
            dense_feed_forward=18432,
            attention_parameters=_LATENT,
            source=_DEEPSEEK,
        ),
    )
}
