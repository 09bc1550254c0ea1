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
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headwise.decode.engines.gpu.device_search import DeviceSearch, sent
from headwise.decode.engines.gpu.gpu_model import Caches, GpuModel
from headwise.decode.search.hypothesis import Hypothesis, no_way_on
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
"""Source tokens of the sentences that are encoded together, at most. Each power of 2 has a recording."""
SMALLEST = 64
"""The smallest recording."""
UNDIVIDED = 2048
"""So few tokens are encoded at once, in the next larger recording; more in parts that fill theirs."""
RUNS = 8
"""Searches of different shapes whose recordings are kept."""
WARM_UP = 2


def knows_all_parts(model: nn.Module) -> bool:
    """Whether the engine knows all parts of the model, by exact class."""
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
    """Whether the search in CUDA graphs knows these options."""
    return not (options.no_repeat or options.min_length)


class _Asked(NamedTuple):
    """What a run has to have room for: sentences, and tokens of a source and of a translation."""

    slots: int
    source: int
    length: int
    options: SearchOptions
    prefixed: bool


class _Run:
    """A search in slots, and the recordings of its step and of its encoder."""

    def __init__(self, model: GpuModel, asked: _Asked, size: int) -> None:
        """`size`: the bytes that it takes."""
        slots, source, length, options, prefixed = asked
        self.model, self.size = model, size
        self.search = DeviceSearch(slots, length, options, model.vocabulary, prefixed, model.device)
        self.caches = Caches(model, slots, options.beam, source, length)
        self._tables = model.tables(source, length + 1)
        self._own = torch.arange(slots * options.beam, dtype=torch.int32, device=model.device)[:, None]
        # In a beam of one each row stems from itself.
        self._stems = self._own.repeat(1, length + 1) if options.beam > 1 else None
        on_gpu = model.device.type == "cuda"
        self._done = torch.zeros(slots, dtype=torch.bool, pin_memory=on_gpu)
        self._brought = torch.cuda.Event() if on_gpu else None  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle() if on_gpu else None
        """Recordings are played one after the other, and leave nothing in it."""
        self._recordings: dict[int, torch.cuda.CUDAGraph] = {}
        """Of the step, 0, and of the encoder, by how many tokens it takes."""
        self._read: list[Tensor | None] = []
        """What recordings read and others own: it has to stay where it is as long as they do."""
        self._packed: dict[int, Tensor] = {}

    def enter(self, slots: NDArray[np.int64], request: SearchRequest) -> None:
        sources, limits, _, prefixes = request
        lengths = _lengths(sources)
        ends = np.cumsum(lengths)
        borders = [0]
        while borders[-1] < len(sources):
            before = int(ends[borders[-1] - 1]) if borders[-1] else 0
            room = _together(int(ends[-1]) - before)
            borders.append(max(borders[-1] + 1, int(np.searchsorted(ends, before + room, "right"))))
        # The small parts come first: the device has work while Python makes the others.
        for first, last in reversed(list(itertools.pairwise(borders))):
            self._encode(slots[first:last], sources[first:last], lengths[first:last])
        self.search.enter(slots, limits, prefixes)

    def _encode(self, slots: NDArray[np.int64], sources: Sequence[Sequence[int]], lengths: NDArray[np.int64]) -> None:
        """Have the memory of these sources made, in rows as long as one of a few sizes."""
        width, device, count = self.caches.source, self.model.device, len(sources)
        total = int(lengths.sum())
        room, no_slot = max(SMALLEST, 1 << (total - 1).bit_length()), self.search.slots
        packed = np.zeros(sum(self._sections(room)), np.int64)
        ids, places, rows, starts, owners, sizes = np.split(packed, np.cumsum(self._sections(room))[:-1])
        starts[count:], owners[count:], rows[total:] = total, no_slot, no_slot * width  # of no sentence
        starts[:count], owners[:count], sizes[:count] = np.cumsum(lengths) - lengths, slots, lengths
        ids[:total] = np.fromiter(itertools.chain.from_iterable(sources), np.int64, total)
        places[:total] = np.arange(total) - np.repeat(starts[:count], lengths)
        rows[:total] = np.repeat(owners[:count] * width, lengths) + places[:total]
        if room not in self._packed:
            self._packed[room] = torch.zeros(len(packed), dtype=torch.long, device=device)
        self._packed[room].copy_(sent(torch.from_numpy(packed), device))
        self._play(room, lambda: self._remember(room))

    def _sections(self, room: int) -> list[int]:
        """Of what is packed: ids, places and rows of tokens; starts of sentences, their slots and lengths."""
        return [room, room, room, self.search.slots + 1, self.search.slots, self.search.slots]

    def _remember(self, room: int) -> None:
        """Encode what lies packed, and put the keys and values of each token where its slot has them."""
        ids, places, rows, starts, owners, sizes = torch.split(self._packed[room], self._sections(room))
        packing = Packed(starts.int(), places, self.caches.source)
        self.caches.remember(rows, self.model.encode(ids, packing, self._tables[0]), owners, sizes)

    def step(self, times: int) -> None:
        """So many tokens more in all slots."""
        for _ in range(times):
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

    def look(self) -> None:
        """Have it brought over which slots are done by now."""
        self._done.copy_(self.search.done, non_blocking=True)
        if self._brought is not None:
            self._brought.record()

    def seen(self) -> NDArray[np.bool_]:
        """Which slots were done at the last look."""
        if self._brought is not None:
            self._brought.synchronize()
        return self._done.numpy()

    def _play(self, which: int, work: Callable[[], None]) -> None:
        """Do it as it was done and recorded the first time."""
        if self.model.device.type != "cuda":
            work()
            return
        if which not in self._recordings:
            self._recordings[which] = self._record(work)
        self._recordings[which].replay()

    def _record(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """What is done while it is recorded is put back, or, as in the caches, done again before it is read."""
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
        self._read.append(self.model.kept_table())
        for value, old in zip(changed, before, strict=True):
            value.copy_(old)
        return graph


class GpuSearch:
    """Searches with a decoder, any number of sentences at once."""

    def __init__(self, model: EncoderDecoder, dtype: torch.dtype = torch.bfloat16) -> None:
        self.model = GpuModel(model, dtype)
        self._room = min(CACHE, _free_memory(self.model.device) // 2)
        self._runs: dict[_Asked, _Run] = {}
        """The last ones, oldest first: recording takes longer than a short search."""
        self._lock = threading.Lock()
        """Slots and recordings are one search's at a time: other threads wait."""

    def __call__(self, request: SearchRequest) -> list[list[Hypothesis]]:
        request.check()
        device = self.model.device
        # A recording, and Triton, take the current device for the one that is meant.
        here = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
        with self._lock, torch.inference_mode(), here:
            try:
                return self._found(request)
            except torch.OutOfMemoryError:
                self._runs.clear()  # or there would be no room for the next one either
                raise

    def release(self) -> None:
        """Give back the memory of caches and recordings."""
        with self._lock:
            self._runs.clear()
            if self.model.device.type == "cuda":
                torch.cuda.empty_cache()

    def _found(self, request: SearchRequest) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[]] * len(request.sources)  # each is replaced
        for source, members in _alike(request.sources):
            part = request.select(members)
            run = self._run_for(source, part)
            for sentences, hypotheses in self._search(run, part):
                for i, each in zip(sentences, hypotheses, strict=True):
                    if not each:
                        raise no_way_on()
                    found[members[i]] = each
            del run  # or one that has to make room for the next would stay all the same
        return found

    def _run_for(self, source: int, request: SearchRequest) -> _Run:
        """One that was kept, or a new one. `source`: how long sources may be."""
        count, length, prefixed = len(request.sources), _length(max(request.limits)), any(request.prefixes)
        options, model = request.options, self.model
        position = 2 * model.depth * model.own.key_heads * model.own.width * model.dtype.itemsize
        # A table, and what a large beam makes of it to find the likeliest tokens.
        logits = model.vocabulary * (model.dtype.itemsize + (8 if options.beam + len(options.ends) > MOST else 0))
        of_slot = position * (options.beam * (length + 1) + source) + options.beam * logits
        wanted = SLOTS if count < MANY else 4 * SLOTS
        most = max(1, min(wanted, ROWS // options.beam, self._room // of_slot))
        slots = min(most, 1 << max(0, count - 1).bit_length())
        asked = _Asked(slots, source, length, options, prefixed)
        run = self._runs.pop(asked, None)
        if run is None:
            # They are large: all together may take as much as one.
            while self._runs and (len(self._runs) == RUNS or self._taken() + slots * of_slot > self._room):
                del self._runs[next(iter(self._runs))]
            run = _Run(model, asked, slots * of_slot)
        self._runs[asked] = run
        return run

    def _taken(self) -> int:
        return sum(run.size for run in self._runs.values())

    def _search(self, run: _Run, request: SearchRequest) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """Sentences and what was found for them, some at a time."""
        begun, total = 0, len(request.sources)
        holds = np.full(run.search.slots, -1)  # the sentence of each slot
        ends = np.zeros(run.search.slots, np.int64)  # at which step it is cut off
        # What the last look found: it is made while the device does the next steps.
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
            after = 1 if until_cut > count else 0  # so that the device has work while Python looks
            run.step(count - after)
            run.look()
            run.step(after)
            steps += count
            yield from ((sentences, made()) for sentences, made in found)
            over = np.flatnonzero(run.seen() & busy)
            found = [(holds[over].tolist(), run.search.results(over))] if len(over) else []
            holds[over] = -1
        yield from ((sentences, made()) for sentences, made in found)


def _alike(sources: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[int]]]:
    """Sources whose lengths round up to the same power of 2 times `ROUND`, and to what; longest first."""
    falling = -_lengths(sources)
    order = np.argsort(falling, kind="stable")
    falling, first = falling[order], 0
    while first < len(order):
        size = _rounded(-int(falling[first]))
        last = int(np.searchsorted(falling, -(size // 2))) if size > ROUND else len(order)
        yield size, order[first:last].tolist()
        first = last


def _together(tokens: int) -> int:
    """How many of these tokens are encoded next: all if they are few, or else the largest power of 2."""
    return min(ENCODED, tokens if tokens <= UNDIVIDED else 1 << (tokens.bit_length() - 1))


def _lengths(sources: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.fromiter(map(len, sources), np.int64, len(sources))


def _free_memory(device: torch.device) -> int:
    """Bytes, with those that PyTorch holds and does not use."""
    if device.type != "cuda":
        return 2 * CACHE
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def _length(limit: int) -> int:
    """Rounded up, so that few recordings serve all limits: by half at most where it is long."""
    step = ROUND
    while 4 * step < limit:
        step *= 2
    return -(-limit // step) * step


def _rounded(length: int) -> int:
    size = ROUND
    while size < length:
        size *= 2
    return size
