import errno
import gzip
import hashlib
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest

from headwise.config import CleanConfig, CorpusConfig, DataConfig, TextConfig
from headwise.data.prepare import parallel_text, passes, progress
from headwise.data.prepare.parallel_text import PairPreparation
from headwise.data.prepare.result import Prepared, TrainCorpus
from headwise.errors import ConfigError, DataError
from headwise.files.lock import locked
from tests.data import tiny
from tests.data.conftest import Write
from tests.data.tiny import TinyTokenizer

WORDS = ["red", "green", "blue", "old", "new", "big", "small", "round"]


class Preparation:
    """Prepares pairs, keeping what was said and what the tokenizer was trained on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.trained: list[list[str]] = []
        TinyTokenizer.encoded = 0

    def train(self, text: TextConfig, sentences: Iterable[str], languages: Sequence[str]) -> TinyTokenizer:
        assert text.kind == "unigram"
        self.trained.append(list(sentences))
        assert list(sentences) == self.trained[-1]
        return tiny.make(languages)

    def __call__(self, data: DataConfig, seed: int = 1, text: TextConfig | None = None, **more: Any) -> Prepared:
        CURRENT.run = self
        return PairPreparation.of(data, text or TextConfig(), self.folder, seed, self.said.append, **more).prepare()


CURRENT = threading.local()


@pytest.fixture(autouse=True)
def _tiny_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(text: TextConfig, texts: Iterable[str], languages: Sequence[str]) -> TinyTokenizer:
        trained: TinyTokenizer = CURRENT.run.train(text, texts, languages)
        return trained

    monkeypatch.setattr(passes, "train_tokenizer", train)
    monkeypatch.setattr(parallel_text, "load_tokenizer", tiny.load)


@pytest.fixture
def run(tmp_path: Path) -> Preparation:
    return Preparation(tmp_path / "cache")


def table(tmp_path: Path, *names: str, **more: Any) -> DataConfig:
    corpora = tuple(CorpusConfig(pairs=(name,), licence="CC0") for name in names)
    return DataConfig("en", "de", corpora, folder=str(tmp_path), **more)


def sentences(count: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    picks = rng.integers(len(WORDS), size=(count, 3))
    return [(" ".join(WORDS[i] for i in row) + f" {n}", f"satz {n} {row[0]}") for n, row in enumerate(picks)]


def tsv(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def decoded(corpus: TrainCorpus) -> list[tuple[str, str]]:
    tokenizer = tiny.make()
    examples = (corpus.corpus[i] for i in range(len(corpus.corpus)))
    return [(tokenizer.decode(left), tokenizer.decode(right)) for left, right in examples]  # type: ignore[arg-type]


def test_every_pair_is_trained_on_or_held_out(write: Write, tmp_path: Path, run: Preparation) -> None:
    pairs = sentences(400)
    write("a.tsv", tsv(pairs))
    prepared = run(table(tmp_path, "a.tsv"))
    (train,), (valid,) = prepared.train, prepared.valid
    held_out = list(zip(valid.sources, valid.targets, strict=True))
    assert len(held_out) == 20
    assert sorted(decoded(train) + held_out) == sorted(pairs)
    assert decoded(train) == [pair for pair in pairs if pair not in held_out]
    assert decoded(TrainCorpus(valid.corpus, 1.0, "", "")) == held_out
    index = decoded(train).index(pairs[399]) if pairs[399] not in held_out else None
    assert index is None or train.corpus.where(index) == f"{tmp_path / 'a.tsv'}:400"
    assert run.trained == [[*(s for s, _ in decoded(train)), *(t for _, t in decoded(train))]]
    assert prepared.reports[0].held_out == 20
    assert (train.source_language, train.target_language, train.weight) == ("en", "de", 1.0)
    (file,) = prepared.files
    assert (file.pairs, file.licence, file.role, len(file.sha256)) == (400, "CC0", "train", 64)
    assert not list(run.folder.rglob("*.spool"))
    assert not list(run.folder.glob("*.partial*"))


def test_no_source_stands_in_both_parts(write: Write, tmp_path: Path, run: Preparation) -> None:
    pairs = [(source, f"{target} {i}") for source, target in sentences(200) for i in range(2)]
    write("a.tsv", tsv(pairs))
    prepared = run(table(tmp_path, "a.tsv"))
    sources = {source for source, _ in decoded(prepared.train[0])}
    assert sources.isdisjoint(prepared.valid[0].sources)
    assert prepared.reports[0].dropped["validation"].count > 0
    assert prepared.reports[0].kept == len(prepared.train[0].corpus)


def test_no_target_stands_in_both_parts(write: Write, tmp_path: Path, run: Preparation) -> None:
    """Also not in back-translations, where only the sources are new, nor in corpora of other source languages."""
    pairs = sentences(200)
    write("a.tsv", tsv(pairs))
    write("made.tsv", tsv((f"made {source}", target) for source, target in pairs))
    write("made.tsv.json", NOTE)
    write("fr.tsv", tsv((f"le {source}", target) for source, target in pairs))
    data = table(tmp_path, "a.tsv", "made.tsv", "fr.tsv")
    prepared = run(replace(data, train=(*data.train[:2], replace(data.train[2], source_language="fr"))))
    targets = {target for valid in prepared.valid for target in valid.targets}
    assert len(targets) > 10
    for train in prepared.train:
        assert targets.isdisjoint(target for _, target in decoded(train))
    assert all(report.kept == len(train.corpus) for report, train in zip(prepared.reports, prepared.train, strict=True))


def test_the_held_out_pairs_depend_on_content_and_seed_alone(write: Write, tmp_path: Path) -> None:
    pairs = sentences(400)
    write("a.tsv", tsv(pairs))
    write("b.tsv", tsv(reversed(pairs)))
    chosen = [
        Preparation(tmp_path / f"{name}{seed}")(table(tmp_path, name), seed).valid[0].sources
        for name, seed in (("a.tsv", 1), ("b.tsv", 1), ("a.tsv", 2))
    ]
    assert chosen[0] == chosen[1]
    assert chosen[0] != chosen[2]


NOTE = json.dumps({"model": "0", "texts": {}, "search": {}, "tag": "", "pairs": {}})


@pytest.mark.parametrize("name", ["made.tsv", "made.tsv.gz"])
def test_what_a_model_made_is_not_held_out(write: Write, tmp_path: Path, run: Preparation, name: str) -> None:
    real, made = sentences(200), sentences(600, seed=1)[200:]
    write("real.tsv", tsv(real))
    content = tsv(made).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    data = replace(table(tmp_path), train=(CorpusConfig(pairs=("real.tsv", name)),))
    mixed = run(data).valid[0]
    assert set(zip(mixed.sources, mixed.targets, strict=True)) & set(made)
    assert len(mixed.sources) == 30
    write("made.tsv.json", NOTE)
    prepared = run(data)
    [valid], [train] = prepared.valid, prepared.train
    held_out = set(zip(valid.sources, valid.targets, strict=True))
    assert held_out < set(real)
    assert len(held_out) == 10, "a twentieth of the real pairs"
    assert set(decoded(train)) == {*real, *made} - held_out
    apart = run(table(tmp_path, "real.tsv", name)).valid[0]
    assert set(zip(apart.sources, apart.targets, strict=True)) == held_out, "in a corpus of their own too"
    assert not any("back-translations" in line for line in run.said)


def test_where_a_model_made_all_pairs_some_are_held_out_with_a_word(
    write: Write, tmp_path: Path, run: Preparation
) -> None:
    write("made.tsv", tsv(sentences(400)))
    write("made.tsv.json", NOTE)
    assert len(run(table(tmp_path, "made.tsv")).valid[0].sources) == 20
    assert any("all pairs of en-de are back-translations" in line for line in run.said)
    write("real.tsv", tsv(sentences(405, seed=1)[400:]))
    assert not run(table(tmp_path, "made.tsv", "real.tsv")).valid
    assert any("too few real pairs" in line for line in run.said)


def test_another_json_file_beside_the_pairs_means_nothing(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(400)))
    write("a.tsv.json", '["model", "texts", "search", "tag"]')
    run(table(tmp_path, "a.tsv"))
    assert not any("back-translations" in line for line in run.said)


def test_repeated_pairs_are_held_out_once(write: Write, tmp_path: Path, run: Preparation) -> None:
    pairs = sentences(100) * 2
    write("a.tsv", tsv(pairs))
    prepared = run(table(tmp_path, "a.tsv", clean=CleanConfig(duplicates=False)))
    assert len(set(prepared.valid[0].sources)) == len(prepared.valid[0].sources) == 10
    assert len(prepared.train[0].corpus) == 180
    assert prepared.reports[0].held_out == prepared.reports[0].dropped["validation"].count == 10


def test_a_second_start_reads_nothing(
    write: Write, tmp_path: Path, run: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.tsv", tsv(sentences(100)))
    data = table(tmp_path, "a.tsv")
    first = run(data)
    encoded = TinyTokenizer.encoded
    assert encoded == 200

    def refuse(*_: object) -> Iterator[Any]:
        raise AssertionError("files are read again")

    digest = hashlib.file_digest

    def of_prepared(stream: Any, kind: Any) -> Any:
        assert run.folder in Path(stream.name).parents, "files are hashed again"
        return digest(stream, kind)

    monkeypatch.setattr(passes, "read_corpus", refuse)
    monkeypatch.setattr(hashlib, "file_digest", of_prepared)
    second = run(replace(data, train=(replace(data.train[0], weight=2.5, licence="other"),)))
    assert TinyTokenizer.encoded == encoded
    assert len(run.trained) == 1
    assert decoded(second.train[0]) == decoded(first.train[0])
    assert second.valid[0].sources == first.valid[0].sources
    assert second.reports == first.reports
    assert second.tokenizer == first.tokenizer
    assert (second.train[0].weight, second.files[0].licence) == (2.5, "other")


def test_notes_about_the_files_are_shown_at_a_second_start_too(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", "id\tscore\n" + tsv(sentences(40)))
    for _ in range(2):
        run.said.clear()
        run(table(tmp_path, "a.tsv"))
        assert sum("the first line looks like a header (id, score)" in line for line in run.said) == 1
    assert len(run.trained) == 1


def test_changed_inputs_are_prepared_again(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(100)))
    data = table(tmp_path, "a.tsv")
    homes = {run(data).folder}
    homes.add(run(data, seed=2).folder)
    homes.add(run(replace(data, max_tokens=20)).folder)
    homes.add(run(replace(data, clean=CleanConfig(max_words=199))).folder)
    homes.add(run(replace(data, source_language="fr")).folder)
    homes.add(run(data, text=TextConfig(vocabulary=100)).folder)
    homes.add(run(data, tokenizer=tiny.make(["x"])).folder)
    write("a.tsv", tsv(sentences(100, seed=1)))
    homes.add(run(data).folder)
    assert len(homes) == 8


@pytest.mark.parametrize("damage", ["prepared.json", "train-0/meta.json", "train-0/lines.bin", "valid-0/text.tsv"])
def test_a_half_written_folder_is_built_again(write: Write, tmp_path: Path, run: Preparation, damage: str) -> None:
    write("a.tsv", tsv(sentences(100)))
    first = run(table(tmp_path, "a.tsv"))
    expected = decoded(first.train[0])
    (first.folder / damage).unlink()
    again = run(table(tmp_path, "a.tsv"))
    assert decoded(again.train[0]) == expected
    assert TinyTokenizer.encoded == 400
    assert any("preparing the data again" in line for line in run.said)


@pytest.mark.parametrize("content", ["", "[]"])
def test_a_damaged_manifest_is_built_again(write: Write, tmp_path: Path, run: Preparation, content: str) -> None:
    write("a.tsv", tsv(sentences(40)))
    first = run(table(tmp_path, "a.tsv"))
    expected = decoded(first.train[0])
    (first.folder / "prepared.json").write_text(content)
    assert decoded(run(table(tmp_path, "a.tsv")).train[0]) == expected
    (run.folder / "files.json").write_text(content)
    run(table(tmp_path, "a.tsv"))
    assert TinyTokenizer.encoded == 160


def test_what_does_not_change_the_data_does_not_prepare_again(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(40)))
    data = table(tmp_path, "a.tsv", valid=(CorpusConfig(pairs=("a.tsv",)),))
    homes = {run(data).folder, run(data, seed=2).folder, run(data, text=TextConfig(sampling=0.1)).folder}
    assert len(homes) == 1


def test_a_run_waits_for_another_that_prepares_the_same_data(
    write: Write, tmp_path: Path, run: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.tsv", tsv(sentences(40)))
    other = Preparation(run.folder)
    waiting = threading.Thread(target=lambda: other(table(tmp_path, "a.tsv")))

    def train(text: TextConfig, texts: Iterable[str], languages: Sequence[str]) -> TinyTokenizer:
        waiting.start()
        while not other.said:
            time.sleep(0.01)
        return Preparation.train(run, text, texts, languages)

    monkeypatch.setattr(run, "train", train)
    assert len(run(table(tmp_path, "a.tsv")).train[0].corpus) == 38
    waiting.join(20)
    assert (len(run.trained), len(other.trained)) == (1, 0)
    assert "waiting for another process" in other.said[0]
    assert not list(run.folder.glob(".*"))


def test_only_abandoned_folders_of_killed_runs_are_removed(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(40)))
    killed, alive = run.folder / ".x.1.writing", run.folder / ".y.2.writing"
    for folder in (killed, alive):
        folder.mkdir(parents=True)
        (folder / "train-0.spool").touch()
    with locked(run.folder / ".y.lock"):  # as a process that is filling it does
        run(table(tmp_path, "a.tsv"))
    assert alive.exists()
    assert not killed.exists()


def test_without_locks_only_age_tells_what_is_abandoned(
    write: Write, tmp_path: Path, run: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    write("a.tsv", tsv(sentences(40)))
    old, young = run.folder / ".x.1.writing", run.folder / ".y.2.writing"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    monkeypatch.setattr(filelock.FileLock, "acquire", unsupported)
    run(table(tmp_path, "a.tsv"))
    assert young.exists()
    assert not old.exists()


@pytest.mark.parametrize("file", ["train-0/source.bin", "train-0/target_offsets.bin", "valid-0/text.tsv"])
def test_a_changed_byte_is_noticed(write: Write, tmp_path: Path, run: Preparation, file: str) -> None:
    """Of the right size, and yet not what was written."""
    write("a.tsv", tsv(sentences(40)))
    first = run(table(tmp_path, "a.tsv"))
    content = bytearray((first.folder / file).read_bytes())
    content[len(content) // 2] ^= 1
    expected = decoded(first.train[0])
    (first.folder / file).write_bytes(content)
    assert decoded(run(table(tmp_path, "a.tsv")).train[0]) == expected
    assert any("preparing the data again" in line and Path(file).name in line for line in run.said)


def test_a_changed_hash_in_the_cache_is_noticed(write: Write, tmp_path: Path, run: Preparation) -> None:
    """With it, the same files would be taken for others."""
    write("a.tsv", tsv(sentences(40)))
    first = run(table(tmp_path, "a.tsv"))
    cache = run.folder / "files.json"
    known = json.loads(cache.read_text())
    for entry in known["files"].values():
        entry["sha256"] = "0" * 64
    cache.write_text(json.dumps(known))
    assert run(table(tmp_path, "a.tsv")).folder == first.folder


def test_an_interrupted_build_leaves_nothing(
    write: Write, tmp_path: Path, run: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.tsv", tsv(sentences(100)))
    with monkeypatch.context() as patch:
        patch.setattr(passes, "write_json", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(table(tmp_path, "a.tsv"))
    assert [path.name for path in run.folder.iterdir()] == ["files.json"]
    assert len(run(table(tmp_path, "a.tsv")).train[0].corpus) == 95


def test_a_full_disk_is_a_data_error(
    write: Write, tmp_path: Path, run: Preparation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    write("a.tsv", tsv(sentences(100)))
    monkeypatch.setattr(passes, "write_json", full)
    with pytest.raises(
        DataError,
        match=r"cannot write the prepared data: the disk is full: .*data\.cache",
    ):
        run(table(tmp_path, "a.tsv"))


def test_a_given_tokenizer_is_used_as_it_is(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(40)))
    mine = tiny.make()
    for _ in range(2):
        assert run(table(tmp_path, "a.tsv"), tokenizer=mine).tokenizer is mine
    assert run.trained == []
    assert TinyTokenizer.encoded == 80


def test_given_validation_data_are_hardly_cleaned(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(100)))
    write("v.tsv", tsv([("same", "same"), ("same", "same"), ("", "x"), ("x" * 30, "y"), ("z" * 99, "z")]))
    data = table(tmp_path, "a.tsv", valid=(CorpusConfig(pairs=("v.tsv",)),), max_tokens=50)
    prepared = run(data)
    assert prepared.valid[0].sources == ["same", "same", "x" * 30]
    assert len(prepared.valid[0].corpus) == 3
    assert len(prepared.train[0].corpus) == 100
    assert [file.role for file in prepared.files] == ["train", "valid"]
    write("v.tsv", tsv([("", "x")]))
    with pytest.raises(DataError, match="no validation pairs are left: 1 pairs read, 0 kept"):
        run(data)


def test_validation_pairs_that_are_training_pairs_are_noted(write: Write, tmp_path: Path, run: Preparation) -> None:
    pairs = sentences(100)
    write("a.tsv", tsv(pairs))
    data = table(tmp_path, "a.tsv", valid=(CorpusConfig(pairs=("v.tsv",)),))
    write("v.tsv", tsv([*pairs[:1], *sentences(20, seed=1)[1:]]))
    run(data)
    assert not any("are training pairs too" in line for line in run.said)
    write("v.tsv", tsv([*pairs[:15], *pairs[:15], *sentences(20, seed=1)[15:]]))
    run(data)
    assert any("note: 15 of 20 validation pairs are training pairs too" in line for line in run.said)


def test_both_directions_are_views_of_the_same_arrays(write: Write, tmp_path: Path, run: Preparation) -> None:
    pairs = [(source, f"satz {i // 2}") for i, (source, _) in enumerate(sentences(200))]  # shared targets
    write("a.tsv", tsv(pairs))
    prepared = run(table(tmp_path, "a.tsv", both_directions=True))
    forward, backward = prepared.train
    assert (backward.source_language, backward.target_language) == ("de", "en")
    assert backward.corpus.source is forward.corpus.target
    assert prepared.tokenizer.languages == ("de", "en")
    there, back = prepared.valid
    assert (back.sources, back.targets, back.source_language) == (there.targets, there.sources, "de")
    for train, valid in zip(prepared.train, prepared.valid, strict=True):
        assert {source for source, _ in decoded(train)}.isdisjoint(valid.sources)
    with pytest.raises(ConfigError, match="both_directions needs"):
        run(replace(table(tmp_path, "a.tsv", both_directions=True), target_language=""))


def test_several_languages_are_validated_and_tagged_each(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(400)))
    write("b.tsv", tsv(sentences(100, seed=1)))
    data = table(tmp_path, "a.tsv", "b.tsv", held_out=8)
    data = replace(data, train=(data.train[0], replace(data.train[1], target_language="nl")))
    prepared = run(data)
    assert [(each.target_language, len(each.sources)) for each in prepared.valid] == [("de", 4), ("nl", 4)]
    assert prepared.tokenizer.languages == ("de", "nl")
    never = run(data, text=TextConfig(tags="never"))
    assert never.tokenizer.languages == ()


def test_a_pair_in_two_corpora_counts_once(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv(sentences(100)))
    write("b.tsv", tsv([*sentences(100), ("new", "neu")]))
    prepared = run(table(tmp_path, "a.tsv", "b.tsv", held_out=0))
    assert [len(each.corpus) for each in prepared.train] == [100, 1]
    assert prepared.valid == []
    assert prepared.reports[1].dropped["duplicate"].count == 100


def test_a_line_of_a_megabyte_is_dropped_with_its_line(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv([*sentences(40), ("x" * 1_000_000, "y")]))
    report = run(table(tmp_path, "a.tsv")).reports[0]
    assert report.dropped["long"].count == 1
    file, line, text = report.dropped["long"].examples[0]
    assert (file, line) == (str(tmp_path / "a.tsv"), 41)
    assert text.startswith("xxx")
    assert len(text) <= 40


def test_pairs_with_too_many_tokens_are_counted(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", tsv([*sentences(40), ("x" * 60, "y" * 30), ("x" * 30, "y" * 60), ("x" * 50, "y" * 50)]))
    prepared = run(table(tmp_path, "a.tsv", max_tokens=50, held_out=0))
    assert prepared.reports[0].dropped["tokens"].count == 2
    assert prepared.train[0].corpus.source.lengths.max() == 50


def test_text_in_many_scripts_is_kept(write: Write, tmp_path: Path, run: Preparation) -> None:
    pairs = [("peace", "\u200fשלום"), ("👩\u200d👧", "می\u200cخواهم"), ("a\u2028b", "c\u0085d")]
    write("a.tsv", tsv(pairs))
    prepared = run(table(tmp_path, "a.tsv"))
    assert len(prepared.train[0].corpus) == 3
    assert run.trained == [["peace", "👩\u200d👧", "a b", "\u200fשלום", "می\u200cخواهم", "c d"]]


@pytest.mark.parametrize("content", ["", "\t\n \t \n", "same\tsame\n"])
def test_an_empty_corpus_says_what_was_read_and_dropped(
    write: Write, tmp_path: Path, run: Preparation, content: str
) -> None:
    write("a.tsv", content)
    count = content.count("\n")
    with pytest.raises(DataError, match=rf"no training pairs are left: {count} pairs read, 0 kept"):
        run(table(tmp_path, "a.tsv"))
    assert not list(run.folder.glob("*partial*"))


def test_a_corpus_of_overlong_pairs_only_is_empty_too(write: Write, tmp_path: Path, run: Preparation) -> None:
    write("a.tsv", "one\teins\n")
    with pytest.raises(DataError, match=r"1 with too many tokens \(e\.g\. .*a\.tsv:1 'one'\)"):
        run(table(tmp_path, "a.tsv", max_tokens=2))


def test_long_work_is_reported(write: Write, tmp_path: Path, run: Preparation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    write("a.tsv", tsv(sentences(9000)))
    run(table(tmp_path, "a.tsv"))
    path = tmp_path / "a.tsv"
    assert f"reading {path}: 4,096 pairs" in run.said
    assert f"encoding {path}: 8,192 of 9,000 pairs" in run.said


def test_a_recipe_without_data_or_with_a_missing_file(tmp_path: Path, run: Preparation) -> None:
    with pytest.raises(ConfigError, match="no training data"):
        run(DataConfig())
    with pytest.raises(DataError, match=r"nowhere\.tsv: no such file"):
        run(table(tmp_path, "nowhere.tsv"))
