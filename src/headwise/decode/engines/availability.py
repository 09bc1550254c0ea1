"""Which engines can run on this machine, and why the others cannot."""

from importlib.metadata import PackageNotFoundError, version

import torch

from headwise.decode.engines import ENGINES
from headwise.decode.engines.gpu.gpu_search import OLD
from headwise.decode.engines.native.library import why_not
from headwise.nn import int8
from headwise.nn.kernels import usable_on

YES, NO = "yes", "no: "


def availability() -> dict[str, str]:
    """For each engine `yes`, maybe with how, or `no: ` and why. In a checkout, the first call may compile the native
    one, as the first translation would."""
    exported = _ctranslate2()
    found = {
        "plain": YES,
        "float32": f"{YES}, on the CPU",
        "int8": _int8(),
        "gpu": _gpu(),
        "ctranslate2": exported,
        "ctranslate2-int8": exported,
    }
    return {name: found[name] for name in ENGINES}


def _int8() -> str:
    """The native one, or the same in PyTorch's operations, which need the same instructions."""
    reason = why_not()
    if not reason:
        return f"{YES}, on the CPU, in C++"
    if int8.is_fast_here():
        return f"{YES}, on the CPU, but slower without the native one ({_line(reason)})"
    return f"{NO}this CPU has no instructions for int8 (VNNI)"


def _gpu() -> str:
    if torch.cuda.is_available():
        old = "" if usable_on(torch.device("cuda")) else f"{NO}it {OLD}"
        return old or f"{YES}, {torch.cuda.get_device_name()}"
    if torch.version.cuda is None:
        return f"{NO}this PyTorch is built without CUDA"
    return f"{NO}PyTorch finds no NVIDIA GPU"


def _ctranslate2() -> str:
    try:
        return f"{YES}, CTranslate2 {version('ctranslate2')}"
    except PackageNotFoundError:
        return f"{NO}the package ctranslate2 is not installed: pip install 'headwise[export]'"


def _line(reason: str) -> str:
    """A compiler may say more than one."""
    return reason.strip().splitlines()[0] if reason.strip() else "unknown"
