"""Shortlists of a model that is trained further: what it learns is allowed, and nothing becomes forbidden."""

from pathlib import Path

import numpy as np
import pytest

from headwise.data.prepare.encoded_corpus import EncodedCorpus, EncodedWriter, Flat
from headwise.decode.shortlist import extend
from headwise.decode.shortlist.extend import extended, extended_shortlists
from headwise.decode.shortlist.shortlists import Shortlists
from tests.decode.shortlist.test_shortlists import table
from tests.taught import taught


@pytest.fixture
def corpus(tmp_path: Path) -> EncodedCorpus:
    """The token 10 is translated by 41, 11 by 42, 45 by 46."""
    sources, targets = [[10], [10, 11], [11], [45]], [[41], [41, 42], [42], [46]]
    with EncodedWriter(tmp_path / "corpus", 50) as writer:
        writer.append(*(Flat.of(side, np.dtype(np.uint16)) for side in (sources, targets)), [0] * 4, [1, 2, 3, 4])
        return writer.finish(["pairs.tsv"])


def test_new_translations_are_added_and_old_ones_stay(corpus: EncodedCorpus) -> None:
    before, after = table(), extended(table(), corpus)
    assert after.pairs == before.pairs + 4
    for source in range(10, 20):
        old, new = before.allowed([source]), after.allowed([source])
        assert old is not None
        assert new is not None
        assert set(old.tokens) <= set(new.tokens)
    assert 41 in after.allowed([10]).tokens  # type: ignore[union-attr]
    assert 42 in after.allowed([11]).tokens  # type: ignore[union-attr]
    assert 41 not in after.allowed([12]).tokens  # type: ignore[union-attr]


def test_an_unknown_token_stays_unknown(corpus: EncodedCorpus) -> None:
    """All tokens were allowed where a sentence has it; a list of one translation would forbid the others."""
    assert table().allowed([45]) is None
    assert extended(table(), corpus).allowed([45]) is None


def test_only_directions_of_the_pairs_and_with_a_table(corpus: EncodedCorpus) -> None:
    tokenizer = taught(steps=0).tokenizer
    assert tokenizer is not None
    before = Shortlists(tokenizer, {("en", "de"): table(), ("de", "en"): table()})
    after = extended_shortlists(before, [(("en", "de"), corpus), (("en", "fr"), corpus)])
    assert after.tables.keys() == before.tables.keys()
    assert after.tables["de", "en"] is before.tables["de", "en"]
    assert after.tables["en", "de"].pairs == table().pairs + 4


def test_large_corpora_are_sampled(corpus: EncodedCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extend, "PAIRS", 2)
    after = extended(table(), corpus)
    assert after.pairs == table().pairs + 2
    assert np.diff(after.offsets).min() >= 0
