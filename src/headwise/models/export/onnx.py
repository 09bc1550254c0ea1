"""A translator as two ONNX graphs: the encoder, and one step of the decoder with its caches.

The encoder turns a batch of sources into the keys and values that every layer of the decoder looks up, so these are
computed once a sentence. The decoder takes one token a row and the keys and values of the tokens before it, and gives
the logits of the next token and the caches with one more place. Both read their weights from one file.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from headwise import __version__
from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.export.names import DECODER, ENCODER, WEIGHTS
from headwise.models.export.onnx_graph import Graph, Store
from headwise.models.export.onnx_positions import Positions
from headwise.models.folder.description import LoadedModel
from headwise.models.known_parts import refuse_unknown_parts
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.embedding import TokenEmbedding
from headwise.nn.feed_forward import GatedFeedForward
from headwise.nn.masks import SlidingWindow
from headwise.nn.norms import AddAndNorm, PostNorm
from headwise.nn.stack import Layer, Stack

END = 2**31 - 1
"""Beyond the end of any axis."""


def write_translator(loaded: LoadedModel, folder: Path, precision: str) -> None:
    """Encoder, decoder and weights in a folder that is there."""
    model, config = loaded.model, loaded.config
    assert isinstance(model, EncoderDecoder)
    check(config)
    refuse_unknown_parts(model, "the ONNX export")
    with (folder / WEIGHTS).open("wb") as file:
        store = Store(file)
        encoder, decoder = Graph(store, precision), Graph(store, precision)
        _Writer(encoder, config).encoder(model)
        _Writer(decoder, config).decoder(model)
    encoder.save(folder / ENCODER, __version__)
    decoder.save(folder / DECODER, __version__)


def check(config: ModelConfig) -> None:
    """Refuse what these graphs cannot say, all of it at once."""
    scaling = config.rotary_scaling.kind
    refused = {
        f"stack = {config.stack!r}": config.stack != "transformer",
        f"rotary_scaling.kind = {scaling!r}": config.positions == "rotary" and scaling in ("dynamic", "longrope"),
    }
    found = [what for what, is_so in refused.items() if is_so]
    if found:
        raise ConfigError(f"the ONNX export does not know such a model: {', '.join(found)}")


class _Writer:
    """Writes the parts of a model into a graph. Values are names; shapes are those of the model's own code."""

    def __init__(self, graph: Graph, config: ModelConfig) -> None:
        self.graph = graph
        self.config = config

    def encoder(self, model: EncoderDecoder) -> None:
        """source [B, S] -> the keys and values of each cross-attention."""
        assert isinstance(model.encoder, Stack)
        assert isinstance(model.decoder, Stack)
        graph = self.graph
        source = graph.input("source", "int64", ("batch", "source"))
        length = graph.op("Gather", graph.op("Shape", source), graph.whole(1))
        positions = Positions(graph, model.source_positions, graph.whole(0), length)
        x = self._enter(source, model.source_embedding, positions, model.source_norm)
        mask = self._mask(source, model.pad)
        for layer in _layers(model.encoder):
            attended = self._attend_all(layer.self_attention, self._before(layer.self_norm, x), mask, positions)
            x = self._after(layer.self_norm, x, attended)
            x = self._feed_forward(layer, x)
        x = x if model.encoder.final_norm is None else self._norm(model.encoder.final_norm, x)
        for number, layer in enumerate(_layers(model.decoder)):
            cross = _cross(layer)
            key, value = self._joint(x, cross.key, cross.value)
            for name, part in (("key", key), ("value", value)):
                shape = ("batch", cross.key_value_heads, "source", cross.head_width)
                graph.output(self._keys(part, cross), f"cross_{name}_{number}", graph.real, shape)

    def decoder(self, model: EncoderDecoder) -> None:
        """tokens [B], the source, the encoder's keys and values and those so far -> logits [B, V], and one more."""
        assert isinstance(model.decoder, Stack)
        graph = self.graph
        layers = _layers(model.decoder)
        tokens = graph.input("tokens", "int64", ("batch",))
        source = graph.input("source", "int64", ("batch", "source"))
        crosses = [self._inputs("cross", number, _cross(layer), "source") for number, layer in enumerate(layers)]
        pasts = [self._inputs("past", number, layer.self_attention, "past") for number, layer in enumerate(layers)]
        start = graph.op("Gather", graph.op("Shape", pasts[0][0]), graph.whole(2))
        end = graph.op("Add", start, graph.whole(1))
        positions = Positions(graph, model.target_positions, start, end)
        x = graph.unsqueeze(tokens, 1)
        x = self._enter(x, model.target_embedding, positions, model.target_norm)
        mask = self._mask(source, model.pad)
        presents: list[tuple[str, str]] = []
        for layer, past, cross in zip(layers, pasts, crosses, strict=True):
            attended, present = self._attend_step(layer, self._before(layer.self_norm, x), past, positions)
            presents.append(present)
            x = self._after(layer.self_norm, x, attended)
            assert layer.cross_norm is not None
            looked_up = self._look_up(_cross(layer), self._before(layer.cross_norm, x), cross, mask)
            x = self._after(layer.cross_norm, x, looked_up)
            x = self._feed_forward(layer, x)
        x = x if model.decoder.final_norm is None else self._norm(model.decoder.final_norm, x)
        x = graph.op("Squeeze", x, graph.constant((1,)))
        projection = model.output_projection
        if projection.scale != 1:
            x = graph.op("Mul", x, graph.constant(projection.scale))
        logits = graph.cast(graph.project(x, projection.weight, projection.bias), "float32")
        graph.output(logits, "logits", "float32", ("batch", projection.weight.size(0)))
        for number, (present, layer) in enumerate(zip(presents, layers, strict=True)):
            shape = ("batch", layer.self_attention.key_value_heads, "present", layer.self_attention.head_width)
            for name, part in zip(("key", "value"), present, strict=True):
                graph.output(part, f"present_{name}_{number}", graph.real, shape)

    def _inputs(self, kind: str, number: int, attention: MultiHeadAttention, length: str) -> tuple[str, str]:
        shape = ("batch", attention.key_value_heads, length, attention.head_width)
        key, value = (self.graph.input(f"{kind}_{name}_{number}", self.graph.real, shape) for name in ("key", "value"))
        return key, value

    def _enter(self, tokens: str, embedding: TokenEmbedding, positions: Positions, norm: nn.Module | None) -> str:
        x = self.graph.embed(tokens, embedding.weight, embedding.scale)
        x = positions.add_to(x)
        return x if norm is None else self._norm(norm, x)

    def _mask(self, source: str, pad: int) -> str:
        """What is added to the scores, [B, 1, 1, S]: minus infinity where there is padding."""
        graph = self.graph
        is_pad = graph.op("Equal", source, graph.whole(pad))
        mask = graph.op("Where", is_pad, graph.constant(-np.inf), graph.constant(0.0))
        return graph.unsqueeze(mask, 1, 2)

    def _before(self, add_and_norm: AddAndNorm, x: str) -> str:
        """What the sublayer reads."""
        return x if isinstance(add_and_norm, PostNorm) else self._norm(add_and_norm.norm, x)

    def _after(self, add_and_norm: AddAndNorm, x: str, y: str) -> str:
        """x with what the sublayer wrote."""
        total = self.graph.op("Add", x, y)
        return self._norm(add_and_norm.norm, total) if isinstance(add_and_norm, PostNorm) else total

    def _norm(self, norm: nn.Module, x: str) -> str:
        assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
        if isinstance(norm, nn.LayerNorm):
            return self.graph.layer_norm(x, norm.weight, norm.bias, norm.eps)
        assert norm.eps is not None
        return self.graph.rms_norm(x, norm.weight, norm.eps)

    def _feed_forward(self, layer: Layer, x: str) -> str:
        graph, activation, feed_forward = self.graph, self.config.activation, layer.feed_forward
        y = self._before(layer.feed_forward_norm, x)
        if isinstance(feed_forward, GatedFeedForward):
            gate, passed = self._joint(y, feed_forward.gate, feed_forward.expand)
            hidden = graph.op("Mul", graph.activation(activation, gate), passed)
        else:
            hidden = graph.activation(activation, self._linear(y, feed_forward.expand))
        return self._after(layer.feed_forward_norm, x, self._linear(hidden, feed_forward.contract))

    def _attend_all(self, attention: MultiHeadAttention, x: str, mask: str, positions: Positions) -> str:
        """Every place at once, in the encoder."""
        return self._attend(attention, *self._self_projections(attention, x, positions), mask, positions)

    def _attend_step(
        self, layer: Layer, x: str, past: tuple[str, str], positions: Positions
    ) -> tuple[str, tuple[str, str]]:
        """One place, after those of the cache: the output, and the new cache."""
        attention = layer.self_attention
        query, *new = self._self_projections(attention, x, positions)
        key, value = (self.graph.op("Concat", *parts, axis=2) for parts in zip(past, new, strict=True))
        present = key, value
        window = layer.pattern.window if isinstance(layer.pattern, SlidingWindow) else 0
        if window:
            key, value = (self._last(part, window, 2) for part in present)
        return self._attend(attention, query, key, value, None, positions, window), present

    def _self_projections(self, attention: MultiHeadAttention, x: str, positions: Positions) -> tuple[str, str, str]:
        query, key, value = self._joint(x, attention.query, attention.key, attention.value)
        return (
            positions.turn(self._queries(query, attention), attention.head_width),
            positions.turn(self._keys(key, attention), attention.head_width),
            self._keys(value, attention),
        )

    def _look_up(self, attention: MultiHeadAttention, x: str, memory: tuple[str, str], mask: str) -> str:
        query = self._queries(self._linear(x, attention.query), attention)
        return self._attend(attention, query, *memory, mask)

    def _attend(
        self,
        attention: MultiHeadAttention,
        query: str,
        key: str,
        value: str,
        mask: str | None,
        positions: Positions | None = None,
        window: int = 0,
    ) -> str:
        """query [B, H, T, K], or [B, G, H/G, T, K] where groups share their keys; key and value [B, G, S, K]."""
        graph = self.graph
        grouped = attention.heads != attention.key_value_heads
        scale = attention.score_scale
        if grouped:
            key, value = graph.unsqueeze(key, 2), graph.unsqueeze(value, 2)
            mask = None if mask is None else graph.unsqueeze(mask, 1)
        turned = graph.transpose(key, *((0, 1, 2, 4, 3) if grouped else (0, 1, 3, 2)))
        scores = graph.op("MatMul", graph.op("Mul", query, graph.constant(scale)), turned)
        bias = None if positions is None else positions.bias(attention)
        if bias is not None:
            scores = graph.op("Add", scores, self._last(bias, window, -1) if window else bias)
        if mask is not None:
            scores = graph.op("Add", scores, mask)
        context = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
        context = graph.transpose(context, *((0, 3, 1, 2, 4) if grouped else (0, 2, 1, 3)))
        joined = graph.reshape(context, 0, 0, attention.heads * attention.head_width)
        return self._linear(joined, attention.output)

    def _last(self, x: str, count: int, axis: int) -> str:
        return self.graph.op("Slice", x, *(self.graph.constant((number,)) for number in (-count, END, axis)))

    def _queries(self, x: str, attention: MultiHeadAttention) -> str:
        graph, groups = self.graph, attention.key_value_heads
        if attention.heads == groups:
            return self._keys(x, attention)
        split = graph.reshape(x, 0, 0, groups, attention.heads // groups, attention.head_width)
        return graph.transpose(split, 0, 2, 3, 1, 4)

    def _keys(self, x: str, attention: MultiHeadAttention) -> str:
        graph = self.graph
        return graph.transpose(graph.reshape(x, 0, 0, attention.key_value_heads, attention.head_width), 0, 2, 1, 3)

    def _joint(self, x: str, *linears: nn.Linear) -> list[str]:
        """Several projections of the same input as one product."""
        weight = torch.cat(tuple(linear.weight for linear in linears))
        biases = tuple(linear.bias for linear in linears if linear.bias is not None)
        joint = self.graph.linear(x, weight, torch.cat(biases) if biases else None)
        return self.graph.split(joint, [linear.out_features for linear in linears])

    def _linear(self, x: str, linear: nn.Linear) -> str:
        return self.graph.linear(x, linear.weight, linear.bias)


def _layers(stack: Stack) -> list[Layer]:
    """In the order of their use: some may be used several times."""
    layers = stack.in_order
    assert all(isinstance(layer, Layer) for layer in layers)
    return layers


def _cross(layer: Layer) -> MultiHeadAttention:
    assert layer.cross_attention is not None
    return layer.cross_attention
