"""A model in the layout of the GPU engine: half precision, few and large products.

The encoder reads packed sentences, one after the other. The decoder takes one token per row, and its caches never move.

Shapes: N slots, B hypotheses of each, R = N * B rows, S source and L target tokens at most, T tokens of packed sources;
H heads and G of keys and values, of width K.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.kernels.cached_attention import Heads, attend_memory, attend_past
from headwise.nn.kernels.residual_norm import added, residual_norm_reference, sum_and_norm
from headwise.nn.kernels.row_product import row_product
from headwise.nn.kernels.short_attention import packed_self_attention
from headwise.nn.kernels.token_embedding import token_embedding
from headwise.nn.norms import PostNorm
from headwise.nn.packing import Packed
from headwise.nn.positions import Learned, PositionEncoding, Rotary, Sinusoidal
from headwise.nn.stack import Layer, Stack

ALIGNED = 64

Attend = Callable[[int, Tensor], Tensor]
"""The index of a layer and its projected queries (in self-attention with keys and values) -> [R, H * K]."""


class GpuModel:
    """Encodes and decodes without gradients."""

    def __init__(self, model: EncoderDecoder, dtype: torch.dtype) -> None:
        assert isinstance(model.decoder, Stack)
        layers: list[Layer] = model.decoder.in_order
        crossed = [layer.cross_attention for layer in layers if layer.cross_attention is not None]
        self.model, self.dtype, self.depth = model, dtype, len(layers)
        self.device = next(model.parameters()).device
        self.own, self.cross = _heads(layers[0].self_attention), _heads(crossed[0])
        self._encoder = _Stack(model.encoder, dtype) if _knows_encoder(model) else None
        self._decoder = _Stack(model.decoder, dtype)
        self._source, self._target = (
            _embedding(part.weight, part.scale, dtype) for part in (model.source_embedding, model.target_embedding)
        )
        self._source_norm, self._target_norm = (
            None if norm is None else _Norm(norm, dtype) for norm in (model.source_norm, model.target_norm)
        )
        self._memory = _linear([part for one in crossed for part in (one.key, one.value)], dtype)
        self.vocabulary = len(model.output_projection.weight)
        self._output = _padded(*_weights([model.output_projection], dtype))

    def tables(self, source: int, target: int) -> tuple[Tensor, Tensor]:
        """The position tables [length, D] to add to embeddings, for sources and targets of these lengths."""
        model = self.model
        return (
            self._table(model.source_positions, source, self._source),
            self._table(model.target_positions, target, self._target),
        )

    def _table(self, encoding: PositionEncoding, length: int, embedding: Tensor) -> Tensor:
        positions = torch.arange(length, device=self.device)
        if isinstance(encoding, Learned):  # lengths are rounded up: no sentence gets beyond its last one
            positions = positions.clamp_max(_learned(encoding) - 1)
        nothing = torch.zeros(1, length, embedding.shape[1], device=self.device)
        return encoding.embed(nothing, positions, int(positions[-1]) + 1)[0].to(self.dtype)

    def cached_position_table(self) -> Tensor | None:
        """The cached position table that the model itself reads when it encodes, and may replace by a longer one."""
        positions = self.model.source_positions
        return positions._cached if isinstance(positions, Sinusoidal) else None

    def encode(self, tokens: Tensor, packing: Packed, table: Tensor) -> Tensor:
        """Sources [T] -> keys and values of all layers of the decoder, [T, 2 * layers, G, K]."""
        if self._encoder is None:
            positions = self.model.source_positions
            if isinstance(positions, Learned):
                packing = packing._replace(longest=min(packing.longest, _learned(positions)))
            # No cast weights may be cached between passes: a CUDA graph would read them at their old address.
            half = self.dtype != torch.float32
            with torch.autocast(self.device.type, self.dtype, enabled=half, cache_enabled=False):
                memory = self.model.encode(tokens[None], layout=packing).memory[0].to(self.dtype)
        else:
            heads = self._encoder.heads

            def attend(_: int, qkv: Tensor) -> Tensor:
                qkv = qkv.view(-1, 3, heads.heads, heads.width)
                return packed_self_attention(
                    qkv, packing.starts, causal=False, scale=heads.scale, longest=packing.longest
                ).flatten(1)

            x = token_embedding(tokens, self._source, packing.positions, table)
            memory = self._encoder(x if self._source_norm is None else self._source_norm(x), attend)
        return self._memory(memory).view(len(tokens), -1, self.cross.key_heads, self.cross.width)

    def step(self, tokens: Tensor, positions: Tensor, table: Tensor, caches: Caches, stems: Tensor | None) -> Tensor:
        """Tokens [R] at positions [R] -> logits [R, V]."""

        def attend(layer: int, qkv: Tensor) -> Tensor:
            return attend_past(qkv, *caches.past[layer], stems, positions, self.own)

        def attend_source(layer: int, query: Tensor) -> Tensor:
            keys, values = caches.memory[:, :, 2 * layer], caches.memory[:, :, 2 * layer + 1]
            return attend_memory(query, keys, values, caches.lengths, self.cross)

        x = token_embedding(tokens, self._target, positions, table)
        x = self._decoder(x if self._target_norm is None else self._target_norm(x), attend, attend_source)
        return F.linear(x, *self._output)[:, : self.vocabulary]


class Caches:
    """The key/value caches of N slots."""

    def __init__(self, model: GpuModel, slots: int, width: int, source: int, length: int) -> None:
        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=model.dtype, device=model.device)

        own, cross = model.own, model.cross
        past = slots * width, length + 1, own.key_heads, own.width
        self.past = [(zeros(*past), zeros(*past)) for _ in range(model.depth)]
        self.source = source
        self.rows = zeros(slots * source + 1, 2 * model.depth, cross.key_heads, cross.width)
        """Keys and values of all layers, one row per source token; the last row is for padding."""
        self.memory = self.rows[:-1].view(slots, source, *self.rows.shape[1:])
        self.lengths = torch.ones(slots + 1, dtype=torch.int32, device=model.device)
        """Source lengths per slot; the last one is for padding."""

    def remember(self, rows: Tensor, memory: Tensor, slots: Tensor, lengths: Tensor) -> None:
        """Store the memory [T, ...] of some sources, one row per token, and the source lengths of their slots."""
        # Copy eight bytes at a time where possible: one number at a time takes four times as long.
        to, what = self.rows.flatten(1), memory.flatten(1)
        if to.shape[1] * to.itemsize % 8 == 0:
            to, what = to.view(torch.int64), what.view(torch.int64)
        to.index_copy_(0, rows, what)
        self.lengths.index_copy_(0, slots, lengths.int())


def _knows_encoder(model: EncoderDecoder) -> bool:
    """Whether `_Stack` can compute the encoder; other encoders are left to the model itself."""
    stack = model.encoder
    if not isinstance(stack, Stack) or isinstance(model.source_positions, Rotary):
        return False
    return all(
        isinstance(layer, Layer) and layer.self_attention.heads == layer.self_attention.key_value_heads
        for layer in stack.layers
    )


class _Stack:
    """The layers of an encoder or a decoder; the caller passes the attention functions."""

    def __init__(self, stack: nn.Module, dtype: torch.dtype) -> None:
        assert isinstance(stack, Stack)
        layers: list[Layer] = stack.in_order
        self.heads = _heads(layers[0].self_attention)
        self._layers = [_Layer(layer, dtype) for layer in layers]
        around = [
            norm
            for layer in layers
            for norm in (layer.self_norm, layer.cross_norm, layer.feed_forward_norm)
            if norm is not None
        ]
        self._norms = [_Norm(each.norm, dtype) for each in around]
        self._after = isinstance(around[0], PostNorm)
        self._final = None if stack.final_norm is None else _Norm(stack.final_norm, dtype)

    def __call__(self, x: Tensor, attend: Attend, attend_source: Attend | None = None) -> Tensor:
        """[R, D] -> [R, D]. A residual sum and the norm after it (pre-norm: of the next sublayer) are one pass."""
        parts = [part for index, layer in enumerate(self._layers) for part in layer.parts(index, attend, attend_source)]
        if self._after:
            for part, norm in zip(parts, self._norms, strict=True):
                _, x = norm.of_sum(x, part(x))
            return x if self._final is None else self._final(x)
        y = self._norms[0](x)
        for part, norm in zip(parts[:-1], self._norms[1:], strict=True):
            x, y = norm.of_sum(x, part(y))
        last = parts[-1](y)
        return added(x, last) if self._final is None else self._final.of_sum(x, last)[1]


class _Layer:
    def __init__(self, layer: Layer, dtype: torch.dtype) -> None:
        own, cross = layer.self_attention, layer.cross_attention
        self._projections, self._output = _linear([own.query, own.key, own.value], dtype), _linear([own.output], dtype)
        self._cross = None if cross is None else (_linear([cross.query], dtype), _linear([cross.output], dtype))
        self._feed_forward = _feed_forward(layer.feed_forward, dtype)

    def parts(self, index: int, attend: Attend, attend_source: Attend | None) -> list[Callable[[Tensor], Tensor]]:
        """The sublayers of this layer."""
        parts = [lambda x: self._output(attend(index, self._projections(x)))]
        if self._cross is not None and attend_source is not None:
            query, output = self._cross
            parts.append(lambda x: output(attend_source(index, query(x))))
        return [*parts, self._feed_forward]


class _Norm:
    def __init__(self, norm: nn.Module, dtype: torch.dtype) -> None:
        assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
        self._centred = isinstance(norm, nn.LayerNorm)
        self._gain, self._epsilon = norm.weight.detach().to(dtype), norm.eps or 0.0
        self._offset = (
            norm.bias.detach().to(dtype) if isinstance(norm, nn.LayerNorm) and norm.bias is not None else None
        )

    def __call__(self, x: Tensor) -> Tensor:
        return residual_norm_reference(x, None, self._gain, self._offset, self._epsilon, 0.0, self._centred)

    def of_sum(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return sum_and_norm(x, y, self._gain, self._offset, self._epsilon, self._centred)


def _learned(positions: Learned) -> int:
    return len(positions.weight) - positions.offset


def _heads(attention: MultiHeadAttention) -> Heads:
    return Heads(attention.heads, attention.key_value_heads, attention.head_width, attention.score_scale)


def _embedding(weight: Tensor, scale: float, dtype: torch.dtype) -> Tensor:
    return (weight.detach() * scale).to(dtype).contiguous()


def _linear(
    modules: Sequence[nn.Module], dtype: torch.dtype, relu: bool = False, in_parts: bool = False
) -> Callable[[Tensor], Tensor]:
    weight, bias = _weights(modules, dtype)
    return lambda x: row_product(x, weight, bias, relu, in_parts)


def _weights(modules: Sequence[nn.Module], dtype: torch.dtype) -> tuple[Tensor, Tensor | None]:
    """Weight and bias of linear maps of the same input as one map: their outputs stand side by side."""
    parts: list[Any] = list(modules)
    scales = [getattr(part, "scale", 1.0) for part in parts]
    weight = torch.cat([part.weight.data * scale for part, scale in zip(parts, scales, strict=True)])
    return weight.to(dtype).contiguous(), _biases(parts, dtype)


def _biases(parts: list[Any], dtype: torch.dtype) -> Tensor | None:
    """The biases side by side, with zeros for a part that has none; None if no part has one."""
    if all(part.bias is None for part in parts):
        return None
    zeros = [torch.zeros(len(part.weight), device=part.weight.device) for part in parts]
    given = [zero if part.bias is None else part.bias.data for part, zero in zip(parts, zeros, strict=True)]
    return torch.cat(given).to(dtype).contiguous()


def _padded(weight: Tensor, bias: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Pad with rows of zeros to a multiple for which cuBLAS has fast products."""
    missing = -len(weight) % ALIGNED
    return F.pad(weight, (0, 0, 0, missing)), None if bias is None else F.pad(bias, (0, missing))


def _feed_forward(inner: FeedForward | GatedFeedForward, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    """The feed-forward [R, D] -> [R, D], or its parts [P, R, D], still to be added."""
    contract, activation = _linear([inner.contract], dtype, in_parts=True), inner.activation
    if isinstance(inner, GatedFeedForward):
        expand = _linear([inner.gate, inner.expand], dtype)

        def gated(x: Tensor) -> Tensor:
            gate, value = expand(x).chunk(2, -1)
            return contract(activation(gate) * value)

        return gated
    if activation is F.relu:  # fused into the product
        ended = _linear([inner.expand], dtype, relu=True)
        return lambda x: contract(ended(x))
    expand = _linear([inner.expand], dtype)
    return lambda x: contract(activation(expand(x)))
