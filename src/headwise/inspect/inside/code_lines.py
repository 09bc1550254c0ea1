"""The lines of this package that compute each station of the tour, read from its own files."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import headwise
from headwise.decode import scoring
from headwise.decode.engines.plain import DecoderStepper
from headwise.decode.search import beam
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention, explicit_attention
from headwise.nn.context import Padded
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import FEED_FORWARDS
from headwise.nn.masks import additive, causal_mask
from headwise.nn.norms import NORM_ORDERS
from headwise.nn.positions import Learned, Relative, Rotation, Sinusoidal
from headwise.nn.stack import Layer, Stack
from headwise.text.tokenizer import Tokenizer

LONGEST = 20
"""Lines of an excerpt."""

POSITIONS: dict[str, Callable[..., Any]] = {
    "learned": Learned.embed,
    "rotary": Rotation.apply,
    "relative": Relative.bias,
}
"""What computes each kind of positions; all others are sinusoidal."""


class Excerpt(NamedTuple):
    """A function that computes a concept of the paper; a long one from the line that holds `begin`."""

    concept: str
    function: Callable[..., Any]
    begin: str = ""


def excerpts(norm: str, feed_forward: str, positions: str) -> list[Excerpt]:
    """The functions that a model of these kinds of parts runs through."""
    return [
        Excerpt("tokenisation", Tokenizer.encode),
        Excerpt("embeddings", TokenEmbedding.forward),
        Excerpt("positions", POSITIONS.get(positions, Sinusoidal.table), "angles ="),
        Excerpt("query, key, value", MultiHeadAttention.queries),
        Excerpt("query, key, value", MultiHeadAttention.keys_values),
        Excerpt("attention", explicit_attention, "scores ="),
        Excerpt("self-attention", Padded.attend_self, "keys_values ="),
        Excerpt("multi-head attention", MultiHeadAttention._split),
        Excerpt("multi-head attention", MultiHeadAttention.forward, "weights = None"),
        Excerpt("feed-forward", FEED_FORWARDS[feed_forward].forward),
        Excerpt("add and norm", NORM_ORDERS[norm].forward),
        Excerpt("encoder", EncoderDecoder.encode, "context ="),
        Excerpt("encoder", Stack.forward),
        Excerpt("masked attention", causal_mask),
        Excerpt("masked attention", additive),
        Excerpt("encoder-decoder attention", Padded.attend_memory, "if projected is None"),
        Excerpt("linear", OutputProjection.forward),
        Excerpt("softmax", DecoderStepper.step),
        Excerpt("decoder", Layer.forward, "cache = cache"),
        Excerpt("model", EncoderDecoder.forward),
        Excerpt("teacher forcing", scoring.log_probabilities, "target ="),
        Excerpt("greedy", beam.walk, "while active"),
        Excerpt("beam", beam._beam_search, "while active"),
    ]


@cache
def code_lines(norm: str, feed_forward: str, positions: str) -> list[dict[str, Any]]:
    """Each concept with its file, its first and last line, and the lines."""
    package = Path(headwise.__file__).parent
    found = []
    for concept, function, begin in excerpts(norm, feed_forward, positions):
        function = inspect.unwrap(function)
        lines, first = _excerpt(function, begin)
        path = Path(inspect.getsourcefile(function) or "").relative_to(package).as_posix()
        found.append(
            {
                "concept": concept,
                "file": f"src/headwise/{path}",
                "first": first,
                "last": first + len(lines) - 1,
                "lines": textwrap.dedent("\n".join(lines)).splitlines(),
            }
        )
    return found


def _excerpt(function: Callable[..., Any], begin: str) -> tuple[list[str], int]:
    """The lines of a function and the number of the first; of a long one, what follows its docstring or `begin`."""
    source, first = inspect.getsourcelines(function)
    lines = [line.rstrip() for line in source]
    if len(lines) > LONGEST:
        [node] = ast.parse(textwrap.dedent("".join(source))).body
        assert isinstance(node, ast.FunctionDef)
        start = node.body[1].lineno - 1 if ast.get_docstring(node) else node.body[0].lineno - 1
        start = next(number for number, line in enumerate(lines) if number >= start and begin in line)
        lines, first = lines[start : start + LONGEST], first + start
    while not lines[-1].strip():
        lines.pop()
    return lines, first
