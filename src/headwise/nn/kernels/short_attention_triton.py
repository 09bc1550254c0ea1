"""Triton kernels of `short_attention`: attention inside each of many short sentences.

A kernel for long sequences cuts them into tiles of 64 or 128 queries by as many keys; a sentence of 25 tokens leaves
most of such a tile empty. Here a program takes one head of one whole sentence as one tile of about its size. It has all
scores of the sentence, so that the backward pass needs its inputs only, computes all three gradients at once, and adds
nothing across programs. Sentences longer than the largest tile are processed tile by tile, with a running softmax.

Names: sentence i has rows `first_query` ... of the queries and `first_key` ... of the keys; BLOCK is the tile's side,
WIDTH the head width rounded up to a power of two. Softmax and sums are in float32 whatever the inputs are.
"""
# ruff: noqa: N803  (compile-time constants are written in capitals)
# mypy: ignore-errors

import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)


@triton.jit
def _places(base, row_stride, rows, count, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr):
    """The addresses of a tile [rows, WIDTH], and the mask of those that exist."""
    columns = tl.arange(0, WIDTH)
    real = (rows < count)[:, None]
    if HEAD_WIDTH < WIDTH:
        real = real & (columns < HEAD_WIDTH)[None, :]
    return base + rows[:, None] * row_stride + columns[None, :], real


@triton.jit
def _load(base, row_stride, rows, count, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr):
    """Load a tile [rows, WIDTH], with 0 where nothing exists."""
    addresses, real = _places(base, row_stride, rows, count, HEAD_WIDTH, WIDTH)
    return tl.load(addresses, mask=real, other=0.0)


@triton.jit
def _store(tile, base, row_stride, rows, count, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr):
    addresses, real = _places(base, row_stride, rows, count, HEAD_WIDTH, WIDTH)
    tl.store(addresses, tile.to(base.dtype.element_ty), mask=real)


@triton.jit
def _allowed(queries, keys, query_count, key_count, CAUSAL: tl.constexpr):
    """The mask [queries, keys]: both exist, and no query sees the future. Queries are the last of the positions."""
    allowed = (queries[:, None] < query_count) & (keys[None, :] < key_count)
    if CAUSAL:
        allowed = allowed & (keys[None, :] <= queries[:, None] + (key_count - query_count))
    return allowed


@triton.jit
def _kept(seed, head, query_rows, keys, dropout):
    """The dropout mask [queries, keys], a function of the indices, so that the backward pass computes it again."""
    stream = tl.load(seed) + head.to(tl.int64) * 0x2545F4914F6CDD1D
    return tl.rand(stream, query_rows[:, None] * 4096 + keys[None, :]) >= dropout


@triton.jit
def _zero_tail(
    base,
    row_stride,
    first_row,
    rows,
    program,
    programs,
    BLOCK: tl.constexpr,
    HEAD_WIDTH: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """Zero the rows after the last sentence; the programs share the work, of which there is little or none."""
    zeros = tl.zeros([BLOCK, WIDTH], tl.float32)
    for start in range(first_row + program * BLOCK, rows, programs * BLOCK):
        lines = (start + tl.arange(0, BLOCK)).to(tl.int64)
        _store(zeros, base, row_stride, lines, rows, HEAD_WIDTH, WIDTH)


@triton.jit
def _softmax(scores):
    """Softmax of rows of base-2 scores, float32; a row without a key gets zeros."""
    highest = tl.max(scores, 1)
    highest = tl.where(highest == float("-inf"), 0.0, highest)
    weights = tl.exp2(scores - highest[:, None])
    total = tl.sum(weights, 1)
    return weights / tl.where(total == 0.0, 1.0, total)[:, None]


@triton.jit
def _scores(q_tile, k_tile, scale):
    """Scores in base 2, whose exponential is cheaper."""
    return tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee") * (scale * LOG2_E)


@triton.jit
def _attend(
    q, out, k_tile, v_tile, q_row, out_row, rows, places, queries, keys, first_query, head, seed, scale, dropout,
    HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """The output of some rows of a sentence, given all its keys."""
    q_tile = _load(q, q_row, rows, queries, HEAD_WIDTH, WIDTH)
    scores = _scores(q_tile, k_tile, scale)
    weights = _softmax(tl.where(_allowed(rows, places, queries, keys, CAUSAL), scores, float("-inf")))
    if DROPOUT:
        kept = _kept(seed, head, first_query + rows, places, dropout)
        weights = tl.where(kept, weights / (1 - dropout), 0.0)
    result = tl.dot(weights.to(v_tile.dtype), v_tile, input_precision="ieee")
    _store(result, out, out_row, rows, queries, HEAD_WIDTH, WIDTH)


@triton.jit(do_not_specialize=["sentences", "query_rows", "programs"])
def forward(
    q, k, v, out, query_starts, key_starts, seed,
    q_row, q_head, k_row, k_head, v_row, v_head, out_row, out_head,
    sentences, query_rows, programs, scale, dropout,
    ABOVE: tl.constexpr, BLOCK: tl.constexpr, QUERIES: tl.constexpr, STRIPE: tl.constexpr,
    HEADS: tl.constexpr, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Forward pass of sentences of more than ABOVE and at most BLOCK tokens; each program checks STRIPE sentences.

    It holds all keys of its sentence, and QUERIES queries at a time.
    """
    program = tl.program_id(0) // HEADS
    head = tl.program_id(0) % HEADS
    places = tl.arange(0, BLOCK)
    for step in range(STRIPE):
        sentence = program + step * programs
        here = sentence < sentences
        first_query = tl.load(query_starts + sentence, mask=here, other=0)
        first_key = tl.load(key_starts + sentence, mask=here, other=0)
        queries = tl.load(query_starts + sentence + 1, mask=here, other=0) - first_query
        keys = tl.load(key_starts + sentence + 1, mask=here, other=0) - first_key
        length = tl.maximum(queries, keys)
        if (length > ABOVE) & (length <= BLOCK) & (queries > 0):
            q_base = q + first_query.to(tl.int64) * q_row + head * q_head
            k_base = k + first_key.to(tl.int64) * k_row + head * k_head
            v_base = v + first_key.to(tl.int64) * v_row + head * v_head
            out_base = out + first_query.to(tl.int64) * out_row + head * out_head
            k_tile = _load(k_base, k_row, places, keys, HEAD_WIDTH, WIDTH)
            v_tile = _load(v_base, v_row, places, keys, HEAD_WIDTH, WIDTH)
            if QUERIES == BLOCK:
                _attend(
                    q_base, out_base, k_tile, v_tile, q_row, out_row, places, places, queries, keys,
                    first_query, head, seed, scale, dropout, HEAD_WIDTH, WIDTH, CAUSAL, DROPOUT,
                )  # fmt: skip
            else:
                for query in range(0, queries, QUERIES):
                    _attend(
                        q_base, out_base, k_tile, v_tile, q_row, out_row, query + tl.arange(0, QUERIES), places,
                        queries, keys, first_query, head, seed, scale, dropout, HEAD_WIDTH, WIDTH, CAUSAL, DROPOUT,
                    )  # fmt: skip
    if ABOVE == 0:
        end = tl.load(query_starts + sentences)
        _zero_tail(out + head * out_head, out_row, end, query_rows, program, programs, BLOCK, HEAD_WIDTH, WIDTH)


@triton.jit
def _differentiate(
    q, d_out, dq, k_tile, v_tile, q_row, d_out_row, dq_row, rows, places, queries, keys,
    first_query, head, seed, scale, dropout,
    HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Write the gradient of some queries; return the tiles for those of keys and values: dK = dS^T Q, dV = P^T dO.

    With P the weights: dP = dO V^T, dS = P (dP - sum(P dP)), dQ = dS K.
    """
    q_tile = _load(q, q_row, rows, queries, HEAD_WIDTH, WIDTH)
    d_out_tile = _load(d_out, d_out_row, rows, queries, HEAD_WIDTH, WIDTH)
    scores = _scores(q_tile, k_tile, scale)
    weights = _softmax(tl.where(_allowed(rows, places, queries, keys, CAUSAL), scores, float("-inf")))
    d_weights = tl.dot(d_out_tile, tl.trans(v_tile), input_precision="ieee")
    dropped = weights
    if DROPOUT:
        kept = _kept(seed, head, first_query + rows, places, dropout)
        dropped = tl.where(kept, weights / (1 - dropout), 0.0)
        d_weights = tl.where(kept, d_weights / (1 - dropout), 0.0)
    mean = tl.sum(weights * d_weights, 1)
    d_scores = (weights * (d_weights - mean[:, None]) * scale).to(q_tile.dtype)
    dq_tile = tl.dot(d_scores, k_tile, input_precision="ieee")
    _store(dq_tile, dq, dq_row, rows, queries, HEAD_WIDTH, WIDTH)
    return tl.trans(d_scores), q_tile, tl.trans(dropped.to(d_out_tile.dtype)), d_out_tile


@triton.jit(do_not_specialize=["sentences", "query_rows", "key_rows", "programs"])
def backward(
    q, k, v, d_out, dq, dk, dv, query_starts, key_starts, seed,
    q_row, q_head, k_row, k_head, v_row, v_head, d_out_row, d_out_head,
    dq_row, dq_head, dk_row, dk_head, dv_row, dv_head,
    sentences, query_rows, key_rows, programs, scale, dropout,
    ABOVE: tl.constexpr, BLOCK: tl.constexpr, QUERIES: tl.constexpr, STRIPE: tl.constexpr,
    HEADS: tl.constexpr, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Backward pass of the sentences of `forward`: all gradients."""
    program = tl.program_id(0) // HEADS
    head = tl.program_id(0) % HEADS
    places = tl.arange(0, BLOCK)
    for step in range(STRIPE):
        sentence = program + step * programs
        here = sentence < sentences
        first_query = tl.load(query_starts + sentence, mask=here, other=0)
        first_key = tl.load(key_starts + sentence, mask=here, other=0)
        queries = tl.load(query_starts + sentence + 1, mask=here, other=0) - first_query
        keys = tl.load(key_starts + sentence + 1, mask=here, other=0) - first_key
        length = tl.maximum(queries, keys)
        if (length > ABOVE) & (length <= BLOCK):
            q_base = q + first_query.to(tl.int64) * q_row + head * q_head
            k_base = k + first_key.to(tl.int64) * k_row + head * k_head
            v_base = v + first_key.to(tl.int64) * v_row + head * v_head
            d_out_base = d_out + first_query.to(tl.int64) * d_out_row + head * d_out_head
            dq_base = dq + first_query.to(tl.int64) * dq_row + head * dq_head
            k_tile = _load(k_base, k_row, places, keys, HEAD_WIDTH, WIDTH)
            v_tile = _load(v_base, v_row, places, keys, HEAD_WIDTH, WIDTH)
            dk_base = dk + first_key.to(tl.int64) * dk_row + head * dk_head
            dv_base = dv + first_key.to(tl.int64) * dv_row + head * dv_head
            if QUERIES == BLOCK:
                d_scores, q_tile, weights, d_out_tile = _differentiate(
                    q_base, d_out_base, dq_base, k_tile, v_tile, q_row, d_out_row, dq_row,
                    places, places, queries, keys,
                    first_query, head, seed, scale, dropout, HEAD_WIDTH, WIDTH, CAUSAL, DROPOUT,
                )  # fmt: skip
                dk_tile = tl.dot(d_scores, q_tile, input_precision="ieee")
                _store(dk_tile, dk_base, dk_row, places, keys, HEAD_WIDTH, WIDTH)
                dv_tile = tl.dot(weights, d_out_tile, input_precision="ieee")
                _store(dv_tile, dv_base, dv_row, places, keys, HEAD_WIDTH, WIDTH)
            else:
                dk_sum = tl.zeros([BLOCK, WIDTH], tl.float32)
                dv_sum = tl.zeros([BLOCK, WIDTH], tl.float32)
                for query in range(0, queries, QUERIES):
                    d_scores, q_tile, weights, d_out_tile = _differentiate(
                        q_base, d_out_base, dq_base, k_tile, v_tile, q_row, d_out_row, dq_row,
                        query + tl.arange(0, QUERIES), places, queries, keys,
                        first_query, head, seed, scale, dropout, HEAD_WIDTH, WIDTH, CAUSAL, DROPOUT,
                    )  # fmt: skip
                    dk_sum = tl.dot(d_scores, q_tile, dk_sum, input_precision="ieee")
                    dv_sum = tl.dot(weights, d_out_tile, dv_sum, input_precision="ieee")
                _store(dk_sum, dk_base, dk_row, places, keys, HEAD_WIDTH, WIDTH)
                _store(dv_sum, dv_base, dv_row, places, keys, HEAD_WIDTH, WIDTH)
    if ABOVE == 0:
        end = tl.load(query_starts + sentences)
        _zero_tail(dq + head * dq_head, dq_row, end, query_rows, program, programs, BLOCK, HEAD_WIDTH, WIDTH)
        end = tl.load(key_starts + sentences)
        _zero_tail(dk + head * dk_head, dk_row, end, key_rows, program, programs, BLOCK, HEAD_WIDTH, WIDTH)
        _zero_tail(dv + head * dv_head, dv_row, end, key_rows, program, programs, BLOCK, HEAD_WIDTH, WIDTH)


@triton.jit(do_not_specialize=["sentences", "programs"])
def forward_long(
    q, k, v, out, log_sums, query_starts, key_starts, seed,
    q_row, q_head, k_row, k_head, v_row, v_head, out_row, out_head,
    sentences, programs, scale, dropout,
    ABOVE: tl.constexpr, BLOCK: tl.constexpr, HEADS: tl.constexpr, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr,
    STRIPE: tl.constexpr, SHARES: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Forward pass of sentences of more than ABOVE tokens. SHARES programs share a sentence's query tiles.

    `log_sums` [rows, heads] receives the base-2 log-sum-exp of each softmax, for the backward pass.
    """
    program = tl.program_id(0) // HEADS
    head = tl.program_id(0) % HEADS
    share = tl.program_id(1)
    lines = tl.arange(0, BLOCK)
    for step in range(STRIPE):
        sentence = program + step * programs
        here = sentence < sentences
        first_query = tl.load(query_starts + sentence, mask=here, other=0)
        first_key = tl.load(key_starts + sentence, mask=here, other=0)
        queries = tl.load(query_starts + sentence + 1, mask=here, other=0) - first_query
        keys = tl.load(key_starts + sentence + 1, mask=here, other=0) - first_key
        if tl.maximum(queries, keys) > ABOVE:
            q_base = q + first_query.to(tl.int64) * q_row + head * q_head
            k_base = k + first_key.to(tl.int64) * k_row + head * k_head
            v_base = v + first_key.to(tl.int64) * v_row + head * v_head
            out_base = out + first_query.to(tl.int64) * out_row + head * out_head
            for query in range(share * BLOCK, queries, SHARES * BLOCK):
                rows = query + lines
                q_tile = _load(q_base, q_row, rows, queries, HEAD_WIDTH, WIDTH)
                highest = tl.full([BLOCK], float("-inf"), tl.float32)
                total = tl.zeros([BLOCK], tl.float32)
                result = tl.zeros([BLOCK, WIDTH], tl.float32)
                end = keys
                if CAUSAL:
                    end = tl.minimum(keys, query + BLOCK + keys - queries)
                for key in range(0, end, BLOCK):
                    places = key + lines
                    k_tile = _load(k_base, k_row, places, keys, HEAD_WIDTH, WIDTH)
                    v_tile = _load(v_base, v_row, places, keys, HEAD_WIDTH, WIDTH)
                    scores = _scores(q_tile, k_tile, scale)
                    scores = tl.where(_allowed(rows, places, queries, keys, CAUSAL), scores, float("-inf"))
                    now = tl.maximum(highest, tl.max(scores, 1))
                    anchor = tl.where(now == float("-inf"), 0.0, now)
                    weights = tl.exp2(scores - anchor[:, None])
                    shrink = tl.exp2(highest - anchor)
                    total = total * shrink + tl.sum(weights, 1)
                    if DROPOUT:
                        kept = _kept(seed, head, first_query + rows, places, dropout)
                        weights = tl.where(kept, weights / (1 - dropout), 0.0)
                    result = result * shrink[:, None]
                    result += tl.dot(weights.to(v_tile.dtype), v_tile, input_precision="ieee")
                    highest = now
                # A query without a key has a total of 0; any finite logarithm works, since all its scores are -inf.
                log_sum = tl.where(total == 0.0, 0.0, highest + tl.log2(tl.where(total == 0.0, 1.0, total)))
                result = result / tl.where(total == 0.0, 1.0, total)[:, None]
                _store(result, out_base, out_row, rows, queries, HEAD_WIDTH, WIDTH)
                tl.store(log_sums + (first_query + rows) * HEADS + head, log_sum, mask=rows < queries)


@triton.jit(do_not_specialize=["sentences", "programs"])
def backward_long(
    q, k, v, out, log_sums, d_out, dq, dk, dv, query_starts, key_starts, seed,
    q_row, q_head, k_row, k_head, v_row, v_head, out_row, out_head, d_out_row, d_out_head,
    dq_row, dq_head, dk_row, dk_head, dv_row, dv_head,
    sentences, programs, scale, dropout,
    ABOVE: tl.constexpr, BLOCK: tl.constexpr, HEADS: tl.constexpr, HEAD_WIDTH: tl.constexpr, WIDTH: tl.constexpr,
    STRIPE: tl.constexpr, SHARES: tl.constexpr, CAUSAL: tl.constexpr, DROPOUT: tl.constexpr,
):  # fmt: skip
    """Backward pass of the long sentences, in two passes, so that nothing is added across programs: dk and dv by key
    tiles, then dq by query tiles. sum(P dP) of a row is computed as the equal sum(O dO).
    """
    program = tl.program_id(0) // HEADS
    head = tl.program_id(0) % HEADS
    share = tl.program_id(1)
    lines = tl.arange(0, BLOCK)
    for step in range(STRIPE):
        sentence = program + step * programs
        here = sentence < sentences
        first_query = tl.load(query_starts + sentence, mask=here, other=0)
        first_key = tl.load(key_starts + sentence, mask=here, other=0)
        queries = tl.load(query_starts + sentence + 1, mask=here, other=0) - first_query
        keys = tl.load(key_starts + sentence + 1, mask=here, other=0) - first_key
        if tl.maximum(queries, keys) > ABOVE:
            q_base = q + first_query.to(tl.int64) * q_row + head * q_head
            k_base = k + first_key.to(tl.int64) * k_row + head * k_head
            v_base = v + first_key.to(tl.int64) * v_row + head * v_head
            out_base = out + first_query.to(tl.int64) * out_row + head * out_head
            d_out_base = d_out + first_query.to(tl.int64) * d_out_row + head * d_out_head
            dq_base = dq + first_query.to(tl.int64) * dq_row + head * dq_head
            dk_base = dk + first_key.to(tl.int64) * dk_row + head * dk_head
            dv_base = dv + first_key.to(tl.int64) * dv_row + head * dv_head

            for key in range(share * BLOCK, keys, SHARES * BLOCK):
                places = key + lines
                k_tile = _load(k_base, k_row, places, keys, HEAD_WIDTH, WIDTH)
                v_tile = _load(v_base, v_row, places, keys, HEAD_WIDTH, WIDTH)
                dk_tile = tl.zeros([BLOCK, WIDTH], tl.float32)
                dv_tile = tl.zeros([BLOCK, WIDTH], tl.float32)
                begin = 0
                if CAUSAL:  # the first query that sees this key, rounded down to a tile
                    begin = tl.maximum(key - (keys - queries), 0) // BLOCK * BLOCK
                for query in range(begin, queries, BLOCK):
                    rows = query + lines
                    q_tile = _load(q_base, q_row, rows, queries, HEAD_WIDTH, WIDTH)
                    out_tile = _load(out_base, out_row, rows, queries, HEAD_WIDTH, WIDTH)
                    d_out_tile = _load(d_out_base, d_out_row, rows, queries, HEAD_WIDTH, WIDTH)
                    log_sum = tl.load(log_sums + (first_query + rows) * HEADS + head, mask=rows < queries, other=0.0)
                    scores = _scores(q_tile, k_tile, scale)
                    scores = tl.where(_allowed(rows, places, queries, keys, CAUSAL), scores, float("-inf"))
                    weights = tl.exp2(scores - log_sum[:, None])
                    d_weights = tl.dot(d_out_tile, tl.trans(v_tile), input_precision="ieee")
                    dropped = weights
                    if DROPOUT:
                        kept = _kept(seed, head, first_query + rows, places, dropout)
                        dropped = tl.where(kept, weights / (1 - dropout), 0.0)
                        d_weights = tl.where(kept, d_weights / (1 - dropout), 0.0)
                    mean = tl.sum(out_tile.to(tl.float32) * d_out_tile.to(tl.float32), 1)
                    d_scores = (weights * (d_weights - mean[:, None]) * scale).to(q_tile.dtype)
                    dv_tile += tl.dot(tl.trans(dropped.to(d_out_tile.dtype)), d_out_tile, input_precision="ieee")
                    dk_tile += tl.dot(tl.trans(d_scores), q_tile, input_precision="ieee")
                _store(dk_tile, dk_base, dk_row, places, keys, HEAD_WIDTH, WIDTH)
                _store(dv_tile, dv_base, dv_row, places, keys, HEAD_WIDTH, WIDTH)

            for query in range(share * BLOCK, queries, SHARES * BLOCK):
                rows = query + lines
                q_tile = _load(q_base, q_row, rows, queries, HEAD_WIDTH, WIDTH)
                out_tile = _load(out_base, out_row, rows, queries, HEAD_WIDTH, WIDTH)
                d_out_tile = _load(d_out_base, d_out_row, rows, queries, HEAD_WIDTH, WIDTH)
                log_sum = tl.load(log_sums + (first_query + rows) * HEADS + head, mask=rows < queries, other=0.0)
                mean = tl.sum(out_tile.to(tl.float32) * d_out_tile.to(tl.float32), 1)
                dq_tile = tl.zeros([BLOCK, WIDTH], tl.float32)
                end = keys
                if CAUSAL:
                    end = tl.minimum(keys, query + BLOCK + keys - queries)
                for key in range(0, end, BLOCK):
                    places = key + lines
                    k_tile = _load(k_base, k_row, places, keys, HEAD_WIDTH, WIDTH)
                    v_tile = _load(v_base, v_row, places, keys, HEAD_WIDTH, WIDTH)
                    scores = _scores(q_tile, k_tile, scale)
                    scores = tl.where(_allowed(rows, places, queries, keys, CAUSAL), scores, float("-inf"))
                    weights = tl.exp2(scores - log_sum[:, None])
                    d_weights = tl.dot(d_out_tile, tl.trans(v_tile), input_precision="ieee")
                    if DROPOUT:
                        kept = _kept(seed, head, first_query + rows, places, dropout)
                        d_weights = tl.where(kept, d_weights / (1 - dropout), 0.0)
                    d_scores = (weights * (d_weights - mean[:, None]) * scale).to(q_tile.dtype)
                    dq_tile += tl.dot(d_scores, k_tile, input_precision="ieee")
                _store(dq_tile, dq_base, dq_row, rows, queries, HEAD_WIDTH, WIDTH)
