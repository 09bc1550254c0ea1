"""Batches that fit in the memory there is: found before a run, and in a run survived where one does not fit.

`train.batch_tokens = "auto"` asks for the first. A step has `STEP_TOKENS` tokens whatever the memory, so that a model
learns the same on a small GPU as on a large one: there it takes several batches, whose gradients are summed.
"""

import contextlib
import dataclasses
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.devices import autocast_dtype
from headwise.errors import CheckpointError, ConfigError, TrainingError
from headwise.files.tables import read_table
from headwise.train.step.backward import Plain, tensors_of
from headwise.train.step.loss import TokenLoss

STEP_TOKENS = 25_000
"""Of a step: what the paper had of each language."""
CPU_TOKENS = 4096
"""On a CPU, which has memory enough and takes its time: small steps, and more of them."""
FEWEST = 256
SHARE = 0.85
"""Of the free memory that a batch may take. The rest is for what lies between its tensors, and for validation."""
HOPELESS = 3
"""Single rows that do not fit, one after the other, before the run ends: it is the model that does not."""

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")
"""In the messages of errors that have no class of their own."""


def out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _NO_MEMORY)


class Surviving(Plain):
    """The pass of a batch in halves, and halves of these, where the memory is too small for it as a whole.

    The result is the same, up to rounding and to what dropout draws: losses are sums, and gradients are added up. A
    row that does not fit alone is left out, and told of. Sizes that did not fit are not tried again.

    A pass that fails has added to the gradients of some weights already. So all are dropped, and the batches of the
    step before it, which did fit, are done once more.

    For one process alone: where several train together, the passes of one are waited for by all others, and a second
    attempt would find nobody to meet. There an error remains an error, with advice (see `surviving`).
    """

    def __init__(self, inner: Plain, lines: Callable[[Any], Sequence[str]], note: Callable[[str], None]) -> None:
        """`lines` says where the rows of a batch come from."""
        super().__init__(inner.model, inner.objective, inner.autocast)
        self.inner = inner
        self.limit: float = float("inf")
        """The smallest size that did not fit."""
        self._lines = lines
        self._note = note
        self._done: list[tuple[Any, float]] = []
        self._hopeless = 0

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        loss: TokenLoss | None = None
        parts = [batch]
        while parts:
            part = parts.pop(0)
            rows = rows_of(part)
            if rows > 1 and size_of(part) >= self.limit:
                parts = [*halves(part), *parts]
                continue
            own = self._attempt(part, count)
            if own is not None:
                self._done.append((part, count))
                self._hopeless = 0
                loss = own if loss is None else TokenLoss(loss.loss + own.loss, loss.nll + own.nll)
                continue
            self._begin_again()
            if rows > 1:
                self._remember(part, rows)
                parts = [*halves(part), *parts]
            else:
                self._leave_out(part)
        if loss is None:
            nothing = torch.zeros((), device=self.device)
            loss = TokenLoss(nothing, nothing)
        return loss

    def forget(self, optimiser: torch.optim.Optimizer) -> None:
        self.inner.forget(optimiser)
        self._done.clear()

    def _attempt(self, batch: Any, count: float) -> TokenLoss | None:
        """None: it did not fit."""
        try:
            return self.inner(batch, count)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
        return None  # out here, where the error is gone: its traceback holds the tensors of the pass

    def _begin_again(self) -> None:
        """Bring the gradients to where they were before the pass that failed."""
        self._free()
        for batch, count in self._done:
            if self._attempt(batch, count) is None:
                raise TrainingError("a batch that did fit in memory does not any more: is something else using it?")

    def _free(self) -> None:
        self.inner.drop_gradients()
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _remember(self, part: Any, rows: int) -> None:
        first = self.limit == float("inf")
        self.limit = min(self.limit, size_of(part))
        if first:
            self._note(
                f"a batch of {rows:,} rows did not fit in memory: such batches are done in parts from now on, with the "
                'same result. A lower train.batch_tokens (or "auto") is faster'
            )

    def _leave_out(self, row: Any) -> None:
        where = ""
        with contextlib.suppress(AttributeError):  # pictures on a GPU no longer know where they came from
            where = ", ".join(self._lines(row))
        self._hopeless += 1
        if self._hopeless >= HOPELESS:
            raise TrainingError(
                f"not even one row fits in memory{f' ({where})' if where else ''}: take a smaller model, shorter texts "
                "(data.max_tokens), or another device"
            )
        self._note(f"a row does not fit in memory, and is left out. Its line: {where or 'unknown'}")


class _Advising(Plain):
    """For several processes: what to do about an error that all of them end with."""

    def __init__(self, inner: Plain) -> None:
        super().__init__(inner.model, inner.objective, inner.autocast)
        self.inner = inner

    def __call__(self, batch: Any, count: float) -> TokenLoss:
        try:
            return self.inner(batch, count)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            text = str(error).splitlines()[0] if str(error) else "out of memory"
            raise TrainingError(
                f"{text}. Lower train.batch_tokens and raise train.accumulate as much: all processes take part in a "
                "pass, so that one of them cannot try a smaller batch alone"
            ) from error

    def forget(self, optimiser: torch.optim.Optimizer) -> None:
        self.inner.forget(optimiser)


def surviving(
    backward: Plain, lines: Callable[[Any], Sequence[str]], note: Callable[[str], None], together: bool = False
) -> Plain:
    """The same pass, for which a batch that does not fit is not the end. `together`: other processes wait for it."""
    return _Advising(backward) if together else Surviving(backward, lines, note)


def rows_of(batch: Any) -> int:
    """How many rows a batch can be split into; 1: none."""
    if hasattr(batch, "part"):
        return len(batch) if hasattr(batch, "__len__") else len(next(iter(tensors_of(batch).values())))
    sizes = {tensor.size(0) for tensor in tensors_of(batch).values() if tensor.dim()}
    return sizes.pop() if len(sizes) == 1 else 1


def size_of(batch: Any) -> int:
    """What the memory of a pass grows with: the values of the largest tensor."""
    return max(tensor.numel() for tensor in tensors_of(batch).values())


def halves(batch: Any) -> tuple[Any, Any]:
    """The first rows of a batch and the others. A batch whose tensors are not all rows has a `part(slice)` of its own.

    Plain numbers in it stay those of the whole: no loss depends on them.
    """
    rows = rows_of(batch)
    middle = (rows + 1) // 2
    cut = batch.part if hasattr(batch, "part") else lambda part: _part(batch, part, rows)
    return cut(slice(0, middle)), cut(slice(middle, rows))


def _part(batch: Any, rows: slice, count: int) -> Any:
    parts = {}
    for field in dataclasses.fields(batch):
        value = getattr(batch, field.name)
        sized = isinstance(value, list | tuple | np.ndarray) or (isinstance(value, Tensor) and value.dim() > 0)
        if sized and len(value) == count:
            parts[field.name] = value[rows]
    return dataclasses.replace(batch, **parts)


def settled(recipe: Recipe, stored: Path) -> Recipe:
    """The recipe with the batches that a run was begun with, if `stored` is its recipe: a run that goes on, on this
    machine or another, goes on with the same ones."""
    if recipe.train.batch_tokens or not stored.exists():
        return recipe
    try:
        train = read_table(stored)["train"]
        return with_batches(recipe, int(train["batch_tokens"]), int(train["accumulate"]))
    except (CheckpointError, KeyError, TypeError, ValueError):  # damaged: `claim` refuses it, with advice
        return recipe


def with_batches(recipe: Recipe, batch_tokens: int, accumulate: int) -> Recipe:
    train = dataclasses.replace(recipe.train, batch_tokens=batch_tokens, accumulate=accumulate)
    return dataclasses.replace(recipe, train=train)


def chosen(
    recipe: Recipe,
    open_job: Callable[[Recipe], Any],
    device: torch.device,
    say: Callable[[str], None],
    smallest: Callable[[int], int] = lambda found: found,
) -> Recipe:
    """The recipe with batches that fit, if it leaves them to be found. `smallest`: of what all processes found."""
    if recipe.train.batch_tokens:
        return recipe
    if recipe.task == "images":
        raise ConfigError('train.batch_tokens = "auto" is for texts: say how many pictures a batch has')
    if device.type != "cuda":
        return with_batches(recipe, CPU_TOKENS, recipe.train.accumulate)
    job = open_job(with_batches(recipe, FEWEST, recipe.train.accumulate))
    autocast = autocast_dtype(recipe.train.precision, device)
    found = smallest(find_batch_tokens(job.loaded.model, job.objective, job.stream, recipe, autocast))
    recipe = budgeted(recipe, found)
    tokens, batches = recipe.train.batch_tokens, recipe.train.accumulate
    say(f"batches of {tokens:,} tokens fit in memory, {batches} of them a step (train.batch_tokens, train.accumulate)")
    return recipe


def budgeted(recipe: Recipe, found: int) -> Recipe:
    """The recipe with batches of at most `found` tokens, and as many of them a step as make the wanted number.

    `train.accumulate` is kept as a factor: 4 asks for steps of four times as many tokens.
    """
    batches = -(-STEP_TOKENS // min(found, STEP_TOKENS))
    return with_batches(recipe, -(-STEP_TOKENS // batches), batches * recipe.train.accumulate)


def find_batch_tokens(
    model: nn.Module, objective: Any, stream: Any, recipe: Recipe, autocast: torch.dtype | None
) -> int:
    """The largest budget of tokens, up to a step's, of which a batch of the longest rows fits in this GPU's memory.

    Real passes are made, with memory set aside for what the optimiser will hold. Random numbers and gradients are as
    before afterwards.
    """
    device = next(model.parameters()).device
    backward = Plain(model, objective, autocast)
    random_state = torch.cuda.get_rng_state(device)
    model.train()

    def fits(tokens: int) -> bool:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
        before, free = torch.cuda.memory_reserved(device), torch.cuda.mem_get_info(device)[0]
        good = _pass_fits(backward, stream, tokens, recipe)
        backward.drop_gradients()
        return good and torch.cuda.max_memory_reserved(device) - before <= SHARE * free

    try:
        return largest(fits, FEWEST, STEP_TOKENS)
    finally:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.set_rng_state(random_state, device)


def _pass_fits(backward: Plain, stream: Any, tokens: int, recipe: Recipe) -> bool:
    """Whether a batch of so many tokens goes through, beside what the optimiser and an average of the weights hold."""
    copies = 2 + (recipe.train.ema > 0)
    try:
        held = [
            torch.empty_like(weight, dtype=torch.float32)
            for weight in backward.model.parameters()
            if weight.requires_grad
            for _ in range(copies)
        ]
        batch = stream.longest(tokens).to(backward.device)
        for _ in range(2):  # the second time, gradients are there already
            backward(batch, max(1, batch.count))
        torch.cuda.synchronize(backward.device)
        del held
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        return False
    return True


def largest(fits: Callable[[int], bool], lowest: int, highest: int) -> int:
    """The largest number, to about a twentieth, for which `fits` holds: by doubling, then by halving the gap.

    Where even the lowest does not fit it is the answer: a batch of one row may be as large, whatever the budget.
    """
    good, bad = 0, highest + 1
    tried = lowest
    while tried < bad:
        if fits(tried):
            good = tried
            tried = min(2 * tried, highest) if tried < highest else bad
        else:
            bad = tried
    while good and bad - good > max(1, good // 20) and bad <= highest:
        middle = (good + bad) // 2
        if fits(middle):
            good = middle
        else:
            bad = middle
    return good or lowest
