"""Engines whose search is ours (`headwise.decode.search`): what they have of their own is the step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, runtime_checkable

import torch
from torch import Tensor

from headwise.decode.batching import GPU_BATCH_TOKENS, by_budget, padded
from headwise.decode.engines import gpu
from headwise.decode.hypothesis import Hypothesis
from headwise.decode.options import Prefixes, SamplingOptions, SearchOptions
from headwise.decode.sampling import sample
from headwise.decode.search import State, Stepper, beam_search
from headwise.decode.shortlist import Allowed
from headwise.decode.stepper import DecoderState, DecoderStepper
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
    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        return beam_search(self.stepper, *self._start(sources, limits), options, prefixes)

    @property
    def restricts(self) -> bool:
        return isinstance(self.stepper, Restrictable)

    @torch.inference_mode()
    def search_within(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        prefixes: Prefixes,
        allowed: Sequence[Allowed],
    ) -> list[list[Hypothesis]]:
        assert isinstance(self.stepper, Restrictable)
        state, lengths = self._start(sources, limits)
        return beam_search(self.stepper, self.stepper.restrict(state, allowed), lengths, options, prefixes)

    @torch.inference_mode()
    def draw(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        prefixes: Prefixes,
        sampling: SamplingOptions,
        generator: torch.Generator,
    ) -> list[list[Hypothesis]]:
        return sample(self.stepper, *self._start(sources, limits), options, sampling, prefixes, generator)

    def _start(self, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> tuple[State, Tensor]:
        state = self.stepper.start(padded(sources, self._pad, self._device))
        return state, torch.tensor(limits, device=self._device)


class GpuEngine(Stepping[DecoderState]):
    """The recorded search, and the model itself for what that does not know."""

    def __init__(self, model: EncoderDecoder, device: torch.device) -> None:
        super().__init__("gpu", DecoderStepper(model), model.pad, device)
        self._recorded = gpu.GpuSearch(model)
        self.batch_tokens = REFILLED_TOKENS

    @torch.inference_mode()
    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        if gpu.can_search(options):
            return self._recorded(sources, limits, options, prefixes)
        found = [super(GpuEngine, self).search(*part) for part in self._parts(sources, limits, options, prefixes)]
        return [each for part in found for each in part]

    def release(self) -> None:
        """Give back the memory of caches and recordings."""
        self._recorded.release()

    @torch.inference_mode()
    def draw(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        prefixes: Prefixes,
        sampling: SamplingOptions,
        generator: torch.Generator,
    ) -> list[list[Hypothesis]]:
        parts = self._parts(sources, limits, options, prefixes, sampling.samples)
        found = [super(GpuEngine, self).draw(*part, sampling, generator) for part in parts]
        return [each for part in found for each in part]

    def _parts(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        prefixes: Prefixes,
        samples: int = 1,
    ) -> Iterator[tuple[list[Sequence[int]], list[int], SearchOptions, list[Sequence[int]]]]:
        """As many sentences at once as the model itself has the memory for: those of a refilled search are far more."""
        costs = [len(source) * max(options.beam, samples) for source in sources]
        for part in by_budget(range(len(sources)), costs, GPU_BATCH_TOKENS):
            yield [sources[i] for i in part], [limits[i] for i in part], options, [prefixes[i] for i in part]
