"""A GPT-2 in GGUF: llama.cpp's names and metadata to Hugging Face's, whose matrices are stored transposed."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.published.formats.gguf_metadata import Metadata, layer_name, token_ids

WHOLE = {
    "token_embd.weight": "transformer.wte.weight",
    "position_embd.weight": "transformer.wpe.weight",
    "output_norm.weight": "transformer.ln_f.weight",
    "output_norm.bias": "transformer.ln_f.bias",
    "output.weight": "lm_head.weight",
}
NORMS = {"attn_norm": "ln_1", "ffn_norm": "ln_2"}
MATRICES = {"attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"}


def gpt2_from_gguf(
    metadata: Mapping[str, Any], tensors: Mapping[str, Tensor], where: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Hugging Face's config and tensors of a GPT-2; a tensor that a GPT-2 does not have is refused."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        layer, part, end = layer_name(name)
        if part in MATRICES:
            renamed[f"transformer.h.{layer}.{MATRICES[part]}.{end}"] = tensor.transpose(0, -1).contiguous()
        elif part in NORMS:
            renamed[f"transformer.h.{layer}.{NORMS[part]}.{end}"] = tensor
        elif name in WHOLE:
            renamed[WHOLE[name]] = tensor
        else:
            raise CheckpointError(f"{where}: the tensor {name} is not part of a GPT-2")
    return _config(Metadata(metadata, "gpt2", where), renamed), renamed


def _config(metadata: Metadata, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    embedding = tensors.get("transformer.wte.weight")
    if embedding is None:
        raise CheckpointError(f"{metadata.where}: token_embd.weight is missing")
    width, heads = metadata.whole("embedding_length"), metadata.whole("attention.head_count")
    if width % heads:
        raise metadata.fail("attention.head_count", f"does not divide the width {width}")
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "activation_function": "gelu_new",
        "n_embd": width,
        "n_head": heads,
        "n_inner": metadata.whole("feed_forward_length", 4 * width),
        "n_layer": metadata.whole("block_count"),
        "n_positions": metadata.whole("context_length"),
        "layer_norm_epsilon": metadata.number("attention.layer_norm_epsilon"),
        "vocab_size": embedding.shape[0],
        "tie_word_embeddings": "lm_head.weight" not in tensors,
        **token_ids(metadata.values, embedding.shape[0]),
    }
