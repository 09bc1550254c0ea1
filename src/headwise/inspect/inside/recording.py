"""One teacher-forced pass of a pair of sentences through a model, with everything that its modules were given and made.

All tensors are without the batch dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.positions import PositionEncoding
from headwise.nn.recurrent import RecurrentStack
from headwise.nn.stack import Layer, Stack

ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"
KINDS = (ENCODER, DECODER, CROSS)
"""The three kinds of attention of an encoder-decoder."""


class Seen(NamedTuple):
    """What a module was given and what it made."""

    given: Tensor
    made: Tensor


@dataclass(frozen=True, eq=False)
class Recording:
    """A pass through a model. The model's layers are modules of their own (`copy_parts`)."""

    model: EncoderDecoder
    source: Tensor  # [S]
    shown: Tensor  # [T]: the decoder's input
    seen: dict[str, Seen]
    attention: dict[str, list[Tensor]]
    """By kind, [H, rows, columns] for each layer; none where a stack is not made of Transformer layers."""
    memory: Tensor  # [S, encoder width]
    final: Tensor  # [T, D]
    logits: Tensor  # [T, V]

    @cached_property
    def log_probabilities(self) -> Tensor:
        """Log-probabilities [T, V] of every token after each token of the decoder's input."""
        return self.logits.log_softmax(-1)

    def layers(self, side: str) -> list[Layer]:
        """The Transformer layers of the encoder or the decoder."""
        stack = self.model.encoder if side == ENCODER else self.model.decoder
        return [layer for layer in stack.layers if isinstance(layer, Layer)] if isinstance(stack, Stack) else []

    def attentions(self, kind: str) -> list[MultiHeadAttention]:
        """The attention modules of one kind, layer by layer."""
        found = [
            layer.cross_attention if kind == CROSS else layer.self_attention
            for layer in self.layers(ENCODER if kind == ENCODER else DECODER)
        ]
        if kind == CROSS and isinstance(self.model.decoder, RecurrentStack):  # one, after the last layer
            found = [self.model.decoder.cross_attention]
        return [each for each in found if each is not None]

    def part(self, kind: str, layer: int, name: str) -> Seen:
        """What a projection of an attention was given and made; `name` is query, key, value or output."""
        side, module = (DECODER, "cross_attention") if kind == CROSS else (kind, "self_attention")
        place = side if isinstance(self.model.decoder, RecurrentStack) else f"{side}.layers.{layer}"
        return self.seen[f"{place}.{module}.{name}"]

    def values(self, kind: str, layer: int) -> Tensor:
        """The values of every head, [H, S, K]."""
        attention = self.attentions(kind)[layer]
        made = self.part(kind, layer, "value").made
        heads = made.view(len(made), attention.key_value_heads, attention.head_width).transpose(0, 1)
        return heads.repeat_interleave(attention.heads // attention.key_value_heads, 0)

    def contexts(self, kind: str, layer: int) -> Tensor:
        """What every head found, joined, before the output projection: [T, H * K]."""
        return self.part(kind, layer, "output").given


@torch.inference_mode()
def record(model: EncoderDecoder, source: Sequence[int], shown: Sequence[int]) -> Recording:
    """Run a pair of sentences, given as the ids of the encoder's and the decoder's input, through a model."""
    device = next(model.parameters()).device
    given = torch.tensor([list(source)], device=device), torch.tensor([list(shown)], device=device)
    with _watching(model) as seen:
        encoded = model.encode(given[0], capture=True)
        decoded = model.decode(given[1], encoded, capture=True)
    found = {ENCODER: encoded.self_weights, DECODER: decoded.self_weights, CROSS: decoded.cross_weights}
    attention = {kind: [each[0].float() for each in weights] for kind, weights in found.items()}
    final = decoded.hidden[0]
    logits = model.output_projection(final).float()
    return Recording(model, given[0][0], given[1][0], seen, attention, encoded.memory[0], final, logits)


@torch.inference_mode()
def position_table(encoding: PositionEncoding, length: int, width: int) -> Tensor:
    """What a position encoding adds to the embeddings of the first positions, [length, width]."""
    return encoding.embed(torch.zeros(1, length, width), torch.arange(length))[0]


@contextmanager
def _watching(model: nn.Module) -> Iterator[dict[str, Seen]]:
    """Keep what every module is given and makes."""
    seen: dict[str, Seen] = {}

    def keep(name: str) -> Callable[[Any, Any, Any], None]:
        def hook(_: Any, given: Any, made: Any) -> None:
            first = made[0] if isinstance(made, tuple) else made
            if isinstance(first, Tensor) and isinstance(given[0], Tensor):
                seen[name] = Seen(given[0][0], first[0])

        return hook

    hooks = [module.register_forward_hook(keep(name)) for name, module in model.named_modules() if name]
    try:
        yield seen
    finally:
        for each in hooks:
            each.remove()
