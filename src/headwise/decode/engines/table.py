"""The table of engines: their names, the devices they run on, and how they are built.

A new engine is one row of `ENGINES`: `make_engine`, `availability` (`headwise info`) and the help of `--engine` are
generated from it, and a test holds docs/engines.md to it. Imports are made where they are needed, because the command
line reads this table before anything heavy is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headwise.errors import ConfigError
from headwise.extras import command_for, installed

if TYPE_CHECKING:
    import torch

    from headwise.config import ModelConfig
    from headwise.decode.engines.engine import Engine
    from headwise.models.folder.description import LoadedModel

AUTO = "auto"
AUTO_HELP = "the fastest that keeps the weights as they are"
YES, NO = "yes", "no: "
NO_TORCH = f"{NO}it needs PyTorch: {command_for('torch')}"
SLOW_INT8 = "without the native engine, a CPU needs instructions for int8 (VNNI)"

Say = Callable[[str], None]
"""Receives notes about what is not possible here."""


class NotUsableError(Exception):
    """An engine cannot take a model or run here; the message completes "the engine NAME ..."."""


@dataclass(frozen=True)
class EngineRow:
    """One engine."""

    help: str
    """One line for `--help`."""
    device: str
    """The type of device that it is for; empty: any."""
    build: Callable[[LoadedModel, torch.device], Engine]
    """Raises a `NotUsableError` where it cannot; may change the weights of the model in place."""
    available: Callable[[], str]
    """Whether it runs on this machine: `YES` and how, or `NO` and why not."""


def make_engine(name: str, loaded: LoadedModel, device: torch.device, say: Say = lambda text: None) -> Engine:
    """The engine of this name for a model on its device; `auto`: the fastest that keeps the weights as they are.

    An engine that cannot be built here is reported to `say` and replaced by `plain`. Weights may be quantised in place.
    """
    from headwise.models.folder.description import INT8

    check_engine(name)
    row = ENGINES[_fastest(loaded, device) if name == AUTO else name]
    if row.device and device.type != row.device:
        where = "is for CPUs: give --device cpu, or" if row.device == "cpu" else "needs a GPU:"
        raise ConfigError(f"the engine {name} {where} leave out --engine")
    if loaded.description.precision == INT8 and not _int8_is_fast(loaded.config):
        say(f"{SLOW_INT8}: a float32 model, if there is one, is faster here")
    try:
        return row.build(loaded, device)
    except NotUsableError as error:
        if name != AUTO:
            say(f"the engine {name} {error}: translating with the model itself")
        return _plain(loaded, device)


def check_engine(name: str) -> None:
    """Raise an error if no engine has this name."""
    if name not in (AUTO, *ENGINES):
        raise ConfigError(f"no engine {name!r}: there are {', '.join((AUTO, *ENGINES))}")


def availability() -> dict[str, str]:
    """For each engine `yes`, maybe with how, or `no: ` and why. In a checkout, the first call may compile the native
    engine, as the first translation would."""
    return {name: row.available() for name, row in ENGINES.items()}


def engine_help() -> str:
    """The help text of `--engine`."""
    rows = (f"{name}: {row.help}" for name, row in ENGINES.items())
    return f"what computes the translation. {AUTO} (default): {AUTO_HELP}; {'; '.join(rows)}"


def _fastest(loaded: LoadedModel, device: torch.device) -> str:
    """The engine that `auto` stands for."""
    if device.type == "cuda":
        return "gpu"
    return "int8" if loaded.description.precision == "int8" else "plain"


def _plain(loaded: LoadedModel, device: torch.device) -> Engine:
    from headwise.decode.engines.plain import plain_engine

    model: Any = loaded.model
    return plain_engine(model, device)


def _int8_is_fast(config: ModelConfig) -> bool:
    """Whether the native engine takes a model of this config here, or PyTorch has instructions for it."""
    from headwise.decode.engines.native.native_engine import native_runs
    from headwise.nn import int8

    return native_runs(config) or int8.is_fast_here()


def _int8(loaded: LoadedModel, device: torch.device) -> Engine:
    """The native engine, or where it cannot run or does not know the model's shape, the int8 model in PyTorch."""
    from headwise.decode.engines.native.native_engine import native_engine
    from headwise.decode.engines.plain import plain_engine
    from headwise.models.folder.description import INT8
    from headwise.models.folder.weights import weights_of
    from headwise.nn import int8

    model: Any = loaded.model
    _refuse_unknown_parts(model)
    if loaded.description.precision != INT8:
        if not _int8_is_fast(loaded.config):
            raise NotUsableError("needs a CPU with instructions for int8 (VNNI) for this model")
        model = int8.to_int8(model)
    weights = {name: tensor.detach().numpy() for name, tensor in weights_of(model).items()}
    return native_engine(loaded.description, weights) or plain_engine(model, device, INT8)


def _gpu(loaded: LoadedModel, device: torch.device) -> Engine:
    from headwise.decode.engines.gpu.gpu_engine import GpuEngine
    from headwise.decode.engines.gpu.gpu_search import TOO_OLD, knows_all_parts
    from headwise.nn.kernels import usable_on

    model: Any = loaded.model
    if not usable_on(device):
        raise NotUsableError(TOO_OLD)
    _refuse_unknown_parts(model)
    if not knows_all_parts(model):
        raise NotUsableError("does not know all parts of this model")
    return GpuEngine(model, device)


def _refuse_unknown_parts(model: Any) -> None:
    from headwise.models.known_parts import unknown_parts

    unknown = unknown_parts(model)
    if unknown:
        raise NotUsableError(f"does not know the {', '.join(unknown)} of this model")


def _plain_available() -> str:
    return YES if installed("torch") else NO_TORCH


def _int8_available() -> str:
    from headwise.decode.engines.native.levels import described
    from headwise.decode.engines.native.library import library, why_not

    reason = why_not()
    if not reason:
        return f"{YES}, on the CPU, in C++ ({described(library().levels)})"
    if not installed("torch"):
        return f"{NO}{reason}"
    from headwise.nn import int8

    if int8.is_fast_here():
        return f"{YES}, on the CPU, but slower without the native engine ({reason})"
    return f"{NO}{SLOW_INT8} ({reason})"


def _gpu_available() -> str:
    if not installed("torch"):
        return NO_TORCH
    import torch

    from headwise.decode.engines.gpu.gpu_search import TOO_OLD
    from headwise.nn.kernels import usable_on

    if torch.cuda.is_available():
        name = torch.cuda.get_device_name()
        return f"{YES}, {name}" if usable_on(torch.device("cuda")) else f"{NO}it {TOO_OLD}"
    if torch.version.cuda is None:
        return f"{NO}this PyTorch is built without CUDA"
    return f"{NO}PyTorch finds no NVIDIA GPU"


ENGINES: dict[str, EngineRow] = {
    "plain": EngineRow("the model itself, on any device", "", _plain, _plain_available),
    "int8": EngineRow("weights in int8, on a CPU: smaller and faster", "cpu", _int8, _int8_available),
    "gpu": EngineRow("bfloat16 in CUDA graphs, on an NVIDIA GPU", "cuda", _gpu, _gpu_available),
}
