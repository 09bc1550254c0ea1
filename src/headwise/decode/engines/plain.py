"""The engine `plain`: the model itself, token by token, under the search of `headwise.decode.search`.

It runs on any device. Tests compare the other engines with it; they use its `SteppingEngine` for options that their
own search does not support.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, Protocol

import torch
from torch import Tensor

from headwise.decode.batching import GPU_BATCH_TOKENS, padded
from headwise.decode.search.beam import State, Stepper, beam_search
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.decode.search.sampling import sample
from headwise.models.encoder_decoder import Encoded, EncoderDecoder
from headwise.nn.cache import LayerCache

PLAIN = "plain"


class DecoderState(NamedTuple):
    """The decoder's state for all rows of a search."""

    encoded: Encoded
    cache: tuple[LayerCache, ...]
    sentences: Tensor  # [R], the source that each row translates


class DecoderStepper:
    """An encoder-decoder as a search sees it: it encodes once, then decodes a token per step with the cache."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model

    def start(self, source: Tensor) -> DecoderState:
        """The state before the first token of sources [N, S]."""
        return DecoderState(self.model.encode(source), (), torch.arange(len(source), device=source.device))

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Log-probabilities [R, V] of the tokens that follow tokens [R], and the new state."""
        output = self.model.decode(tokens[:, None], state.encoded, state.cache)
        logits = self.model.output_projection(output.hidden[:, 0])
        return logits.float().log_softmax(-1), state._replace(cache=output.cache)

    def select(self, state: DecoderState, rows: Tensor) -> DecoderState:
        """The state of these rows, in this order."""
        sentences = state.sentences.index_select(0, rows)
        if torch.equal(sentences, state.sentences):
            # Rows were reordered within their sentences: the keys and values of the source stay as they are.
            cache = tuple(
                layer._replace(past=layer.past.select(rows) if layer.past is not None else None)
                for layer in state.cache
            )
            return state._replace(cache=cache)
        cache = tuple(layer.select(rows) for layer in state.cache)
        return DecoderState(state.encoded.select(rows), cache, sentences)


class Starter(Stepper[State], Protocol):
    """A stepper that can begin with sources."""

    def start(self, source: Tensor) -> State:
        """The state before the first token of sources [N, S]."""
        ...


class SteppingEngine(Generic[State]):
    """An engine that drives a stepper with the search of `headwise.decode.search`."""

    def __init__(self, name: str, stepper: Starter[State], pad: int, device: torch.device) -> None:
        self.name, self.stepper = name, stepper
        self.batch_tokens = GPU_BATCH_TOKENS if device.type == "cuda" else 0
        self._pad, self._device = pad, device

    @torch.inference_mode()
    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each source."""
        return beam_search(self.stepper, *self.start(request), request.options, request.prefixes)

    @torch.inference_mode()
    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, sampled from the model's distribution."""
        return sample(self.stepper, *self.start(request), request.options, sampling, request.prefixes, generator)

    def start(self, request: SearchRequest) -> tuple[State, Tensor]:
        """The state before the first token of each source, and the length limits."""
        state = self.stepper.start(padded(request.sources, self._pad, self._device))
        return state, torch.tensor(request.limits, device=self._device)


def plain_engine(model: EncoderDecoder, device: torch.device, name: str = PLAIN) -> SteppingEngine[DecoderState]:
    """The model itself as an engine."""
    return SteppingEngine(name, DecoderStepper(model), model.pad, device)
