"""Resumable work on whole files, which several processes can share: those of torchrun, or parts started one by one."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from headwise.cli.console import Countdown, say
from headwise.errors import ConfigError

if TYPE_CHECKING:
    from headwise.decode.bulk.share import Share


STOPPED = "everything is saved: run the same command again to continue"


class Resumable(Protocol):
    """The result of work that can be stopped and continued."""

    @property
    def stopped(self) -> bool: ...


R = TypeVar("R", bound=Resumable)


def run_resumable(share: "Share", call: Callable[..., R]) -> tuple[R, int]:
    """Call a function of bulk work with its progress shown until a signal stops it; returns the exit status too."""
    from headwise.interrupt import StopRequest

    with StopRequest(once=not share.together) as stop, Countdown("lines") as countdown:
        result = call(share=share, progress=countdown.show_bulk, stop=stop.__bool__, say=countdown.note)
    if result.stopped and share.reports:
        say(f"stopped; {STOPPED}")
    return result, stop.status if result.stopped else 0


def add_shard(command: argparse.ArgumentParser, last: str) -> None:
    command.add_argument("--shard", metavar="K/N", help=f"do only part K of N of the work, without torchrun; {last}")


def launched() -> bool:
    """Whether torchrun or another launcher has started several processes."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def share_of(args: argparse.Namespace) -> "Share":
    """This process's share of the work."""
    from headwise.decode.bulk.share import WHOLE, Share

    if launched():
        if args.shard:
            raise ConfigError("torchrun assigns the parts to its processes: leave out --shard")
        return Share(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), together=True)
    return Share.parse(args.shard) if args.shard else WHOLE


def own_device(name: str, model: str | Path) -> str:
    """The device of this process: several on one machine use a GPU each; an int8 model stays on the CPU."""
    from headwise.bundled.find import find_model
    from headwise.models.folder.config_file import is_int8

    if not launched() or name not in ("auto", "cuda") or (name == "auto" and is_int8(find_model(model))):
        return name
    import torch

    from headwise.devices import local_gpu

    if not torch.cuda.is_available() or not torch.cuda.device_count():
        return name
    return str(local_gpu(int(os.environ.get("LOCAL_RANK", "0"))))
