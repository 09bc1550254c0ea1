"""Sampling: hypotheses are drawn from the model's distribution instead of searched for."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from headwise.decode.search.beam import State, Stepper, walk
from headwise.decode.search.hypothesis import Hypothesis, no_next_token
from headwise.decode.search.options import Prefixes, SamplingOptions, SearchOptions


def distribution(scores: Tensor, sampling: SamplingOptions) -> Tensor:
    """The probabilities [R, V] that tokens are drawn with: temperature, then top_k, then top_p."""
    scores = scores.float() / sampling.temperature
    if 0 < sampling.top_k < scores.shape[1]:
        values, tokens = scores.topk(
            sampling.top_k, dim=-1
        )  # by index, not by value: k remain even if scores are equal
        scores = torch.full_like(scores, -math.inf).scatter(1, tokens, values)
    probabilities = scores.softmax(dim=-1)
    if sampling.top_p < 1:
        ranked, tokens = probabilities.sort(dim=-1, descending=True)
        before = ranked.cumsum(dim=-1) - ranked  # a token stays while those before it hold less than top_p
        ranked = ranked.masked_fill(before >= sampling.top_p, 0.0)
        probabilities = torch.zeros_like(probabilities).scatter(1, tokens, ranked)
        probabilities = probabilities / probabilities.sum(dim=-1, keepdim=True)
    return probabilities


def drawing(sampling: SamplingOptions, generator: torch.Generator | None) -> Callable[[Tensor], Tensor]:
    """A function that samples tokens for a `walk`: scores [R, V] -> tokens [R]."""

    def draw(scores: Tensor) -> Tensor:
        if not bool((scores.amax(dim=-1) > -math.inf).all()):
            raise no_next_token()
        probabilities = distribution(scores, sampling)
        if generator is not None:
            probabilities = probabilities.to(generator.device)
        return torch.multinomial(probabilities, 1, generator=generator).squeeze(1).to(scores.device)

    return draw


def sample(
    stepper: Stepper[State],
    state: State,
    max_lengths: Tensor,
    options: SearchOptions,
    sampling: SamplingOptions,
    prefixes: Prefixes | None = None,
    generator: torch.Generator | None = None,
) -> list[list[Hypothesis]]:
    """`sampling.samples` hypotheses per sentence, best score first; other arguments as for `greedy`.

    The scores are the model's own, whatever the temperature. The same state of the generator gives the same samples
    for the same batch; a CPU generator works on any device.
    """
    each = sampling.samples
    if each > 1:
        rows = torch.arange(len(max_lengths), device=max_lengths.device).repeat_interleave(each)
        state, max_lengths = stepper.select(state, rows), max_lengths[rows]
        prefixes = None if prefixes is None else [prefix for prefix in prefixes for _ in range(each)]
    found = walk(stepper, state, max_lengths, options, prefixes, drawing(sampling, generator))
    groups = [found[first : first + each] for first in range(0, len(found), each)]
    return [sorted(group, key=lambda one: -one.score) for group in groups]
