"""Digests of files, tables and tensors."""

import hashlib
from pathlib import Path

import numpy as np
import torch

from headwise.files.digest import arrays_digest, bytes_digest, file_digest, table_digest, tensors_digest


def test_a_file_has_the_digest_that_sha256sum_prints(tmp_path: Path) -> None:
    path, content = tmp_path / "a", bytes(range(256)) * 5000
    path.write_bytes(content)
    assert file_digest(path) == bytes_digest(content) == hashlib.sha256(content).hexdigest()


def test_a_table_has_one_digest_however_it_is_ordered() -> None:
    assert table_digest({"a": 1, "b": [2.5]}) == table_digest({"b": [2.5], "a": 1}) != table_digest({"a": 1, "b": []})
    assert len(table_digest({}, size=12)) == 24


def test_arrays_and_tensors_with_the_same_content_have_the_same_digest() -> None:
    arrays = {
        "b": np.arange(12, dtype=np.float32).reshape(3, 4).T,
        "a": np.arange(3, dtype=np.uint16),
        "none": np.zeros((0, 2), np.int32),
    }
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    digest = arrays_digest(arrays)
    assert digest == tensors_digest(tensors)
    for change in ({"b": arrays["b"].T}, {"a": arrays["a"].astype(np.int32)}, {"c": arrays["a"]}):
        assert arrays_digest({**arrays, **change}) != digest
