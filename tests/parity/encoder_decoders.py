"""Encoder-decoders."""

from collections.abc import Callable
from typing import Any

import transformers as hf

BART: dict[str, Any] = {
    "vocab_size": 61,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 0,
    "forced_eos_token_id": 2,
}


def marian(**changes: Any) -> Callable[[], Any]:
    values = {**BART, "decoder_vocab_size": 61, "activation_function": "swish", "scale_embedding": True, **changes}
    return lambda: hf.MarianMTModel(hf.MarianConfig(**values))


CASES: dict[tuple[str, str], Callable[[], Any]] = {
    ("marian", "plain"): marian(),
    ("marian", "unequal-sides"): marian(encoder_ffn_dim=40, encoder_attention_heads=2, activation_function="gelu"),
}
