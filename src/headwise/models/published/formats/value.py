"""Value that every reader of published weights returns, and the conversion of rotary layouts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Foreign:
    """A model somebody else published, whatever file it came in, under the names that Hugging Face gives its parts."""

    config: dict[str, Any]
    """The content of a Hugging Face `config.json`: "model_type", "hidden_size" and so on."""
    tensors: Mapping[str, Tensor]
    where: str
    """The file or folder it was read from, for messages."""
    tokenizer: dict[str, Any] | None
    """A tokenizer that came inside the weights, unread; None where it is files of its own in the folder.

    {"kind": "gguf", and every "tokenizer.*" key of the file}.
    """


def rotate_halves(projection: Tensor, heads: int) -> Tensor:
    """Reorder a query or key projection (or its bias) from rotating neighbours to rotating halves.

    The pairs (0, 1), (2, 3), ... of a head become (0, K/2), (1, K/2 + 1), ...: attention scores do not change, as
    queries and keys are reordered alike.
    """
    rows = projection.shape[0]
    pairs = projection.reshape(heads, rows // heads // 2, 2, *projection.shape[1:])
    return pairs.transpose(1, 2).reshape(projection.shape).contiguous()


def llama_shapes(config: Mapping[str, Any], attention_biases: bool = False) -> dict[str, tuple[int, ...]]:
    """Every tensor that a Llama of this config has, by its Hugging Face name."""
    width, hidden, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    queries = config["num_attention_heads"] * config["head_dim"]
    keys = config["num_key_value_heads"] * config["head_dim"]
    attention = {
        "q_proj": (queries, width),
        "k_proj": (keys, width),
        "v_proj": (keys, width),
        "o_proj": (width, queries),
    }
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (vocabulary, width)}
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        shapes[f"{name}.input_layernorm.weight"] = (width,)
        for part, shape in attention.items():
            shapes[f"{name}.self_attn.{part}.weight"] = shape
            if attention_biases:
                shapes[f"{name}.self_attn.{part}.bias"] = shape[:1]
        shapes[f"{name}.post_attention_layernorm.weight"] = (width,)
        shapes[f"{name}.mlp.gate_proj.weight"] = (hidden, width)
        shapes[f"{name}.mlp.up_proj.weight"] = (hidden, width)
        shapes[f"{name}.mlp.down_proj.weight"] = (width, hidden)
    shapes["model.norm.weight"] = (width,)
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (vocabulary, width)
    return shapes
