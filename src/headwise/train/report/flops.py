"""Floating-point operations (FLOPs) of training, counted by PyTorch on short inputs.

    FLOPs = 3 x 2 x (multiply-adds of a forward pass)

A multiply-add is two operations, and the backward pass has twice as many as the forward pass: gradients of the inputs
and of the weights. This is the 6 N per token of the scaling laws, but with the modules that each token really passes:
source tokens pass the encoder and the keys and values of the cross-attention, target tokens the decoder and the output,
and the two products of attention (queries by keys, weights by values) are counted with the lengths of each sentence, as
full squares. Real tokens count. Padding, element-wise operations (about a percent), the optimiser and validation do
not; weights that are frozen count as if they had gradients.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from headwise.models.classifier import Classifier
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.description import Description
from headwise.models.masked_lm import MaskedLM
from headwise.train.job import Job

PASSES = 3
"""One forward pass, and two for the gradients of inputs and weights."""

Lengths = NDArray[np.float64]


def flops_per_unit(job: Job) -> float | None:
    """FLOPs per unit that the batches of a job count (a target token, a masked token, an example); None: unknown."""
    count = COUNTS.get(job.loaded.task.kind)
    if count is None:
        return None
    return 2 * PASSES * count(blank(job.loaded.description), job)


def blank(description: Description) -> nn.Module:
    """The model with uninitialised weights: only its shapes matter."""
    return description.empty("the model").to_empty(device="cpu").eval()


# --- by task: multiply-adds of a forward pass for one unit ------------------------------------------------------------


def _translation(model: Any, job: Any) -> float:
    """The mean over the pairs of an epoch; with `train.agreement` each pair passes twice."""
    tokenizer, tags = job.prepared.tokenizer, job.loaded.task.tags
    spent = tokens = 0.0
    cost = sentence_cost(model)
    for each in job.prepared.train:
        languages = (each.source_language, each.target_language) if tags else ("", "")
        before, after = tokenizer.source_frame(*languages)
        start = tokenizer.target_start(languages[1])
        source = each.corpus.source.lengths + len(before) + len(after)
        target = each.corpus.target.lengths + len(start) + 1
        spent += each.weight * float(cost(source, target).sum())
        tokens += each.weight * float(target.sum())
    return spent / tokens * (2 if job.recipe.train.agreement else 1)


def _causal(model: Any, job: Any) -> float:
    block = np.array([job.recipe.language.block])
    return float(row_cost(model)(block)[0] / block[0])


def _masked(model: MaskedLM, job: Any) -> float:
    """Every token passes the stack, and masked tokens the head."""
    block, share = np.array([job.recipe.language.block]), job.recipe.language.mask
    whole, stack = row_cost(model)(block)[0], row_cost(model, model.encode)(block)[0]
    return float(stack / (block[0] * share) + (whole - stack) / block[0])


def _classify(model: Any, job: Any) -> float:
    widths = np.concatenate([each.widths for each in job.data.train])
    return float(row_cost(model)(widths).mean())


def _images(model: Any, job: Any) -> float:
    patches = job.loaded.config.image_patches
    image = torch.zeros(1, patches.channels, patches.image_size, patches.image_size)
    return float(multiply_adds(model, lambda: model(image)))


COUNTS: dict[str, Callable[[Any, Any], float]] = {
    "translation": _translation,
    "causal_lm": _causal,
    "masked_lm": _masked,
    "classify": _classify,
    "images": _images,
}


# --- by length --------------------------------------------------------------------------------------------------------


def sentence_cost(model: EncoderDecoder) -> Callable[[NDArray[Any], NDArray[Any]], Lengths]:
    """Multiply-adds of a pair, as a function of its S source and T target tokens.

    A Transformer's are a polynomial in 1, S, T, S^2, ST, T^2, which six short sentences determine.
    """

    def basis(source: NDArray[Any], target: NDArray[Any]) -> Lengths:
        s, t = source.astype(np.float64), target.astype(np.float64)
        return np.stack([np.ones_like(s), s, t, s * s, s * t, t * t], -1)

    sizes = np.array([(1, 1), (2, 1), (1, 2), (3, 1), (2, 2), (1, 3)])
    found = [multiply_adds(model, partial(model, _ids(s, model.pad), _ids(t, model.pad))) for s, t in sizes]
    factors = np.linalg.solve(basis(*sizes.T), np.array(found, np.float64))
    return lambda source, target: cast(Lengths, basis(source, target) @ factors)


def row_cost(model: Any, run: Callable[[Tensor], Any] | None = None) -> Callable[[NDArray[Any]], Lengths]:
    """Multiply-adds of a row, as a function of its tokens, through a model of one stack or its part `run`."""
    body: Any = model.body if isinstance(model, Classifier) else model
    sizes = np.arange(1, 4)
    found = [multiply_adds(model, partial(run or model, _ids(int(t), body.pad))) for t in sizes]
    factors = np.linalg.solve(np.vander(sizes.astype(np.float64), 3), np.array(found, np.float64))
    return lambda lengths: cast(Lengths, np.vander(lengths.astype(np.float64), 3) @ factors)


def _ids(length: int, pad: int) -> Tensor:
    """A row of real tokens."""
    return torch.full((1, int(length)), 1 if pad == 0 else 0)


# --- by operation -----------------------------------------------------------------------------------------------------


def multiply_adds(model: nn.Module, run: Callable[[], object]) -> int:
    """Multiply-adds of all matrix products while `run` runs the model, by PyTorch's counter, which ignores LSTMs."""
    in_lstms = 0

    def count(module: nn.LSTM, args: tuple[Any, ...], output: Any) -> None:
        nonlocal in_lstms
        x = args[0].data if isinstance(args[0], nn.utils.rnn.PackedSequence) else args[0].flatten(0, 1)
        in_lstms += len(x) * sum(w.numel() for name, w in module.named_parameters() if name.startswith("weight"))

    hooks = [module.register_forward_hook(count) for module in model.modules() if isinstance(module, nn.LSTM)]
    # Attention as plain products: the counter does not know the fused kernel of the CPU.
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        run()
    for hook in hooks:
        hook.remove()
    return int(counter.get_total_flops()) // 2 + in_lstms
