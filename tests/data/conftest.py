"""Small things that several tests of the data package need."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedWriter, Flat
from tests.data.tiny import TinyTokenizer

Write = Callable[[str, str | bytes], Path]
Encode = Callable[[Sequence[tuple[int, int]]], EncodedCorpus]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of text or bytes, and give its path."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture
def encode(tmp_path: Path) -> Encode:
    """An encoded corpus of sequences of the given lengths; ids are random but not special."""
    made = iter(range(1000))

    def encode(lengths: Sequence[tuple[int, int]]) -> EncodedCorpus:
        number = next(made)
        rng = np.random.default_rng(number)
        with EncodedWriter(tmp_path / f"encoded-{number}", TinyTokenizer.whole) as writer:
            source = [rng.integers(10, TinyTokenizer.whole, left).tolist() for left, _ in lengths]
            target = [rng.integers(10, TinyTokenizer.whole, right).tolist() for _, right in lengths]
            sides = Flat.of(source, writer.ids), Flat.of(target, writer.ids)
            writer.append(*sides, [0] * len(lengths), range(1, len(lengths) + 1))
            return writer.finish([f"file-{number}"])

    return encode
