"""The fast gathering against plain slices."""

from pathlib import Path

import numpy as np

from headwise.data.batch.gather import gather, places


def test_runs_come_end_to_end_as_slices_do(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    path = tmp_path / "ids.bin"
    rng.integers(60_000, size=5000).astype("<u2").tofile(path)
    ids = np.memmap(path, "<u2", mode="r")
    starts = rng.integers(4900, size=300)
    lengths = rng.integers(100, size=300)  # some of them 0
    found = gather(ids, starts, lengths)
    assert found.dtype == np.int64
    assert type(found) is np.ndarray
    slices = [ids[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    np.testing.assert_array_equal(found, np.concatenate(slices))


def test_nothing_gathers_to_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert gather(np.arange(3, dtype=np.uint16), none, none).tolist() == []


def test_places_fill_a_padded_block() -> None:
    block = np.zeros((3, 4), np.int64)
    lengths = np.array([2, 0, 4])
    block.reshape(-1)[places(np.arange(3) * 4, lengths)] = [1, 2, 3, 4, 5, 6]
    assert block.tolist() == [[1, 2, 0, 0], [0, 0, 0, 0], [3, 4, 5, 6]]
