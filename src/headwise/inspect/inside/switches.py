"""Switches: what a model does without one of its parts. Each changes a copy of the model, never the model itself.

A switch needs no flag in `nn`: it swaps a module of the copy, or puts one in front of another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from headwise.errors import ConfigError
from headwise.inspect.inside.open_inside import copy_parts
from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER, KINDS, Recording
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.masks import EVERYTHING
from headwise.nn.positions import PositionEncoding
from headwise.nn.stack import Stack


class Head(NamedTuple):
    """One attention head of a model."""

    kind: str
    """encoder, decoder or cross."""
    layer: int
    head: int


@dataclass(frozen=True)
class Switches:
    """Which parts of a model are switched off or replaced."""

    positions: bool = True
    """The position encoding of both stacks."""
    mask: bool = True
    """The causal mask of the decoder."""
    scaling: bool = True
    """The scaling of the scores by 1 / sqrt(K)."""
    heads_off: tuple[Head, ...] = ()
    memory_layer: int | None = None
    """How many encoder layers the decoder sees the output of; None: all."""
    patch_text: str = ""
    """The sentence that the outputs of the heads in `patched` are taken from."""
    patched: tuple[Head, ...] = ()

    @property
    def any(self) -> bool:
        """Whether something is switched."""
        return self != Switches()

    @property
    def looks_at_whole_target(self) -> bool:
        """Whether a step of the decoder changes what earlier ones computed, so that a cache would be wrong."""
        return not self.mask or any(head.kind != ENCODER for head in self.patched)

    def as_dict(self) -> dict[str, Any]:
        """The switches that are on, as they are written in a request."""
        found: dict[str, Any] = {name: False for name in ("positions", "mask", "scaling") if not getattr(self, name)}
        if self.heads_off:
            found["heads_off"] = [list(head) for head in self.heads_off]
        if self.memory_layer is not None:
            found["memory_layer"] = self.memory_layer
        if self.patched:
            found["patch"] = {"text": self.patch_text, "heads": [list(head) for head in self.patched]}
        return found


def read_switches(given: Mapping[str, Any] | None) -> Switches:
    """The switches of a request; wrong ones are an error that names them."""
    values = dict(given or {})
    parts: dict[str, Any] = {}
    for name in ("positions", "mask", "scaling"):
        if (value := values.pop(name, None)) is not None:
            parts[name] = _checked(value, bool, f"switches.{name}", "true or false")
    parts["heads_off"] = _heads(values.pop("heads_off", None), "switches.heads_off")
    if (layer := values.pop("memory_layer", None)) is not None:
        parts["memory_layer"] = _checked(layer, int, "switches.memory_layer", "a number of layers")
    if (patch := values.pop("patch", None)) is not None:
        _checked(patch, dict, "switches.patch", "an object with text and heads")
        parts["patch_text"] = _checked(patch.get("text"), str, "switches.patch.text", "a sentence")
        parts["patched"] = _heads(patch.get("heads"), "switches.patch.heads")
        if not parts["patched"]:
            parts["patch_text"] = ""
    if values:
        raise ConfigError(f"there is no switch {next(iter(values))!r}")
    return Switches(**parts)


def _checked(value: Any, kind: type, name: str, what: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"'{name}' must be {what}")
    return value


def _heads(given: Any, name: str) -> tuple[Head, ...]:
    what = "a list of heads, each with kind, layer and head"
    found = []
    for each in _checked(given or [], list, name, what):
        if not isinstance(each, list | tuple) or len(each) != 3 or each[0] not in KINDS:
            raise ConfigError(f"'{name}' must be {what}")
        numbers = [_checked(number, int, name, what) for number in each[1:]]
        found.append(Head(each[0], *numbers))
    return tuple(dict.fromkeys(found))


class HeadsOff(nn.Module):
    """Zeros in place of what some heads found, before the output projection joins all heads."""

    def __init__(self, output: nn.Module, attention: MultiHeadAttention, heads: Sequence[int]) -> None:
        super().__init__()
        self.output = output
        kept = torch.ones(attention.heads, attention.head_width)
        kept[list(heads)] = 0
        self.kept = kept.flatten()

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, H * K] -> [B, T, D]."""
        made: Tensor = self.output(x * self.kept.to(x))
        return made


class PatchedHeads(nn.Module):
    """What some heads found in another sentence, position by position, as far as that sentence reaches."""

    def __init__(self, output: nn.Module, attention: MultiHeadAttention, heads: Sequence[int], other: Tensor) -> None:
        super().__init__()
        self.output = output
        self.columns = torch.cat([torch.arange(attention.head_width) + head * attention.head_width for head in heads])
        self.other = other  # [positions, H * K]

    def forward(self, x: Tensor) -> Tensor:
        """[B, T, H * K] from position 0 on -> [B, T, D]."""
        both = min(x.size(1), len(self.other))
        x = x.clone()
        x[:, :both, self.columns] = self.other[:both, self.columns].to(x)
        made: Tensor = self.output(x)
        return made


@torch.inference_mode()
def switched(model: EncoderDecoder, switches: Switches, other: Recording | None = None) -> EncoderDecoder:
    """A copy of a model with these switches; `other` is a pass of the sentence that heads are patched from."""
    changed = copy_parts(model)
    if not switches.positions:
        changed.source_positions, changed.target_positions = PositionEncoding(), PositionEncoding()
    for module in changed.modules():
        if not switches.scaling and isinstance(module, MultiHeadAttention):
            module.scale = 1.0
    if not switches.mask:
        for layer in _layers(changed, DECODER):
            layer.pattern = EVERYTHING
    if switches.patched:
        assert other is not None, "patching needs a pass of the other sentence"
        for kind, layer, heads, attention in _grouped(changed, switches.patched):
            _swap(attention, PatchedHeads(attention.output, attention, heads, other.contexts(kind, layer)))
    for _, _, heads, attention in _grouped(changed, switches.heads_off):
        _swap(attention, HeadsOff(attention.output, attention, heads))
    if switches.memory_layer is not None:
        _shorten(changed, switches.memory_layer)
    return changed.eval()


def _swap(attention: MultiHeadAttention, output: HeadsOff | PatchedHeads) -> None:
    """Put a module in the place of an output projection, which it has inside."""
    attention._modules["output"] = output


def _layers(model: EncoderDecoder, side: str) -> list[Any]:
    stack = model.encoder if side == ENCODER else model.decoder
    if not isinstance(stack, Stack):
        raise ConfigError("this switch needs Transformer layers: this model consists of LSTMs")
    return list(stack.layers)


def _grouped(model: EncoderDecoder, heads: Sequence[Head]) -> list[tuple[str, int, list[int], MultiHeadAttention]]:
    """Heads by the attention that they are part of."""
    by_attention: dict[tuple[str, int], list[int]] = defaultdict(list)
    for kind, layer, head in heads:
        by_attention[kind, layer].append(head)
    found = []
    for (kind, layer), numbers in by_attention.items():
        layers = _layers(model, ENCODER if kind == ENCODER else DECODER)
        if not 0 <= layer < len(layers):
            raise ConfigError(f"there is no layer {layer} of {kind} attention: there are {len(layers)}, from 0")
        attention = layers[layer].cross_attention if kind == CROSS else layers[layer].self_attention
        if not all(0 <= head < attention.heads for head in numbers):
            raise ConfigError(f"there is no head {max(numbers)}: there are {attention.heads}, from 0")
        found.append((kind, layer, numbers, attention))
    return found


def _shorten(model: EncoderDecoder, layers: int) -> None:
    """Let the decoder see the output of an earlier encoder layer; 0: of the embedding."""
    whole = _layers(model, ENCODER)
    if not 0 <= layers <= len(whole):
        raise ConfigError(f"memory_layer must be between 0 and {len(whole)}, not {layers}")
    assert isinstance(model.encoder, Stack)
    model.encoder = Stack(whole[:layers], model.encoder.final_norm)
