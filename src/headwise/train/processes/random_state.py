"""Random number generators of the processes of a run: saved, restored, and seeded differently in each process."""

import hashlib
from typing import Any

import torch
from torch import Tensor

from headwise.train.processes.group import ProcessGroup


def random_state(device: torch.device) -> dict[str, Tensor]:
    """The states of this process's generators."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def all_random_states(device: torch.device, group: ProcessGroup) -> dict[str, Tensor]:
    """The states of all processes; those of the first have the names that a process alone gives them."""
    states = group.gathered(random_state(device))
    named = dict(states[0])
    for rank, state in enumerate(states[1:], 1):
        named |= {f"{kind}.{rank}": tensor for kind, tensor in state.items()}
    return named


def restore_random_state(states: dict[str, Tensor], device: torch.device, group: ProcessGroup) -> None:
    """Restore this process's own state; a process that the saved run did not have is seeded apart from the first."""
    suffix = f".{group.rank}" if group.rank else ""
    if f"cpu{suffix}" not in states:
        seed_apart(states["cpu"], group)
        return
    torch.set_rng_state(states[f"cpu{suffix}"])
    if f"cuda{suffix}" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states[f"cuda{suffix}"], device)


def seed_apart(common: Tensor, group: ProcessGroup) -> None:
    """Seed this process from a state that all have in common and its rank, so that dropout differs between processes.
    The first process continues with the common state."""
    if group.rank:
        content: Any = common.numpy()
        digest = hashlib.blake2b(bytes(content) + str(group.rank).encode(), digest_size=7).digest()
        torch.manual_seed(int.from_bytes(digest, "little"))
