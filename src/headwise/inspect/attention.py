"""Every head's attention weights of one translation, as plain values."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headwise.decode.translator import TranslateOptions, Translator
from headwise.errors import DataError


@dataclass(frozen=True)
class AttentionMaps:
    """All weights of one sentence pair; rows are queries, columns are what they look at."""

    source: list[str]
    """The pieces the encoder saw."""
    target: list[str]
    """The pieces the decoder wrote. Row t of `cross` and `decoder` is the step that wrote piece t."""
    shown: list[str]
    """The pieces the decoder was shown: `<sos>`, then the target but its last."""
    text: str
    encoder: Tensor  # [layers, H, S, S]
    decoder: Tensor  # [layers, H, T, T]
    cross: Tensor  # [layers, H, T, S]

    def as_dict(self) -> dict[str, Any]:
        """For JSON: nested lists, rounded to what a picture can show."""
        return {
            "source": self.source,
            "target": self.target,
            "shown": self.shown,
            "text": self.text,
            "encoder": _rounded(self.encoder),
            "decoder": _rounded(self.decoder),
            "cross": _rounded(self.cross),
        }


@torch.inference_mode()
def capture_attention(
    translator: Translator,
    text: str,
    target_text: str | None = None,
    source: str | None = None,
    target: str | None = None,
    beam: int = 4,
) -> AttentionMaps:
    """Translate `text` (or take `target_text` as its translation) and keep what every head attended to."""
    if not text.strip():
        raise DataError("there is nothing to look at in an empty text")
    tokenizer, model = translator.tokenizer, translator.model
    if target_text is None:
        options = TranslateOptions(beam=beam, alignments=False)
        target_text = translator.translate([text], source, target, options=options)[0].text
    source_ids = translator.source_ids(text, source, target)
    target_ids = tokenizer.encode(target_text)
    shown = [tokenizer.sos, *target_ids]
    for ids in (source_ids, shown):
        translator.check_length(ids)
    encoded = model.encode(torch.tensor([source_ids], device=translator.device), capture=True)
    decoded = model.decode(torch.tensor([shown], device=translator.device), encoded, capture=True)
    return AttentionMaps(
        source=tokenizer.pieces(source_ids),
        target=tokenizer.pieces([*target_ids, tokenizer.eos]),
        shown=tokenizer.pieces(shown),
        text=target_text,
        encoder=torch.cat(encoded.self_weights).float().cpu(),
        decoder=torch.cat(decoded.self_weights).float().cpu(),
        cross=torch.cat(decoded.cross_weights).float().cpu(),
    )


def _rounded(weights: Tensor) -> Any:
    return (weights.double() * 1e5).round().div(1e5).tolist()
