"""One run in many processes, which torchrun starts: how they meet, agree, wait for each other, and share a step.

Every process plans the same batches from the same seed and makes only its part of each step. What the result is does
not depend on how many there are: losses are sums, and are divided by the count of the whole step.
"""

import contextlib
import datetime
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from headwise.data.batch.stream import Position
from headwise.devices import best_device, local_gpu
from headwise.errors import ConfigError, HeadwiseError, TrainingError

T = TypeVar("T")

LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells each process it starts."""

STEP_TIMEOUT = datetime.timedelta(minutes=30)
"""How long a process waits for the others within a step: compilation and a slow disk may make one late."""
PATIENCE = datetime.timedelta(days=7)
"""How long it waits while the first prepares data, validates or saves. One that dies is noticed at once."""

LOST = re.compile(r"gloo|nccl|connection|socket|broken pipe|process group|timed? ?out waiting", re.IGNORECASE)
"""In the message of an error of the engine when another process is gone."""


class FollowedError(HeadwiseError):
    """Another process ended with an error, which it has told itself."""


@dataclass(frozen=True)
class Group:
    """The processes of a run. One that was not started by torchrun is alone, and nothing is exchanged."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    """Its number on its machine, and that of its GPU."""
    patient: Any = None
    """The channel on which the others wait for the first; None: there is no group."""

    @property
    def first(self) -> bool:
        """Whether this process writes the files and talks."""
        return self.rank == 0

    @property
    def joined(self) -> bool:
        return self.patient is not None

    def total(self, *counts: int) -> list[int]:
        """The sums of what each process gives."""
        if not self.joined:
            return list(counts)
        sums = torch.tensor(counts, dtype=torch.int64)
        dist.all_reduce(sums)
        return sums.tolist()

    def any(self, flag: bool) -> bool:
        """Whether one of them says so."""
        return self.total(int(flag))[0] > 0

    def sum(self, values: Tensor) -> Tensor:
        """The same on the device, for which nobody waits."""
        if self.joined:
            dist.all_reduce(values)
        return values

    def gathered(self, value: T) -> list[T]:
        """What each process gives, in their order."""
        if not self.joined:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value, group=self.patient)
        return values

    def together(self, call: Callable[[], T]) -> T:
        """What `call` returns, once all have called it; if it fails in one process, it fails in all."""
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
        """What `call` returns in the first process, which alone calls it; the others wait for it."""
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
        """The same where the others have no use for the result: they get None."""
        results: list[T] = []
        self.from_first(lambda: results.append(call()))
        return results[0] if results else None

    def in_turn(self, call: Callable[[], T]) -> T:
        """The first process of all, then the first of each machine, then the others: where the first of them leaves
        files, the others find them, whether machines share a disk or not."""
        own = 0 if self.first else 1 if self.local_rank == 0 else 2
        results: list[T] = []
        for turn in range(3 if self.size > 1 else 1):
            self.together(lambda turn=turn: results.append(call()) if turn == own else None)  # type: ignore[misc]
        return results[0]


ALONE = Group()


def _outcome(call: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return call(), None
    except BaseException as error:  # a second Ctrl-C too: the others must not wait for ever
        return None, error


@contextlib.contextmanager
def joined(device: str = "auto") -> Iterator[tuple[Group, torch.device]]:
    """The group of this run while it lasts, and the device of this process in it; `device`: see `best_device`."""
    if not all(name in os.environ for name in LAUNCHED):
        yield ALONE, best_device(device)
        return
    rank, size, local_rank = (int(os.environ[name]) for name in LAUNCHED[:3])
    own = _own_device(device, local_rank)
    on_gpu = own.type == "cuda"
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if on_gpu else "gloo", timeout=STEP_TIMEOUT, device_id=own if on_gpu else None
    )
    group = Group(rank, size, local_rank, dist.new_group(backend="gloo", timeout=PATIENCE))
    try:
        yield group, own
    except HeadwiseError as error:
        if group.first:
            raise
        if not isinstance(error, FollowedError | TrainingError):  # those are the same in all processes
            print(f"headwise: process {rank}: {error}", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
    except RuntimeError as error:
        if not LOST.search(str(error)):
            raise
        reason = str(error).strip().splitlines()[0]
        raise TrainingError(
            f"process {rank}: another process of this run has ended or cannot be reached ({reason}). "
            "What was saved is untouched: the same command goes on from the newest checkpoint"
        ) from error
    finally:
        if sys.exc_info()[0] is None or not on_gpu:  # after an error, NCCL would wait for those that are gone
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


# --- the work of a step --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Idle:
    """A batch that another process has: this one computes it to take part in what all do together, and for nothing."""

    batch: Any
    count: int = 0

    def to(self, device: torch.device) -> "Idle":
        return Idle(self.batch.to(device))


def passes(stream: Any, accumulate: int, group: Group) -> int:
    """How many batches, or parts of batches, each process computes in a step of `accumulate` batches."""
    if accumulate % group.size and hasattr(stream, "planned"):
        return accumulate
    return -(-accumulate // group.size)


def share(stream: Any, position: Position | None, accumulate: int, group: Group) -> Iterator[tuple[Any, Position]]:
    """What this process does of each step: `passes` batches, each with the position after it - the last of a step with
    that after the whole step.

    Batches are dealt out whole where it comes out even, and each of them is cut into parts of its rows where not. A
    stream that cannot plan batches without making them has them dealt out in any case, and some processes idle.
    """
    if not group.joined:
        yield from stream.batches(position)
    elif accumulate % group.size == 0:
        plans = stream.planned(position) if hasattr(stream, "planned") else stream.batches(position)
        while dealt := list(islice(plans, group.size)):
            own = dealt[group.rank][0]
            yield own.make(slice(None)) if hasattr(own, "make") else own, dealt[-1][1]
    elif hasattr(stream, "planned"):
        for plan, following in stream.planned(position):
            idle = group.rank >= plan.rows
            part = plan.make(slice(0, 1) if idle else slice(group.rank, None, group.size))
            yield Idle(part) if idle else part, following
    else:
        batches = stream.batches(position)
        while step := list(islice(batches, accumulate)):
            for start in range(0, accumulate, group.size):
                dealt = step[start : start + group.size]
                idle = group.rank >= len(dealt)
                own = dealt[0 if idle else group.rank][0]
                yield Idle(own) if idle else own, dealt[-1][1]


def lines(stream: Any, batches: list[Any], group: Group) -> list[str]:
    """Where the rows of a step come from, in all processes."""
    own = [line for batch in batches if not isinstance(batch, Idle) for line in stream.lines(batch)[:10]]
    return [line for each in group.gathered(own) for line in each]


# --- chance --------------------------------------------------------------------------------------------


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Where the random numbers of this process stand."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def all_random_states(device: torch.device, group: Group) -> dict[str, Tensor]:
    """Those of all processes: the first one's under the names that a process alone gives them."""
    states = group.gathered(random_state(device))
    named = dict(states[0])
    for rank, state in enumerate(states[1:], 1):
        named |= {f"{kind}.{rank}": tensor for kind, tensor in state.items()}
    return named


def restore_random_state(states: dict[str, Tensor], device: torch.device, group: Group) -> None:
    """Go on with this process's own numbers; one that was not there before draws others than the first."""
    suffix = f".{group.rank}" if group.rank else ""
    if f"cpu{suffix}" not in states:
        seed_apart(states["cpu"], group)
        return
    torch.set_rng_state(states[f"cpu{suffix}"])
    if f"cuda{suffix}" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states[f"cuda{suffix}"], device)


def seed_apart(common: Tensor, group: Group) -> None:
    """Numbers of this process's own, from those that all have in common: each drops out other units. The first goes
    on with the common ones."""
    if group.rank:
        content: Any = common.numpy()
        digest = hashlib.blake2b(bytes(content) + str(group.rank).encode(), digest_size=7).digest()
        torch.manual_seed(int.from_bytes(digest, "little"))
