"""A Llama or Mistral in GGUF: llama.cpp's names, row order and metadata to Hugging Face's."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.published.formats.gguf_metadata import Metadata, layer_name, token_ids
from headwise.models.published.rules import Unpaired
from headwise.nn.rotary import Llama3

WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
IN_A_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
FREQUENCIES = "rope_freqs.weight"
LOW, HIGH, LENGTH = 1.0, 4.0, 8192
"""The rotary scaling of every published Llama 3; a file holds only the resulting divisors of the frequencies."""


def llama_from_gguf(
    metadata: Mapping[str, Any], tensors: Mapping[str, Tensor], where: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Hugging Face's config and tensors of a Llama; a tensor that a Llama does not have is refused."""
    renamed = {_rename(name, where): tensor for name, tensor in tensors.items() if name != FREQUENCIES}
    biases = "model.layers.0.self_attn.q_proj.bias" in renamed
    config = _config(Metadata(metadata, "llama", where), renamed, tensors.get(FREQUENCIES), biases)
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    for name, tensor in renamed.items():
        part = name.split(".")[-2]
        if part in heads:
            if len(tensor) != heads[part] * config["head_dim"]:
                raise CheckpointError(f"{where}: {name} has the impossible shape {tuple(tensor.shape)}")
            (renamed[name],) = Unpaired(heads[part], config["head_dim"]).split(tensor)
    return config, renamed


def _rename(name: str, where: str) -> str:
    if name in WHOLE:
        return WHOLE[name]
    layer, part, end = layer_name(name)
    if part in IN_A_LAYER:
        return f"model.layers.{layer}.{IN_A_LAYER[part]}.{end}"
    raise CheckpointError(f"{where}: the tensor {name} is not part of a Llama")


def _config(
    metadata: Metadata, tensors: Mapping[str, Tensor], frequencies: Tensor | None, biases: bool
) -> dict[str, Any]:
    if metadata.whole("expert_count", 0, least=0):
        raise metadata.fail("expert_count", "is not 0: mixtures of experts are not supported")
    width, heads = metadata.whole("embedding_length"), metadata.whole("attention.head_count")
    head_width = metadata.whole("attention.key_length", width // heads, least=2)
    key_value_heads = metadata.whole("attention.head_count_kv", heads)
    for key in ("attention.value_length", "rope.dimension_count"):
        if metadata.whole(key, head_width) != head_width:
            raise metadata.fail(key, f"is not {head_width}, the width of a head")
    if head_width % 2 or heads % key_value_heads:
        raise metadata.fail("attention.head_count", "does not fit the width or the key/value heads")
    embedding = tensors.get("model.embed_tokens.weight")
    if embedding is None:
        raise CheckpointError(f"{metadata.where}: token_embd.weight is missing")
    window = metadata.whole("attention.sliding_window", 0, least=0)
    base = metadata.number("rope.freq_base", 10000.0)
    config: dict[str, Any] = {
        "architectures": ["MistralForCausalLM" if window else "LlamaForCausalLM"],
        "model_type": "mistral" if window else "llama",
        "hidden_size": width,
        "intermediate_size": metadata.whole("feed_forward_length"),
        "num_hidden_layers": metadata.whole("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": key_value_heads,
        "head_dim": head_width,
        "hidden_act": "silu",
        "attention_bias": biases,
        "mlp_bias": False,
        "max_position_embeddings": metadata.whole("context_length"),
        "rms_norm_eps": metadata.number("attention.layer_norm_rms_epsilon"),
        "rope_theta": base,
        "rope_scaling": _scaling(metadata, base, head_width, frequencies),
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        **token_ids(metadata.values, embedding.shape[0]),
    }
    return {**config, "sliding_window": window} if window else config


def _scaling(metadata: Metadata, base: float, head_width: int, divisors: Tensor | None) -> dict[str, Any] | None:
    kind = metadata.get("rope.scaling.type", "none")
    linear = metadata.number("rope.scale_linear", 1.0)  # in files of 2023
    if kind == "none" and linear != 1.0:
        kind = "linear"
    if divisors is not None and not bool((divisors == 1).all()):
        if kind != "none":
            raise metadata.fail("rope.scaling.type", f"is {kind!r}, but the file also has {FREQUENCIES}")
        return _llama3(divisors, base, head_width, metadata.where)
    if kind == "none":
        return None
    if kind not in ("linear", "yarn"):
        raise metadata.fail("rope.scaling.type", f"is {kind!r}; supported: none, linear and yarn")
    scaling = {"rope_type": kind, "factor": metadata.number("rope.scaling.factor", linear)}
    original = metadata.whole("rope.scaling.original_context_length", 0, least=0)
    return {**scaling, "original_max_position_embeddings": original} if kind == "yarn" and original else scaling


def _llama3(divisors: Tensor, base: float, head_width: int, where: str) -> dict[str, Any]:
    """The rotary scaling that gives these divisors of the frequencies."""
    factor = float(divisors.max())
    frequencies = Llama3(head_width, base, factor, LENGTH, LOW, HIGH)
    expected = frequencies.plain() / frequencies.turns(torch.empty(0))
    if divisors.shape != expected.shape or not torch.allclose(divisors, expected, rtol=1e-4):
        raise CheckpointError(f"{where}: {FREQUENCIES} does not follow Llama 3's formula, and no other is supported")
    return {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": LOW,
        "high_freq_factor": HIGH,
        "original_max_position_embeddings": LENGTH,
    }
