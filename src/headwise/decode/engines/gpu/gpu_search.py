"""The search of the GPU engine in CUDA graphs: half precision, caches that never move, one graph per step.

A step of a small model is a hundred kernels of a few microseconds each: Python cannot launch them as fast as they run,
so a CUDA graph holds them, the search included. Sentences have slots; the slots of finished sentences are refilled
every few steps. Sources of similar length share a graph, which is cached for the next request.

Shapes: N slots, B hypotheses of each, R = N * B rows, S source and L target tokens at most.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headwise.decode.engines.gpu.device_search import DeviceSearch, sent
from headwise.decode.engines.gpu.gpu_model import Caches, GpuModel
from headwise.decode.search.hypothesis import Hypothesis, no_next_token
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.known_parts import unknown_parts
from headwise.nn.int8 import Int8Linear
from headwise.nn.kernels.likeliest import MOST
from headwise.nn.masks import Causal
from headwise.nn.packing import Packed
from headwise.nn.positions import Rotary
from headwise.nn.stack import Layer, Stack

TOO_OLD = "needs Triton, and an NVIDIA GPU from 2020 on"

SLOTS = 1024
"""Most sentences that are searched together."""
MANY = 16_384
"""From this many sentences on there are four times as many slots: larger products, but more idle slots at the end."""
ROWS = 4096
"""Most hypotheses that are searched together."""
CACHE = 2**33
"""Most bytes of keys and values, and no more than half of the free memory."""
ROUND = 32
"""Lengths are rounded up to a multiple of this, so that there are few CUDA graphs."""
STEPS_AT_ONCE = 4
"""Steps between two checks for finished sentences."""
ENCODED = 8192
"""Most source tokens that are encoded together. There is a CUDA graph for each power of 2."""
SMALLEST = 64
"""Source tokens of the smallest CUDA graph."""
UNDIVIDED = 2048
"""Up to this many tokens are encoded together, padded to the next larger graph; more in parts that fill theirs."""
RUNS = 8
"""Searches of different shapes whose CUDA graphs are cached."""
WARM_UP = 2
"""Eager passes before the capture of a CUDA graph, which PyTorch requires."""


def knows_all_parts(model: nn.Module) -> bool:
    """Whether the engine can compute all parts of the model, by exact class."""
    if unknown_parts(model) or any(isinstance(part, Int8Linear) for part in model.modules()):
        return False
    if not isinstance(model, EncoderDecoder) or not isinstance(model.decoder, Stack):
        return False
    if not model.can_be_packed or isinstance(model.target_positions, Rotary):
        return False
    return all(
        isinstance(layer, Layer) and type(layer.pattern) is Causal and layer.cross_attention is not None
        for layer in model.decoder.layers
    )


def can_search(options: SearchOptions) -> bool:
    """Whether the search in CUDA graphs supports these options."""
    return not (options.no_repeat or options.min_length)


class _RunShape(NamedTuple):
    """The sizes of a run: sentences, and tokens of a source and of a translation."""

    slots: int
    source: int
    length: int
    options: SearchOptions
    prefixed: bool


class _Run:
    """A search in slots, and the CUDA graphs of its step and of its encoder."""

    def __init__(self, model: GpuModel, shape: _RunShape, size: int) -> None:
        """`size`: its bytes of memory."""
        slots, source, length, options, prefixed = shape
        self.model, self.size = model, size
        self.search = DeviceSearch(slots, length, options, model.vocabulary, prefixed, model.device)
        self.caches = Caches(model, slots, options.beam, source, length)
        self._tables = model.tables(source, length + 1)
        self._own = torch.arange(slots * options.beam, dtype=torch.int32, device=model.device)[:, None]
        # With a beam of 1 the past of each row is its own.
        self._stems = self._own.repeat(1, length + 1) if options.beam > 1 else None
        on_gpu = model.device.type == "cuda"
        self._done = torch.zeros(slots, dtype=torch.bool, pin_memory=on_gpu)
        self._brought = torch.cuda.Event() if on_gpu else None  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle() if on_gpu else None
        """The graphs share this memory: they are replayed one after the other, and leave nothing in it."""
        self._graphs: dict[int, torch.cuda.CUDAGraph] = {}
        """The graph of the step, 0, and the graphs of the encoder, by their number of tokens."""
        self._read: list[Tensor | None] = []
        """Tensors that the graphs read and others own: they must live as long as the graphs do."""
        self._packed: dict[int, Tensor] = {}
        """The inputs of the encoder's graphs."""
        self._encoded_once: set[int] = set()
        """Sizes that the encoder has seen once, without a graph."""

    def enter(self, slots: NDArray[np.int64], request: SearchRequest) -> None:
        """Encode sentences and begin their search in these slots."""
        sources, limits, _, prefixes = request
        lengths = _lengths(sources)
        ends = np.cumsum(lengths)
        borders = [0]
        while borders[-1] < len(sources):
            before = int(ends[borders[-1] - 1]) if borders[-1] else 0
            room = _together(int(ends[-1]) - before)
            borders.append(max(borders[-1] + 1, int(np.searchsorted(ends, before + room, "right"))))
        # The small parts come first: the device has work while Python prepares the others.
        for first, last in reversed(list(itertools.pairwise(borders))):
            self._encode(slots[first:last], sources[first:last], lengths[first:last])
        self.search.enter(slots, limits, prefixes)

    def _encode(self, slots: NDArray[np.int64], sources: Sequence[Sequence[int]], lengths: NDArray[np.int64]) -> None:
        """Encode these sources, padded to one of a few sizes, into the caches of their slots."""
        width, device, count = self.caches.source, self.model.device, len(sources)
        total = int(lengths.sum())
        room, no_slot = max(SMALLEST, 1 << (total - 1).bit_length()), self.search.slots
        packed = np.zeros(sum(self._sections(room)), np.int64)
        ids, positions, rows, starts, owners, sizes = np.split(packed, np.cumsum(self._sections(room))[:-1])
        starts[count:], owners[count:], rows[total:] = total, no_slot, no_slot * width  # padding
        starts[:count], owners[:count], sizes[:count] = np.cumsum(lengths) - lengths, slots, lengths
        ids[:total] = np.fromiter(itertools.chain.from_iterable(sources), np.int64, total)
        positions[:total] = np.arange(total) - np.repeat(starts[:count], lengths)
        rows[:total] = np.repeat(owners[:count] * width, lengths) + positions[:total]
        if room not in self._packed:
            self._packed[room] = torch.zeros(len(packed), dtype=torch.long, device=device)
        self._packed[room].copy_(sent(torch.from_numpy(packed), device))
        if room in self._encoded_once:
            self._replay(room, lambda: self._remember(room))
        else:  # a graph costs as much as four passes: captured for a size that comes back
            self._encoded_once.add(room)
            self._remember(room)

    def _sections(self, room: int) -> list[int]:
        """The sizes of the packed inputs: ids, positions and rows of tokens; starts, slots and lengths of sentences."""
        return [room, room, room, self.search.slots + 1, self.search.slots, self.search.slots]

    def _remember(self, room: int) -> None:
        """Encode the packed inputs, and write the keys and values of each token into the cache of its slot."""
        ids, positions, rows, starts, owners, sizes = torch.split(self._packed[room], self._sections(room))
        packing = Packed(starts.int(), positions, self.caches.source)
        self.caches.remember(rows, self.model.encode(ids, packing, self._tables[0]), owners, sizes)

    def step(self, times: int) -> None:
        """Generate this many tokens in all slots."""
        for _ in range(times):
            self._replay(0, self._step)

    def _step(self) -> None:
        search, stems = self.search, self._stems
        positions = search.age
        if stems is not None:
            positions = positions[:, None].expand(search.tokens.shape).flatten()
            stems.scatter_(1, positions[:, None], self._own)
        search.advance(self.model.step(search.tokens.flatten(), positions, self._tables[1], self.caches, stems))
        if stems is not None:
            stems.copy_(stems.index_select(0, search.parent_rows()))

    def look(self) -> None:
        """Start copying to the host which slots are done by now."""
        self._done.copy_(self.search.done, non_blocking=True)
        if self._brought is not None:
            self._brought.record()

    def seen(self) -> NDArray[np.bool_]:
        """Which slots were done at the last `look`."""
        if self._brought is not None:
            self._brought.synchronize()
        return self._done.numpy()

    def _replay(self, which: int, work: Callable[[], None]) -> None:
        """Replay the CUDA graph of this work, captured at its first use."""
        if self.model.device.type != "cuda":
            work()
            return
        if which not in self._graphs:
            self._graphs[which] = self._capture(work)
        self._graphs[which].replay()

    def _capture(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Capture a CUDA graph. Changes by the warm-up are undone, or, as in the caches, overwritten before a read."""
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
        with torch.cuda.graph(graph, pool=self._pool):
            work()
        self._read.append(self.model.cached_position_table())
        for value, old in zip(changed, before, strict=True):
            value.copy_(old)
        return graph


class GpuSearch:
    """Searches any number of sentences with CUDA graphs."""

    def __init__(self, model: EncoderDecoder, dtype: torch.dtype = torch.bfloat16) -> None:
        self.model = GpuModel(model, dtype)
        self._room = min(CACHE, _free_memory(self.model.device) // 2)
        self._runs: dict[_RunShape, _Run] = {}
        """The last ones, oldest first: capturing graphs takes longer than a short search."""
        self._lock = threading.Lock()
        """Slots and graphs serve one search at a time: other threads wait."""

    def __call__(self, request: SearchRequest) -> list[list[Hypothesis]]:
        request.check()
        device = self.model.device
        # CUDA graphs and Triton use the current device.
        here = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
        with self._lock, torch.inference_mode(), here:
            try:
                return self._found(request)
            except torch.OutOfMemoryError:
                self._runs.clear()  # frees memory for the next request
                raise

    def release(self) -> None:
        """Free the memory of caches and CUDA graphs."""
        with self._lock:
            self._runs.clear()
            if self.model.device.type == "cuda":
                torch.cuda.empty_cache()

    def _found(self, request: SearchRequest) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[]] * len(request.sources)  # each is replaced
        for source, members in _groups(request.sources):
            part = request.select(members)
            run = self._run_for(source, part)
            for sentences, hypotheses in self._search(run, part):
                for i, each in zip(sentences, hypotheses, strict=True):
                    if not each:
                        raise no_next_token()
                    found[members[i]] = each
            del run  # so that its memory can be freed for the next
        return found

    def _run_for(self, source: int, request: SearchRequest) -> _Run:
        """A cached run for this shape, or a new one. `source`: the greatest length of a source."""
        count, length, prefixed = len(request.sources), _length(max(request.limits)), any(request.prefixes)
        options, model = request.options, self.model
        position = 2 * model.depth * model.own.key_heads * model.own.width * model.dtype.itemsize
        # The logits, and the float32 copy that a large beam takes to find the likeliest tokens.
        logits = model.vocabulary * (model.dtype.itemsize + (8 if options.beam + len(options.ends) > MOST else 0))
        of_slot = position * (options.beam * (length + 1) + source) + options.beam * logits
        wanted = SLOTS if count < MANY else 4 * SLOTS
        most = max(1, min(wanted, ROWS // options.beam, self._room // of_slot))
        slots = min(most, 1 << max(0, count - 1).bit_length())
        shape = _RunShape(slots, source, length, options, prefixed)
        run = self._runs.pop(shape, None)
        if run is None:
            # Runs are large: all together may take as much memory as one.
            while self._runs and (len(self._runs) == RUNS or self._taken() + slots * of_slot > self._room):
                del self._runs[next(iter(self._runs))]
            run = _Run(model, shape, slots * of_slot)
        self._runs[shape] = run
        return run

    def _taken(self) -> int:
        return sum(run.size for run in self._runs.values())

    def _search(self, run: _Run, request: SearchRequest) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """Yield sentences with their hypotheses, some at a time."""
        begun, total = 0, len(request.sources)
        holds = np.full(run.search.slots, -1)  # the sentence of each slot, or -1
        ends = np.zeros(run.search.slots, np.int64)  # the step at which its limit is reached
        # Results of the last look: they are converted while the device computes the next steps.
        found: list[tuple[list[int], Callable[[], list[list[Hypothesis]]]]] = []
        steps = 0
        while begun < total or (holds >= 0).any():
            free = np.flatnonzero(holds < 0)
            if begun < total and (len(free) > len(holds) // 8 or len(free) == len(holds)):
                slots = free[: total - begun]
                new = request.between(begun, begun + len(slots))
                holds[slots], ends[slots] = np.arange(begun, begun + len(slots)), steps + np.array(new.limits)
                run.enter(slots, new)
                begun += len(slots)
            busy = holds >= 0
            until_cut = int(ends[busy].min()) - steps
            count = max(1, min(STEPS_AT_ONCE, until_cut))
            after = 1 if until_cut > count else 0  # keeps the device busy while Python looks
            run.step(count - after)
            run.look()
            run.step(after)
            steps += count
            yield from ((sentences, made()) for sentences, made in found)
            over = np.flatnonzero(run.seen() & busy)
            found = [(holds[over].tolist(), run.search.results(over))] if len(over) else []
            holds[over] = -1
        yield from ((sentences, made()) for sentences, made in found)


def _groups(sources: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[int]]]:
    """Groups of sources with lengths that round up to one power of 2 times `ROUND`, and that length; longest first."""
    falling = -_lengths(sources)
    order = np.argsort(falling, kind="stable")
    falling, first = falling[order], 0
    while first < len(order):
        size = _rounded(-int(falling[first]))
        last = int(np.searchsorted(falling, -(size // 2))) if size > ROUND else len(order)
        yield size, order[first:last].tolist()
        first = last


def _together(tokens: int) -> int:
    """The number of tokens to encode next: all if they are few, or else the largest power of 2."""
    return min(ENCODED, tokens if tokens <= UNDIVIDED else 1 << (tokens.bit_length() - 1))


def _lengths(sources: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, sources), np.int64, len(sources))


def _free_memory(device: torch.device) -> int:
    """Free bytes, including those that PyTorch has reserved but does not use."""
    if device.type != "cuda":
        return 2 * CACHE
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def _length(limit: int) -> int:
    """The limit rounded up, so that few graphs serve all limits; long ones by half at most."""
    step = ROUND
    while 4 * step < limit:
        step *= 2
    return -(-limit // step) * step


def _rounded(length: int) -> int:
    size = ROUND
    while size < length:
        size *= 2
    return size
