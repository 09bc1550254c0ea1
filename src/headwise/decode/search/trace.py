"""The live hypotheses of a running search."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchOptions


@dataclass(frozen=True, eq=False)
class Trace:
    """The hypotheses of all rows of a running search. Rows start together, so all have the same length."""

    tokens: Tensor  # [R, T]
    totals: Tensor  # [R], the running sum of log-probabilities, so that ranking and reporting use the same float

    @classmethod
    def empty(cls, rows: int, device: torch.device) -> Trace:
        """Rows without a token."""
        return cls(torch.empty(rows, 0, dtype=torch.long, device=device), torch.zeros(rows, device=device))

    def select(self, rows: Tensor) -> Trace:
        """These rows in this order; rows may repeat or be left out."""
        return Trace(self.tokens.index_select(0, rows), self.totals.index_select(0, rows))

    def extend(self, tokens: Tensor, log_probabilities: Tensor) -> Trace:
        """One more token [R] per row, with its log-probability [R]."""
        return Trace(torch.cat([self.tokens, tokens.unsqueeze(1)], dim=1), self.totals + log_probabilities)

    def hypotheses(self, options: SearchOptions) -> list[Hypothesis]:
        """All rows as plain values: the only place where a search's tensors become lists."""
        found = []
        for tokens, total in zip(self.tokens.tolist(), self.totals.tolist(), strict=True):
            finished = tokens[-1] in options.ends
            found.append(
                Hypothesis(
                    tokens=tokens[:-1] if finished else tokens,
                    score=options.score(total, len(tokens)),
                    log_probability=total,
                    finished=finished,
                )
            )
        return found
