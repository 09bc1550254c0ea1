"""A model small enough to enumerate: a random distribution for each prefix, and brute force over all."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headwise.decode.search.hypothesis import length_penalty
from headwise.decode.search.options import SearchOptions

SOS, EOS = 0, 1
Found = tuple[list[int], float, bool]  # tokens, score, finished
State = list[tuple[int, ...]]  # each row: the sentence's seed, then the tokens so far


@dataclass
class TableModel:
    """Log-probabilities of the next token by (sentence, prefix), drawn when first asked for."""

    vocabulary: int = 5
    sharpness: float = 1.5
    device: str = "cpu"
    steps: list[int] = field(default_factory=list)  # rows of each step, to see the batch shrink
    table: dict[tuple[int, ...], Tensor] = field(default_factory=dict)

    def start(self, *sentences: int) -> State:
        return [(sentence,) for sentence in sentences]

    def row(self, prefix: tuple[int, ...]) -> Tensor:
        if prefix not in self.table:
            generator = torch.Generator().manual_seed(hash(prefix) % 2**63)
            logits = self.sharpness * torch.randn(self.vocabulary, generator=generator)
            self.table[prefix] = logits.log_softmax(-1)
        return self.table[prefix]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        assert len(state) == len(tokens)
        self.steps.append(len(tokens))
        state = [(*prefix, token) for prefix, token in zip(state, tokens.tolist(), strict=True)]
        return torch.stack([self.row(prefix) for prefix in state]).to(self.device), state

    def select(self, state: State, rows: Tensor) -> State:
        return [state[row] for row in rows.tolist()]


def repeats(tokens: list[int], size: int) -> bool:
    grams = [tuple(tokens[place : place + size]) for place in range(len(tokens) - size + 1)]
    return len(grams) != len(set(grams))


def may_follow(tokens: list[int], token: int, options: SearchOptions, prefix: list[int]) -> bool:
    """The rules of a search, said slowly; without the way out of being stuck."""
    if len(tokens) < len(prefix):
        return token == prefix[len(tokens)]
    if token == EOS:
        return len(tokens) >= options.min_length
    size = options.no_repeat
    grams = [tokens[place : place + size] for place in range(len(tokens) - size + 1)]
    return token not in options.forbidden and not (size and [*tokens, token][-size:] in grams)


def slow_beam(
    model: TableModel, sentence: int, limit: int, options: SearchOptions, prefix: list[int], beam: int | None
) -> list[Found]:
    """Beam search by its definition, one sentence, no early stop; without a beam (None) it is brute force."""
    ended: list[Found] = []
    live: list[tuple[list[int], float]] = [([], 0.0)]
    for length in range(1, limit + 1):
        longer = [
            ([*tokens, token], float(torch.tensor(total) + log_probability))  # float32, as the search adds
            for tokens, total in live
            for token, log_probability in enumerate(model.row((sentence, SOS, *tokens)))
            if may_follow(tokens, token, options, prefix)
        ]
        longer.sort(key=lambda one: -one[1])
        for tokens, total in longer[:beam]:
            if tokens[-1] == EOS:
                ended.append((tokens[:-1], length_penalty(total, length, options.length_penalty), True))
        live = [one for one in longer if one[0][-1] != EOS][:beam]
    ended.sort(key=lambda one: -one[1])
    cut = [(tokens, length_penalty(total, limit, options.length_penalty), False) for tokens, total in live]
    return [*ended, *cut][: options.nbest]


def is_close(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-5)
