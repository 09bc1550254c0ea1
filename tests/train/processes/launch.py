"""Groups of real processes, as torchrun starts them, that meet through gloo. Everything is imported beforehand."""

import multiprocessing
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

CONTEXT: Any = multiprocessing.get_context("forkserver")


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _member(
    rank: int, size: int, port: int, errors: str, work: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    torch.set_num_threads(1)
    if size:
        own = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "MASTER_PORT": port}
        os.environ |= {"MASTER_ADDR": "127.0.0.1"} | {name: str(value) for name, value in own.items()}
    sys.stderr = sys.stdout = Path(f"{errors}.{rank}").open("w", buffering=1)  # noqa: SIM115
    os.dup2(sys.stderr.fileno(), 2)
    work(*arguments)


def begin(size: int, folder: Path, work: Callable[..., None], *arguments: Any) -> list[Any]:
    """Start `work(*arguments)` in `size` processes of a group; 0: in one that is alone."""
    preloaded = [
        "torch.distributed.fsdp",
        "headwise.train.run",
        "headwise.train.report.curves",
        "headwise.train.processes.wrap",
    ]
    CONTEXT.set_forkserver_preload([*preloaded, __name__])
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    members = [
        CONTEXT.Process(target=_member, args=(rank, size, port, str(folder / "errors"), work, arguments))
        for rank in range(max(size, 1))
    ]
    for member in members:
        member.start()
    return members


def end(members: list[Any], seconds: float = 240) -> list[int | None]:
    """The exit codes; None of one that had to be killed, since it did not end in time."""
    until = time.monotonic() + seconds
    for member in members:
        member.join(max(0.1, until - time.monotonic()))
    codes = [member.exitcode for member in members]
    for member in members:
        if member.is_alive():
            member.kill()
            member.join()
    return codes


def run(size: int, folder: Path, work: Callable[..., None], *arguments: Any) -> None:
    codes = end(begin(size, folder, work, *arguments))
    assert codes == [0] * max(size, 1), told(folder)


def told(folder: Path) -> str:
    """What the processes wrote."""
    return "\n".join(f"--- {path.name}\n{path.read_text()[-3000:]}" for path in sorted(folder.glob("errors.*")))
