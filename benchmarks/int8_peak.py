"""The int8 peak of this CPU, measured, and the multiply-adds of a translation, which a rate is compared to."""

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from headwise.decode.engines.native.levels import chosen_level
from headwise.decode.engines.native.library import library
from headwise.models.folder.description import LoadedModel

MEMORY = ("cross_attention.key", "cross_attention.value")
"""Products of the decoder that are computed once per source token."""


@dataclass(frozen=True)
class MultiplyAdds:
    """Multiply-adds of a model's int8 products; those of attention, which are not in int8, are not among them."""

    per_source_token: int
    """In the encoder, and for the keys and values that the decoder attends to."""
    per_step: int
    """In the decoder, the logits of the whole vocabulary included, for one hypothesis."""

    def of(self, source_tokens: int, steps: int) -> int:
        return self.per_source_token * source_tokens + self.per_step * steps


def multiply_adds(loaded: LoadedModel) -> MultiplyAdds:
    """Those of the linear maps of a model, all of which the engine computes in int8."""
    encoder = decoder = 0
    for name, module in loaded.model.named_modules(remove_duplicate=False):
        weight = getattr(module, "weight", None)
        if weight is None or weight.dim() != 2 or name.endswith(("_embedding", "_positions")):
            continue
        if name.startswith("encoder.") or name.endswith(MEMORY):
            encoder += weight.numel()
        else:
            decoder += weight.numel()
    return MultiplyAdds(encoder, decoder)


def measured_peak(threads: int, seconds: float = 0.05) -> float:
    """Multiply-adds per second of the level in use (see peak.h), as many threads as are given, all at once.

    Of CPU time, times the threads: what the threads would reach if no other process took their cores.
    """
    native = library()
    level = list(native.levels).index(chosen_level(native.levels))

    def repeat(times: int) -> int:
        count, total = ctypes.c_int64(), ctypes.c_int32()
        native.call("peak", level, times, ctypes.byref(count), ctypes.byref(total))
        return count.value

    times = 1000
    while (spent := _seconds(repeat, times)) < seconds / 10:
        times *= 4
    times = max(1, round(times * seconds / spent))
    with ThreadPoolExecutor(threads) as pool:
        begun = time.process_time()
        done = sum(pool.map(repeat, [times] * threads))
        return threads * done / (time.process_time() - begun)


def _seconds(repeat: Callable[[int], int], times: int) -> float:
    begun = time.perf_counter()
    repeat(times)
    return time.perf_counter() - begun
