"""The engine `int8` in C++; options that its search does not support go to the search in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwise.decode.alignment import AlignmentHead
from headwise.decode.engines.native.describe import UnknownWeightsError, native_fits
from headwise.decode.engines.native.library import supported
from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.decode.shortlist.shortlists import Allowed
from headwise.extras import require
from headwise.models.folder.description import INT8

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from headwise.config import ModelConfig
    from headwise.decode.engines.native.native_decoder import NativeSteppingEngine
    from headwise.models.folder.description import Description


class NativeEngine:
    """Greedy and beam search in C++, without PyTorch."""

    name = INT8
    batch_tokens = 0

    def __init__(self, model: NativeModel) -> None:
        self.model = model

    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each source."""
        if request.options.no_repeat:
            return self.stepping().search(request)
        return self.model.search(request)

    def search_within(self, request: SearchRequest, allowed: Sequence[Allowed]) -> list[list[Hypothesis]]:
        """`search` with the allowed tokens of each sentence alone (see `shortlist`)."""
        if request.options.no_repeat:
            return self.stepping().search_within(request, allowed)
        return self.model.search(request, allowed)

    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, sampled from the model's distribution."""
        return self.stepping().draw(request, sampling, generator)

    def attention(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], head: AlignmentHead = ()
    ) -> list[NDArray[np.float32]]:
        """Cross-attention weights [T, S] of each source and target: see `NativeModel.attention`."""
        return self.model.attention(sources, targets, head)

    def next_tokens(self, source: Sequence[int], target: Sequence[int]) -> NDArray[np.float32]:
        """Log-probabilities [T, V] of the token after each one of `target`."""
        return self.model.next_tokens(source, target)

    def stepping(self) -> NativeSteppingEngine:
        """The native decoder under the search in Python, for options that the C++ search does not support."""
        require("torch", "sampling, or no_repeat,")
        from headwise.decode.engines.native.native_decoder import NativeSteppingEngine  # loads PyTorch

        return NativeSteppingEngine(self.name, self.model)


def native_runs(config: ModelConfig) -> bool:
    """Whether the native engine knows a model of this config and can run here."""
    return native_fits(config) and supported()


def native_engine(described: Description, weights: Mapping[str, NDArray[Any]]) -> NativeEngine | None:
    """The native engine over int8 weights; None where it cannot use them."""
    if not native_runs(described.config):
        return None
    try:
        return NativeEngine(NativeModel(described.config, weights, described.rows, described.specials.pad))
    except UnknownWeightsError:  # LoRA adapters, for example
        return None
