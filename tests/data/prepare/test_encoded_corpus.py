from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedWriter, Flat, id_type


@pytest.mark.parametrize(("vocabulary", "kind"), [(65_536, np.uint16), (65_537, np.uint32)])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read(tmp_path: Path, vocabulary: int, kind: type[np.generic], data: st.DataObject) -> None:
    ids = st.lists(st.integers(0, vocabulary - 1), max_size=5)
    example = st.tuples(ids, ids, st.integers(0, 1), st.integers(1, 2**32 - 1))
    chunks = data.draw(st.lists(st.lists(example, max_size=4), max_size=4))
    with EncodedWriter(tmp_path / "corpus", vocabulary) as writer:
        for chunk in chunks:
            columns = list(zip(*chunk, strict=True)) if chunk else [()] * 4
            source, target = (Flat.of(side, writer.ids) for side in columns[:2])
            writer.append(source, target, columns[2], columns[3])
        writer.finish(["a", "b"])
    corpus = EncodedCorpus.open(tmp_path / "corpus")
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


def test_ids_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        Flat.of([[70_000]], id_type(100))


def test_indices_are_checked(tmp_path: Path) -> None:
    with EncodedWriter(tmp_path, 100) as writer:
        writer.append(Flat.of([[1, 2], [3]], writer.ids), Flat.of([[4], [5, 6]], writer.ids), [0, 0], [1, 2])
        corpus = writer.finish(["file"])
    for index in (-1, 2):
        with pytest.raises(IndexError):
            corpus[index]
