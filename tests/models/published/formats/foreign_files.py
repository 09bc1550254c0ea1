"""Small files as other programs write them, written here from the formats' definitions."""

import struct
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

SCALARS = {
    "u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"),
    "bool": (7, "?"), "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d"),
}  # fmt: skip


def text(value: str) -> bytes:
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def value(kind: str, content: Any) -> tuple[int, bytes]:
    """The number of a metadata type, and the value; "[u32]" is an array of u32, "[[u32]]" one of arrays."""
    if kind == "str":
        return 8, text(content)
    if kind.startswith("["):
        items = [value(kind[1:-1], item) for item in content]
        inner = value(kind[1:-1], [] if kind[1:-1].startswith("[") else ("" if kind[1:-1] == "str" else 0))[0]
        return 9, struct.pack("<IQ", inner, len(items)) + b"".join(item for _, item in items)
    number, letter = SCALARS[kind]
    return number, struct.pack(f"<{letter}", content)


def gguf(
    metadata: Mapping[str, tuple[str, Any]],
    tensors: Mapping[str, tuple[int, tuple[int, ...], bytes]],
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    """A whole file; a tensor is its type's number, its shape as in torch, and its bytes."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, (kind, content) in metadata.items():
        number, packed = value(kind, content)
        head += text(key) + struct.pack("<I", number) + packed
    data = b""
    for name, (number, shape, content) in tensors.items():
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
        head += text(name) + dimensions + struct.pack("<IQ", number, len(data))
        data += content + bytes(-len(content) % alignment)
    return head + bytes(-len(head) % alignment) + data


def f32(tensor: Tensor) -> tuple[int, tuple[int, ...], bytes]:
    return 0, tuple(tensor.shape), tensor.float().numpy().tobytes()


LLAMA = {"width": 16, "hidden": 24, "layers": 2, "heads": 4, "groups": 2, "vocabulary": 10, "context": 12}


def llama(tied: bool = False, biases: bool = False) -> dict[str, Tensor]:
    """A small Llama under Hugging Face's names."""
    width, hidden, vocabulary = LLAMA["width"], LLAMA["hidden"], LLAMA["vocabulary"]
    keys = width // LLAMA["heads"] * LLAMA["groups"]
    tensors = {"model.embed_tokens.weight": torch.randn(vocabulary, width), "model.norm.weight": torch.randn(width)}
    for layer in range(LLAMA["layers"]):
        name = f"model.layers.{layer}"
        tensors[f"{name}.input_layernorm.weight"] = torch.randn(width)
        tensors[f"{name}.post_attention_layernorm.weight"] = torch.randn(width)
        for part, rows in {"q": width, "k": keys, "v": keys, "o": width}.items():
            tensors[f"{name}.self_attn.{part}_proj.weight"] = torch.randn(rows, width)
            if biases:
                tensors[f"{name}.self_attn.{part}_proj.bias"] = torch.randn(rows)
        tensors[f"{name}.mlp.gate_proj.weight"] = torch.randn(hidden, width)
        tensors[f"{name}.mlp.up_proj.weight"] = torch.randn(hidden, width)
        tensors[f"{name}.mlp.down_proj.weight"] = torch.randn(width, hidden)
    if not tied:
        tensors["lm_head.weight"] = torch.randn(vocabulary, width)
    return tensors


def neighbours(tensor: Tensor, heads: int) -> Tensor:
    """Rows of halves-rotary to those of neighbour-rotary, one row at a time: i and i + K/2 become 2i and 2i + 1."""
    width = len(tensor) // heads
    order = [
        head * width + half * width // 2 + i for head in range(heads) for i in range(width // 2) for half in (0, 1)
    ]
    return tensor[order]


LLAMA_KEYS: dict[str, tuple[str, Any]] = {
    "general.architecture": ("str", "llama"),
    "llama.block_count": ("u32", LLAMA["layers"]),
    "llama.context_length": ("u32", LLAMA["context"]),
    "llama.embedding_length": ("u32", LLAMA["width"]),
    "llama.feed_forward_length": ("u32", LLAMA["hidden"]),
    "llama.attention.head_count": ("u32", LLAMA["heads"]),
    "llama.attention.head_count_kv": ("u32", LLAMA["groups"]),
    "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5),
    "llama.rope.freq_base": ("f32", 50000.0),
    "tokenizer.ggml.tokens": ("[str]", [f"t{number}" for number in range(LLAMA["vocabulary"])]),
    "tokenizer.ggml.bos_token_id": ("u32", 1),
    "tokenizer.ggml.eos_token_id": ("u32", 2),
}
LLAMA_NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output", "model.layers": "blk",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}  # fmt: skip


def llama_gguf(tensors: Mapping[str, Tensor], changes: Mapping[str, Any] | None = None, **rest: int) -> bytes:
    """The file llama.cpp would make of it, other metadata as given (None leaves a key out)."""
    stored = {}
    for name, tensor in tensors.items():
        if ".q_proj." in name or ".k_proj." in name:
            tensor = neighbours(tensor, LLAMA["heads"] if ".q_proj." in name else LLAMA["groups"])
        for theirs, short in LLAMA_NAMES.items():
            name = name.replace(theirs, short)
        stored[name] = f32(tensor)
    metadata = {**LLAMA_KEYS, **(changes or {})}
    return gguf({key: content for key, content in metadata.items() if content is not None}, stored, **rest)
