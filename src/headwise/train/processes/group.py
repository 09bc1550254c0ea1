"""The process group of a data-parallel run, which torchrun starts: joining, collective operations, errors."""

import contextlib
import datetime
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from headwise.devices import best_device, local_gpu
from headwise.errors import ConfigError, HeadwiseError, TrainingError

T = TypeVar("T")

LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""Environment variables that torchrun sets for each process."""

STEP_TIMEOUT = datetime.timedelta(minutes=30)
"""How long a process waits for the others within a step: compilation or a slow disk may make one late."""
PATIENCE = datetime.timedelta(days=7)
"""How long a process waits while the first prepares data, validates or saves. If a process ends, the others notice
immediately."""

LOST = re.compile(r"gloo|nccl|connection|socket|broken pipe|process group|timed? ?out waiting", re.IGNORECASE)
"""Matches error messages of gloo and NCCL when another process has ended."""


class FollowedError(HeadwiseError):
    """Another process ended with an error, which that process has reported."""


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a run. A process that torchrun did not start is alone, and exchanges nothing."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    """The number of this process on its machine, and of its GPU."""
    patient: Any = None
    """The gloo group on which the others wait for the first process; None: there is no group."""

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes files and prints."""
        return self.rank == 0

    @property
    def joined(self) -> bool:
        return self.patient is not None

    def total(self, *counts: int) -> list[int]:
        """Sum each count over all processes."""
        if not self.joined:
            return list(counts)
        sums = torch.tensor(counts, dtype=torch.int64)
        dist.all_reduce(sums)
        return sums.tolist()

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process."""
        return self.total(int(flag))[0] > 0

    def sum(self, values: Tensor) -> Tensor:
        """Sum a tensor over all processes, on its device and without waiting for it."""
        if self.joined:
            dist.all_reduce(values)
        return values

    def gathered(self, value: T) -> list[T]:
        """The values of all processes, by rank."""
        if not self.joined:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.patient)
        return values

    def together(self, call: Callable[[], T]) -> T:
        """Call `call` in every process and wait for all; if it fails in one process, it fails in all."""
        if not self.joined:
            return call()
        result, error = _outcome(call)
        errors = self.gathered(None if error is None else f"{error}")
        if error is not None:
            raise error
        for rank, text in enumerate(errors):
            if text is not None:
                raise FollowedError(f"process {rank}: {text}")
        return result  # type: ignore[return-value]

    def from_first(self, call: Callable[[], T]) -> T:
        """Call `call` in the first process alone; the others wait, and all get its result."""
        if not self.joined:
            return call()
        result, error = _outcome(call) if self.first else (None, None)
        shared: list[Any] = [result, None if error is None else f"{error}"]
        dist.broadcast_object_list(shared, src=0, group=self.patient)
        if error is not None:
            raise error
        if shared[1] is not None:
            raise FollowedError(f"process 0: {shared[1]}")
        return shared[0]  # type: ignore[no-any-return]

    def first_alone(self, call: Callable[[], T]) -> T | None:
        """Call `call` in the first process alone; the others wait, and get None."""
        results: list[T] = []
        self.from_first(lambda: results.append(call()))
        return results[0] if results else None

    def in_turn(self, call: Callable[[], T]) -> T:
        """Call `call` in the first process, then in the first of each machine, then in the others: files that the
        first ones write are there for the others, whether machines share a disk or not."""
        own = 0 if self.first else 1 if self.local_rank == 0 else 2
        results: list[T] = []
        for turn in range(3 if self.size > 1 else 1):
            self.together(lambda turn=turn: results.append(call()) if turn == own else None)  # type: ignore[misc]
        return results[0]


ALONE = ProcessGroup()


def _outcome(call: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return call(), None
    except BaseException as error:  # a second Ctrl-C too: the others must not wait forever
        return None, error


def is_first() -> bool:
    """Whether this process is alone or the first one of a group that it may not have joined yet."""
    return os.environ.get("RANK", "0") == "0"


def local_processes() -> int:
    """How many processes of this run there are on this machine."""
    return max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1"))) if all(name in os.environ for name in LAUNCHED) else 1


@contextlib.contextmanager
def joined(device: str = "auto") -> Iterator[tuple[ProcessGroup, torch.device]]:
    """Join the group of this run, if torchrun started one; yields the group and the device of this process."""
    if not all(name in os.environ for name in LAUNCHED):
        yield ALONE, best_device(device)
        return
    rank, size, local_rank = (int(os.environ[name]) for name in LAUNCHED[:3])
    own = _own_device(device, local_rank)
    on_gpu = own.type == "cuda"
    if on_gpu and not dist.is_nccl_available():
        raise ConfigError("several GPUs need NCCL, which PyTorch has on Linux only: train on one, without torchrun")
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=STEP_TIMEOUT, device_id=own if on_gpu else None
    )
    group = ProcessGroup(rank, size, local_rank, dist.new_group(backend="gloo", timeout=PATIENCE))
    try:
        yield group, own
    except HeadwiseError as error:
        if group.first:
            raise
        if not isinstance(error, FollowedError | TrainingError):  # these are raised in all processes
            print(f"headwise: process {rank}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    except RuntimeError as error:
        if not LOST.search(str(error)):
            raise
        reason = str(error).strip().splitlines()[0]
        raise TrainingError(
            f"process {rank}: another process of this run has ended or cannot be reached ({reason}). "
            "Checkpoints are intact: run the same command again to continue from the newest one"
        ) from error
    finally:
        if sys.exc_info()[0] is None or not on_gpu:  # after an error, NCCL would wait for processes that have ended
            dist.destroy_process_group()


def _own_device(name: str, local_rank: int) -> torch.device:
    device = best_device(name)
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise ConfigError(f"several processes train on cuda or on cpu, not on {device.type}: give --device cpu")
    own = local_gpu(local_rank)
    torch.cuda.set_device(own)
    return own
