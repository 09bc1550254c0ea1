"""`Translator.translate_file`: what the command does, from Python."""

import json
from pathlib import Path

import pytest

from headwise.decode.bulk import grouping
from headwise.decode.bulk.line_job import BulkProgress
from headwise.decode.bulk.share import Share
from headwise.decode.bulk.survey import DOCUMENTS
from headwise.errors import ConfigError, DataError
from tests.commands import lines_file
from tests.taught import SOURCES, TARGETS, translator


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(lines_file(tmp_path / "in.en", [*SOURCES, "", SOURCES[0]]))


def test_a_file_is_translated_line_by_line(source: Path, tmp_path: Path) -> None:
    seen, out = list[BulkProgress](), tmp_path / "out.de"
    result = translator().translate_file(source, out, progress=seen.append)
    assert result.written
    assert (result.stopped, result.already, result.cut) == (False, False, 0)
    assert out.read_text().splitlines() == [*TARGETS, "", TARGETS[0]]
    assert (seen[0].lines, seen[-1].lines, seen[-1].total_lines) == (0, 29, 29)
    assert seen[-1].source_bytes == seen[-1].total_bytes == sum(map(len, SOURCES)) + len(SOURCES[0])
    assert translator().translate_file(source, out).already


def test_a_stopped_call_continues(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 60)
    out, looks = tmp_path / "out.de", iter(range(100))
    stopped = translator().translate_file(source, out, beam=1, stop=lambda: next(looks) > 1)
    assert stopped.stopped
    assert not out.exists()
    seen = list[BulkProgress]()
    assert translator().translate_file(source, out, beam=1, progress=seen.append).written
    assert 0 < seen[0].lines < 29
    assert out.read_text().splitlines()[:27] == TARGETS


def test_shares_of_a_file(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 60)
    out = tmp_path / "out.de"
    assert not translator().translate_file(source, out, share=Share.parse("1/2")).written
    assert translator().translate_file(source, out, share=Share.parse("2/2")).written
    assert out.read_text().splitlines()[:27] == TARGETS


def test_formats(source: Path, tmp_path: Path) -> None:
    engine = translator()
    engine.translate_file(source, tmp_path / "json", json=True, candidates=2, alignments=True)
    record = json.loads((tmp_path / "json").read_text().splitlines()[0])
    assert (record["source"], record["text"]) == (SOURCES[0], TARGETS[0])
    assert len(record["candidates"]) == 2
    assert record["alignment"]
    engine.translate_file(source, tmp_path / "scores", scores=True)
    score, text = (tmp_path / "scores").read_text().splitlines()[0].split("\t")
    assert (float(score) < 0, text) == (True, TARGETS[0])


def test_paragraphs_are_one_text_each(tmp_path: Path) -> None:
    first, second = SOURCES[0].rsplit(" ", 1)
    source = lines_file(tmp_path / "in", [first, second, "", SOURCES[4]])
    seen = list[BulkProgress]()
    translator().translate_file(source, tmp_path / "out", paragraphs=True, progress=seen.append)
    assert (tmp_path / "out").read_text().splitlines() == [TARGETS[0], "", TARGETS[4]]
    assert seen[-1].total_lines == 3


def test_wrapped_lines_and_unknown_characters_are_noted(tmp_path: Path) -> None:
    words = "the cat sees a small fish and the dog eats an apple in the house of my sister"
    notes = list[str]()
    source = lines_file(tmp_path / "in", [words] * 8 + ["日本"])
    translator().translate_file(source, tmp_path / "out", beam=1, say=notes.append)
    assert any("wrapped in mid-sentence: see --paragraphs" in note for note in notes)
    assert any("characters that the model has not learnt" in note and "日 本" in note for note in notes)


@pytest.mark.parametrize("suffix", [*DOCUMENTS, ".TMX", ".html.gz"])
def test_documents_are_refused_by_name(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"input{suffix}"
    path.write_bytes(b"<b>x</b>")
    with pytest.raises(ConfigError, match="is not translated line by line"):
        translator().translate_file(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_cannot_be(source: Path, tmp_path: Path) -> None:
    engine = translator()
    with pytest.raises(ConfigError, match="is the input: choose another file"):
        engine.translate_file(source, source)
    with pytest.raises(ConfigError, match=r"choose a name without \.gz"):
        engine.translate_file(source, tmp_path / "out.gz")
    with pytest.raises(DataError, match="no such file"):
        engine.translate_file(tmp_path / "nothing", tmp_path / "out")
