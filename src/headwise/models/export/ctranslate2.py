"""The CTranslate2 format, whose library runs translators and language models on CPUs and GPUs.

CTranslate2's specification classes define and write the weights; here they are only filled. A model that they cannot
express is refused, or written as an equivalent one that they can.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headwise.config import ModelConfig
from headwise.errors import ConfigError
from headwise.models.blocks import PARALLEL
from headwise.models.causal_lm import CausalLM
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.export.sidecar import added_to_source, decoder_start, source_frame, vocabularies
from headwise.models.folder.description import LoadedModel
from headwise.models.known_parts import refuse_unknown_parts
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.embedding import OutputProjection, TokenEmbedding
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.positions import Learned, PositionEncoding, Relative, Rotary, Sinusoidal
from headwise.nn.stack import Layer, ParallelLayer, Stack
from headwise.text.tokenizer import Tokenizer

Array = NDArray[np.float32]

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "gelu_tanh": "GELUTanh", "silu": "SWISH"}
"""Our names of activations -> CTranslate2's."""

SHORTEST_TABLE = 1024
"""Least rows of a table of positions that we compute."""
LONGEST_TABLE = 2**16
"""Most rows of such a table, whatever a config says."""

NEVER = -1e4
"""The bias of tokens that are never generated; float16 can represent it."""


def write_translator(loaded: LoadedModel, folder: Path, precision: str) -> None:
    """Write model.bin, config.json and the vocabularies of an encoder-decoder, for `ctranslate2.Translator`."""
    from ctranslate2.specs import transformer_spec

    model, config, tokenizer = loaded.model, loaded.config, loaded.tokenizer
    assert isinstance(model, EncoderDecoder)
    assert tokenizer is not None
    check(config)
    refuse_unknown_parts(model, "CTranslate2")
    assert isinstance(model.encoder, Stack)
    assert isinstance(model.decoder, Stack)
    encoder = transformer_spec.TransformerEncoderSpec(
        model.encoder.depth,
        config.encoder_side.attention.heads,
        **_shape(config, model.source_positions),
    )
    decoder = transformer_spec.TransformerDecoderSpec(
        model.decoder.depth, config.attention.heads, **_shape(config, model.target_positions)
    )
    _enter(encoder, encoder.embeddings[0], model.source_embedding, model.source_positions, model.source_norm, config)
    _enter(decoder, decoder.embeddings, model.target_embedding, model.target_positions, model.target_norm, config)
    _stack(encoder, model.encoder, model.source_positions, expand=True)
    _stack(decoder, model.decoder, model.target_positions, expand=True)
    _project(decoder, model.output_projection, tokenizer.specials)
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    source, target = vocabularies(tokenizer, loaded.description.rows)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    _name_specials(spec.config, config, tokenizer, source)
    added = added_to_source(loaded)
    spec.config.add_source_bos, spec.config.add_source_eos = added
    if added[0]:
        spec.config.bos_token = source[source_frame(loaded)[0][0]]
    spec.config.decoder_start_token = decoder_start(loaded, target)
    _save(spec, folder, precision)


def write_generator(loaded: LoadedModel, folder: Path, precision: str) -> None:
    """Write model.bin, config.json and the vocabulary of a language model, for `ctranslate2.Generator`."""
    from ctranslate2.specs import transformer_spec

    model, config, tokenizer = loaded.model, loaded.config, loaded.tokenizer
    assert isinstance(model, CausalLM)
    assert tokenizer is not None
    check(config)
    refuse_unknown_parts(model, "CTranslate2")
    assert isinstance(model.decoder, Stack)
    key_value_heads = config.attention.key_value_heads
    decoder = transformer_spec.TransformerDecoderSpec(
        model.decoder.depth,
        config.attention.heads,
        **_shape(config, model.positions),
        with_encoder_attention=False,
        num_heads_kv=key_value_heads if key_value_heads != config.attention.heads else None,
        parallel_residual=config.norm.order in PARALLEL,
        shared_layer_norm=config.norm.order == "parallel_shared",
    )
    spec = transformer_spec.TransformerDecoderModelSpec(decoder)
    _enter(spec.decoder, spec.decoder.embeddings, model.embedding, model.positions, model.embedding_norm, config)
    _stack(spec.decoder, model.decoder, model.positions, expand=False)
    never = [] if loaded.task.published else [i for i in tokenizer.specials if i not in (tokenizer.eos, tokenizer.unk)]
    _project(spec.decoder, model.output_projection, never)
    names, _ = vocabularies(tokenizer, loaded.description.rows)
    spec.register_vocabulary(names)
    _name_specials(spec.config, config, tokenizer, names)
    _save(spec, folder, precision)


def check(config: ModelConfig) -> None:
    """Refuse a config that CTranslate2 cannot compute; the error names all reasons."""
    scaling = config.positions.rotary.scaling.kind
    refused = {
        f"stack = {config.stack!r}": config.stack != "transformer",
        f"attention.window = {config.attention.window}": config.attention.window is not None,
        f"rotary.scaling.kind = {scaling!r}": config.positions.kind == "rotary" and scaling not in ("none", "linear"),
        # Its scores are ours, but after a prompt of several tokens it generates something else.
        "relative positions of a decoder alone": config.positions.kind == "relative" and config.family == "causal_lm",
    }
    found = [what for what, is_refused in refused.items() if is_refused]
    if found:
        raise ConfigError(f"CTranslate2 does not support {', '.join(found)}; try --to huggingface")


def _shape(config: ModelConfig, positions: PositionEncoding) -> dict[str, Any]:
    """The arguments that the specifications of encoders and decoders share."""
    from ctranslate2.specs import attention_spec, common_spec

    shape: dict[str, Any] = {
        "pre_norm": config.norm.order != "post",
        "activation": common_spec.Activation[ACTIVATIONS[config.feed_forward.activation]],
        "layernorm_embedding": config.embedding.norm,
        "relative_attention_bias": isinstance(positions, Relative),
        "ffn_glu": config.feed_forward.kind == "gated",
        "rms_norm": config.norm.kind == "rms",
        "head_dim": config.attention.head_width or None,
    }
    if isinstance(positions, Rotary):
        stretched = config.positions.rotary.scaling.kind == "linear"
        shape |= {
            "rotary_dim": positions.frequencies.width,
            "rotary_interleave": False,
            "rotary_base": config.positions.rotary.base,
            "rotary_scaling_type": attention_spec.RotaryScalingType.Linear if stretched else None,
            "rotary_scaling_factor": config.positions.rotary.scaling.factor,
        }
    return shape


def _enter(
    spec: Any,
    embedding_spec: Any,
    embedding: TokenEmbedding,
    positions: PositionEncoding,
    norm: nn.Module | None,
    config: ModelConfig,
) -> None:
    """Fill in what comes before the first layer: embeddings, positions and their norm."""
    embedding_spec.weight = _array(embedding.weight)
    spec.scale_embeddings = float(embedding.scale)
    if norm is not None:
        _norm(spec.layernorm_embedding, norm)
    if not isinstance(positions, Rotary | Relative):
        rows = min(max(config.positions.max_positions, SHORTEST_TABLE), LONGEST_TABLE)
        spec.position_encodings.encodings = _table(positions, rows, embedding.weight.size(1))


def _table(positions: PositionEncoding, rows: int, width: int) -> Array:
    """The table of positions. Zeros if there is none: CTranslate2 would compute sinusoidal positions instead."""
    if isinstance(positions, Learned):
        return _array(positions.weight[positions.offset :])
    if isinstance(positions, Sinusoidal):
        return _array(positions.table(torch.arange(rows)))
    return np.zeros((rows, width), np.float32)


def _stack(spec: Any, stack: Stack, positions: PositionEncoding, *, expand: bool) -> None:
    """Fill in the layers. `expand` repeats keys and values that heads share, which CTranslate2's cross-attention does
    not support; it stores equal weights once."""
    for layer_spec, layer in zip(spec.layer, stack.in_order, strict=True):
        assert isinstance(layer, Layer | ParallelLayer)
        _self_attention(layer_spec.self_attention, layer.self_attention, positions, expand)
        _feed_forward(layer_spec.ffn, layer.feed_forward)
        if isinstance(layer, ParallelLayer):
            _parallel_norms(layer_spec, layer)
            continue
        _norm(layer_spec.self_attention.layer_norm, layer.self_norm.norm)
        _norm(layer_spec.ffn.layer_norm, layer.feed_forward_norm.norm)
        if layer.cross_attention is not None and layer.cross_norm is not None:
            query, key, value, output = _projections(layer.cross_attention, expand)
            _linear(layer_spec.attention.linear[0], query)
            _linear(layer_spec.attention.linear[1], key, value)
            _linear(layer_spec.attention.linear[2], output)
            _scale(layer_spec.attention, layer.cross_attention)
            _norm(layer_spec.attention.layer_norm, layer.cross_norm.norm)
    if stack.final_norm is not None:
        _norm(spec.layer_norm, stack.final_norm)


def _self_attention(spec: Any, attention: MultiHeadAttention, positions: PositionEncoding, expand: bool) -> None:
    query, key, value, output = _projections(attention, expand)
    _linear(spec.linear[0], query, key, value)
    _linear(spec.linear[1], output)
    _scale(spec, attention)
    if isinstance(positions, Relative):
        spec.relative_attention_bias = _array(positions.weight)
        spec.relative_attention_max_distance = np.int32(positions.distance)


def _scale(spec: Any, attention: MultiHeadAttention) -> None:
    if attention.scale is not None:
        spec.queries_scale = float(attention.scale)


Weights = tuple[Tensor, Tensor | None]
"""A matrix [out, in], and a bias if there is one."""


def _projections(attention: MultiHeadAttention, expand: bool) -> tuple[Weights, Weights, Weights, Weights]:
    groups = attention.heads // attention.key_value_heads if expand else 1
    query, output = (_weights(linear) for linear in (attention.query, attention.output))
    key, value = (_weights(linear) for linear in (attention.key, attention.value))
    if groups > 1:
        key, value = _repeated(key, attention, groups), _repeated(value, attention, groups)
    return query, key, value, output


def _repeated(weights: Weights, attention: MultiHeadAttention, groups: int) -> Weights:
    """The rows of each key/value head, repeated for the heads that share it."""

    def repeat(tensor: Tensor) -> Tensor:
        heads = tensor.view(attention.key_value_heads, attention.head_width, *tensor.shape[1:])
        return heads.repeat_interleave(groups, 0).flatten(0, 1)

    weight, bias = weights
    return repeat(weight), None if bias is None else repeat(bias)


def _feed_forward(spec: Any, feed_forward: FeedForward | GatedFeedForward) -> None:
    if isinstance(feed_forward, GatedFeedForward):
        _linear(spec.linear_0, _weights(feed_forward.gate))
        _linear(spec.linear_0_noact, _weights(feed_forward.expand))
    else:
        _linear(spec.linear_0, _weights(feed_forward.expand))
    _linear(spec.linear_1, _weights(feed_forward.contract))


def _parallel_norms(spec: Any, layer: ParallelLayer) -> None:
    from ctranslate2.specs import common_spec

    norms = {"shared_layer_norm": layer.self_norm}
    if layer.feed_forward_norm is not None:
        norms = {"input_layer_norm": layer.self_norm, "post_attention_layer_norm": layer.feed_forward_norm}
    for name, norm in norms.items():
        setattr(spec, name, common_spec.LayerNormSpec(rms_norm=isinstance(norm, nn.RMSNorm)))
        _norm(getattr(spec, name), norm)


def _project(spec: Any, projection: OutputProjection, never: Sequence[int]) -> None:
    """Fill in the output projection. Tokens that our search never generates get a bias that excludes them."""
    spec.projection.weight = _array(projection.weight)
    if projection.scale != 1:
        spec.scale_outputs = float(projection.scale)
    if projection.bias is not None or never:
        rows = projection.weight.size(0)
        bias = np.zeros(rows, np.float32) if projection.bias is None else _array(projection.bias).copy()
        bias[list(never)] = NEVER
        spec.projection.bias = bias


def _linear(spec: Any, *parts: Weights) -> None:
    """Fill in the concatenation of several projections of the same input."""
    spec.weight = _array(torch.cat([weight for weight, _ in parts]))
    biases = [bias for _, bias in parts if bias is not None]
    if biases:
        spec.bias = _array(torch.cat(biases))


def _weights(linear: nn.Linear) -> Weights:
    bias: Tensor | None = linear.bias
    return linear.weight, bias


def _norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    spec.gamma = _array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        spec.beta = _array(norm.bias)


def _array(tensor: Tensor) -> Array:
    """A copy as a NumPy array: CTranslate2 quantises weights in place."""
    array: Array = np.array(tensor.detach().float().cpu().numpy(), order="C")
    return array


def _name_specials(described: Any, config: ModelConfig, tokenizer: Tokenizer, names: Sequence[str]) -> None:
    described.bos_token = names[tokenizer.sos]
    described.eos_token = names[tokenizer.eos]
    described.unk_token = names[tokenizer.unk]
    described.layer_norm_epsilon = config.norm.epsilon or {"layer": 1e-5, "rms": 1e-6}[config.norm.kind]


def _save(spec: Any, folder: Path, precision: str) -> None:
    spec.validate()
    spec.optimize(quantization=precision)
    spec.save(str(folder))
