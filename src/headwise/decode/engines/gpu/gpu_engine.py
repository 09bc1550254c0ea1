"""The engine `gpu`: the search in CUDA graphs, and the model itself for options that this search does not support."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from headwise.decode.batching import GPU_BATCH_TOKENS, by_budget
from headwise.decode.engines.gpu.gpu_search import GpuSearch, can_search
from headwise.decode.engines.plain import DecoderState, DecoderStepper, SteppingEngine
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.models.encoder_decoder import EncoderDecoder

REFILLED_TOKENS = 1 << 21
"""Source tokens times beam per request: the more sentences take turns in the slots, the fewer slots are ever empty."""


class GpuEngine(SteppingEngine[DecoderState]):
    """Greedy and beam search in CUDA graphs; sampling and constrained searches through the model itself."""

    def __init__(self, model: EncoderDecoder, device: torch.device) -> None:
        super().__init__("gpu", DecoderStepper(model), model.pad, device)
        self._graph_search = GpuSearch(model)
        self.batch_tokens = REFILLED_TOKENS

    @torch.inference_mode()
    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each source."""
        if can_search(request.options):
            return self._graph_search(request)
        found = [super(GpuEngine, self).search(part) for part in self._parts(request)]
        return [each for part in found for each in part]

    def release(self) -> None:
        """Free the memory of caches and CUDA graphs."""
        self._graph_search.release()

    @torch.inference_mode()
    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        """Hypotheses of each source, sampled from the model's distribution."""
        parts = self._parts(request, sampling.samples)
        found = [super(GpuEngine, self).draw(part, sampling, generator) for part in parts]
        return [each for part in found for each in part]

    def _parts(self, request: SearchRequest, samples: int = 1) -> Iterator[SearchRequest]:
        """The request in parts that the model itself has memory for: a search with refilled slots takes more."""
        costs = [len(source) * max(request.options.beam, samples) for source in request.sources]
        return map(request.select, by_budget(range(len(costs)), costs, GPU_BATCH_TOKENS))
