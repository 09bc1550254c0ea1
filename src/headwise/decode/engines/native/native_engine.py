"""The native engine as a translator sees it: it searches by itself, and what it does not know it does in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.decode.shortlist.table import Allowed
from headwise.models.folder.description import INT8

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from headwise.decode.engines.native.native_decoder import State
    from headwise.decode.engines.stepping import Stepping


class NativeEngine:
    """Greedy and beam search in C++."""

    name = INT8
    batch_tokens = 0
    restricts = True

    def __init__(self, model: NativeModel) -> None:
        self.model = model

    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        if request.options.no_repeat:
            return self.stepping().search(request)
        return self.model.search(request)

    def search_within(self, request: SearchRequest, allowed: Sequence[Allowed]) -> list[list[Hypothesis]]:
        """As `search`, each sentence with the tokens that it is allowed (see `shortlist`)."""
        if request.options.no_repeat:
            return self.stepping().search_within(request, allowed)
        return self.model.search(request, allowed)

    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        return self.stepping().draw(request, sampling, generator)

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float32]]:
        return self.model.attention(sources, targets)

    def stepping(self) -> Stepping[State]:
        """The same model, asked step by step: loads PyTorch."""
        import torch

        from headwise.decode.engines.native.native_decoder import NativeDecoder
        from headwise.decode.engines.stepping import Stepping

        return Stepping(self.name, NativeDecoder(self.model), self.model.pad, torch.device("cpu"))
