"""Work that several processes share: those of torchrun, or parts that are started one by one."""

import argparse
import os
from typing import TYPE_CHECKING

from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.bulk.share import Share


def add_shard(command: argparse.ArgumentParser, last: str) -> None:
    command.add_argument("--shard", metavar="K/N", help=f"do only part K of N of the work, without torchrun; {last}")


def launched() -> bool:
    """Whether torchrun, or another launcher, has started several processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def share_of(args: argparse.Namespace) -> "Share":
    """The share of the work that this process has."""
    from headwise.decode.bulk.share import WHOLE, Share

    if launched():
        if args.shard:
            raise ConfigError("torchrun assigns the parts to its processes: leave out --shard")
        return Share(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), together=True)
    return Share.parse(args.shard) if args.shard else WHOLE


def own_device(name: str, model: str) -> str:
    """The device of this process: of several on a machine, each has its own GPU; an int8 model stays on the CPU."""
    from headwise.models.folder.config_file import is_int8

    if not launched() or name not in ("auto", "cuda") or (name == "auto" and is_int8(model)):
        return name
    import torch

    from headwise.devices import local_gpu

    if not torch.cuda.is_available() or not torch.cuda.device_count():
        return name
    return str(local_gpu(int(os.environ.get("LOCAL_RANK", "0"))))
