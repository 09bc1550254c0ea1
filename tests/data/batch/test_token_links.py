"""Links of tokens: the sure ones of both directions, the same in any batch, at the right places of padded and packed
rows."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch

from headwise.data.batch import token_links
from headwise.data.batch.packed_pairs import PackedPairStream
from headwise.data.batch.padded_pairs import PaddedPairStream
from headwise.data.batch.stream import batches_from
from headwise.data.batch.token_links import (
    DIAGONAL,
    NONE,
    SURE,
    LinkTable,
    PairLinks,
    PairTask,
    link_tokens,
)
from headwise.data.prepare.encoded_corpus import Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.text.tokenizer import Ids, Keys
from headwise.train.step.out_of_memory import halves
from tests.data import tiny
from tests.data.batch.test_padded_pairs import lengths
from tests.data.conftest import Encode

VOCABULARY = tiny.TinyTokenizer.whole
WAY = ("xx", "yy")
Pairs = Sequence[tuple[list[int], list[int]]]


def random_table(vocabulary: int = VOCABULARY, entries: int = 4000) -> LinkTable:
    rng = np.random.default_rng(1)
    cells = np.unique(rng.integers(0, vocabulary**2, entries))
    return LinkTable(cells, rng.random((2, len(cells)), np.float32), vocabulary)


def random_pairs(count: int, low: int = 0, vocabulary: int = 30) -> Pairs:
    rng = np.random.default_rng(2)
    return [tuple(rng.integers(0, vocabulary, rng.integers(low, 12)).tolist() for _ in "st") for _ in range(count)]  # type: ignore[misc]


def task(pairs: Pairs) -> PairTask:
    return PairTask(WAY, *(Flat.of([pair[side] for pair in pairs], np.dtype("<u2")) for side in (0, 1)))


def slowly(table: LinkTable, source: list[int], target: list[int]) -> list[int]:
    """By the formula, for one pair."""
    known = {int(cell): table.chances[:, place] for place, cell in enumerate(table.cells)}
    chances = np.zeros((2, len(target), len(source)))
    for t, made in enumerate(target):
        for s, given in enumerate(source):
            apart = abs((t + 0.5) / len(target) - (s + 0.5) / len(source))
            chances[:, t, s] = known.get(made * table.vocabulary + given, 0.0) * np.exp(-DIAGONAL * apart)
    if not source or not target:
        return [NONE] * len(target)
    onward = chances[0] / np.maximum(chances[0].sum(1, keepdims=True), 1e-30)
    back = chances[1] / np.maximum(chances[1].sum(0), 1e-30)
    posterior = np.sqrt(onward * back)
    return [int(row.argmax()) if row.max() > SURE else NONE for row in posterior]


@pytest.mark.parametrize("cells", [1, 50, 1 << 20])
def test_links_are_those_of_the_formula_whatever_is_computed_at_once(
    monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setattr(token_links, "CELLS", cells)
    table, pairs = random_table(30, 300), random_pairs(60)
    wanted = [link for pair in pairs for link in slowly(table, *pair)]
    assert link_tokens({WAY: table}, task(pairs)).tolist() == wanted
    assert NONE in wanted
    assert max(wanted) > 3


def test_nothing_known_nothing_linked() -> None:
    empty = LinkTable(np.zeros(0, np.int64), np.zeros((2, 0), np.float32), 30)
    pairs = random_pairs(5, low=1)
    assert set(link_tokens({WAY: empty}, task(pairs)).tolist()) == {NONE}
    assert len(link_tokens({WAY: empty}, task([]))) == 0


def test_the_opposite_direction_has_the_same_links() -> None:
    """One source token and one target token are linked in both directions or in none."""
    table = random_table(30, 300)
    pairs: Pairs = [([a], [b]) for a in range(30) for b in range(30)]
    there = link_tokens({WAY: table}, task(pairs))
    back = link_tokens({WAY: table.swapped()}, task([(right, left) for left, right in pairs]))
    assert there.tolist() == back.tolist()
    assert np.array_equal(table.swapped().swapped().cells, table.cells)
    assert np.array_equal(table.swapped().swapped().chances, table.chances)


def test_child_processes_link_the_same() -> None:
    table, pairs = random_table(30, 300), task(random_pairs(30, low=1))
    groups = [(number % 2, pairs.source, pairs.target) for number in range(5)]
    directions = [WAY, ("yy", "xx")]
    tables = {WAY: table, ("yy", "xx"): table.swapped()}
    here, there = (PairLinks(tables, directions, workers).of(groups) for workers in (0, 2))
    assert [each.tolist() for each in here] == [each.tolist() for each in there]


def doubled(ids: Ids, lengths: Ids, keys: Keys) -> tuple[Ids, Ids]:
    """A sampler that cuts every token in two."""
    return np.repeat(ids, 2), lengths * 2


@pytest.mark.parametrize("sampler", [None, doubled], ids=["as encoded", "sampled"])
@pytest.mark.parametrize("kind", [PaddedPairStream, PackedPairStream])
def test_batches_link_each_decoder_input_within_its_frame(
    encode: Encode, kind: type[PaddedPairStream] | type[PackedPairStream], sampler: object
) -> None:
    """Tags come before the source; the start token and EOS have no link. Parts of a batch keep theirs."""
    tokenizer = tiny.make(["xx", "yy"])
    corpora = [TrainCorpus(encode(lengths(25)), 1.0, *WAY), TrainCorpus(encode(lengths(15)), 1.0, "yy", "xx")]
    table = random_table(entries=40_000)
    tables = {WAY: table, ("yy", "xx"): table.swapped()}
    links = PairLinks(tables, [WAY, ("yy", "xx")])
    stream = kind(corpora, tokenizer, 512, 3, sampler, links=links)  # type: ignore[arg-type]
    found, seen = batches_from(stream), 0
    for _ in range(3):
        batch = next(found)[0]
        first, second = halves(batch)
        for part in (batch, first, second):
            assert part.links is not None
            for row, (number, _) in enumerate(part.examples):
                source, shown, linked = row_of(part, row)
                before, after = tokenizer.source_frame(*((WAY, ("yy", "xx"))[number]))
                inner = source[len(before) : len(source) - len(after)]
                wanted = slowly(tables[(WAY, ("yy", "xx"))[number]], inner, shown[1:])
                assert linked[0] == NONE
                assert linked[1:] == [link if link == NONE else link + len(before) for link in wanted]
                seen += sum(link != NONE for link in linked)
    assert seen > 100


def row_of(batch: object, row: int) -> tuple[list[int], list[int], list[int]]:
    """A source with its frame, the decoder's input, and the links."""
    if hasattr(batch, "source_starts"):
        source, target = (
            slice(*starts[row : row + 2].tolist())
            for starts in (batch.source_starts, batch.target_starts)  # type: ignore[attr-defined]
        )
        tensors = batch.source[0, source], batch.shown[0, target], batch.links[0, target]  # type: ignore[attr-defined]
    else:
        width = int((batch.target[row, 1:] != 0).sum())  # type: ignore[attr-defined]
        source = batch.source[row]  # type: ignore[attr-defined]
        tensors = source[source != 0], batch.target[row, :width], batch.links[row, :width]  # type: ignore[attr-defined]
        assert (batch.links[row, width:] == NONE).all()  # type: ignore[attr-defined]
    return tuple(each.tolist() for each in tensors)  # type: ignore[return-value]


def test_without_links_batches_have_none(encode: Encode) -> None:
    corpora = [TrainCorpus(encode(lengths(5)), 1.0, *WAY)]
    for kind in (PaddedPairStream, PackedPairStream):
        batch = next(batches_from(kind(corpora, tiny.make(), 128, 3)))[0]  # type: ignore[type-var]
        assert batch.links is None
        assert batch.part(slice(0, 1)).links is None
        assert batch.to(torch.device("cpu")).links is None
