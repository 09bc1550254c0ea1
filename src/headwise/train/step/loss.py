"""Label-smoothed cross-entropy over a large vocabulary, without ever holding all logits."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from headwise.nn.kernels import usable_on

CHUNK_BYTES = 2**25
"""Bytes of logits held at a time on a CPU: about its cache, since the loss is bound by memory."""

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
    # Inside an autograd function gradients are always off, so whether they are wanted is passed.
    learning = torch.is_grad_enabled()
    function = _KernelCrossEntropy if usable_on(hidden.device) else _ProjectedCrossEntropy
    loss, nll = function.apply(hidden, weight, bias, targets, smoothing, ignore, learning)  # type: ignore[no-untyped-call]
    return TokenLoss(loss, nll)


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


class _ProjectedCrossEntropy(torch.autograd.Function):
    """With p the softmax, q the one-hot target and e the smoothing over V tokens:

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
        precision = _precision(hidden)
        needs_gradient = learning and any(ctx.needs_input_grad[:3])
        vocabulary = weight.size(0)
        weight_grad = torch.zeros_like(weight) if needs_gradient and ctx.needs_input_grad[1] else None
        bias_grad = torch.zeros_like(bias) if needs_gradient and bias is not None else None
        hidden_grad = torch.empty_like(hidden) if needs_gradient else None
        loss = hidden.new_zeros((), dtype=torch.float32)
        nll = loss.clone()
        rows = max(1, CHUNK_BYTES // (4 * vocabulary)) if kind == "cpu" else 8192

        with torch.autocast(kind, enabled=False):
            weight = weight.to(precision)
            mean_weight = weight.float().mean(0)  # the mean of all logits is one dot product with this
            mean_bias = bias.float().mean() if bias is not None else 0.0
            for start in range(0, len(targets), rows):
                part = slice(start, start + rows)
                states, target = hidden[part].to(precision), targets[part, None]
                real = None if ignore is None else target != ignore
                if real is not None:
                    target = target.where(real, 0)
                logits = (states @ weight.T).float()  # [rows, V]
                if bias is not None:
                    logits += bias
                target_logit = logits.gather(1, target)
                log_p = logits.log_softmax(-1)
                target_log_p = log_p.gather(1, target)
                normaliser = target_logit - target_log_p
                smooth = normaliser - (states.float() @ mean_weight)[:, None] - mean_bias
                if real is not None:
                    target_log_p, smooth = target_log_p.where(real, 0), smooth.where(real, 0)
                chunk_nll = -target_log_p.sum()
                nll += chunk_nll
                loss += (1 - smoothing) * chunk_nll + smoothing * smooth.sum()
                if hidden_grad is not None:
                    grad = log_p.exp_().sub_(smoothing / vocabulary)
                    grad.scatter_add_(1, target, torch.full_like(target_logit, smoothing - 1))
                    if real is not None:
                        grad.masked_fill_(~real, 0)
                    if bias_grad is not None:
                        bias_grad += grad.sum(0)
                    grad = grad.to(precision)
                    hidden_grad[part] = grad @ weight
                    if weight_grad is None:  # frozen
                        continue
                    if precision == weight_grad.dtype:
                        weight_grad.addmm_(grad.T, states)
                    else:
                        weight_grad += grad.T @ states
        if hidden_grad is not None:
            ctx.save_for_backward(hidden_grad, weight_grad, bias_grad)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _scaled(ctx, gradients[0])


class _KernelCrossEntropy(torch.autograd.Function):
    """The loss of `_ProjectedCrossEntropy` with a GPU kernel that overwrites a chunk of logits with their gradient."""

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
        from headwise.nn.kernels.cross_entropy import cross_entropy_

        kind = hidden.device.type
        precision = _precision(hidden)
        needs_gradient = learning and any(ctx.needs_input_grad[:3])
        vocabulary = weight.size(0)
        hidden_grad = torch.empty_like(hidden) if needs_gradient else None
        # The vocabulary is padded to a multiple of 64: cuBLAS is up to four times as slow at products of odd sizes, and
        # reads rows that begin at multiples of 128 bytes in larger words.
        filled = -(-vocabulary // 64) * 64
        weight_grad = None
        if needs_gradient and ctx.needs_input_grad[1]:
            weight_grad = weight.new_empty(filled, weight.size(1))
            if len(targets) == 0:
                weight_grad.zero_()
        bias_grad = torch.zeros_like(bias) if needs_gradient and bias is not None else None
        loss = hidden.new_zeros((), dtype=torch.float32)
        nll = loss.clone()
        rows = _chunk(len(targets), vocabulary * precision.itemsize)
        held = torch.empty(rows, filled, dtype=precision, device=hidden.device)

        with torch.autocast(kind, enabled=False):
            cast = F.pad(weight.to(precision), (0, 0, 0, filled - vocabulary))
            for start in range(0, len(targets), rows):
                part = slice(start, start + rows)
                states = hidden[part].to(precision)
                logits = held[: len(states)]
                torch.mm(states, cast.T, out=logits)
                row_loss, row_nll = cross_entropy_(
                    logits, vocabulary, bias, targets[part], smoothing, ignore, needs_gradient
                )
                loss += row_loss.sum()
                nll += row_nll.sum()
                if hidden_grad is None:
                    continue
                hidden_grad[part] = logits @ cast
                if bias_grad is not None:
                    bias_grad += logits[:, :vocabulary].sum(0, dtype=torch.float32)
                if weight_grad is not None:
                    _accumulate(weight_grad, logits.T, states, first=start == 0)
        if hidden_grad is not None:
            ctx.save_for_backward(hidden_grad, None if weight_grad is None else weight_grad[:vocabulary], bias_grad)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return _scaled(ctx, gradients[0])


def _precision(hidden: Tensor) -> torch.dtype:
    """The precision of the matrix products."""
    kind = hidden.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype


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


def _scaled(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients that the forward pass computed, times the gradient of the loss."""
    kept = [None if gradient is None else gradient * scale for gradient in ctx.saved_tensors]
    return *kept, None, None, None, None
