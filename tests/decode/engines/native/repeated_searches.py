"""Searches of the native engine, recorded, and repeated by a program with a library that was compiled elsewhere."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.decode.shortlist.shortlists import Allowed
from tests.decode.engines.native.recorded_calls import recorded_calls
from tests.decode.engines.native.test_native_model import EOS, PAD, SHAPES, SOS, native_model, sources
from tests.decode.engines.native.test_native_search import VOCABULARY, speaking

USED = ("paper", "rms", "gated-silu-no-bias", "gated-gelu", "gelu-tanh", "two-key-heads", "rotary", "heads-of-48")
"""Shapes that use all kernels."""
REPLAY = Path(__file__).with_name("replay.cpp")
"""The program."""


class Found(NamedTuple):
    log_probability: float
    tokens: list[int]


class Searches(NamedTuple):
    calls: Path
    found: list[Found]
    """The best hypothesis of each sentence."""

    def again(self, program: Sequence[str | Path], level: str) -> list[Found]:
        """What the same calls find in a program: its path, after the emulator that runs it, if any."""
        lines = [line.split() for line in ran(*program, self.calls, level)]
        return [Found(float.fromhex(value), [*map(int, tokens)]) for value, *tokens in lines]


def ran(*command: str | Path) -> list[str]:
    """The lines that a command prints."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.returncode} {done.stderr}"
    return done.stdout.splitlines()


def linked(tool: str, native: Path, *flags: str) -> Path:
    """The program that repeats recorded calls, beside its library."""
    program = native.parent / "replay.exe"
    common = ["-std=c++17", "-O1", *flags]
    subprocess.run([tool, *common, str(REPLAY), str(native), "-o", str(program)], check=True)
    return program


def searched(path: Path, names: Sequence[str], sentences: int) -> Searches:
    """Greedy and beam searches of models of these shapes, half of them with a shortlist."""
    found = []
    with recorded_calls(path):
        for index, name in enumerate(names):
            model = native_model(speaking(index, **SHAPES[name]), threads=2)
            rows = [row[row != PAD].tolist() for row in sources(sentences, 24) % VOCABULARY]
            options = SearchOptions(SOS, EOS, beam=1 + index % 4, length_penalty=1.0, exact=False, forbidden=(PAD, SOS))
            request = SearchRequest(rows, [16] * sentences, options, [[]] * sentences)
            own = [np.arange(30 + i % 9, VOCABULARY, dtype=np.int64) for i in range(sentences)]
            allowed = [Allowed(np.arange(30, dtype=np.int64), each) for each in own]
            for [best] in model.search(request, allowed if index % 2 else None):
                tokens = [*best.tokens, EOS] if best.finished else best.tokens
                found.append(Found(best.log_probability, tokens))
    assert len({str(each.tokens) for each in found}) > len(found) / 2  # not always the same
    return Searches(path, found)
