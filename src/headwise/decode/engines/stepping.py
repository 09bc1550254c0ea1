"""Engines whose search is ours (`headwise.decode.search.beam`): what they have of their own is the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, runtime_checkable

import torch
from torch import Tensor

from headwise.decode.batching import GPU_BATCH_TOKENS, by_budget, padded
from headwise.decode.engines.decoder_stepper import DecoderState, DecoderStepper
from headwise.decode.engines.gpu import gpu_search as gpu
from headwise.decode.search.beam import State, Stepper, beam_search
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.decode.search.sampling import sample
from headwise.decode.shortlist.table import Allowed
from headwise.models.encoder_decoder import EncoderDecoder

REFILLED_TOKENS = 1 << 21
"""Of sentences that take turns in the slots of a search: the more there are, the fewer slots are ever empty."""


class Starter(Stepper[State], Protocol):
    """What a search goes through step by step, from sources on."""

    def start(self, source: Tensor) -> State:
        """The state before the first token of sources [N, S]."""
        ...


@runtime_checkable
class Restrictable(Starter[State], Protocol):
    """One that can leave tokens out."""

    def restrict(self, state: State, allowed: Sequence[Allowed]) -> State:
        """Only these tokens in each sentence, in a state before the first token."""
        ...


class Stepping(Generic[State]):
    """An engine whose search is ours."""

    def __init__(self, name: str, stepper: Starter[State], pad: int, device: torch.device) -> None:
        self.name, self.stepper = name, stepper
        self.batch_tokens = GPU_BATCH_TOKENS if device.type == "cuda" else 0
        self._pad, self._device = pad, device

    @torch.inference_mode()
    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        return beam_search(self.stepper, *self._start(request), request.options, request.prefixes)

    @property
    def restricts(self) -> bool:
        return isinstance(self.stepper, Restrictable)

    @torch.inference_mode()
    def search_within(self, request: SearchRequest, allowed: Sequence[Allowed]) -> list[list[Hypothesis]]:
        assert isinstance(self.stepper, Restrictable)
        state, limits = self._start(request)
        state = self.stepper.restrict(state, allowed)
        return beam_search(self.stepper, state, limits, request.options, request.prefixes)

    @torch.inference_mode()
    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        return sample(self.stepper, *self._start(request), request.options, sampling, request.prefixes, generator)

    def _start(self, request: SearchRequest) -> tuple[State, Tensor]:
        state = self.stepper.start(padded(request.sources, self._pad, self._device))
        return state, torch.tensor(request.limits, device=self._device)


class GpuEngine(Stepping[DecoderState]):
    """The recorded search, and the model itself for what that does not know."""

    def __init__(self, model: EncoderDecoder, device: torch.device) -> None:
        super().__init__("gpu", DecoderStepper(model), model.pad, device)
        self._recorded = gpu.GpuSearch(model)
        self.batch_tokens = REFILLED_TOKENS

    @torch.inference_mode()
    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        if gpu.can_search(request.options):
            return self._recorded(request)
        found = [super(GpuEngine, self).search(part) for part in self._parts(request)]
        return [each for part in found for each in part]

    def release(self) -> None:
        """Give back the memory of caches and recordings."""
        self._recorded.release()

    @torch.inference_mode()
    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        parts = self._parts(request, sampling.samples)
        found = [super(GpuEngine, self).draw(part, sampling, generator) for part in parts]
        return [each for part in found for each in part]

    def _parts(self, request: SearchRequest, samples: int = 1) -> Iterator[SearchRequest]:
        """As many sentences at once as the model itself has the memory for: those of a refilled search are far more."""
        costs = [len(source) * max(request.options.beam, samples) for source in request.sources]
        return map(request.select, by_budget(range(len(costs)), costs, GPU_BATCH_TOKENS))
