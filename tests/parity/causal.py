"""Decoders alone."""

from collections.abc import Callable
from typing import Any

import transformers as hf

IDS: dict[str, Any] = {"vocab_size": 61, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}

SMALL: dict[str, Any] = {
    **IDS,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}

GPT: dict[str, Any] = {**IDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def gpt(head: Any = hf.OpenAIGPTLMHeadModel, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.OpenAIGPTConfig(**{**GPT, **changes}))


def gpt2(head: Any = hf.GPT2LMHeadModel, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.GPT2Config(**{**GPT, **changes}))


def gptj(head: Any = hf.GPTJForCausalLM, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.GPTJConfig(**{**GPT, "rotary_dim": 4, **changes}))


def gpt_neox(head: Any = hf.GPTNeoXForCausalLM, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.GPTNeoXConfig(**{**SMALL, **changes}))


def phi(head: Any = hf.PhiForCausalLM, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.PhiConfig(**{**SMALL, **changes}))


def phi3(head: Any = hf.Phi3ForCausalLM, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.Phi3Config(**{**SMALL, **changes}))


def llama(head: Any = hf.LlamaForCausalLM, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.LlamaConfig(**{**SMALL, **changes}))


def mistral(head: Any = hf.MistralForCausalLM, **changes: Any) -> Callable[[], Any]:
    return lambda: head(hf.MistralConfig(**{**SMALL, "num_key_value_heads": 2, **changes}))


def rope(kind: str, **values: Any) -> dict[str, Any]:
    return {"rope_type": kind, "rope_theta": 10000.0, **values}


def longrope(pairs: int, original: int, **values: Any) -> dict[str, Any]:
    """Texts of the tests are shorter than one `original` length and longer than another."""
    short, long = [1.0 + 0.1 * i for i in range(pairs)], [2.0 + 0.5 * i for i in range(pairs)]
    scaling = rope("longrope", short_factor=short, long_factor=long, **values)
    return {"rope_parameters": scaling, "original_max_position_embeddings": original}


LLAMA3 = rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)

CASES: dict[tuple[str, str], Callable[[], Any]] = {
    ("openai-gpt", "plain"): gpt(),
    ("openai-gpt", "relu-untied"): gpt(afn="relu", tie_word_embeddings=False),
    ("openai-gpt", "classifier"): gpt(hf.OpenAIGPTForSequenceClassification, num_labels=3),
    ("gpt2", "plain"): gpt2(),
    ("gpt2", "narrow-relu-untied"): gpt2(n_inner=40, activation_function="relu", tie_word_embeddings=False),
    ("gpt2", "unscaled-attention"): gpt2(scale_attn_weights=False, layer_norm_epsilon=1e-3),
    ("gpt2", "upcast-attention"): gpt2(reorder_and_upcast_attn=True),
    ("gpt2", "classifier"): gpt2(hf.GPT2ForSequenceClassification, num_labels=3),
    ("gptj", "plain"): gptj(),
    ("gptj", "whole-heads-turn"): gptj(rotary_dim=8, n_inner=40),
    ("gptj", "wide-heads-tied"): gptj(n_head=2, rotary_dim=6, tie_word_embeddings=True),
    ("gptj", "classifier"): gptj(hf.GPTJForSequenceClassification, num_labels=3),
    ("gpt_neox", "plain"): gpt_neox(),
    ("gpt_neox", "sequential-tied"): gpt_neox(use_parallel_residual=False, tie_word_embeddings=True),
    ("gpt_neox", "whole-heads-turn"): gpt_neox(rotary_pct=1.0, rotary_emb_base=500, hidden_act="gelu_new"),
    ("gpt_neox", "no-attention-bias"): gpt_neox(attention_bias=False, rotary_pct=0.5),
    ("gpt_neox", "sequential-linear"): gpt_neox(
        use_parallel_residual=False, rope_parameters=rope("linear", factor=2.0, partial_rotary_factor=0.5)
    ),
    ("gpt_neox", "classifier"): gpt_neox(hf.GPTNeoXForSequenceClassification, num_labels=3),
    ("phi", "plain"): phi(),
    ("phi", "grouped-tied"): phi(num_key_value_heads=2, tie_word_embeddings=True, partial_rotary_factor=0.25),
    ("phi", "whole-heads-turn"): phi(partial_rotary_factor=1.0, hidden_act="relu"),
    ("phi", "linear"): phi(rope_parameters=rope("linear", factor=2.0, partial_rotary_factor=0.5)),
    ("phi", "classifier"): phi(hf.PhiForSequenceClassification, num_labels=3),
    ("llama", "plain"): llama(),
    ("llama", "tied-grouped"): llama(num_key_value_heads=2, tie_word_embeddings=True),
    ("llama", "one-key-value-head"): llama(num_key_value_heads=1, rms_norm_eps=1e-3, hidden_act="gelu"),
    ("llama", "odd-heads"): llama(hidden_size=36, num_attention_heads=3, head_dim=12),
    ("llama", "wide-heads-biases"): llama(head_dim=12, attention_bias=True, mlp_bias=True),
    ("llama", "linear"): llama(rope_parameters=rope("linear", factor=4.0)),
    ("llama", "dynamic"): llama(rope_parameters=rope("dynamic", factor=2.0), max_position_embeddings=8),
    ("llama", "yarn"): llama(rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=16)),
    ("llama", "yarn-all-values"): llama(
        rope_parameters=rope(
            "yarn",
            factor=4.0,
            original_max_position_embeddings=16,
            beta_fast=8.0,
            beta_slow=0.5,
            attention_factor=1.3,
            truncate=False,
        )
    ),
    ("llama", "llama3"): llama(rope_parameters=LLAMA3),
    ("llama", "classifier"): llama(hf.LlamaForSequenceClassification, num_labels=3),
    ("mistral", "window-shorter-than-text"): mistral(sliding_window=5),
    ("mistral", "window-of-two"): mistral(sliding_window=2),
    ("mistral", "no-window"): mistral(sliding_window=None),
    ("mistral", "window-yarn-wide-heads"): mistral(
        sliding_window=5,
        head_dim=12,
        rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=16),
    ),
    ("mistral", "classifier"): mistral(hf.MistralForSequenceClassification, num_labels=3, sliding_window=5),
    ("phi3", "plain"): phi3(),
    ("phi3", "grouped-window-tied"): phi3(num_key_value_heads=2, sliding_window=5, tie_word_embeddings=True),
    ("phi3", "partial"): phi3(partial_rotary_factor=0.75),
    ("phi3", "longrope-short-text"): phi3(**longrope(4, 32)),
    ("phi3", "longrope-long-text"): phi3(**longrope(4, 8)),
    ("phi3", "longrope-partial-grouped"): phi3(
        **longrope(2, 8, partial_rotary_factor=0.5, attention_factor=1.2), num_key_value_heads=2
    ),
    ("phi3", "classifier"): phi3(hf.Phi3ForSequenceClassification, num_labels=3),
}
