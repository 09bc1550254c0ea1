"""What kind of model a translator is: sizes, kinds of parts, and the parameters of each part."""

from __future__ import annotations

from typing import Any

from torch import nn

from headwise.inspect.inside.as_json import number
from headwise.inspect.inside.open_inside import InsideModel
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.stack import Stack


def model_facts(inside: InsideModel, changed: EncoderDecoder) -> dict[str, Any]:
    """The facts of a model as JSON; `changed` is the copy of it that was used."""
    config, model = inside.translator.config, inside.model
    attentions = [each for each in changed.modules() if isinstance(each, MultiHeadAttention)]
    return {
        "name": inside.name,
        "width": config.width,
        "heads": config.attention.heads,
        "key_value_heads": config.attention.key_value_heads or config.attention.heads,
        "head_width": config.head_width,
        "score_scale": number(attentions[0].score_scale) if attentions else None,
        "hidden": config.feed_forward.hidden,
        "encoder_layers": model.encoder.depth,
        "decoder_layers": model.decoder.depth,
        "vocabulary": inside.tokenizer.size,
        "parameters": _count(model),
        "parameters_of": {
            "embeddings": _count(nn.ModuleList([model.source_embedding, model.target_embedding])),
            "encoder": _count(model.encoder),
            "decoder": _count(model.decoder),
            "output": _count(model.output_projection),
        },
        "tied": config.tie in ("all", "decoder"),
        "norm": config.norm.order,
        "norm_kind": config.norm.kind,
        "feed_forward": config.feed_forward.kind,
        "activation": config.feed_forward.activation,
        "positions": config.positions.kind,
        "precision": inside.precision,
        "stack": "transformer" if isinstance(model.decoder, Stack) else "lstm",
    }


def _count(module: nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())
