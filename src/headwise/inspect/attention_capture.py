"""Attention weights of every head for one text or one translation."""

from collections.abc import Sequence

import torch
from torch import Tensor

from headwise.config import ModelConfig
from headwise.decode.filler import BLANK, Filler
from headwise.decode.framing import LONGEST_WHOLE
from headwise.decode.generator import Generator
from headwise.decode.open import open_model, the_tokenizer
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.inspect.maps import AttentionMap, AttentionMaps, stacked
from headwise.models.causal_lm import CausalLM
from headwise.models.classifier import Classifier
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.description import LoadedModel
from headwise.models.masked_lm import MaskedLM

CROSS = "cross-attention: the target looks at the source"
SOURCE = "encoder self-attention: the source looks at itself"
TARGET = "masked decoder self-attention: the target looks at what has been generated"
BACK = "masked self-attention: each token looks at itself and at those before it"
AROUND = "self-attention: each token looks at the whole text"
RECURRENT = "it consists of LSTMs, which have no self-attention"


@torch.inference_mode()
def capture_attention(
    translator: Translator,
    text: str,
    target_text: str | None = None,
    source: str | None = None,
    target: str | None = None,
    beam: int = 4,
) -> AttentionMaps:
    """Attention of every head in the translation of `text`, which is `target_text` or the model's own.

    Row t of the maps `cross` and `decoder` is the step that generated token t of the target. The decoder's input,
    `shown`, is the start token and the target without its last token.
    """
    _check_text(text)
    tokenizer, model = translator.tokenizer, translator.model
    if target_text is None:
        target_text = translator.translate(text, source=source, target=target, beam=beam).text
    source_ids, shown_ids = translator.pair_ids(text, target_text, source=source, target=target)
    encoded = model.encode(_batch(source_ids, translator.device), capture=True)
    decoded = model.decode(_batch(shown_ids, translator.device), encoded, capture=True)
    read, shown = tokenizer.pieces(source_ids), tokenizer.pieces(shown_ids)
    written = tokenizer.pieces([*shown_ids[1:], tokenizer.eos])
    found = {
        "cross": (CROSS, written, read, decoded.cross_weights),
        "encoder": (SOURCE, read, read, encoded.self_weights),
        "decoder": (TARGET, written, shown, decoded.self_weights),
    }
    maps = {
        kind: AttentionMap(title, rows, columns, stacked(weights))
        for kind, (title, rows, columns, weights) in found.items()
        if weights
    }
    return AttentionMaps(
        text=target_text,
        source=text,
        labels={"source": read, "target": written, "shown": shown},
        maps=maps,
        lacks="" if len(maps) == len(found) else RECURRENT,
    )


@torch.inference_mode()
def capture_text(
    model: str | LoadedModel, text: str, second: str | None = None, generate: int = 0, device: str = "auto"
) -> AttentionMaps:
    """Attention of every head of a language model, an encoder or a text classifier on `text`.

    `second` is the other text of a pair, `generate` the number of tokens that a language model generates first.
    """
    _check_text(text)
    loaded, chosen = open_model(model, device)
    body = loaded.model.body if isinstance(loaded.model, Classifier) else loaded.model
    if not isinstance(body, CausalLM | MaskedLM):
        if isinstance(body, EncoderDecoder):
            raise ConfigError("this model translates: use capture_attention, with a Translator")
        raise ConfigError("this model classifies images and cannot read text: give --image FILE")
    if generate and not isinstance(body, CausalLM):
        raise ConfigError("this model does not generate text: --generate is for language models")
    ids, segments = _input_ids(loaded, text, second, generate, device)
    _check_length(ids, loaded.config)
    body, tokens = body.to(chosen).eval(), _batch(ids, chosen)
    if isinstance(body, CausalLM):
        kind, title, weights = "decoder", BACK, body.decode(tokens, capture=True).self_weights
    else:
        kind, title, weights = "encoder", AROUND, body.encode(tokens, _batch(segments, chosen), True).self_weights
    if not weights:
        raise ConfigError(f"this model has no attention to inspect: {RECURRENT}")
    tokenizer = the_tokenizer(loaded, model)
    pieces = tokenizer.pieces(ids)
    shown = AttentionMap(title, pieces, pieces, stacked(weights))
    return AttentionMaps(tokenizer.decode(ids) if generate else text, {"tokens": pieces}, {kind: shown})


def _input_ids(
    loaded: LoadedModel, text: str, second: str | None, generate: int, device: str
) -> tuple[list[int], list[int]]:
    """The token ids and segments of the model's input for a text, with the special tokens of its training."""
    tokenizer = the_tokenizer(loaded, "this model")
    if isinstance(loaded.model, CausalLM) or generate:
        if second is not None:
            raise ConfigError("a second text is for models that read pairs; a language model reads one text")
        generator = Generator(loaded, device=device)
        ids = generator.prompt_ids(text)
        if generate:
            ids = [*ids, *generator.generate(text, max_tokens=generate).ids]
        return ids, [0] * len(ids)
    if isinstance(loaded.model, MaskedLM) and loaded.model.head is not None and BLANK in text and second is None:
        ids = Filler(loaded, device=device).ids(text)
        return ids, [0] * len(ids)
    return tokenizer.frame(tokenizer.encode(text), None if second is None else tokenizer.encode(second))


def _check_text(text: str) -> None:
    if not text.strip():
        raise DataError("the text is empty: there is nothing to inspect")


def _check_length(ids: Sequence[int], config: ModelConfig) -> None:
    longest = min(config.position_limit, LONGEST_WHOLE)
    if len(ids) > longest:
        raise DataError(f"a text of {len(ids):,} tokens is too long: this model takes at most {longest:,}")


def _batch(ids: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor([ids], device=device)
