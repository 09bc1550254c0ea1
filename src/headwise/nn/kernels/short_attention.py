"""Attention inside each of many short sentences that are packed one after the other, without padding.

Sentence i's queries are the rows `query_starts[i]` to `query_starts[i + 1]` (exclusive), and see the keys of sentence
i alone. A batch of fixed shape has a fixed number of rows and of sentences: trailing sentences may be empty (their
starts repeat), and rows after the last sentence get zeros and have no gradient.

On a GPU the kernels of `short_attention_triton` compute it, elsewhere `packed_attention_reference`, their oracle. N is
the number of query rows, M of key rows.
"""

from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.nn.dropout import dropout as drop
from headwise.nn.kernels import side_by_side, usable


class Work(NamedTuple):
    """The work of a program on its sentence."""

    queries: int
    """Queries at a time, with all keys of the sentence."""
    warps: int


class AttentionTile(NamedTuple):
    """A launch for sentences up to `length` that no smaller tile holds; each program takes a whole sentence."""

    length: int
    stripe: int
    """Sentences per program, which skips those of other tiles. The loop costs about half as many registers again: 1
    where many sentences have this length, more where few have."""
    forward: Work
    backward: Work


TILES: tuple[AttentionTile, ...] = (
    AttentionTile(32, 1, Work(32, 2), Work(32, 2)),
    AttentionTile(64, 1, Work(64, 4), Work(64, 4)),
    AttentionTile(128, 1, Work(32, 4), Work(128, 8)),
)
"""Tiles by length. The first holds 70 % of WMT's sentences, the second 96 %."""

LONG = AttentionTile(64, 16, Work(64, 4), Work(64, 4))
"""For longer sentences, which are processed in tiles of this length ..."""
LONG_SHARES = 4
"""Programs that share one such sentence."""

LARGEST_TILE = {2: 128 * 128, 4: 64 * 64}
"""Elements of the largest tile of one input, by their size in bytes: four tiles must fit into shared memory. Products
of float32 do without tensor cores, and their code grows with the tile."""


def packed_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    *,
    causal: bool,
    scale: float | None = None,
    dropout: float = 0.0,
    seed: Tensor | None = None,
    longest: int = 0,
) -> Tensor:
    """Packed attention: queries [N, H, K], keys and values [M, H, K], starts int32 [sentences + 1] -> [N, H, K].

    `causal`: no query looks ahead; with more keys than queries the queries are the last positions. `scale` is
    1 / sqrt(K) unless it is given. `seed` int64 [1], on the device, is the seed of dropout, drawn unless it is given.
    `longest`: the greatest length of a sentence on either side; 0: unknown.
    """
    return _attention([q, k, v], query_starts, key_starts, causal, scale, dropout, seed, longest)


def packed_self_attention(
    qkv: Tensor,
    starts: Tensor,
    *,
    causal: bool,
    scale: float | None = None,
    dropout: float = 0.0,
    seed: Tensor | None = None,
    longest: int = 0,
) -> Tensor:
    """Packed self-attention of one joint projection [N, 3, H, K], whose gradient is one tensor, without a copy."""
    return _attention([qkv], starts, starts, causal, scale, dropout, seed, longest)


def packed_cross_attention(
    q: Tensor,
    kv: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
    seed: Tensor | None = None,
    longest: int = 0,
) -> Tensor:
    """Packed cross-attention of queries [N, H, K] and a joint projection of the memory [M, 2, H, K]."""
    return _attention([q, kv], query_starts, key_starts, False, scale, dropout, seed, longest)


def packed_attention_reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    *,
    causal: bool,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """Packed attention by the formula: all N x M scores, all but each sentence's own masked."""
    scale = q.size(-1) ** -0.5 if scale is None else scale
    query_sentence, query_place = _locate(query_starts, len(q))
    key_sentence, key_place = _locate(key_starts, len(k))
    inside = query_sentence < len(query_starts) - 1
    allowed = (query_sentence[:, None] == key_sentence) & inside[:, None]  # [N, M]
    if causal:
        ahead = (key_starts.diff() - query_starts.diff())[query_sentence.clamp(max=len(query_starts) - 2)]
        allowed = allowed & (key_place <= (query_place + ahead)[:, None])
    scores = torch.einsum("nhk,mhk->hnm", q * scale, k)
    # The output of a query that sees no key is 0. Its row is unmasked for the softmax, and zeroed after it.
    seen = allowed.any(1, keepdim=True)
    weights = scores.masked_fill(~(allowed | ~seen), float("-inf")).softmax(-1) * seen
    return torch.einsum("hnm,mhk->nhk", drop(weights, dropout), v)


def _locate(starts: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """The sentence of each row and its position in it; rows after the last sentence get an index beyond the last."""
    row = torch.arange(rows, device=starts.device)
    sentence = torch.searchsorted(starts[1:].contiguous(), row, right=True)
    return sentence, row - starts[sentence]


def _attention(
    projections: list[Tensor],
    query_starts: Tensor,
    key_starts: Tensor,
    causal: bool,
    scale: float | None,
    dropout: float,
    seed: Tensor | None,
    longest: int,
) -> Tensor:
    q, k, v = _parts(projections)
    scale = q.size(-1) ** -0.5 if scale is None else scale
    if not usable(q):
        return packed_attention_reference(
            q, k, v, query_starts, key_starts, causal=causal, scale=scale, dropout=dropout
        )
    if dropout > 0 and seed is None:
        seed = torch.randint(2**62, (1,), device=q.device)
    projections = [part if part.stride(-1) == 1 else part.contiguous() for part in projections]
    out: Tensor = _forward(projections, query_starts, key_starts, seed, causal, scale, dropout, longest)[0]
    return out


def _parts(projections: list[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of a joint projection, of queries and a joint rest, or of three."""
    if len(projections) == 1:
        q, k, v = projections[0].unbind(1)
    elif len(projections) == 2:
        q, (k, v) = projections[0], projections[1].unbind(1)
    else:
        q, k, v = projections
    return q, k, v


def _tiles(width: int, bytes_each: int, longest: int) -> tuple[list[AttentionTile], bool]:
    """The tiles for heads of this width, and whether longer sentences may come."""
    tiles = [tile for tile in TILES if tile.length * max(width, 64) <= LARGEST_TILE[bytes_each]] or [TILES[0]]
    needed = [tile for i, tile in enumerate(tiles) if i == 0 or longest == 0 or tiles[i - 1].length < longest]
    return needed, longest == 0 or longest > tiles[-1].length


# Custom operations are opaque to torch.compile, which could not trace the launches.


@torch.library.custom_op("headwise::packed_attention", mutates_args=())
def _forward(
    projections: list[Tensor],
    query_starts: Tensor,
    key_starts: Tensor,
    seed: Tensor | None,
    causal: bool,
    scale: float,
    dropout: float,
    longest: int,
) -> tuple[Tensor, Tensor]:
    """The output, and the log-sum-exp of each softmax where long sentences may occur (else empty)."""
    from headwise.nn.kernels import short_attention_triton as kernels

    q, k, v = _parts(projections)
    rows, heads, width = q.shape
    out = torch.empty((rows, heads, width), dtype=q.dtype, device=q.device)
    tiles, long = _tiles(width, q.element_size(), longest)
    log_sums = torch.empty((rows, heads) if long else 0, dtype=torch.float32, device=q.device)
    tensors = (q, k, v, out)
    starts = (query_starts, key_starts, query_starts if seed is None else seed)
    shape = _shape(heads, width, causal, dropout)
    sentences = len(query_starts) - 1
    lower_ends = [0, *(tile.length for tile in tiles)]

    def launch(tile: AttentionTile, above: int) -> None:
        programs = -(-sentences // tile.stripe)
        kernels.forward[(programs * heads,)](
            *tensors, *starts, *_strides(tensors), sentences, rows, programs, scale, dropout,
            ABOVE=above, BLOCK=tile.length, QUERIES=tile.forward.queries, STRIPE=tile.stripe, **shape,
            num_warps=tile.forward.warps, num_stages=1,
        )  # fmt: skip

    def launch_long() -> None:
        programs = -(-sentences // LONG.stripe)
        kernels.forward_long[(programs * heads, LONG_SHARES)](
            *tensors, log_sums, *starts, *_strides(tensors), sentences, programs, scale, dropout,
            ABOVE=lower_ends[-1], BLOCK=_long_block(q), STRIPE=LONG.stripe, SHARES=LONG_SHARES, **shape,
            num_warps=LONG.forward.warps, num_stages=2,
        )  # fmt: skip

    by_tile = [partial(launch, tile, above) for tile, above in zip(tiles, lower_ends, strict=False)]
    side_by_side([*by_tile, *([launch_long] if long else [])], q.device)
    return out, log_sums


@torch.library.custom_op("headwise::packed_attention_backward", mutates_args=())
def _backward(
    d_out: Tensor,
    projections: list[Tensor],
    out: Tensor | None,
    log_sums: Tensor,
    query_starts: Tensor,
    key_starts: Tensor,
    seed: Tensor | None,
    causal: bool,
    scale: float,
    dropout: float,
    longest: int,
) -> list[Tensor]:
    """The gradient of each projection."""
    from headwise.nn.kernels import short_attention_triton as kernels

    q, k, v = _parts(projections)
    rows, heads, width = q.shape
    gradients = [torch.empty(part.shape, dtype=part.dtype, device=part.device) for part in projections]
    dq, dk, dv = _parts(gradients)
    d_out = d_out.contiguous()
    tiles, long = _tiles(width, q.element_size(), longest)
    starts = (query_starts, key_starts, query_starts if seed is None else seed)
    shape = _shape(heads, width, causal, dropout)
    sentences = len(query_starts) - 1
    lower_ends = [0, *(tile.length for tile in tiles)]

    def launch(tile: AttentionTile, above: int) -> None:
        programs = -(-sentences // tile.stripe)
        tensors = (q, k, v, d_out, dq, dk, dv)
        kernels.backward[(programs * heads,)](
            *tensors, *starts, *_strides(tensors), sentences, rows, len(k), programs, scale, dropout,
            ABOVE=above, BLOCK=tile.length, QUERIES=tile.backward.queries, STRIPE=tile.stripe, **shape,
            num_warps=tile.backward.warps, num_stages=1,
        )  # fmt: skip

    def launch_long() -> None:
        assert out is not None
        programs = -(-sentences // LONG.stripe)
        results = (d_out, dq, dk, dv)
        kernels.backward_long[(programs * heads, LONG_SHARES)](
            q, k, v, out, log_sums, *results, *starts, *_strides((q, k, v, out)), *_strides(results),
            sentences, programs, scale, dropout,
            ABOVE=lower_ends[-1], BLOCK=_long_block(q), STRIPE=LONG.stripe, SHARES=LONG_SHARES, **shape,
            num_warps=LONG.backward.warps, num_stages=1,
        )  # fmt: skip

    by_tile = [partial(launch, tile, above) for tile, above in zip(tiles, lower_ends, strict=False)]
    side_by_side([*by_tile, *([launch_long] if long else [])], q.device)
    return gradients


def _strides(tensors: tuple[Tensor, ...]) -> list[int]:
    return [stride for tensor in tensors for stride in tensor.stride()[:2]]


def _shape(heads: int, width: int, causal: bool, dropout: float) -> dict[str, Any]:
    padded = max(16, 1 << (width - 1).bit_length())
    return {"HEADS": heads, "HEAD_WIDTH": width, "WIDTH": padded, "CAUSAL": causal, "DROPOUT": dropout > 0}


def _long_block(q: Tensor) -> int:
    return LONG.length if q.element_size() == 2 else 32


@_forward.register_fake
def _(
    projections: list[Tensor],
    query_starts: Tensor,
    key_starts: Tensor,
    seed: Tensor | None,
    causal: bool,
    scale: float,
    dropout: float,
    longest: int,
) -> tuple[Tensor, Tensor]:
    q = _parts(projections)[0]
    _, long = _tiles(q.size(-1), q.element_size(), longest)
    log_sums = torch.empty(q.shape[:2] if long else 0, dtype=torch.float32, device=q.device)
    return torch.empty(q.shape, dtype=q.dtype, device=q.device), log_sums


@_backward.register_fake
def _(d_out: Tensor, projections: list[Tensor], *_: Any) -> list[Tensor]:
    return [torch.empty(part.shape, dtype=part.dtype, device=part.device) for part in projections]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    projections, query_starts, key_starts, seed, *ctx.settings = inputs
    out, log_sums = output
    ctx.save_for_backward(query_starts, key_starts, seed, log_sums, out if log_sums.numel() else None, *projections)


def _differentiate(ctx: Any, d_out: Tensor, _: Tensor) -> tuple[Any, ...]:
    query_starts, key_starts, seed, log_sums, out, *projections = ctx.saved_tensors
    gradients = _backward(d_out, projections, out, log_sums, query_starts, key_starts, seed, *ctx.settings)
    return gradients, *([None] * 7)


_forward.register_autograd(_differentiate, setup_context=_keep)
