"""Encoder-decoders."""

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf
from torch import nn

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


def pegasus(**changes: Any) -> Callable[[], Any]:
    values = {**BART, "activation_function": "relu", "scale_embedding": True, **changes}
    return lambda: hf.PegasusForConditionalGeneration(hf.PegasusConfig(**values))


def marian(**changes: Any) -> Callable[[], Any]:
    values = {**BART, "decoder_vocab_size": 61, "activation_function": "swish", "scale_embedding": True, **changes}
    return lambda: hf.MarianMTModel(hf.MarianConfig(**values))


def bart(**changes: Any) -> Callable[[], Any]:
    return lambda: _with_logits_bias(hf.BartForConditionalGeneration(hf.BartConfig(**{**BART, **changes})))


def mbart(**changes: Any) -> Callable[[], Any]:
    return lambda: _with_logits_bias(hf.MBartForConditionalGeneration(hf.MBartConfig(**{**BART, **changes})))


def m2m100(**changes: Any) -> Callable[[], Any]:
    return lambda: hf.M2M100ForConditionalGeneration(hf.M2M100Config(**{**BART, **changes}))


def _with_logits_bias(model: Any) -> Any:
    """It is a buffer of zeros, which would hide mistakes."""
    model.final_logits_bias.normal_(std=0.1)
    return model


T5: dict[str, Any] = {
    "vocab_size": 61,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_heads": 4,
    "initializer_factor": 0.5,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
}


def t5(**changes: Any) -> Callable[[], Any]:
    return lambda: hf.T5ForConditionalGeneration(hf.T5Config(**{**T5, **changes}))


def t5_untied(**changes: Any) -> Callable[[], Any]:
    """Version 1.1, which has two matrices; the reference's config ties them whatever it is told."""
    values = {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, **changes}
    return lambda: _untied(hf.T5ForConditionalGeneration(hf.T5Config(**values)))


def mt5(**changes: Any) -> Callable[[], Any]:
    return lambda: hf.MT5ForConditionalGeneration(hf.MT5Config(**{**T5, **changes}))


def _untied(model: Any) -> Any:
    model.lm_head.weight = nn.Parameter(torch.randn_like(model.lm_head.weight) * 0.2)
    return model


WIDE_ENCODER = {"encoder_ffn_dim": 40, "encoder_attention_heads": 2, "encoder_layers": 3, "decoder_layers": 1}
ODD_HEADS = {"d_model": 33, "encoder_attention_heads": 3, "decoder_attention_heads": 3}
FULL = {"max_position_embeddings": 11}
"""As many positions as the test's texts have."""
FAR_PAD = {"pad_token_id": 3, "decoder_start_token_id": 2}

CASES: dict[tuple[str, str], Callable[[], Any]] = {
    ("marian", "plain"): marian(),
    ("pegasus", "plain"): pegasus(),
    ("pegasus", "unequal-sides"): pegasus(encoder_ffn_dim=40, encoder_attention_heads=2, scale_embedding=False),
    ("marian", "unequal-sides"): marian(encoder_ffn_dim=40, encoder_attention_heads=2, activation_function="gelu"),
    ("marian", "unscaled-odd-heads"): marian(scale_embedding=False, **ODD_HEADS),
    ("marian", "two-embeddings"): marian(share_encoder_decoder_embeddings=False),
    ("marian", "three-matrices"): marian(share_encoder_decoder_embeddings=False, tie_word_embeddings=False),
    ("bart", "plain"): bart(),
    ("bart", "scaled-unequal-sides"): bart(scale_embedding=True, **WIDE_ENCODER),
    ("bart", "odd-heads-all-positions"): bart(activation_function="relu", **ODD_HEADS, **FULL),
    ("mbart", "plain"): mbart(),
    ("mbart", "scaled-unequal-sides"): mbart(scale_embedding=True, **WIDE_ENCODER),
    ("mbart", "odd-heads-all-positions"): mbart(activation_function="relu", **ODD_HEADS, **FULL),
    ("m2m_100", "plain"): m2m100(),
    ("m2m_100", "unscaled-unequal-sides"): m2m100(scale_embedding=False, **WIDE_ENCODER, **FAR_PAD),
    ("m2m_100", "odd-heads-beyond-its-positions"): m2m100(max_position_embeddings=5, **ODD_HEADS, **FAR_PAD),
    ("t5", "plain"): t5(),
    ("t5", "wide-heads-unequal-sides"): t5(d_kv=12, num_heads=3, num_decoder_layers=1),
    ("t5", "few-buckets-short-distance"): t5(relative_attention_num_buckets=8, relative_attention_max_distance=5),
    ("t5", "tied-unscaled"): t5(tie_word_embeddings=False, layer_norm_epsilon=1e-3),
    ("t5", "gated-silu"): t5(feed_forward_proj="gated-silu"),
    ("t5", "1.1"): t5_untied(),
    ("t5", "1.1-narrow-heads"): t5_untied(d_kv=5, num_heads=5, num_decoder_layers=3),
    ("t5", "1.1-scaled"): t5_untied(tie_word_embeddings=True),
    ("mt5", "tied"): mt5(),
    ("mt5", "untied"): lambda: _untied(mt5(num_decoder_layers=1)()),
}
