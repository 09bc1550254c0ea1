"""A model in training with its pass, optimiser and average, set up for a recipe, a device and a group of processes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.stream import Stream
from headwise.models.folder.weights import weights_of
from headwise.train.checkpoint.sharded_state import gather_into
from headwise.train.processes.batch_share import passes_per_step
from headwise.train.processes.group import ProcessGroup
from headwise.train.processes.random_state import seed_apart
from headwise.train.step.averages import MovingAverage, swapped
from headwise.train.step.backward import Backward, Graphed, Plain, can_be_graphed, compile_layers
from headwise.train.step.blend import Blend
from headwise.train.step.loss import TokenLoss
from headwise.train.step.optimiser import make_optimiser
from headwise.train.step.out_of_memory import surviving

Objective = Callable[[nn.Module, Any], TokenLoss]
"""The loss of a batch, as sums."""
Validate = Callable[[nn.Module], dict[str, float]]
"""Metrics of the model. One of them is `loss`, for which lower is better; for all others, higher is better."""


@dataclass(frozen=True)
class Learner:
    """A model in training."""

    model: nn.Module
    """The weights that learn: those of `whole` itself, or a copy that is sharded over processes."""
    whole: nn.Module
    """The model that is validated, and saved at the end."""
    forward_backward: Backward
    optimiser: torch.optim.Optimizer
    average: MovingAverage | None
    blend: Blend | None
    """How the result is blended with the weights that training started from; None: it is not."""
    passes: int
    """Passes of this process per step."""
    group: ProcessGroup

    @property
    def device(self) -> torch.device:
        return self.forward_backward.device

    @property
    def sharded(self) -> bool:
        return self.model is not self.whole

    def after_update(self, step: int, finite: Tensor) -> None:
        """Clear the gradients of the step, and add its weights to the average."""
        self.forward_backward.clear_gradients()
        if self.average is not None:
            self.average.update(self.model, step, finite)

    def metrics(self, validate: Validate) -> dict[str, float]:
        """Validate the averaged or blended weights, if there are any, in the first process; the others wait for it."""
        averaged = self.average.weights if self.average else None
        if self.sharded:
            weights = averaged or dict(self.model.named_parameters())
            gather_into(self.whole, weights, self.device, self.group.first)
            averaged = None

        def measure() -> dict[str, float]:
            self.whole.eval()
            final = averaged
            if self.blend is not None:
                final = self.blend(weights_of(self.whole) if averaged is None else averaged)
            with swapped(self.whole, final), torch.no_grad():
                metrics = validate(self.whole)
            self.whole.train()
            if self.sharded:
                self.whole.to("cpu")
            return metrics

        return self.group.from_first(measure)

    def close(self) -> None:
        """Bring the whole model back to the device, where the run is finished."""
        if self.sharded and self.group.first:
            self.whole.to(self.device)


def set_up(
    model: nn.Module,
    objective: Objective,
    stream: Stream[Any],
    recipe: Recipe,
    note: Callable[[str], None],
    autocast: torch.dtype | None,
    group: ProcessGroup,
    blend: Blend | None = None,
) -> Learner:
    """Choose how passes are computed - plain, as CUDA graphs, or with other processes - and make the optimiser."""
    config = recipe.train
    passes = passes_per_step(config.accumulate, group)
    device = next(model.parameters()).device
    learning, backward = model, _backward(model, objective, stream, autocast, device)
    if group.joined:
        from headwise.train.processes.wrap import Together, sharded_copy

        if config.accumulate % group.size:
            note(
                f"train.accumulate = {config.accumulate} is not a multiple of {group.size} processes: batches are cut "
                "into parts, which may be too small to keep a GPU busy"
            )
        seed_apart(torch.get_rng_state(), group)
        sharded = config.parallel == "shard"
        learning = sharded_copy(model, group) if sharded else model
        backward = Together(learning, objective, autocast, group, passes=passes, sharded=sharded)
    if config.compile:
        compile_layers(learning)
    backward = surviving(backward, stream.lines, note, together=group.joined)
    optimiser = make_optimiser(learning, recipe)
    average = MovingAverage(learning, config.ema) if config.ema else None
    return Learner(learning, model, backward, optimiser, average, blend, passes, group)


def _backward(
    model: nn.Module, objective: Objective, stream: Stream[Any], autocast: torch.dtype | None, device: torch.device
) -> Backward:
    """The pass of a single process."""
    if device.type == "cuda" and stream.uniform and can_be_graphed(model):
        return Graphed(model, objective, autocast)
    return Plain(model, objective, autocast)
