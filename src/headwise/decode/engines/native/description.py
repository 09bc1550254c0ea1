"""A model as the native engine wants it: matrices in int8 and norms by number, sublayer after sublayer."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.decode.engines.native.library import (
    CROSS_ATTENTION,
    FEED_FORWARD,
    NONE,
    SELF_ATTENTION,
    Engine,
    SideDescription,
    SublayerDescription,
)
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.int8 import Int8Embedding, Int8Linear, quantised
from headwise.nn.masks import Causal, Pattern
from headwise.nn.norms import AddAndNorm, PostNorm, PreNorm
from headwise.nn.positions import Learned, PositionEncoding, Rotary, Sinusoidal
from headwise.nn.stack import Layer, Stack

UNIT = 16
"""Floats that an instruction takes: widths are multiples of it."""
POSITIONS = (PositionEncoding, Sinusoidal, Learned, Rotary)
RELU, GELU, GELU_TANH, SILU = range(4)
"""As in rows.h."""


def fits(model: nn.Module) -> bool:
    """Whether the engine knows all parts of the model. They may be in float32: the engine rounds them for itself."""
    if not isinstance(model, EncoderDecoder):
        return False
    sides = (
        (model.encoder, model.source_positions, model.source_norm),
        (model.decoder, model.target_positions, model.target_norm),
    )
    for is_target, (stack, positions, norm) in enumerate(sides):
        if not isinstance(stack, Stack) or type(positions) not in POSITIONS:
            return False
        if not all(_norm_fits(each) for each in (norm, stack.final_norm) if each is not None):
            return False
        if not all(_layer_fits(layer, bool(is_target)) for layer in stack.layers):
            return False
        if not _rotation_fits(positions, stack):
            return False
    return all(
        isinstance(embedding, TokenEmbedding | Int8Embedding) and embedding.weight.shape[1] % UNIT == 0
        for embedding in (model.source_embedding, model.target_embedding)
    ) and isinstance(model.output_projection, OutputProjection | Int8Linear)


def _layer_fits(layer: nn.Module, is_target: bool) -> bool:
    if not isinstance(layer, Layer) or type(layer.pattern) is not (Causal if is_target else Pattern):
        return False
    if (layer.cross_attention is not None) is not is_target:
        return False
    attentions = [each for each in (layer.self_attention, layer.cross_attention) if each is not None]
    norms = [each for each in (layer.self_norm, layer.cross_norm, layer.feed_forward_norm) if each is not None]
    feed_forward = layer.feed_forward
    linear = [m for m in layer.modules() if isinstance(m, nn.Linear | Int8Linear)]
    return (
        all(each.head_width % UNIT == 0 for each in attentions)
        and all(isinstance(each, PostNorm | PreNorm) and _norm_fits(each.norm) for each in norms)
        and isinstance(feed_forward, FeedForward | GatedFeedForward)
        and _activation(feed_forward.activation) is not None
        and all(type(each) in (nn.Linear, Int8Linear) and each.weight.shape[1] % UNIT == 0 for each in linear)
    )


def _norm_fits(norm: nn.Module) -> bool:
    return isinstance(norm, nn.LayerNorm | nn.RMSNorm) and len(norm.normalized_shape) == 1


def _rotation_fits(positions: nn.Module, stack: Stack) -> bool:
    if not isinstance(positions, Rotary):
        return True
    widths = [layer.self_attention.head_width for layer in stack.layers if isinstance(layer, Layer)]
    return all(positions.frequencies.width <= width for width in widths)


def _activation(function: object) -> int | None:
    if isinstance(function, functools.partial):
        return GELU_TANH if function.func is F.gelu and function.keywords == {"approximate": "tanh"} else None
    known: dict[object, int] = {F.relu: RELU, F.gelu: GELU, F.silu: SILU}
    return known.get(function)


def describe(model: EncoderDecoder, engine: Engine) -> None:
    """Give the engine the model, in int8. It has copies: the model's own weights may go."""
    described = _Description(engine)
    output = described.output(model.output_projection)
    described.side(False, model.encoder, model.source_embedding, model.source_norm)
    described.side(True, model.decoder, model.target_embedding, model.target_norm)
    engine.set_output(output)


class _Description:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._products: dict[tuple[int, ...], int] = {}  # layers that share weights share them here too
        self._tables: dict[int, tuple[int, float]] = {}
        """Matrices of the vocabulary by their weights, and what their steps are multiplied by."""

    def output(self, projection: nn.Module) -> int:
        weight, steps, bias, factor = _rounded(projection)
        made = self._engine.add_matrix(weight, steps * factor, bias, filler=-math.inf)
        self._tables[id(projection.weight)] = (made, factor)
        return made

    def side(self, is_target: bool, stack: Any, embedding: Any, norm: nn.Module | None) -> None:
        """Stack | RecurrentStack, as `fits` knows."""
        scale: float = embedding.factor if isinstance(embedding, Int8Embedding) else embedding.scale
        if id(embedding.weight) not in self._tables:
            weight, steps, _, _ = _rounded(embedding)
            self._tables[id(embedding.weight)] = (self._engine.add_matrix(weight, steps, None), 1.0)
        table, factor = self._tables[id(embedding.weight)]
        self._engine.describe_side(
            is_target,
            SideDescription(
                width=embedding.weight.shape[1],
                embedding=table,
                embedding_factor=scale / factor,
                embedding_norm=self._norm(norm),
                final_norm=self._norm(stack.final_norm),
            ),
        )
        for layer in stack.in_order:
            self._layer(is_target, layer)

    def _layer(self, is_target: bool, layer: Layer) -> None:
        own, cross, inner = layer.self_attention, layer.cross_attention, layer.feed_forward
        # The scale of scores is in the queries' weights, for which it costs nothing.
        project = self._product([own.query, own.key, own.value], [own.score_scale, 1.0, 1.0])
        self._add(is_target, SELF_ATTENTION, layer.self_norm, project, own.output, **_heads(own))
        if cross is not None and layer.cross_norm is not None:
            project = self._product([cross.query], [cross.score_scale])
            memory = self._product([cross.key, cross.value])
            self._add(
                is_target, CROSS_ATTENTION, layer.cross_norm, project, cross.output, memory=memory, **_heads(cross)
            )
        gated = isinstance(inner, GatedFeedForward)
        project = self._product([inner.gate, inner.expand] if isinstance(inner, GatedFeedForward) else [inner.expand])
        activation = _activation(inner.activation)
        assert activation is not None
        self._add(
            is_target,
            FEED_FORWARD,
            layer.feed_forward_norm,
            project,
            inner.contract,
            hidden=inner.contract.weight.shape[1],
            activation=activation,
            gated=int(gated),
        )

    def _add(
        self, is_target: bool, kind: int, norm: AddAndNorm, project: int, output: nn.Module, **others: int
    ) -> None:
        number = self._norm(norm.norm)
        after = isinstance(norm, PostNorm)
        self._engine.add_sublayer(
            is_target,
            SublayerDescription(
                kind=kind,
                norm_before=NONE if after else number,
                norm_after=number if after else NONE,
                project=project,
                output=self._product([output]),
                **{"memory": NONE, **others},
            ),
        )

    def _product(self, modules: Sequence[nn.Module], factors: Sequence[float] = ()) -> int:
        """Linear maps of the same input as one, whose outputs stand side by side, each times its factor."""
        key = tuple(id(module) for module in modules)
        if key not in self._products:
            factors = factors or [1.0] * len(modules)
            parts = [_rounded(module) for module in modules]
            steps = [part[1] * (part[3] * factor) for part, factor in zip(parts, factors, strict=True)]
            biases = [
                torch.zeros_like(part[1]) if part[2] is None else part[2].float() * factor
                for part, factor in zip(parts, factors, strict=True)
            ]
            weight = torch.cat([part[0] for part in parts])
            self._products[key] = self._engine.add_matrix(weight, torch.cat(steps), torch.cat(biases))
        return self._products[key]

    def _norm(self, norm: nn.Module | None) -> int:
        if norm is None:
            return NONE
        assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
        width = norm.normalized_shape[0]
        centred = isinstance(norm, nn.LayerNorm)
        bias = norm.bias if isinstance(norm, nn.LayerNorm) else None
        epsilon = torch.finfo(torch.float32).eps if norm.eps is None else norm.eps
        weight = torch.ones(width) if norm.weight is None else norm.weight.detach().float().contiguous()
        shift = torch.zeros(width) if bias is None else bias.detach().float().contiguous()
        return self._engine.add_norm(weight, shift, epsilon, centred=centred)


def _heads(attention: MultiHeadAttention) -> dict[str, int]:
    heads, shared = attention.heads, attention.key_value_heads
    return {"heads": heads, "key_heads": shared, "head_width": attention.head_width}


def _rounded(module: Any) -> tuple[Tensor, Tensor, Tensor | None, float]:
    """A matrix in int8, the steps of its rows, its bias, and what its input is multiplied by."""
    bias = getattr(module, "bias", None)
    bias = None if bias is None else bias.detach().float().contiguous()
    if isinstance(module, Int8Linear | Int8Embedding):
        factor = module.factor if isinstance(module, Int8Linear) else 1.0
        return module.weight.data.contiguous(), module.steps.data.float().contiguous(), bias, factor
    weight, steps = quantised(module.weight.detach())
    return weight.contiguous(), steps.contiguous(), bias, module.scale if isinstance(module, OutputProjection) else 1.0
