"""Greedy and beam search of one sentence by a model with switches, with the search of `headwise.decode.search`."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.decode.engines.plain import DecoderStepper, Starter
from headwise.decode.search.beam import beam_search
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchRequest
from headwise.models.encoder_decoder import Encoded, EncoderDecoder


class WholeState(NamedTuple):
    """The sources and all tokens so far of the rows of a search."""

    encoded: Encoded
    tokens: Tensor  # [R, T]
    looks: tuple[Tensor, ...] = ()
    """The cross-attention of the last step, [R, H, S] per layer, if captured."""


class WholeTargetStepper:
    """An encoder-decoder that reads its whole translation again at each step.

    Without a causal mask earlier positions look at later ones, so what was computed for them does not stay true.
    """

    def __init__(self, model: EncoderDecoder, capture: bool = False) -> None:
        self.model = model
        self.capture = capture

    def start(self, source: Tensor) -> WholeState:
        """The state before the first token of sources [N, S]."""
        return WholeState(self.model.encode(source), source.new_empty(len(source), 0))

    def step(self, tokens: Tensor, state: WholeState) -> tuple[Tensor, WholeState]:
        """Log-probabilities [R, V] of the tokens that follow tokens [R], and the new state."""
        whole = torch.cat((state.tokens, tokens[:, None]), 1)
        decoded = self.model.decode(whole, state.encoded, capture=self.capture)
        logits: Tensor = self.model.output_projection(decoded.hidden[:, -1])
        looks = tuple(weights[:, :, -1] for weights in decoded.cross_weights)
        return logits.float().log_softmax(-1), WholeState(state.encoded, whole, looks)

    def select(self, state: WholeState, rows: Tensor) -> WholeState:
        """The state of these rows, in this order."""
        looks = tuple(weights.index_select(0, rows) for weights in state.looks)
        return WholeState(state.encoded.select(rows), state.tokens.index_select(0, rows), looks)


def stepper_of(model: EncoderDecoder, whole_target: bool) -> Starter[Any]:
    """The stepper of a model: with a cache, unless each step needs the whole target."""
    return WholeTargetStepper(model) if whole_target else DecoderStepper(model)


@torch.inference_mode()
def search_one(stepper: Starter[Any], request: SearchRequest) -> Hypothesis:
    """The best translation of the only sentence of a request, as ids."""
    state = stepper.start(torch.tensor(request.sources))
    [[best]] = beam_search(stepper, state, torch.tensor(request.limits), request.options, request.prefixes)
    return best
