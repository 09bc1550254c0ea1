"""The engine for GPUs: weights in half precision, caches that never move, and a step that is recorded once.

A small model's step is a hundred kernels of a few microseconds: Python could not ask for them as fast as they run, so a
CUDA graph holds them, the search included. Sentences have slots; those of sentences that are done are filled anew every
few steps. Sources of about one length share a recording, which is kept for the next ones.

Shapes: N slots, B hypotheses of each, R = N * B rows, S source and L target tokens at most.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.decode.batching import by_budget, padded
from headwise.decode.constraints import Prefixes, SearchOptions
from headwise.decode.engines import cpu
from headwise.decode.engines.device_search import DeviceSearch
from headwise.decode.engines.products import joint_weights
from headwise.decode.hypothesis import Hypothesis
from headwise.decode.search import no_way_on
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.nn.feed_forward import GatedFeedForward
from headwise.nn.kernels.cached_attention import Heads, attend_memory, attend_past
from headwise.nn.norms import PostNorm
from headwise.nn.positions import Learned, Rotary
from headwise.nn.stack import Layer, Stack

SLOTS = 1024
"""Sentences under way at once, at most."""
ROWS = 4096
"""Hypotheses of them."""
CACHE = 2**33
"""Bytes that keys and values may take."""
ROUND = 32
"""Lengths are rounded up to a multiple: few recordings."""
STEPS_AT_ONCE = 4
"""Steps between two looks at what is done."""
ENCODED = 65_536
"""Source tokens, padded, of the sentences that are encoded together."""
WARM_UP = 3


def fits(model: nn.Module) -> bool:
    """Whether this engine knows all parts of the model."""
    return cpu.fits(model) and not isinstance(cast(EncoderDecoder, model).target_positions, Rotary)


def can_search(options: SearchOptions) -> bool:
    """Whether it knows what is asked of the search."""
    return not (options.no_repeat or options.min_length)


class GpuDecoder:
    """A translator's weights, laid out for one token a row."""

    def __init__(self, model: EncoderDecoder, dtype: torch.dtype) -> None:
        assert isinstance(model.decoder, Stack)
        self.model, self.dtype = model, dtype
        stack = model.decoder
        self.layers = [_Layer(layer, dtype) for layer in stack.in_order]
        self.device = next(model.parameters()).device
        self._embedding = model.target_embedding.weight.detach().to(dtype)
        self._output = model.output_projection.weight.detach().to(dtype)
        bias = model.output_projection.bias
        self._output_bias = None if bias is None else bias.detach().to(dtype)
        self._final_norm = None if stack.final_norm is None else _norm(stack.final_norm, dtype)
        self._first_norm = None if model.target_norm is None else _norm(model.target_norm, dtype)

    def table(self, length: int) -> Tensor:
        """What is added to the embeddings at each position, [L, D]."""
        encoding = self.model.target_positions
        nothing = torch.zeros(1, length, self._embedding.shape[1], device=self.device)
        positions = torch.arange(length, device=self.device)
        if isinstance(encoding, Learned):  # lengths are rounded up: no sentence gets beyond its last one
            positions = positions.clamp_max(len(encoding.weight) - encoding.offset - 1)
        return encoding.embed(nothing, positions, int(positions[-1]) + 1)[0].to(self.dtype)

    def encode(self, source: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Sources [N, S] -> keys and values [N, G, S, K] of each layer."""
        half = self.dtype != torch.float32
        with torch.autocast(self.device.type, self.dtype, enabled=half):
            memory = self.model.encode(source).memory
        return [layer.memory(memory.to(self.dtype)) for layer in self.layers]

    def step(self, tokens: Tensor, places: Tensor, table: Tensor, caches: Caches, stems: Tensor) -> Tensor:
        """Tokens [R] at their places [R] -> logits [R, V]."""
        x = F.embedding(tokens, self._embedding) * self.model.target_embedding.scale + table[places]
        if self._first_norm is not None:
            x = self._first_norm(x)
        for layer, past, memory in zip(self.layers, caches.past, caches.memory, strict=True):
            x = layer(x, past, stems, places, memory, caches.lengths)
        if self._final_norm is not None:
            x = self._final_norm(x)
        scale = self.model.output_projection.scale
        return F.linear(x if scale == 1 else x * scale, self._output, self._output_bias)


class _Layer:
    def __init__(self, layer: Layer, dtype: torch.dtype) -> None:
        own, cross = layer.self_attention, layer.cross_attention
        assert cross is not None
        assert layer.cross_norm is not None
        self.own, self.cross = (
            Heads(each.heads, each.key_value_heads, each.head_width, each.score_scale) for each in (own, cross)
        )
        self._projections = _linear([own.query, own.key, own.value], dtype)
        self._query, self._memory = _linear([cross.query], dtype), _linear([cross.key, cross.value], dtype)
        self._outputs = _linear([own.output], dtype), _linear([cross.output], dtype)
        inner = layer.feed_forward
        self._gated = isinstance(inner, GatedFeedForward)
        first = [inner.gate, inner.expand] if isinstance(inner, GatedFeedForward) else [inner.expand]
        self._expand, self._contract = _linear(first, dtype), _linear([inner.contract], dtype)
        self._activation = inner.activation
        norms = (layer.self_norm, layer.cross_norm, layer.feed_forward_norm)
        self._norms = [(_norm(each.norm, dtype), isinstance(each, PostNorm)) for each in norms]

    def memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        N, S, _ = memory.shape
        made = self._memory(memory).view(N, S, 2, self.cross.key_heads, self.cross.width).permute(2, 0, 3, 1, 4)
        return made[0], made[1]

    def __call__(
        self,
        x: Tensor,
        past: tuple[Tensor, Tensor],
        stems: Tensor,
        places: Tensor,
        memory: tuple[Tensor, Tensor],
        lengths: Tensor,
    ) -> Tensor:
        def attend(y: Tensor) -> Tensor:
            return self._outputs[0](attend_past(self._projections(y), *past, stems, places, self.own))

        def ask(y: Tensor) -> Tensor:
            return self._outputs[1](attend_memory(self._query(y), *memory, lengths, self.cross))

        def think(y: Tensor) -> Tensor:
            inner = self._expand(y)
            if self._gated:
                gate, inner = inner.chunk(2, -1)
                return self._contract(self._activation(gate) * inner)
            return self._contract(self._activation(inner))

        for (norm, after), sublayer in zip(self._norms, (attend, ask, think), strict=True):
            x = norm(x + sublayer(x)) if after else x + sublayer(norm(x))
        return x


class Caches:
    """Keys and values of N slots."""

    def __init__(self, decoder: GpuDecoder, slots: int, width: int, source: int, length: int) -> None:
        def empty(rows: int, heads: Heads, positions: int) -> tuple[Tensor, Tensor]:
            shape = (rows, heads.key_heads, positions, heads.width)
            return tuple(torch.zeros(shape, dtype=decoder.dtype, device=decoder.device) for _ in range(2))  # type: ignore[return-value]

        self.past = [empty(slots * width, layer.own, length + 1) for layer in decoder.layers]
        self.memory = [empty(slots, layer.cross, source) for layer in decoder.layers]
        self.lengths = torch.ones(slots, dtype=torch.int32, device=decoder.device)


class _Run:
    """A search in slots, and the recording of its step."""

    def __init__(self, decoder: GpuDecoder, slots: int, source: int, length: int, options: SearchOptions) -> None:
        self.decoder = decoder
        self.search = DeviceSearch(slots, length, options, decoder.device)
        self.caches = Caches(decoder, slots, options.beam, source, length)
        self._own = torch.arange(slots * options.beam, dtype=torch.int32, device=decoder.device)
        self._stems = self._own[:, None].repeat(1, length + 1)
        self._table = decoder.table(length + 1)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._pad = decoder.model.pad

    def enter(self, slots: list[int], sources: Sequence[Sequence[int]], limits: list[int], prefixes: Prefixes) -> None:
        decoder, device = self.decoder, self.decoder.device
        for part in by_budget(range(len(sources)), [len(source) for source in sources], ENCODED):
            chosen = torch.tensor([slots[i] for i in part], device=device)
            source = padded([sources[i] for i in part], self._pad, device)
            for (keys, values), (made_keys, made_values) in zip(
                self.caches.memory, decoder.encode(source), strict=True
            ):
                keys[chosen, :, : source.shape[1]], values[chosen, :, : source.shape[1]] = made_keys, made_values
            lengths = [len(sources[i]) for i in part]
            self.caches.lengths[chosen] = torch.tensor(lengths, dtype=torch.int32, device=device)
        self.search.enter(torch.tensor(slots, device=device), limits, prefixes)

    def step(self) -> None:
        """One token more in all slots."""
        if self.decoder.device.type != "cuda":
            self._step()
            return
        if self._graph is None:
            self._graph = self._record()
        self._graph.replay()

    def _step(self) -> None:
        search = self.search
        width = search.options.beam
        places = search.age.repeat_interleave(width)
        self._stems.scatter_(1, places[:, None], self._own[:, None])
        tokens = search.tokens.flatten()
        search.advance(self.decoder.step(tokens, places, self._table, self.caches, self._stems))
        if width > 1:
            first = torch.arange(search.slots, device=search.device)[:, None] * width
            self._stems.copy_(self._stems.index_select(0, (first + search.parents).flatten()))

    def _record(self) -> torch.cuda.CUDAGraph:
        """What is done while it is recorded is done to slots that hold nothing yet, or is put back."""
        search = self.search
        before = {name: value.clone() for name, value in vars(search).items() if isinstance(value, Tensor)}
        stems = self._stems.clone()
        aside = torch.cuda.Stream(self.decoder.device)  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._step()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._step()
        for name, value in before.items():
            getattr(search, name).copy_(value)
        self._stems.copy_(stems)
        return graph


class GpuSearch:
    """Searches with a decoder, any number of sentences at once."""

    def __init__(self, model: EncoderDecoder, dtype: torch.dtype = torch.bfloat16) -> None:
        self.decoder = GpuDecoder(model, dtype)
        self._runs: dict[tuple[int, int, int, SearchOptions], _Run] = {}

    def __call__(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        device = self.decoder.device
        # A recording, and Triton, take the current device for the one that is meant.
        here = torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()
        with torch.inference_mode(), here:
            return self._found(sources, limits, options, prefixes)

    def _found(
        self, sources: Sequence[Sequence[int]], limits: Sequence[int], options: SearchOptions, prefixes: Prefixes
    ) -> list[list[Hypothesis]]:
        found: list[list[Hypothesis]] = [[] for _ in sources]
        for members in self._alike(sources):
            run = self._run([sources[i] for i in members], [limits[i] for i in members], options)
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

    def _run(self, sources: list[Sequence[int]], limits: list[int], options: SearchOptions) -> _Run:
        source = _rounded(max(map(len, sources)))
        length = -(-max(limits) // ROUND) * ROUND
        heads = self.decoder.layers[0].own
        position = 2 * len(self.decoder.layers) * heads.key_heads * heads.width * self.decoder._embedding.element_size()
        most = max(1, min(SLOTS, ROWS // options.beam, CACHE // (position * (options.beam * length + source))))
        slots = min(most, 1 << max(0, len(sources) - 1).bit_length())
        key = (slots, source, length, options)
        if key not in self._runs:
            self._runs.clear()  # caches are large: those of one run at a time
            self._runs[key] = _Run(self.decoder, slots, source, length, options)
        return self._runs[key]

    def _search(
        self, run: _Run, members: list[int], sources: Sequence[Sequence[int]], limits: Sequence[int], prefixes: Prefixes
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        queue = list(reversed(members))
        holds: dict[int, int] = {}
        free = list(range(run.search.slots))
        while queue or holds:
            if queue and (len(free) > run.search.slots // 8 or not holds):
                slots = [free.pop() for _ in range(min(len(free), len(queue)))]
                new = [queue.pop() for _ in slots]
                holds.update(zip(slots, new, strict=True))
                run.enter(slots, [sources[i] for i in new], [limits[i] for i in new], [prefixes[i] for i in new])
            for _ in range(STEPS_AT_ONCE):
                run.step()
            done = run.search.done.tolist()
            over = [slot for slot in holds if done[slot]]
            if not over:
                continue
            for slot, hypotheses in zip(over, run.search.results(over), strict=True):
                yield holds.pop(slot), hypotheses
            free += over


def _rounded(length: int) -> int:
    size = ROUND
    while size < length:
        size *= 2
    return size


def _linear(modules: Sequence[nn.Module], dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    weight, bias = (None if each is None else each.to(dtype) for each in joint_weights(modules))
    return lambda x: F.linear(x, weight, bias)  # type: ignore[arg-type]


def _norm(norm: nn.Module, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    assert isinstance(norm, nn.LayerNorm | nn.RMSNorm)
    weight, width = norm.weight.detach().to(dtype), norm.normalized_shape
    if isinstance(norm, nn.RMSNorm):
        return lambda x: F.rms_norm(x, width, weight, norm.eps)
    bias = None if norm.bias is None else norm.bias.detach().to(dtype)
    return lambda x: F.layer_norm(x, width, weight, bias, norm.eps)
