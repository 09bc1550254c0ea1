"""The engine for GPUs: weights in half precision, caches that never move, and a step that is recorded once.

A small model's step is a hundred kernels of a few microseconds: Python could not ask for them as fast as they run, so a
CUDA graph holds them, the search included. Sentences have slots; those of sentences that are done are filled anew every
few steps. Sources of about one length share a recording, which is kept for the next ones.

Shapes: N slots, B hypotheses of each, R = N * B rows, S source and L target tokens at most.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headwise.decode.batching import by_budget
from headwise.decode.engines import cpu
from headwise.decode.engines.device_search import DeviceSearch
from headwise.decode.engines.gpu_model import Caches, GpuModel
from headwise.decode.hypothesis import Hypothesis
from headwise.decode.options import Prefixes, SearchOptions
from headwise.decode.search import no_way_on
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.int8 import Int8Linear
from headwise.nn.kernels import usable_on
from headwise.nn.packing import Packing
from headwise.nn.positions import Rotary

OLD = "needs Triton, and an NVIDIA GPU from 2020 on"

SLOTS = 1024
"""Sentences under way at once, at most ..."""
MANY = 16_384
"""... or four times as many, of so many sentences: larger products, but more idle slots at the end."""
ROWS = 4096
"""Hypotheses of them."""
CACHE = 2**33
"""Bytes that keys and values may take, and no more than half of what is free."""
ROUND = 32
"""Lengths are rounded up to a multiple: few recordings."""
STEPS_AT_ONCE = 4
"""Steps between two looks at what is done."""
ENCODED = 8192
"""Source tokens of the sentences that are encoded together."""
SMALLEST = 64
"""Their number is rounded up to a power of 2: few recordings."""
WARM_UP = 2


def fits(model: nn.Module) -> bool:
    """Whether this engine knows all parts of the model."""
    if not cpu.fits(model) or any(isinstance(part, Int8Linear) for part in model.modules()):
        return False
    translator = cast(EncoderDecoder, model)
    return translator.can_be_packed and not isinstance(translator.target_positions, Rotary)


def why_not(model: nn.Module, device: torch.device) -> str:
    """Why this engine cannot have this model there; empty: it can."""
    if not usable_on(device):
        return OLD
    return "" if fits(model) else "does not know all parts of this model"


def can_search(options: SearchOptions) -> bool:
    """Whether it knows what is asked of the search."""
    return not (options.no_repeat or options.min_length)


class _Run:
    """A search in slots, and the recordings of its step and of its encoder."""

    def __init__(
        self, model: GpuModel, slots: int, source: int, length: int, options: SearchOptions, prefixed: bool
    ) -> None:
        self.model = model
        self.search = DeviceSearch(slots, length, options, model.vocabulary, prefixed, model.device)
        self.caches = Caches(model, slots, options.beam, source, length)
        self._tables = model.tables(source, length + 1)
        self._own = torch.arange(slots * options.beam, dtype=torch.int32, device=model.device)[:, None]
        # In a beam of one each row stems from itself.
        self._stems = self._own.repeat(1, length + 1) if options.beam > 1 else None
        self._recordings: dict[int, torch.cuda.CUDAGraph] = {}
        self._packed: dict[int, Tensor] = {}

    def enter(self, slots: list[int], sources: Sequence[Sequence[int]], limits: list[int], prefixes: Prefixes) -> None:
        for part in by_budget(range(len(sources)), [len(source) for source in sources], ENCODED):
            self._encode([slots[i] for i in part], [sources[i] for i in part])
        self.search.enter(slots, limits, prefixes)

    def _encode(self, slots: list[int], sources: list[Sequence[int]]) -> None:
        """Have the memory of these sources made, in rows as long as one of a few sizes."""
        caches, device, count = self.caches, self.model.device, len(sources)
        lengths = np.fromiter(map(len, sources), np.int64, count)
        total = int(lengths.sum())
        room, sentences = max(SMALLEST, 1 << (total - 1).bit_length()), len(caches.lengths)
        packed = np.full(3 * room + sentences + 1, total)
        ids, places, rows = packed[: 3 * room].reshape(3, room)
        starts = packed[3 * room :]
        starts[:count] = np.cumsum(lengths) - lengths
        ids[:total] = np.fromiter(itertools.chain.from_iterable(sources), np.int64, total)
        places[:total] = np.arange(total) - np.repeat(starts[:count], lengths)
        rows[:total] = np.repeat(np.array(slots) * caches.source, lengths) + places[:total]
        ids[total:], places[total:], rows[total:] = 0, 0, sentences * caches.source  # of no sentence
        if room not in self._packed:
            self._packed[room] = torch.zeros(len(packed), dtype=torch.long, device=device)
        self._packed[room].copy_(_sendable(packed, device), non_blocking=True)
        chosen, sizes = _sendable(np.array((slots, lengths)), device).to(device, non_blocking=True)
        caches.lengths[chosen] = sizes.int()
        self._play(room, lambda: self._remember(room))

    def _remember(self, room: int) -> None:
        """Encode what lies packed, and put the keys and values of each token where its slot has them."""
        ids, places, rows, starts = torch.split(self._packed[room], [room, room, room, len(self.caches.lengths) + 1])
        packing = Packing(starts.int(), places, self.caches.source)
        self.caches.rows.index_copy_(0, rows, self.model.encode(ids, packing, self._tables[0]))

    def step(self) -> None:
        """One token more in all slots."""
        self._play(0, self._step)

    def _step(self) -> None:
        search, stems = self.search, self._stems
        places = search.age
        if stems is not None:
            places = places[:, None].expand(search.tokens.shape).flatten()
            stems.scatter_(1, places[:, None], self._own)
        search.advance(self.model.step(search.tokens.flatten(), places, self._tables[1], self.caches, stems))
        if stems is not None:
            stems.copy_(stems.index_select(0, search.parent_rows()))

    def _play(self, name: int, work: Callable[[], None]) -> None:
        """Do it as it was done and recorded the first time."""
        if self.model.device.type != "cuda":
            work()
            return
        if name not in self._recordings:
            self._recordings[name] = self._record(work)
        self._recordings[name].replay()

    def _record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """What is done while it is recorded is done to slots that hold nothing yet, or is put back."""
        changed = [*(value for value in vars(self.search).values() if isinstance(value, Tensor))]
        changed += [] if self._stems is None else [self._stems]
        before = [value.clone() for value in changed]
        aside = torch.cuda.Stream(self.model.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        for value, old in zip(changed, before, strict=True):
            value.copy_(old)
        return graph


class GpuSearch:
    """Searches with a decoder, any number of sentences at once."""

    def __init__(self, model: EncoderDecoder, dtype: torch.dtype = torch.bfloat16) -> None:
        self.model = GpuModel(model, dtype)
        self._room = min(CACHE, _free_memory(self.model.device) // 2)
        self._runs: dict[tuple[int, int, int, SearchOptions, bool], _Run] = {}
        self._lock = threading.Lock()
        """Slots and recordings are one search's at a time: other threads wait."""

    def __call__(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        device = self.model.device
        # A recording, and Triton, take the current device for the one that is meant.
        here = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
        with self._lock, torch.inference_mode(), here:
            return self._found(sources, limits, options, prefixes)

    def _found(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for members in self._alike(sources):
            prefixed = any(prefixes[i] for i in members)
            run = self._run([sources[i] for i in members], [limits[i] for i in members], options, prefixed)
            for i, hypotheses in self._search(run, members, sources, limits, prefixes):
                if not hypotheses:
                    raise no_way_on()
                found[i] = hypotheses
            del run  # or its caches would be there beside those of the next
        return found

    def _alike(self, sources: Sequence[Sequence[int]]) -> Iterator[list[int]]:
        """Sources whose lengths round up to the same power of 2 times `ROUND`, longest first."""
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        for _, alike in itertools.groupby(order, key=lambda i: _rounded(len(sources[i]))):
            yield list(alike)

    def _run(self, sources: list[Sequence[int]], limits: list[int], options: SearchOptions, prefixed: bool) -> _Run:
        source = _rounded(max(map(len, sources)))
        length = -(-max(limits) // ROUND) * ROUND
        model = self.model
        position = 2 * model.depth * model.own.key_heads * model.own.width * model.dtype.itemsize
        wanted = SLOTS if len(sources) < MANY else 4 * SLOTS
        most = max(1, min(wanted, ROWS // options.beam, self._room // (position * (options.beam * length + source))))
        slots = min(most, 1 << max(0, len(sources) - 1).bit_length())
        key = (slots, source, length, options, prefixed)
        if key not in self._runs:
            self._runs.clear()  # caches are large: those of one run at a time
            self._runs[key] = _Run(model, *key)
        return self._runs[key]

    def _search(
        self, run: _Run, members: list[int], sources: Sequence[Sequence[int]], limits: Sequence[int], prefixes: Prefixes
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        queue = list(reversed(members))
        holds: dict[int, int] = {}
        ends: dict[int, int] = {}  # at which step a slot's sentence is cut off
        free = list(range(run.search.slots))
        steps = 0
        while queue or holds:
            if queue and (len(free) > run.search.slots // 8 or not holds):
                slots = [free.pop() for _ in range(min(len(free), len(queue)))]
                new = [queue.pop() for _ in slots]
                holds.update(zip(slots, new, strict=True))
                ends.update((slot, steps + limits[i]) for slot, i in zip(slots, new, strict=True))
                run.enter(slots, [sources[i] for i in new], [limits[i] for i in new], [prefixes[i] for i in new])
            for _ in range(max(1, min(STEPS_AT_ONCE, min(ends.values()) - steps))):
                run.step()
                steps += 1
            done = run.search.done.tolist()
            over = [slot for slot in holds if done[slot]]
            if not over:
                continue
            for slot, hypotheses in zip(over, run.search.results(over), strict=True):
                del ends[slot]
                yield holds.pop(slot), hypotheses
            free += over


def _free_memory(device: torch.device) -> int:
    """Bytes, with those that PyTorch holds and does not use."""
    if device.type != "cuda":
        return 2 * CACHE
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def _sendable(array: NDArray[np.int64], device: torch.device) -> Tensor:
    """Where a GPU can fetch it while Python goes on."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory() if device.type == "cuda" else tensor


def _rounded(length: int) -> int:
    size = ROUND
    while size < length:
        size *= 2
    return size
