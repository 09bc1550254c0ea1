"""`Foreign`, the value that every reader of published models returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Foreign:
    """A model that another program wrote, in whatever format, with Hugging Face's config and names of weights."""

    config: dict[str, Any]
    """The content of a Hugging Face `config.json`."""
    tensors: Mapping[str, Tensor]
    where: str
    """The file or folder that it was read from, for messages."""
    tokenizer: dict[str, Any] | None
    """The metadata of a tokenizer inside the weights: "kind", which is "gguf", and every "tokenizer.*" key of the file.
    None if the tokenizer is in files of its own."""
