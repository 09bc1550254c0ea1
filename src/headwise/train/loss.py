"""Label-smoothed cross-entropy over a large vocabulary, without ever holding all logits."""

from typing import Any, NamedTuple, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_BYTES = 2**25
"""Logits held at a time: about what stays in a processor's cache, since the loss is bound by memory."""


class TokenLoss(NamedTuple):
    """Sums over the real tokens of a batch; divide by the tokens of the whole step."""

    loss: Tensor
    """What is minimised: cross-entropy against the smoothed target distribution."""
    nll: Tensor
    """Negative log-likelihood of the reference itself, for perplexity; no gradient."""


class Projection(Protocol):
    """What makes logits of hidden states: a family's output projection."""

    @property
    def weight(self) -> Tensor: ...
    @property
    def bias(self) -> Tensor | None: ...
    @property
    def scale(self) -> float: ...


def prediction_loss(hidden: Tensor, projection: Projection, targets: Tensor, smoothing: float = 0.0) -> TokenLoss:
    """Loss of hidden states [N, D] against target ids [N] under the logits of `projection`."""
    if projection.scale != 1:
        hidden = hidden * projection.scale
    return projected_cross_entropy(hidden, projection.weight, targets, smoothing, projection.bias)


def projected_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, bias: Tensor | None = None
) -> TokenLoss:
    """Loss of hidden states [N, D] against target ids [N] under logits = hidden @ weight^T + bias, weight [V, D].

    Equal to `plain_cross_entropy`, the oracle, in a fraction of the memory and time: logits exist for a chunk
    of rows at a time, and their gradient is taken while they are at hand.
    """
    # Inside the function gradients are always off, and a parameter always asks for one: so the mode is passed.
    learning = torch.is_grad_enabled()
    loss, nll = _ProjectedCrossEntropy.apply(hidden, weight, bias, targets, smoothing, learning)  # type: ignore[no-untyped-call]
    return TokenLoss(loss, nll)


def plain_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, bias: Tensor | None = None
) -> TokenLoss:
    """The same, the obvious way."""
    logits = F.linear(hidden, weight, bias).float()
    loss = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    return TokenLoss(loss, F.cross_entropy(logits, targets, reduction="sum").detach())


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
        learning: bool,
    ) -> tuple[Tensor, Tensor]:
        kind = hidden.device.type
        precision = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
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
                logits = (states @ weight.T).float()  # [rows, V]
                if bias is not None:
                    logits += bias
                target_logit = logits.gather(1, target)
                log_p = logits.log_softmax(-1)
                target_log_p = log_p.gather(1, target)
                normaliser = target_logit - target_log_p
                smooth = (normaliser - (states.float() @ mean_weight)[:, None] - mean_bias).sum()
                chunk_nll = -target_log_p.sum()
                nll += chunk_nll
                loss += (1 - smoothing) * chunk_nll + smoothing * smooth
                if hidden_grad is not None:
                    grad = log_p.exp_().sub_(smoothing / vocabulary)
                    grad.scatter_add_(1, target, torch.full_like(target_logit, smoothing - 1))
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
        hidden_grad, weight_grad, bias_grad = ctx.saved_tensors
        scale = gradients[0]
        bias_grad = None if bias_grad is None else bias_grad * scale
        weight_grad = None if weight_grad is None else weight_grad * scale
        return hidden_grad * scale, weight_grad, bias_grad, None, None, None
