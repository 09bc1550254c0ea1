"""Decoders alone."""

from collections.abc import Callable
from typing import Any

import transformers as hf

SMALL: dict[str, Any] = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def llama(**changes: Any) -> Callable[[], Any]:
    return lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**{**SMALL, **changes}))


def mistral(**changes: Any) -> Callable[[], Any]:
    return lambda: hf.MistralForCausalLM(hf.MistralConfig(**{**SMALL, "num_key_value_heads": 2, **changes}))


def rope(kind: str, **values: Any) -> dict[str, Any]:
    return {"rope_type": kind, "rope_theta": 10000.0, **values}


CASES: dict[tuple[str, str], Callable[[], Any]] = {
    ("llama", "plain"): llama(),
    ("llama", "tied-grouped"): llama(num_key_value_heads=2, tie_word_embeddings=True),
    ("llama", "odd-heads"): llama(hidden_size=36, num_attention_heads=3, head_dim=12),
    ("llama", "wide-heads-biases"): llama(head_dim=12, attention_bias=True, mlp_bias=True),
    ("llama", "linear"): llama(rope_parameters=rope("linear", factor=4.0)),
    ("llama", "dynamic"): llama(rope_parameters=rope("dynamic", factor=2.0), max_position_embeddings=8),
    ("llama", "yarn"): llama(rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=16)),
    ("llama", "llama3"): llama(
        rope_parameters=rope(
            "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16
        )
    ),
    ("mistral", "window-shorter-than-text"): mistral(sliding_window=5),
    ("mistral", "no-window"): mistral(sliding_window=None),
    ("llama", "classifier"): lambda: hf.LlamaForSequenceClassification(hf.LlamaConfig(**SMALL, num_labels=3)),
}
