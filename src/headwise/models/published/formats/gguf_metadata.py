"""GGUF metadata that all architectures share: typed values, names of layers, special tokens."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy

from headwise.errors import CheckpointError

LAYER = re.compile(r"blk\.(0|[1-9][0-9]{0,5})\.(\w+)\.(weight|bias)", re.ASCII)
TOKENS = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding", "unk_token_id": "unknown"}


class Metadata:
    """The metadata of one architecture, with checked types."""

    def __init__(self, values: Mapping[str, Any], architecture: str, where: str) -> None:
        self.values, self.architecture, self.where = values, architecture, where

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(f"{self.architecture}.{key}", default)

    def fail(self, key: str, problem: str) -> CheckpointError:
        return CheckpointError(f"{self.where}: {self.architecture}.{key} {problem}")

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        value = self.get(key, default)
        if value is None:
            raise self.fail(key, "is missing")
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 1 << 31:
            raise self.fail(key, f"is {str(value)[:40]}, not a whole number of at least {least}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self.get(key, default)
        if value is None:
            raise self.fail(key, "is missing")
        if not isinstance(value, int | float) or not math.isfinite(value) or not 1e-30 < value < 1e30:
            raise self.fail(key, f"is {str(value)[:40]}, not a number above zero")
        return float(str(numpy.float32(value)))  # 1e-05, not 9.99999974e-06: the shortest with the same float32


def layer_name(name: str) -> tuple[str, str, str]:
    """The parts of a name: blk.3.attn_q.weight -> 3, attn_q, weight; empty if it is not of that form."""
    found = LAYER.fullmatch(name)
    return (found[1], found[2], found[3]) if found else ("", "", "")


def token_ids(values: Mapping[str, Any], vocabulary: int) -> dict[str, int]:
    """The special tokens in the metadata that are in the vocabulary."""
    found = {name: values.get(f"tokenizer.ggml.{key}_token_id") for name, key in TOKENS.items()}
    return {name: number for name, number in found.items() if isinstance(number, int) and 0 <= number < vocabulary}
