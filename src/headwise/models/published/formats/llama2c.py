"""The checkpoints of llama2.c (version 0): seven numbers, then every weight in float32."""

import math
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor

from headwise.errors import CheckpointError
from headwise.models.published.formats.value import Foreign, llama_shapes, rotate_halves

LATER = b"24ka"
"""What versions from 1 on begin with."""
LAYER_ORDER = (
    "input_layernorm",
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "post_attention_layernorm",
    "mlp.gate_proj",
    "mlp.down_proj",
    "mlp.up_proj",
)
"""In the file; each of them for all layers."""


@dataclass(frozen=True)
class Header:
    """As it stands in the file: seven 32-bit numbers."""

    width: int
    hidden: int
    layers: int
    heads: int
    key_value_heads: int
    vocabulary: int
    """Below zero: the classifier has a matrix of its own."""
    context: int

    @property
    def plausible(self) -> bool:
        sizes = (*astuple(self)[:5], self.context)
        return (
            min(sizes) > 0
            and self.vocabulary != 0
            and self.width % (2 * self.heads) == 0
            and self.heads % self.key_value_heads == 0
            and self.layers < 10_000
        )

    @property
    def config(self) -> dict[str, Any]:
        return {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": self.width,
            "intermediate_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.key_value_heads,
            "head_dim": self.width // self.heads,
            "hidden_act": "silu",
            "attention_bias": False,
            "mlp_bias": False,
            "max_position_embeddings": self.context,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "rope_scaling": None,
            "vocab_size": abs(self.vocabulary),
            "tie_word_embeddings": self.vocabulary > 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
        }

    @property
    def rotary_tables(self) -> int:
        """How many numbers the cosines and sines take, which stand in the file but follow from the rest."""
        return self.context * (self.width // self.heads)

    @property
    def file_size(self) -> int:
        weights = sum(math.prod(shape) for shape in llama_shapes(self.config).values())
        return 28 + 4 * (weights + self.rotary_tables)


def read_llama2c(path: str | Path, tokenizer: str | Path | None = None) -> Foreign:
    """The Llama in a llama2.c checkpoint, with the bytes of its tokenizer if that is given."""
    path = Path(path)
    try:
        size = path.stat().st_size
        header = read_header(path)
        if header is None:
            raise CheckpointError(f"{path}: {_why_not(path)}")
        if size != header.file_size:
            problem = "truncated" if size < header.file_size else "damaged"
            raise CheckpointError(f"{path}: {problem}: {size:,} bytes instead of {header.file_size:,}")
        numbers = numpy.fromfile(path, "<f4", offset=28)
        data = None if tokenizer is None else Path(tokenizer).read_bytes()
    except OSError as error:
        raise CheckpointError(f"{error.filename or path}: cannot be read ({error.strerror or error})") from None
    tensors = _cut(torch.from_numpy(numbers.astype(numpy.float32, copy=False)), header)
    return Foreign(header.config, tensors, str(path), None if data is None else {"kind": "llama2c", "data": data})


def read_header(path: Path) -> Header | None:
    """The header, or None if the file does not begin with one."""
    with path.open("rb") as file:
        start = file.read(28)
    if len(start) < 28 or start[:4] == LATER:
        return None
    header = Header(*numpy.frombuffer(start, "<i4").tolist())
    return header if header.plausible else None


def _why_not(path: Path) -> str:
    with path.open("rb") as file:
        if file.read(4) == LATER:
            return "a llama2.c checkpoint of version 1 or later; only version 0 is read"
    return "not a llama2.c checkpoint (its first 28 bytes are no plausible header)"


def _cut(numbers: Tensor, header: Header) -> dict[str, Tensor]:
    shapes = llama_shapes(header.config)
    heads = {"self_attn.q_proj": header.heads, "self_attn.k_proj": header.key_value_heads}
    tensors: dict[str, Tensor] = {}
    position = 0

    def take(name: str) -> Tensor:
        nonlocal position
        count = math.prod(shapes[name])
        position += count
        return numbers[position - count : position].reshape(shapes[name]).clone()  # free of the whole file's memory

    tensors["model.embed_tokens.weight"] = take("model.embed_tokens.weight")
    for part in LAYER_ORDER:
        for layer in range(header.layers):
            name = f"model.layers.{layer}.{part}.weight"
            tensors[name] = rotate_halves(take(name), heads[part]) if part in heads else take(name)
    tensors["model.norm.weight"] = take("model.norm.weight")
    position += header.rotary_tables
    if header.vocabulary < 0:
        tensors["lm_head.weight"] = take("lm_head.weight")
    return tensors
