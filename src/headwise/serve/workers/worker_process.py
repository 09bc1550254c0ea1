"""The process of a worker: reads messages from standard input, answers on standard output, ends with its input."""

from __future__ import annotations

import os
import signal
import sys

from headwise.serve.workers.messages import pack, read_message
from headwise.serve.workers.operations import Operations


def main(memory: str, device: str) -> None:
    """Answer messages until the server closes the pipe, as it also does by dying."""
    for number in ("SIGINT", "SIGTERM"):  # sent to the whole group: the server finishes what it has, then ends this
        if hasattr(signal, number):
            signal.signal(getattr(signal, number), signal.SIG_IGN)
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints must not look like an answer
        operations = Operations(float(memory), device)
        answer: dict[str, object] = {"answer": "ready"}
        while True:
            out.write(pack(answer))
            out.flush()
            message = read_message(sys.stdin.buffer)
            if message is None:
                return
            answer = operations.run(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
