"""Embedder: texts as vectors, which are close where the meanings are."""

import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn

from headwise.decode.batching import by_length, padded
from headwise.decode.open import check_finite, depends_on_length, open_model, the_tokenizer
from headwise.errors import ConfigError
from headwise.models.causal_lm import CausalLM
from headwise.models.classifier import Classifier
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.description import LoadedModel
from headwise.models.masked_lm import MaskedLM
from headwise.models.vision import VisionTransformer
from headwise.nn.pooling import POOLINGS
from headwise.text.given_texts import check_texts


class Embedder:
    """A model that represents texts: an encoder, a translator's encoder, or a decoder."""

    def __init__(self, model: str | Path | LoadedModel, *, device: str = "auto") -> None:
        loaded, self.device = open_model(model, device)
        body = loaded.model.body if isinstance(loaded.model, Classifier) else loaded.model
        if isinstance(body, VisionTransformer):
            raise ConfigError("this model takes images: it cannot embed texts")
        self.model: nn.Module = body.to(self.device).eval()
        self.tokenizer = the_tokenizer(loaded, model)
        self.config = loaded.config
        self.width = loaded.config.width
        self.pooling = loaded.task.pooling or "mean"
        """The default pooling: how the vectors of all tokens become one."""
        self.longest = min(loaded.config.position_limit, loaded.task.max_tokens if loaded.task.pooling else sys.maxsize)

    @torch.inference_mode()
    def embed(self, texts: str | Iterable[str], pooling: str | None = None, *, normalise: bool = True) -> Tensor:
        """Vectors of texts, [texts, D] in float32, or [D] for one `str`; of length 1 if normalised.

        A text that is too long for the model is cut at its limit.

        `pooling`: mean of all tokens, first (CLS) or last; by default the one that the model's folder names, or mean.
        """
        pooling = pooling or self.pooling
        if pooling not in POOLINGS:
            raise ConfigError(f"no pooling {pooling!r}; there are: {', '.join(POOLINGS)}")
        rows = [self._ids(text) for text in check_texts(texts)]
        vectors = torch.zeros(len(rows), self.width)
        for batch in by_length([len(row) for row in rows], 8192, equal=depends_on_length(self.model)):
            tokens = padded([rows[i] for i in batch], self.tokenizer.pad, self.device)
            lengths = torch.tensor([len(rows[i]) for i in batch], device=self.device)
            real = torch.arange(tokens.size(1), device=self.device) < lengths[:, None]
            pooled = POOLINGS[pooling](self._hidden(tokens), real).float()
            check_finite(pooled)
            vectors[batch] = (nn.functional.normalize(pooled, dim=-1) if normalise else pooled).cpu()
        return vectors[0] if isinstance(texts, str) else vectors

    def _hidden(self, tokens: Tensor) -> Tensor:
        if isinstance(self.model, CausalLM):
            return self.model.decode(tokens).hidden
        assert isinstance(self.model, MaskedLM | EncoderDecoder)
        return self.model.encode(tokens).memory

    def _ids(self, text: str) -> list[int]:
        ids = self.tokenizer.encode(text)
        framed, _ = self.tokenizer.frame(ids)
        if len(framed) > self.longest:
            room = self.longest - (len(framed) - len(ids))
            framed, _ = self.tokenizer.frame(ids[:room])
        return framed or [self.tokenizer.eos]  # an empty text without special tokens would have no token
