"""What does the arithmetic of a translation: one interface, several ways. `plain` is the oracle of the others.

- plain: the model itself, on any device
- float32: its decoder in few, large operations, for CPUs
- int8: the same with weights in eight bits, in C++ where it can be: smaller, faster, and nearly as good
- gpu: in half precision, a whole step recorded, sentences refilled as they end
- ctranslate2, ctranslate2-int8: the library of that name, for those who deploy with it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol

import torch
from torch import Tensor

from headwise.decode.batching import padded
from headwise.decode.constraints import Prefixes, SearchOptions
from headwise.decode.engines import cpu, gpu
from headwise.decode.engines.native.decoder import NativeDecoder
from headwise.decode.engines.native.decoder import fits as fits_native
from headwise.decode.engines.native.decoder import supported as has_native
from headwise.decode.hypothesis import Hypothesis
from headwise.decode.sampling import SamplingOptions, sample
from headwise.decode.search import State, Stepper, beam_search
from headwise.decode.stepper import DecoderState, DecoderStepper
from headwise.errors import ConfigError
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.loaded import INT8, LoadedModel
from headwise.nn import int8

AUTO = "auto"
ENGINES = ("plain", "float32", "int8", "gpu", "ctranslate2", "ctranslate2-int8")

Say = Callable[[str], None]


class Engine(Protocol):
    """Sentences in, hypotheses out."""

    name: str

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        """The n-best of each source (ids), of at most `limits` tokens, beginning with `prefixes`."""
        ...

    def draw(
        self,
        sources: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: SearchOptions,
        prefixes: Prefixes,
        sampling: SamplingOptions,
        generator: torch.Generator,
    ) -> list[list[Hypothesis]]:
        """The same, drawn at random."""
        ...


class Starter(Stepper[State], Protocol):
    """What a search goes through step by step, from sources on."""

    def start(self, source: Tensor) -> State:
        """The state before the first token of sources [N, S]."""
        ...


class Stepping(Generic[State]):
    """An engine whose search is ours."""

    def __init__(self, name: str, stepper: Starter[State], pad: int, device: torch.device) -> None:
        self.name, self.stepper = name, stepper
        self._pad, self._device = pad, device

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        return beam_search(self.stepper, *self._start(sources, limits), options, prefixes)

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
        self._recorded = gpu.GpuSearch(model) if gpu.fits(model) else None

    def search(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        if self._recorded is None or not gpu.can_search(options):
            return super().search(sources, limits, options, prefixes)
        return self._recorded(sources, limits, options, prefixes)


def make_engine(name: str, loaded: LoadedModel, device: torch.device, say: Say = lambda text: None) -> Engine:
    """The engine of this name for a translator on its device; `auto`: the fastest that gives the model's own results.

    Weights may be rounded in place. What an engine cannot do here is said, and done by the next best.
    """
    if name not in (AUTO, *ENGINES):
        raise ConfigError(f"no engine {name!r}: there are {', '.join((AUTO, *ENGINES))}")
    model: Any = loaded.model
    if name.startswith("ctranslate2"):
        from headwise.decode.engines.ctranslate2 import CTranslate2Engine

        return CTranslate2Engine(loaded, device, "int8" if name.endswith("int8") else "float32")
    if name in ("float32", "int8") and device.type != "cpu":
        raise ConfigError(f"the engine {name} is for CPUs: give --device cpu, or leave out --engine")
    if name == "gpu":
        if device.type != "cuda":
            raise ConfigError("the engine gpu needs a GPU: leave out --engine")
        if not gpu.fits(model):
            say("the engine gpu does not know all parts of this model: translating with the model itself")
        return GpuEngine(model, device)
    rounded = loaded.precision == INT8
    if name == "float32" and rounded:
        raise ConfigError("the weights of this model are int8: translate with the model that it was made of instead")
    if name == "int8" and not rounded:
        rounded = int8.is_fast_here()
        if rounded:
            model = int8.to_int8(model)
        else:
            say("this CPU has no instructions for int8 (VNNI): translating in float32")
    elif rounded and not int8.is_fast_here():
        say("this CPU has no instructions for int8 (VNNI): the model that this one was made of suits it better")
    if name != "plain" and device.type == "cpu":
        if rounded and has_native() and fits_native(model):
            return Stepping(INT8, NativeDecoder(model), model.pad, device)
        if cpu.fits(model):
            return Stepping(INT8 if rounded else "float32", cpu.CpuDecoder(model), model.pad, device)
        if name != AUTO:
            say(f"the engine {name} does not know all parts of this model: translating with the model itself")
    return Stepping("plain", DecoderStepper(model), model.pad, device)
