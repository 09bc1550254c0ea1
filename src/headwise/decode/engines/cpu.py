"""The decoder for CPUs: the same arithmetic as the model's own, with as few and as large operations as there can be.

Keys and values of a sentence lie in one pool, of all its hypotheses: a step adds one entry for each of them, and which
entries a hypothesis stems from is a row of a mask. So a beam that is reordered moves no keys, and each key is read once
for all hypotheses. Caches have room to grow. A sentence that is done stays in them until a quarter are done.

Shapes: N sentences in the caches, B hypotheses of each, R = N * B rows, H heads of width K, P entries of a pool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headwise.decode.engines.products import Product, is_product, joint_product, product, product_of_rows
from headwise.decode.search.beam import largest
from headwise.decode.shortlist import table as shortlist
from headwise.decode.shortlist.table import Allowed
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.known_parts import unknown_parts
from headwise.nn.attention import MultiHeadAttention
from headwise.nn.feed_forward import FeedForward, GatedFeedForward
from headwise.nn.masks import Causal
from headwise.nn.norms import PostNorm
from headwise.nn.positions import Relative, Rotation
from headwise.nn.stack import Layer, Stack

ROOM = 32
"""Entries that a pool is made larger by, at least."""

CROWDED = 0.75
"""Share of sentences still going below which those that are done leave the caches."""


def fits(model: nn.Module) -> bool:
    """Whether this engine knows all parts of the model's decoder."""
    if not isinstance(model, EncoderDecoder) or not isinstance(model.decoder, Stack) or unknown_parts(model):
        return False
    if isinstance(model.target_positions, Relative) or not is_product(model.output_projection):
        return False
    return all(
        isinstance(layer, Layer)
        and type(layer.pattern) is Causal
        and layer.cross_attention is not None
        and all(is_product(part) for part in layer.modules() if hasattr(part, "weight") and part.weight.ndim == 2)
        for layer in model.decoder.layers
    )


@dataclass(frozen=True)
class Within:
    """The tokens that sentences may say: U of them are allowed in any."""

    tokens: Tensor
    """[U], ascending."""
    product: Product
    """-> their logits."""
    mask: Tensor
    """[N, U], what is added to logits: minus infinity for what a sentence may not say."""


@dataclass(frozen=True)
class State:
    """Where a search stands. Caches are written in place behind what counts, so a state is used once."""

    pools: list[tuple[Tensor, Tensor]]
    """Keys and values of each layer, [N, H, room, K]; entries from `used` on are not there yet."""
    memory: list[tuple[Tensor, Tensor]]
    """Of the source, [N, H, S, K]."""
    memory_mask: Tensor | None
    """[N, 1, 1, S], what is added to scores: minus infinity for padding."""
    stems: Tensor | None
    """[N, B, P]: minus infinity where an entry is not in a hypothesis's past; None: all are, and B is 1."""
    rows: Tensor | None
    """[R']: the rows of sentences still going; None: all N * B are."""
    sentences: int
    width: int
    """B, of the step to come."""
    used: int
    length: int
    """Tokens so far."""
    within: Within | None = None
    """None: all tokens may be said."""


class CpuDecoder:
    """A `Stepper` over a model's decoder."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.model = model
        assert isinstance(model.decoder, Stack)
        layers: list[Layer] = model.decoder.in_order
        self.layers = [_Layer(layer) for layer in layers]
        crossed = [layer.cross_attention for layer in layers if layer.cross_attention is not None]
        self._memory = joint_product([each for cross in crossed for each in (cross.key, cross.value)])
        self._output = product(model.output_projection)
        self._final_norm = model.decoder.final_norm

    def start(self, source: Tensor) -> State:
        """The state before the first token of sources [N, S]."""
        encoded = self.model.encode(source)
        N, S, _ = encoded.memory.shape
        made = self._memory(encoded.memory.reshape(N * S, -1))  # of all layers at once
        attention = self.layers[0].cross
        split = made.view(N, S, 2 * len(self.layers), attention.key_heads, attention.width).permute(2, 0, 3, 1, 4)
        split = split.contiguous()
        mask = None
        if encoded.mask is not None and not bool(encoded.mask.all()):
            mask = torch.zeros(N, 1, 1, S).masked_fill_(~encoded.mask, -math.inf)
        shape = (N, attention.key_heads, 0, attention.width)
        pools = [(torch.empty(shape), torch.empty(shape)) for _ in self.layers]
        memory = [(split[2 * index], split[2 * index + 1]) for index in range(len(self.layers))]
        return State(pools, memory, mask, None, None, N, 1, 0, 0)

    def restrict(self, state: State, allowed: Sequence[Allowed]) -> State:
        """Only these tokens in each sentence, in a state before the first token."""
        tokens = torch.from_numpy(np.unique(np.concatenate([each.tokens for each in allowed])))
        mask = torch.full((len(allowed), len(tokens)), -math.inf)
        for row, each in zip(mask, allowed, strict=True):
            row[torch.searchsorted(tokens, torch.from_numpy(each.tokens))] = 0.0
        return replace(state, within=Within(tokens, product_of_rows(self.model.output_projection, tokens), mask))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state = self._hidden(tokens, state)
        if state.within is None:
            return F.log_softmax(self._output(hidden), -1), state
        listed, unsure = self._listed(hidden, state)
        table = torch.full((len(tokens), self.model.output_projection.weight.shape[0]), -math.inf)
        table.index_copy_(1, state.within.tokens, listed)
        if len(unsure):
            table[unsure] = F.log_softmax(self._output(hidden[unsure]), -1)
        return table, state

    def best(
        self, tokens: Tensor, state: State, count: int, banned: Sequence[int] = ()
    ) -> tuple[Tensor, Tensor, State]:
        """The `count` likeliest next tokens that are not `banned`, as a `Chooser` tells them."""
        hidden, state = self._hidden(tokens, state)
        within, forbidden = state.within, torch.tensor(list(banned), dtype=torch.long)
        count = min(count, self.model.output_projection.weight.shape[0])

        def whole(rows: Tensor) -> tuple[Tensor, Tensor]:
            return largest(F.log_softmax(self._output(rows), -1).index_fill_(1, forbidden, -math.inf), count)

        if within is None:
            return *whole(hidden), state
        listed, unsure = self._listed(hidden, state)
        listed.index_fill_(1, torch.isin(within.tokens, forbidden).nonzero()[:, 0], -math.inf)
        if len(within.tokens) < count:  # what is not there is not possible
            listed = F.pad(listed, (0, count - len(within.tokens)), value=-math.inf)
        values, places = largest(listed, count)
        found = within.tokens[places.clamp_max(len(within.tokens) - 1)]
        if len(unsure):
            values[unsure], found[unsure] = whole(hidden[unsure])
        return values, found, state

    def _listed(self, hidden: Tensor, state: State) -> tuple[Tensor, Tensor]:
        """Log-probabilities [R, U] of the tokens that may be said, and the rows in which none is likely enough."""
        within = state.within
        assert within is not None
        rows = torch.arange(len(hidden)) if state.rows is None else state.rows
        logits = within.product(hidden).add_(within.mask.index_select(0, rows // state.width))
        log_probabilities = F.log_softmax(logits, -1)
        return log_probabilities, (log_probabilities.amax(-1) < shortlist.sure()).nonzero()[:, 0]

    def _hidden(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Tokens [R] -> what the output projection takes, [R, D], and the new state."""
        if state.rows is not None:
            tokens = tokens.new_zeros(state.sentences * state.width).index_copy_(0, state.rows, tokens)
        model, N, B = self.model, state.sentences, state.width
        position = torch.tensor([state.length])
        x = model.target_positions.embed(model.target_embedding(tokens[:, None]), position)[:, 0]
        if model.target_norm is not None:
            x = model.target_norm(x)
        rotation = model.target_positions.rotation(position)
        used, state = state.used + B, self._with_room(state)
        stems = state.stems
        if stems is not None:
            own = torch.full((B, B), -math.inf).fill_diagonal_(0.0).expand(N, B, B)
            stems = torch.cat((stems, own), 2)
        for layer, (keys, values), memory in zip(self.layers, state.pools, state.memory, strict=True):
            x = layer(x, (N, B), (keys, values, state.used), stems, memory, state.memory_mask, rotation)
        if self._final_norm is not None:
            x = self._final_norm(x)
        x = x if state.rows is None else x.index_select(0, state.rows)
        return x, replace(state, stems=stems, used=used, length=state.length + 1)

    def select(self, state: State, rows: Tensor) -> State:
        """The rows, of a search, that each of the next rows goes on from; all sentences have as many of them."""
        if not state.used:  # each is a sentence of its own
            return self._kept(state, rows)
        held = rows if state.rows is None else state.rows[rows]
        owners = held // state.width
        going = torch.unique_consecutive(owners)
        width = len(held) // len(going)
        if not torch.equal(going.repeat_interleave(width), owners) or bool((going.diff() < 0).any()):
            raise ValueError("the rows of a sentence must stand together, and be as many for each")
        stems = state.stems
        if stems is None and (width > 1 or state.width > 1):
            stems = torch.zeros(state.sentences, state.width, state.used)
        if stems is not None:
            stems = stems.flatten(0, 1).index_select(0, held).view(len(going), width, -1)
        if len(going) < CROWDED * state.sentences:
            state = self._kept(state, going)
        places = None
        if len(going) < state.sentences:
            places = (going[:, None] * width + torch.arange(width)).flatten()
            if stems is not None:  # those that are done see everything, so that no score of theirs is undefined
                stems = stems.new_zeros(state.sentences, width, stems.shape[2]).index_copy_(0, going, stems)
        return replace(state, stems=stems, rows=places, width=width)

    def _kept(self, state: State, sentences: Tensor) -> State:
        """Only these sentences in the caches."""

        def taken(caches: list[tuple[Tensor, Tensor]]) -> list[tuple[Tensor, Tensor]]:
            return [(keys.index_select(0, sentences), values.index_select(0, sentences)) for keys, values in caches]

        mask = None if state.memory_mask is None else state.memory_mask.index_select(0, sentences)
        pools, memory, within = taken(state.pools), taken(state.memory), state.within
        if within is not None:
            within = replace(within, mask=within.mask.index_select(0, sentences))
        return replace(state, pools=pools, memory=memory, memory_mask=mask, sentences=len(sentences), within=within)

    def _with_room(self, state: State) -> State:
        """Pools that take the entries of a step."""
        room = state.pools[0][0].shape[2]
        if state.used + state.width <= room:
            return state
        more = max(ROOM * state.width, room)

        def grown(cache: Tensor) -> Tensor:
            wide = cache.new_empty(*cache.shape[:2], room + more, cache.shape[3])
            wide[:, :, : state.used] = cache[:, :, : state.used]
            return wide

        return replace(state, pools=[(grown(keys), grown(values)) for keys, values in state.pools])


class _Attention:
    """What a layer asks with, and what it makes of the answers."""

    def __init__(self, attention: MultiHeadAttention) -> None:
        self.heads, self.key_heads, self.width = attention.heads, attention.key_value_heads, attention.head_width
        self.scale = attention.score_scale
        self.output = product(attention.output)

    def __call__(self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Queries [N, B, H, K], keys and values [N, G, P, K], a mask [N, 1, 1 or B, P] to add -> [R, D]."""
        N, B = query.shape[:2]
        groups = self.heads // self.key_heads
        # The heads that share a key, and the hypotheses, are rows of one product.
        rows = query.view(N, B, self.key_heads, groups, self.width).permute(0, 2, 3, 1, 4)
        rows = rows.reshape(N * self.key_heads, groups * B, self.width)
        scores = torch.bmm(rows, keys.flatten(0, 1).transpose(1, 2))
        if mask is not None:
            scores.view(N, self.key_heads, groups, B, -1).add_(mask.unsqueeze(1))
        context = torch.bmm(scores.softmax(-1), values.flatten(0, 1))
        context = context.view(N, self.key_heads, groups, B, self.width).permute(0, 3, 1, 2, 4)
        return self.output(context.reshape(N * B, -1))


class _Layer:
    """A decoder layer for one token a row."""

    def __init__(self, layer: Layer) -> None:
        own, cross = layer.self_attention, layer.cross_attention
        assert cross is not None
        assert layer.cross_norm is not None
        self.own, self.cross = _Attention(own), _Attention(cross)
        # The scale of scores is in the queries' weights, for which it costs nothing.
        self.projections = joint_product([own.query, own.key, own.value], [self.own.scale, 1.0, 1.0])
        self.query = product(cross.query, self.cross.scale)
        self.feed_forward = _feed_forward(layer.feed_forward)
        self.norms = [layer.self_norm, layer.cross_norm, layer.feed_forward_norm]

    def __call__(
        self,
        x: Tensor,
        shape: tuple[int, int],
        pool: tuple[Tensor, Tensor, int],
        stems: Tensor | None,
        memory: tuple[Tensor, Tensor],
        memory_mask: Tensor | None,
        rotation: Rotation | None,
    ) -> Tensor:
        """x [R, D]; `pool` with room behind the entries that it has."""
        N, B = shape

        def attend(y: Tensor) -> Tensor:
            own = self.own
            made = self.projections(y).view(N, B, -1, own.width)
            query, key, value = torch.split(made, [own.heads, own.key_heads, own.key_heads], 2)
            if rotation is not None:
                query, key = (rotation.apply(each.transpose(1, 2)).transpose(1, 2) for each in (query, key))
            keys, values, used = pool
            keys[:, :, used : used + B] = key.transpose(1, 2)
            values[:, :, used : used + B] = value.transpose(1, 2)
            keys, values = keys[:, :, : used + B], values[:, :, : used + B]
            return own(query, keys, values, None if stems is None else stems.unsqueeze(1))

        def ask(y: Tensor) -> Tensor:
            query = self.query(y).view(N, B, self.cross.heads, self.cross.width)
            return self.cross(query, *memory, memory_mask)

        for norm, sublayer in zip(self.norms, (attend, ask, self.feed_forward), strict=True):
            x = norm.norm(sublayer(x).add_(x)) if isinstance(norm, PostNorm) else sublayer(norm.norm(x)).add_(x)
        return x


def _feed_forward(module: FeedForward | GatedFeedForward) -> Callable[[Tensor], Tensor]:
    contract: Product = product(module.contract)
    activation = torch.relu_ if module.activation is F.relu else module.activation
    if isinstance(module, GatedFeedForward):
        both = joint_product([module.gate, module.expand])

        def gated(y: Tensor) -> Tensor:
            gate, inner = both(y).chunk(2, -1)
            return contract(activation(gate.contiguous()).mul_(inner))

        return gated
    expand: Product = product(module.expand)
    return lambda y: contract(activation(expand(y)))
