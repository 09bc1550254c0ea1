"""A language model as a stepper: prompts first, then token by token with a key/value cache."""

from typing import NamedTuple

import torch
from torch import Tensor

from headwise.models.causal_lm import CausalLM
from headwise.nn.cache import LayerCache
from headwise.nn.positions import Rotary
from headwise.nn.rotary import LongRope


class PromptState(NamedTuple):
    """The decoder's state for all rows of a search."""

    cache: tuple[LayerCache, ...]
    mask: Tensor | None  # [R, S], which positions so far are not padding; None: all
    position: Tensor  # [R], of the next token
    first: Tensor | None
    """[R]: the last tokens of the prompts, the input of the first step; None afterwards."""
    history: Tensor | None = None
    """[R, S]: all tokens so far, if the cache may have to be recomputed."""


class PromptStepper:
    """A language model as a search sees it: it reads the prompts in one pass, then one token per step."""

    def __init__(self, model: CausalLM) -> None:
        self.model = model
        frequencies = model.positions.frequencies if isinstance(model.positions, Rotary) else None
        self.switch = frequencies.length if isinstance(frequencies, LongRope) else None
        """Length from which on LongRoPE uses its other factors: cached keys have to be recomputed there."""

    def start(self, prompts: Tensor, real: Tensor) -> PromptState:
        """The state before the first token after prompts [N, S] that are padded at their start."""
        positions = (real.long().cumsum(1) - 1).clamp(min=0)
        mask = None if bool(real.all()) else real[:, :-1]
        cache: tuple[LayerCache, ...] = ()
        if prompts.size(1) > 1:
            cache = self.model.decode(prompts[:, :-1], (), mask, positions[:, :-1]).cache
        history = None if self.switch is None else prompts[:, :-1]
        return PromptState(cache, mask, positions[:, -1], prompts[:, -1], history)

    def step(self, tokens: Tensor, state: PromptState) -> tuple[Tensor, PromptState]:
        """Log-probabilities [R, V] of the tokens that follow tokens [R], and the new state."""
        tokens = tokens if state.first is None else state.first
        mask = state.mask if state.mask is None else torch.cat((state.mask, state.mask.new_ones(len(tokens), 1)), 1)
        history = None if state.history is None else torch.cat((state.history, tokens[:, None]), 1)
        if (
            history is not None and history.size(1) - 1 == self.switch
        ):  # rows have the same length, see `Generator._groups`
            output = self.model.decode(history)
        else:
            output = self.model.decode(tokens[:, None], state.cache, mask, state.position[:, None])
        logits = self.model.output_projection(output.hidden[:, -1])
        return logits.float().log_softmax(-1), PromptState(output.cache, mask, state.position + 1, None, history)

    def select(self, state: PromptState, rows: Tensor) -> PromptState:
        """The state of these rows, in this order."""
        return PromptState(
            tuple(layer.select(rows) for layer in state.cache),
            None if state.mask is None else state.mask[rows],
            state.position[rows],
            None if state.first is None else state.first[rows],
            None if state.history is None else state.history[rows],
        )
