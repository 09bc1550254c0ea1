"""The lines of this package that compute each station of the tour, read from its own files."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import headwise
from headwise.decode.engines.plain import DecoderStepper
from headwise.decode.search import beam
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention, explicit_attention
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.masks import additive, causal_mask
from headwise.nn.norms import PostNorm, PreNorm
from headwise.nn.positions import Learned, Relative, Rotation, Sinusoidal
from headwise.nn.stack import Layer, Stack
from headwise.text.tokenizer import Tokenizer

CONCEPTS: dict[str, Callable[..., Any]] = {
    "tokenisation": Tokenizer.encode,
    "embedding": TokenEmbedding.forward,
    "sinusoidal positions": Sinusoidal.table,
    "learned positions": Learned.embed,
    "rotary positions": Rotation.apply,
    "relative positions": Relative.bias,
    "queries": MultiHeadAttention.queries,
    "keys and values": MultiHeadAttention.keys_values,
    "scaled dot-product attention": explicit_attention,
    "multi-head attention": MultiHeadAttention.forward,
    "causal mask": causal_mask,
    "mask as a term of the scores": additive,
    "feed-forward network": FeedForward.forward,
    "gated feed-forward network": GatedFeedForward.forward,
    "add & norm, post": PostNorm.forward,
    "add & norm, pre": PreNorm.forward,
    "layer": Layer.forward,
    "stack": Stack.forward,
    "encoder": EncoderDecoder.encode,
    "decoder": EncoderDecoder.decode,
    "output projection": OutputProjection.forward,
    "teacher forcing": EncoderDecoder.forward,
    "one decoding step": DecoderStepper.step,
    "greedy search": beam.walk,
    "beam search": beam._beam_search,
}
"""The functions of the paper's concepts."""


@cache
def code_lines() -> list[dict[str, Any]]:
    """Each concept with its file, its first and last line, and the lines."""
    package = Path(headwise.__file__).parent
    found = []
    for concept, function in CONCEPTS.items():
        function = inspect.unwrap(function)
        lines, first = inspect.getsourcelines(function)
        path = Path(inspect.getsourcefile(function) or "").relative_to(package).as_posix()
        found.append(
            {
                "concept": concept,
                "file": f"src/headwise/{path}",
                "first": first,
                "last": first + len(lines) - 1,
                "lines": textwrap.dedent("".join(lines)).rstrip().splitlines(),
            }
        )
    return found
