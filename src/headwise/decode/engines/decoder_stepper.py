"""The encoder-decoder as a search sees it: one token a row in, log-probabilities out."""

from typing import NamedTuple

import torch
from torch import Tensor

from headwise.models.encoder_decoder import Encoded, EncoderDecoder
from headwise.nn.cache import LayerCache


class DecoderState(NamedTuple):
    """What the decoder needs to know of the rows of a search."""

    encoded: Encoded
    cache: tuple[LayerCache, ...]
    sentences: Tensor  # [R], which source each row translates


class DecoderStepper:
    """Encode once, then a token at a time with the key/value cache."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model

    def start(self, source: Tensor) -> DecoderState:
        """The state before the first token of sources [N, S]."""
        return DecoderState(self.model.encode(source), (), torch.arange(len(source), device=source.device))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        output = self.model.decode(tokens[:, None], state.encoded, state.cache)
        logits = self.model.output_projection(output.hidden[:, 0])
        return logits.float().log_softmax(-1), state._replace(cache=output.cache)

    def select(self, state: DecoderState, rows: Tensor) -> DecoderState:
        sentences = state.sentences.index_select(0, rows)
        if torch.equal(sentences, state.sentences):
            # Rows changed places within their sentences: what stems from the source stays as it is.
            cache = tuple(
                layer._replace(past=layer.past.select(rows) if layer.past is not None else None)
                for layer in state.cache
            )
            return state._replace(cache=cache)
        cache = tuple(layer.select(rows) for layer in state.cache)
        return DecoderState(state.encoded.select(rows), cache, sentences)
