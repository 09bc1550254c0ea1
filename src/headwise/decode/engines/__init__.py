"""What does the arithmetic of a translation: one interface, several ways. `plain` is the oracle of the others.

- plain: the model itself, on any device
- float32: its decoder in few, large operations, for CPUs
- int8: the same with weights in eight bits, in C++ where it can be: smaller, faster, and nearly as good
- gpu: in half precision, a whole step recorded, sentences refilled as they end
- ctranslate2, ctranslate2-int8: the library of that name, for those who deploy with it

PyTorch is loaded by the engines that use it: the native one for int8 does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SamplingOptions, SearchRequest
from headwise.errors import ConfigError
from headwise.models.folder.description import INT8, Description, LoadedModel

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

    from headwise.config import ModelConfig

AUTO = "auto"
ENGINES = ("plain", "float32", "int8", "gpu", "ctranslate2", "ctranslate2-int8")

Say = Callable[[str], None]


class Engine(Protocol):
    """Sentences in, hypotheses out."""

    name: str
    batch_tokens: int
    """Of the sources, times the beam, that it likes to be given at once; 0: as many as a CPU does."""

    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        """The n-best of each source."""
        ...

    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        """The same, drawn at random."""
        ...


@runtime_checkable
class Aligner(Protocol):
    """An engine that can tell by itself what the tokens of a translation looked at."""

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Sequence[NDArray[Any]]:
        """Of each source and its target (ids, from what the decoder is given first on), weights [T, S]."""
        ...


@runtime_checkable
class Holder(Protocol):
    """An engine that keeps memory from one search for the next."""

    def release(self) -> None:
        """Give it back."""
        ...


def native_runs(config: ModelConfig) -> bool:
    """Whether the native engine knows all parts of such a model, and can run here."""
    from headwise.decode.engines.native.describe import fits
    from headwise.decode.engines.native.library import supported

    return fits(config) and supported()


def native_engine(described: Description, weights: Mapping[str, NDArray[Any]]) -> Engine | None:
    """The native engine over weights in int8; None where it cannot do with them."""
    if not native_runs(described.config):
        return None
    from headwise.decode.engines.native.describe import UnknownWeightsError
    from headwise.decode.engines.native.native_engine import NativeEngine
    from headwise.decode.engines.native.native_model import NativeModel

    try:
        return NativeEngine(NativeModel(described.config, weights, described.rows, described.specials.pad))
    except UnknownWeightsError:  # with adapters, for one
        return None


def make_engine(name: str, loaded: LoadedModel, device: torch.device, say: Say = lambda text: None) -> Engine:
    """The engine of this name for a translator on its device; `auto`: the fastest that rounds no weights to integers.

    Weights may be rounded in place. What an engine cannot do here is said, and done by the next best.
    """
    if name not in (AUTO, *ENGINES):
        raise ConfigError(f"no engine {name!r}: there are {', '.join((AUTO, *ENGINES))}")
    from headwise.decode.engines import cpu
    from headwise.decode.engines.decoder_stepper import DecoderStepper
    from headwise.decode.engines.gpu import gpu_search as gpu
    from headwise.decode.engines.stepping import GpuEngine, Stepping
    from headwise.models.folder.weights import weights_of
    from headwise.models.known_parts import unknown_parts
    from headwise.nn import int8

    model: Any = loaded.model
    if name.startswith("ctranslate2"):
        from headwise.decode.engines.ctranslate2 import CTranslate2Engine

        return CTranslate2Engine(loaded, device, "int8" if name.endswith("int8") else "float32")
    if name in ("float32", "int8") and device.type != "cpu":
        raise ConfigError(f"the engine {name} is for CPUs: give --device cpu, or leave out --engine")
    if name == "gpu" and device.type != "cuda":
        raise ConfigError("the engine gpu needs a GPU: leave out --engine")
    if name in ("gpu", AUTO) and device.type == "cuda":
        problem = gpu.why_not(model, device)
        if not problem:
            return GpuEngine(model, device)
        if name == "gpu":
            say(f"the engine gpu {problem}: translating with the model itself")
    rounded = loaded.precision == INT8
    unknown = unknown_parts(model)
    if name == "float32" and rounded:
        raise ConfigError("the weights of this model are int8: translate with the model that it was made of instead")
    if name == "int8" and not rounded and not unknown:
        rounded = int8.is_fast_here()
        if rounded:
            model = int8.to_int8(model)
        else:
            say("this CPU has no instructions for int8 (VNNI): translating in float32")
    elif rounded and not int8.is_fast_here():
        say("this CPU has no instructions for int8 (VNNI): the model that this one was made of suits it better")
    if name != "plain" and device.type == "cpu":
        if rounded and not unknown:
            weights = {each: tensor.detach().numpy() for each, tensor in weights_of(model).items()}
            native = native_engine(loaded.description, weights)
            if native is not None:
                return native
        if cpu.fits(model):
            return Stepping(INT8 if rounded else "float32", cpu.CpuDecoder(model), model.pad, device)
        if name != AUTO:
            what = f"the {', '.join(unknown)}" if unknown else "all parts"
            say(f"the engine {name} does not know {what} of this model: translating with the model itself")
    return Stepping("plain", DecoderStepper(model), model.pad, device)
