"""Describes a model to the native engine: int8 matrices and norms by number, sublayer by sublayer.

The config and the named weights are enough for that: the model need not be built.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from headwise.config import ModelConfig
from headwise.decode.engines.native import position_table as positions
from headwise.decode.engines.native.library import (
    CROSS_ATTENTION,
    FEED_FORWARD,
    NONE,
    SELF_ATTENTION,
    Array,
    Floats,
    NativeHandle,
    SideDescription,
    SublayerDescription,
)
from headwise.errors import ConfigError

UNIT = 16
"""Floats per instruction: widths must be multiples of it."""
ACTIVATIONS = {"relu": 0, "gelu": 1, "gelu_tanh": 2, "silu": 3}
"""The numbers of the activations, as in rows.h."""
EPSILONS = {"layer": 1e-5, "rms": 1e-6}
"""The default epsilon of each norm."""

Weights = Mapping[str, Array]
"""Arrays by name, in int8 or float32; they may be read from a file when they are accessed."""


class UnknownWeightsError(Exception):
    """The weights are not those of the config: some are missing, too many or of another shape."""


def native_fits(config: ModelConfig) -> bool:
    """Whether the engine knows all parts of a model of this config."""
    return (
        config.family == "encoder_decoder"
        and config.stack == "transformer"
        and not config.attention.window
        and not config.classes
        and config.norm.kind in EPSILONS
        and config.norm.order in ("post", "pre")
        and config.feed_forward.activation in ACTIVATIONS
        and config.feed_forward.kind in ("plain", "gated")
        and positions.known(config)
        and _is_sound(config)
        and all(
            size % UNIT == 0
            for side in (Shape(config, is_target) for is_target in (False, True))
            for size in (side.width, side.head_width, side.hidden)
        )
    )


def _is_sound(config: ModelConfig) -> bool:
    """Whether a model of this config can be built: the C++ code trusts its sizes."""
    try:
        config.check()
    except ConfigError:
        return False
    return True


class Shape:
    """The sizes of one side of a model."""

    def __init__(self, config: ModelConfig, is_target: bool) -> None:
        side = config if is_target else config.encoder_side
        self.width, self.heads, self.hidden = side.width, side.attention.heads, side.feed_forward.hidden
        self.key_heads = config.attention.key_value_heads or self.heads
        self.head_width = config.head_width
        self.layers = side.layers
        self.name = "decoder" if is_target else "encoder"

    @property
    def score_scale(self) -> float:
        return float(self.head_width**-0.5)


def taken(weights: Weights, name: str, dtype: type[np.generic], *shape: int) -> Array:
    """A weight, once its type and shape are known to be what C++ will read."""
    found = weights.get(name)
    if found is None or found.dtype != dtype or found.shape != shape:
        raise UnknownWeightsError(name)
    return np.ascontiguousarray(found)


def describe(config: ModelConfig, vocabulary: int, weights: Weights, engine: NativeHandle) -> set[str]:
    """Describe an int8 model to the engine, which copies the weights; returns the names of those that it took."""
    described = _Description(config, vocabulary, weights, engine)
    output = described.output()
    described.side(is_target=False)
    described.side(is_target=True)
    engine.set_output(output)
    return described.taken


class _Description:
    """The state of `describe`."""

    def __init__(self, config: ModelConfig, vocabulary: int, weights: Weights, engine: NativeHandle) -> None:
        self._config, self._vocabulary, self._weights, self._engine = config, vocabulary, weights, engine
        self._products: dict[tuple[str, ...], int] = {}  # layers that share weights share them here too
        self._tables: dict[str, tuple[int, float]] = {}
        """Vocabulary matrices by name, and the factor of their scales."""
        self.taken: set[str] = set()

    def output(self) -> int:
        owner = {"all": "source_embedding", "decoder": "target_embedding"}.get(self._config.tie, "output_projection")
        weight, scales = self._matrix(owner, self._vocabulary, self._config.width)
        bias = self._floats("output_projection.bias", self._vocabulary) if self._config.output.bias else None
        factor = self._config.output.scale
        number = self._engine.add_matrix(weight, scales * np.float32(factor), bias, filler=-math.inf)
        self._tables[owner] = (number, factor)
        return number

    def side(self, *, is_target: bool) -> None:
        config, shape = self._config, Shape(self._config, is_target)
        side = "target" if is_target else "source"
        owner = "target_embedding" if is_target and config.tie in ("decoder", "none") else "source_embedding"
        if owner not in self._tables:
            weight, scales = self._matrix(owner, self._vocabulary, shape.width)
            self._tables[owner] = (self._engine.add_matrix(weight, scales, None), 1.0)
        table, factor = self._tables[owner]
        closing = config.norm.order != "post"
        self._engine.describe_side(
            is_target,
            SideDescription(
                width=shape.width,
                embedding=table,
                embedding_factor=(math.sqrt(shape.width) if config.embedding.scale else 1.0) / factor,
                embedding_norm=self._norm(f"{side}_norm", shape.width) if config.embedding.norm else NONE,
                final_norm=self._norm(f"{shape.name}.final_norm", shape.width) if closing else NONE,
            ),
        )
        own = config.shared_layers or shape.layers
        for index in range(shape.layers):
            self._layer(f"{shape.name}.layers.{index * own // shape.layers}", shape, is_target)

    def _layer(self, name: str, shape: Shape, is_target: bool) -> None:
        config = self._config
        scale = config.attention.scale or shape.score_scale
        queries, keys = shape.heads * shape.head_width, shape.key_heads * shape.head_width
        biased = config.attention_bias
        output_biased = biased if config.attention.output_bias is None else config.attention.output_bias
        heads = {"heads": shape.heads, "key_heads": shape.key_heads, "head_width": shape.head_width}

        def product(parts: dict[str, int], inputs: int, *, bias: bool, factors: Sequence[float] = ()) -> int:
            return self._product([f"{name}.{part}" for part in parts], [*parts.values()], inputs, bias, factors)

        def add(kind: int, norm: str, project: int, output: int, memory: int = NONE, **others: int) -> None:
            number = self._norm(f"{name}.{norm}.norm", shape.width)
            before, after = (NONE, number) if config.norm.order == "post" else (number, NONE)
            self._engine.add_sublayer(
                is_target,
                SublayerDescription(
                    kind=kind, norm_before=before, norm_after=after, project=project, output=output, memory=memory,
                    **others,
                ),
            )  # fmt: skip

        # The scale of the attention scores is folded into the weights of the queries, where it costs nothing.
        own = {f"self_attention.{part}": size for part, size in (("query", queries), ("key", keys), ("value", keys))}
        project = product(own, shape.width, bias=biased, factors=(scale, 1.0, 1.0))
        output = product({"self_attention.output": shape.width}, queries, bias=output_biased)
        add(SELF_ATTENTION, "self_norm", project, output, **heads)
        if is_target:
            source = Shape(config, False).width
            project = product({"cross_attention.query": queries}, shape.width, bias=biased, factors=(scale,))
            memory = product({"cross_attention.key": keys, "cross_attention.value": keys}, source, bias=biased)
            output = product({"cross_attention.output": shape.width}, queries, bias=output_biased)
            add(CROSS_ATTENTION, "cross_norm", project, output, memory, **heads)
        gated = config.feed_forward.kind == "gated"
        inner = {f"feed_forward.{part}": shape.hidden for part in (("gate", "expand") if gated else ("expand",))}
        project = product(inner, shape.width, bias=config.bias)
        output = product({"feed_forward.contract": shape.width}, shape.hidden, bias=config.bias)
        activation = ACTIVATIONS[config.feed_forward.activation]
        sizes = {"hidden": shape.hidden, "activation": activation, "gated": int(gated)}
        add(FEED_FORWARD, "feed_forward_norm", project, output, **sizes)

    def _product(
        self, names: list[str], outputs: list[int], inputs: int, bias: bool, factors: Sequence[float] = ()
    ) -> int:
        """Several linear maps of the same input as one matrix: their outputs side by side, each times its factor."""
        key = tuple(names)
        if key not in self._products:
            multipliers = [np.float32(factor) for factor in factors or [1.0] * len(names)]
            parts = [self._matrix(name, size, inputs) for name, size in zip(names, outputs, strict=True)]
            biases = None
            if bias:
                given = [self._floats(f"{name}.bias", size) for name, size in zip(names, outputs, strict=True)]
                biases = np.concatenate([each * factor for each, factor in zip(given, multipliers, strict=True)])
            scales = np.concatenate([scales * factor for (_, scales), factor in zip(parts, multipliers, strict=True)])
            weight = parts[0][0] if len(parts) == 1 else np.concatenate([weight for weight, _ in parts])
            self._products[key] = self._engine.add_matrix(weight, scales, biases)
        return self._products[key]

    def _norm(self, name: str, width: int) -> int:
        config, centred = self._config, self._config.norm.kind == "layer"
        weight = self._floats(f"{name}.weight", width)
        shift = self._floats(f"{name}.bias", width) if centred else np.zeros(width, np.float32)
        return self._engine.add_norm(weight, shift, config.norm.epsilon or EPSILONS[config.norm.kind], centred=centred)

    def _matrix(self, name: str, outputs: int, inputs: int) -> tuple[Array, Floats]:
        """An int8 matrix, and the scales of its rows."""
        return self._array(f"{name}.weight", np.int8, outputs, inputs), self._floats(f"{name}.scales", outputs)

    def _floats(self, name: str, *shape: int) -> Floats:
        return self._array(name, np.float32, *shape)

    def _array(self, name: str, dtype: type[np.generic], *shape: int) -> Array:
        self.taken.add(name)
        return taken(self._weights, name, dtype, *shape)
