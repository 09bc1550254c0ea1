"""Batches that do not fit in memory: computed in parts, with the same result."""

import gc
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

from headwise.data.batch.stream import Batch
from headwise.errors import TrainingError
from headwise.train.step.backward import Backward, tensors_of
from headwise.train.step.loss import TokenLoss

B = TypeVar("B", bound=Batch)

HOPELESS = 3
"""Consecutive single rows that do not fit before the run ends: then the model itself is too large."""

_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "ALLOC_FAILED")
"""Texts in the messages of out-of-memory errors that have no class of their own."""


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _NO_MEMORY)


def surviving(
    backward: Backward, lines: Callable[[Batch], Sequence[str]], note: Callable[[str], None], together: bool = False
) -> Backward:
    """A pass that handles batches that do not fit in memory. `together`: other processes take part."""
    return Advising(backward) if together else Surviving(backward, lines, note)


class Surviving:
    """A pass that halves a batch that does not fit in memory, repeatedly if necessary.

    The result is the same, up to rounding and the random numbers of dropout: losses are sums, and gradients are added
    up. A single row that does not fit is left out and reported. Sizes that did not fit are not tried again.

    A pass that fails may already have added to the gradients of some weights. So all gradients are dropped, and the
    earlier batches of the step, which did fit, are computed again.

    This is for a single process. If several train together, all of them take part in each pass, and one cannot repeat
    it alone: there the error ends the run, with advice (see `Advising`).
    """

    def __init__(self, inner: Backward, lines: Callable[[Batch], Sequence[str]], note: Callable[[str], None]) -> None:
        """`lines` returns the files and lines that the rows of a batch come from."""
        self.inner = inner
        self.limit: float = float("inf")
        """The smallest size that did not fit."""
        self._lines = lines
        self._note = note
        self._done: list[tuple[Batch, float]] = []
        self._hopeless = 0

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def __call__(self, batch: Batch, count: float) -> TokenLoss:
        loss: TokenLoss | None = None
        parts = [batch]
        while parts:
            part = parts.pop(0)
            if len(part) > 1 and size_of(part) >= self.limit:
                parts = [*halves(part), *parts]
                continue
            own = self._attempt(part, count)
            if own is not None:
                self._done.append((part, count))
                self._hopeless = 0
                loss = own if loss is None else TokenLoss(loss.loss + own.loss, loss.nll + own.nll)
                continue
            self._restore_gradients()
            if len(part) > 1:
                self._remember(part)
                parts = [*halves(part), *parts]
            else:
                self._leave_out(part)
        if loss is None:
            nothing = torch.zeros((), device=self.device)
            loss = TokenLoss(nothing, nothing)
        return loss

    def clear_gradients(self) -> None:
        self.inner.clear_gradients()
        self._done.clear()

    def free_memory(self) -> None:
        self.inner.free_memory()
        gc.collect()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()

    def _attempt(self, batch: Batch, count: float) -> TokenLoss | None:
        """The loss, or None if the batch did not fit."""
        try:
            return self.inner(batch, count)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        return None  # not in the handler: the error's traceback holds the tensors of the pass

    def _restore_gradients(self) -> None:
        """Compute the gradients as they were before the pass that failed."""
        self.free_memory()
        for batch, count in self._done:
            if self._attempt(batch, count) is None:
                raise TrainingError("a batch that fitted in memory before no longer does: is something else using it?")

    def _remember(self, part: Batch) -> None:
        first = self.limit == float("inf")
        self.limit = min(self.limit, size_of(part))
        if first:
            self._note(
                f"a batch of {len(part):,} rows did not fit in memory: such batches are computed in parts from now on, "
                'with the same result. A lower train.batch_tokens (or "auto") is faster'
            )

    def _leave_out(self, row: Batch) -> None:
        where = ", ".join(self._lines(row))
        self._hopeless += 1
        if self._hopeless >= HOPELESS:
            raise TrainingError(
                f"not even one row fits in memory ({where}): use a smaller model, shorter texts (data.max_tokens), or "
                "another device"
            )
        self._note(f"a row does not fit in memory and is left out. Its line: {where}")


class Advising:
    """A pass of several processes, whose out-of-memory error says what to do."""

    def __init__(self, inner: Backward) -> None:
        self.inner = inner

    @property
    def device(self) -> torch.device:
        return self.inner.device

    def __call__(self, batch: Batch, count: float) -> TokenLoss:
        try:
            return self.inner(batch, count)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            text = str(error).splitlines()[0] if str(error) else "out of memory"
            raise TrainingError(
                f"{text}. Lower train.batch_tokens and raise train.accumulate by the same factor: all processes take "
                "part in a pass, so one of them cannot try a smaller batch alone"
            ) from error

    def clear_gradients(self) -> None:
        self.inner.clear_gradients()

    def free_memory(self) -> None:
        self.inner.free_memory()


def size_of(batch: Batch) -> int:
    """The size that a batch's memory grows with: the number of values in its largest tensor."""
    return max(tensor.numel() for tensor in tensors_of(batch).values())


def halves(batch: B) -> tuple[B, B]:
    middle = (len(batch) + 1) // 2
    return batch.part(slice(0, middle)), batch.part(slice(middle, len(batch)))
