from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedWriter
from headwise.errors import DataError


@pytest.mark.parametrize(("vocabulary", "kind"), [(65_536, np.uint16), (65_537, np.uint32)])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read(tmp_path: Path, vocabulary: int, kind: type[np.generic], data: st.DataObject) -> None:
    ids = st.lists(st.integers(0, vocabulary - 1), max_size=5)
    example = st.tuples(ids, ids, st.integers(0, 1), st.integers(1, 2**32 - 1))
    chunks = data.draw(st.lists(st.lists(example, max_size=4), max_size=4))
    with EncodedWriter(tmp_path / "corpus", vocabulary, "key") as writer:
        for chunk in chunks:
            columns = list(zip(*chunk, strict=True)) if chunk else [()] * 4
            writer.append(columns[0], columns[1], columns[2], columns[3])
        writer.finish(["a", "b"])
    corpus = EncodedCorpus.open(tmp_path / "corpus", "key")
    examples = [each for chunk in chunks for each in chunk]
    assert len(corpus) == len(examples)
    backward = corpus.swapped()
    assert np.shares_memory(backward.source.ids, corpus.target.ids) or not len(corpus.target.ids)
    for index, (left, right, file, line) in enumerate(examples):
        source, target = corpus[index]
        assert source.dtype == target.dtype == kind
        assert (source.tolist(), target.tolist()) == (left, right)
        assert corpus.where(index) == backward.where(index) == f"{'ab'[file]}:{line}"
        assert [side.tolist() for side in backward[index]] == [right, left]
    assert corpus.source.lengths.tolist() == [len(left) for left, *_ in examples]
    assert corpus.target.lengths.dtype == np.int32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with EncodedWriter(tmp_path / "corpus", 100, "key") as writer:
        writer.append([[1, 2], [3]], [[4], [5, 6]], [0, 0], [1, 2])
        writer.finish(["file"])
    return tmp_path / "corpus"


def test_an_unfinished_folder_is_no_corpus(folder: Path) -> None:
    with EncodedWriter(folder, 100, "key") as writer:  # begins again in a folder that was finished
        writer.append([[1]], [[2]], [0], [1])
    with pytest.raises(DataError, match="no finished encoded corpus"):
        EncodedCorpus.open(folder)


def test_what_does_not_fit_is_named(folder: Path) -> None:
    with pytest.raises(DataError, match="from other data"):
        EncodedCorpus.open(folder, "another")
    path = folder / "target.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"target\.bin: has 5 bytes, expected 6"):
        EncodedCorpus.open(folder)
    path.unlink()
    with pytest.raises(DataError, match=r"target\.bin: is missing"):
        EncodedCorpus.open(folder)


@pytest.mark.parametrize("meta", ["", "[]", "{}", '{"version": 99}', '{"version": 1}'])
def test_a_damaged_meta_file_is_a_data_error(folder: Path, meta: str) -> None:
    (folder / "meta.json").write_text(meta)
    with pytest.raises(DataError):
        EncodedCorpus.open(folder)


def test_ids_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with (
        EncodedWriter(tmp_path / "corpus", 100, "key") as writer,
        pytest.raises(ValueError, match="do not fit"),
    ):
        writer.append([[70_000]], [[1]], [0], [1])


def test_indices_are_checked(folder: Path) -> None:
    corpus = EncodedCorpus.open(folder)
    for index in (-1, 2):
        with pytest.raises(IndexError):
            corpus[index]
