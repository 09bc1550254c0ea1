"""Scores and attention of given translations, in one pass of the model over all their tokens (teacher forcing)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from headwise.decode.alignment import AlignmentHead, alignment_layer
from headwise.decode.batching import by_budget, padded
from headwise.models.encoder_decoder import EncoderDecoder

Rows = Sequence[Sequence[int]]


@torch.inference_mode()
def log_probabilities(model: EncoderDecoder, sources: Rows, targets: Rows, sos: int, eos: int) -> list[list[float]]:
    """Log-probability of each target token and of the `<eos>` after it.

    `sos` is the first input of the decoder; sources have all their special tokens, targets have none.
    """
    order = sorted(range(len(sources)), key=lambda i: (len(sources[i]), len(targets[i])))
    result: list[list[float]] = [[] for _ in sources]
    for rows in by_budget(order, [max(len(s), len(t)) + 2 for s, t in zip(sources, targets, strict=True)]):
        target = _padded(model, [[sos, *targets[i], eos] for i in rows])
        encoded = model.encode(_padded(model, [sources[i] for i in rows]))
        logits = model.output_projection(model.decode(target[:, :-1], encoded).hidden)
        chosen = logits.float().log_softmax(-1).gather(-1, target[:, 1:, None])[..., 0].tolist()
        for i, log_p in zip(rows, chosen, strict=True):
            result[i] = log_p[: len(targets[i]) + 1]
    return result


@torch.inference_mode()
def next_tokens(model: EncoderDecoder, source: Sequence[int], target: Sequence[int]) -> NDArray[Any]:
    """Log-probabilities [T, V] of the token after each one of `target`, which begins with the start token."""
    encoded = model.encode(_padded(model, [source]))
    logits = model.output_projection(model.decode(_padded(model, [target]), encoded).hidden)
    found: NDArray[Any] = logits[0].float().log_softmax(-1).cpu().numpy()
    return found


@torch.inference_mode()
def cross_attention(
    model: EncoderDecoder, sources: Rows, targets: Rows, head: AlignmentHead = ()
) -> list[NDArray[Any]]:
    """Cross-attention weights of each pair of ids, of one head or averaged over those of `alignment_layer`.

    [T, S] for each pair, padded.
    """
    encoded = model.encode(_padded(model, sources))
    cross_weights = model.decode(_padded(model, targets), encoded, capture=True).cross_weights
    if head:
        weights = cross_weights[head[0]][:, head[1]]  # [pairs, T, S]
    else:
        weights = cross_weights[alignment_layer(len(cross_weights))].mean(1)
    return list(weights.float().cpu().numpy())


def _padded(model: EncoderDecoder, rows: Rows) -> Tensor:
    return padded(rows, model.pad, next(model.parameters()).device)
