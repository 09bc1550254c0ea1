"""Label-smoothed cross-entropy over a large vocabulary, without holding all logits in memory."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from headwise.nn.kernels import usable_on

CHUNK_BYTES = 2**25
"""Bytes of logits held at a time on a CPU: about the size of its cache, since the loss is memory-bound."""

KERNEL_CHUNK_BYTES = 2**30
"""Bytes of logits held at a time with the GPU kernel: few large matrix products, and far less than all logits."""


DIVERGENCE_BYTES = 2**27
"""Bytes of logits held at a time for each of two predictions that are compared."""


class TokenLoss(NamedTuple):
    """Sums over the real tokens of a batch; divide by the tokens of the whole step."""

    loss: Tensor
    """Cross-entropy against the smoothed target distribution, which is minimised."""
    nll: Tensor
    """Negative log-likelihood of the reference itself, for perplexity; no gradient."""


def summed(losses: Sequence[TokenLoss]) -> Tensor:
    """[2]: the sums of the losses and of the negative log-likelihoods of several batches."""
    return torch.stack([torch.stack(each).sum() for each in zip(*losses, strict=True)])


class Projection(Protocol):
    """The output projection of a model, from hidden states to logits."""

    @property
    def weight(self) -> Tensor: ...
    @property
    def bias(self) -> Tensor | None: ...
    @property
    def scale(self) -> float: ...


def prediction_loss(
    hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float = 0.0, *, ignore: int | None = None
) -> TokenLoss:
    """Loss of hidden states [N, D] against target ids [N] under the logits of `projection`."""
    if projection.scale != 1:
        hidden = hidden * projection.scale
    return projected_cross_entropy(hidden, projection.weight, targets, smoothing, projection.bias, ignore=ignore)


def projected_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    smoothing: float,
    bias: Tensor | None = None,
    *,
    ignore: int | None = None,
) -> TokenLoss:
    """Loss of hidden states [N, D] against target ids [N] under logits = hidden @ weight^T + bias, weight [V, D].

    A row whose target is `ignore` (padding) adds nothing to the sums or to any gradient. The result equals
    `plain_cross_entropy`, the oracle, in a fraction of the memory and time: logits exist for a chunk of rows at a
    time, and their gradient is computed while they are in memory.
    """
    # Gradients are always disabled inside an autograd function, so whether they are needed is passed.
    learning = torch.is_grad_enabled()
    sums = _ChunkedCrossEntropy.apply(hidden, weight, bias, targets, smoothing, ignore, learning)  # type: ignore[no-untyped-call]
    return TokenLoss(*sums)


def divergence(first: Tensor, second: Tensor, projection: Projection, real: Tensor | None = None) -> Tensor:
    """The symmetric divergence of two predictions of the same tokens: KL(p, q) + KL(q, p), summed over the rows.

    Both are hidden states [N, D]; `real` [N] marks the rows that count. Logits exist for a chunk of rows at a time, and
    are computed again for the gradient.
    """

    def apart(states: Tensor, others: Tensor, counts: Tensor | None) -> Tensor:
        p, q = (
            F.linear(each * projection.scale, projection.weight, projection.bias).float().log_softmax(-1)
            for each in (states, others)
        )
        rows = ((p.exp() - q.exp()) * (p - q)).sum(-1)
        return (rows if counts is None else rows * counts).sum()

    at_once = max(1, DIVERGENCE_BYTES // (4 * projection.weight.size(0)))
    total = first.new_zeros((), dtype=torch.float32)
    for start in range(0, len(first), at_once):
        part = slice(start, start + at_once)
        counts = None if real is None else real[part]
        chunk: Tensor = checkpoint(
            apart, first[part], second[part], counts, use_reentrant=False, preserve_rng_state=False
        )
        total = total + chunk
    return total


def plain_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    smoothing: float,
    bias: Tensor | None = None,
    *,
    ignore: int | None = None,
) -> TokenLoss:
    """The oracle of `projected_cross_entropy`: all logits at once, with PyTorch's own loss."""
    logits = F.linear(hidden, weight, bias).float()
    unused = -100 if ignore is None else ignore
    loss = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum", ignore_index=unused)
    return TokenLoss(loss, F.cross_entropy(logits, targets, reduction="sum", ignore_index=unused).detach())


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Loss and gradients by chunks of rows. With p the softmax, q the one-hot target and e the smoothing over V tokens:

    loss = (1 - e) * -log p[target] + e * mean(-log p), and d loss / d logits = p - (1 - e) q - e / V.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        ignore: int | None,
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        kind = hidden.device.type
        precision = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
        needs_gradient = learning and any(ctx.needs_input_grad[:3])
        loss = hidden.new_zeros((), dtype=torch.float32)
        hidden_grad = torch.empty_like(hidden) if needs_gradient else None
        bias_grad = torch.zeros_like(bias) if needs_gradient and bias is not None else None
        sums = _Sums(loss, loss.clone(), hidden_grad, bias_grad, needs_gradient and ctx.needs_input_grad[1])
        add_chunks = _add_chunks_by_kernel if usable_on(hidden.device) else _add_chunks
        with torch.autocast(kind, enabled=False):
            weight_grad = add_chunks(sums, hidden, weight, bias, targets, smoothing, ignore, precision)
        if needs_gradient:
            ctx.save_for_backward(hidden_grad, weight_grad, bias_grad)
        ctx.mark_non_differentiable(sums.nll)
        return sums.loss, sums.nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients that the forward pass computed, times the gradient of the loss."""
        kept = [None if gradient is None else gradient * gradients[0] for gradient in ctx.saved_tensors]
        return *kept, None, None, None, None


class _Sums(NamedTuple):
    """Tensors that chunks are added to; a gradient that is not needed is None."""

    loss: Tensor
    nll: Tensor
    hidden_grad: Tensor | None
    bias_grad: Tensor | None
    weight_learns: bool


def _add_chunks(
    sums: _Sums,
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    smoothing: float,
    ignore: int | None,
    precision: torch.dtype,
) -> Tensor | None:
    """Add the loss and the gradients of all rows, a chunk at a time; returns the gradient of `weight`."""
    weight_grad = torch.zeros_like(weight) if sums.weight_learns else None
    weight = weight.to(precision)
    mean_weight = weight.float().mean(0)  # the mean of all logits is one dot product with this
    mean_bias = bias.float().mean() if bias is not None else 0.0
    rows = max(1, CHUNK_BYTES // (4 * weight.size(0))) if hidden.device.type == "cpu" else 8192
    for start in range(0, len(targets), rows):
        part = slice(start, start + rows)
        states, target = hidden[part].to(precision), targets[part, None]
        ignored = None if ignore is None else target == ignore
        target = _zeroed(target, ignored)
        logits = (states @ weight.T).float()  # [rows, V]
        if bias is not None:
            logits += bias
        target_logit = logits.gather(1, target)
        log_p = logits.log_softmax(-1)
        target_log_p = log_p.gather(1, target)
        normaliser = target_logit - target_log_p
        smooth = normaliser - (states.float() @ mean_weight)[:, None] - mean_bias
        nll = -_zeroed(target_log_p, ignored).sum()
        sums.nll.add_(nll)
        sums.loss.add_((1 - smoothing) * nll + smoothing * _zeroed(smooth, ignored).sum())
        if sums.hidden_grad is None:
            continue
        grad = log_p.exp_().sub_(smoothing / weight.size(0))
        grad.scatter_add_(1, target, torch.full_like(target_logit, smoothing - 1))
        if ignored is not None:
            grad.masked_fill_(ignored, 0)
        if sums.bias_grad is not None:
            sums.bias_grad.add_(grad.sum(0))
        grad = grad.to(precision)
        sums.hidden_grad[part] = grad @ weight
        if weight_grad is not None and precision == weight_grad.dtype:
            weight_grad.addmm_(grad.T, states)
        elif weight_grad is not None:
            weight_grad += grad.T @ states
    return weight_grad


def _zeroed(values: Tensor, rows: Tensor | None) -> Tensor:
    """The values with 0 in these rows."""
    return values if rows is None else values.masked_fill(rows, 0)


def _add_chunks_by_kernel(
    sums: _Sums,
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    targets: Tensor,
    smoothing: float,
    ignore: int | None,
    precision: torch.dtype,
) -> Tensor | None:
    """`_add_chunks` with a GPU kernel that overwrites a chunk of logits with their gradient."""
    from headwise.nn.kernels.cross_entropy import cross_entropy_

    vocabulary = weight.size(0)
    # The vocabulary is padded to a multiple of 64: cuBLAS is up to four times as slow at products of odd sizes, and
    # reads rows that begin at multiples of 128 bytes in larger words.
    filled = -(-vocabulary // 64) * 64
    weight_grad = weight.new_empty(filled, weight.size(1)) if sums.weight_learns else None
    if weight_grad is not None and len(targets) == 0:
        weight_grad.zero_()
    rows = _chunk(len(targets), vocabulary * precision.itemsize)
    held = torch.empty(rows, filled, dtype=precision, device=hidden.device)
    cast = F.pad(weight.to(precision), (0, 0, 0, filled - vocabulary))
    for start in range(0, len(targets), rows):
        part = slice(start, start + rows)
        states = hidden[part].to(precision)
        logits = held[: len(states)]
        torch.mm(states, cast.T, out=logits)
        needs_gradient = sums.hidden_grad is not None
        row_loss, row_nll = cross_entropy_(logits, vocabulary, bias, targets[part], smoothing, ignore, needs_gradient)
        sums.loss.add_(row_loss.sum())
        sums.nll.add_(row_nll.sum())
        if sums.hidden_grad is None:
            continue
        sums.hidden_grad[part] = logits @ cast
        if sums.bias_grad is not None:
            sums.bias_grad.add_(logits[:, :vocabulary].sum(0, dtype=torch.float32))
        if weight_grad is not None:
            _accumulate(weight_grad, logits.T, states, first=start == 0)
    return None if weight_grad is None else weight_grad[:vocabulary]


def _chunk(rows: int, row_bytes: int) -> int:
    """Rows per chunk: chunks of nearly equal size, in whole tiles of a matrix product."""
    most = max(1, KERNEL_CHUNK_BYTES // row_bytes)
    chunks = max(1, -(-rows // most))
    even = -(-rows // chunks)
    return max(1, min(rows, -(-even // 128) * 128))


def _accumulate(total: Tensor, left: Tensor, right: Tensor, *, first: bool) -> None:
    """total += left @ right, or = for the first chunk; a float32 sum is never rounded to bfloat16."""
    if total.dtype == right.dtype:
        torch.addmm(total, left, right, beta=0 if first else 1, out=total)
    elif not total.is_cuda:
        total.copy_(left @ right if first else total + left @ right)
    elif first:
        torch.mm(left, right, out_dtype=total.dtype, out=total)
    else:
        total += torch.mm(left, right, out_dtype=total.dtype)
