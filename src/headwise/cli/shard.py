"""Work that several processes share: those of torchrun, or parts that are started one by one."""

import argparse
import os
from typing import TYPE_CHECKING

from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.bulk.partial import Share


def add_shard(command: argparse.ArgumentParser, last: str) -> None:
    """`last`: what whichever part ends last does."""
    command.add_argument("--shard", metavar="K/N", help=f"one of N parts of the work, as under torchrun; {last}")


def launched() -> bool:
    """Whether torchrun, or something like it, has started several processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def share_of(args: argparse.Namespace) -> "Share":
    """Which part of the work is this process's."""
    from headwise.decode.bulk.partial import WHOLE, Share

    if launched():
        if args.shard:
            raise ConfigError("torchrun says which part a process has: leave out --shard")
        return Share(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), together=True)
    if not args.shard:
        return WHOLE
    number, _, parts = args.shard.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise ConfigError(f"--shard {args.shard}: not K/N with K from 1 to N, such as 2/8")
    return Share(int(number) - 1, int(parts))


def own_device(name: str, model: str) -> str:
    """The device of this process: where a launcher has started several, one GPU of its machine's; but a model in int8
    is for CPUs."""
    from headwise.models.folder.config_file import is_rounded

    if not launched() or name not in ("auto", "cuda") or (name == "auto" and is_rounded(model)):
        return name
    import torch

    from headwise.devices import local_gpu

    if not torch.cuda.is_available() or not torch.cuda.device_count():
        return name
    return str(local_gpu(int(os.environ.get("LOCAL_RANK", "0"))))
