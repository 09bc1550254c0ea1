"""Whole documents: resumable, atomic, and with an output under the final name only when it is complete."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headwise.decode.glossary.glossary import Glossary
from headwise.decode.glossary.rendering import MISSING, TermUse
from headwise.decode.translation import TranslateOptions, Translation
from headwise.decode.translator import Translator
from headwise.documents import translate_document as module
from headwise.documents.journal import Journal, Stored, journal_path
from headwise.documents.marked_text import Kept, Mark, MarkedText, MarkKind
from headwise.documents.translate_document import (
    DocumentOptions,
    DocumentProgress,
    translate_bytes,
    translate_document,
)
from headwise.documents.translate_texts import TranslatedText
from headwise.errors import ConfigError, DataError
from headwise.models.folder.load import save_model
from tests.taught import SOURCES, TARGETS, taught


def catalogue(count: int) -> bytes:
    """A message catalogue with this many sentences that the model knows."""
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
    entries = [f'msgctxt "{number}"\nmsgid "{SOURCES[number % len(SOURCES)]}"\nmsgstr ""\n' for number in range(count)]
    return "\n".join([header, *entries]).encode()


def expected(data: bytes) -> bytes:
    text = data.decode()
    for source, target in zip(SOURCES, TARGETS, strict=True):
        text = text.replace(f'msgid "{source}"\nmsgstr ""', f'msgid "{source}"\nmsgstr "{target}"')
    return text.encode()


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator(taught(), device="cpu")


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_STEP", 200)
    monkeypatch.setattr(module, "STEP_SECONDS", 0.0)


def test_a_document_in_memory(translator: Translator) -> None:
    data = catalogue(30)
    written, found = translate_bytes(translator, data, "messages.po", DocumentOptions())
    assert written == expected(data)
    assert [each.text.text for each in found] == [TARGETS[number % len(TARGETS)] for number in range(30)]


def test_progress_reaches_the_end_and_nothing_stays_behind(translator: Translator, tmp_path: Path) -> None:
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(12))
    seen: list[DocumentProgress] = []
    result = translate_document(translator, source, out, DocumentOptions(), progress=seen.append)
    assert (seen[0].segments, seen[-1].segments, seen[-1].total_segments) == (0, 12, 12)
    assert seen[-1].characters == seen[-1].total_characters > 0
    assert (result.segments, result.stopped, result.notes) == (12, False, ())
    assert out.read_bytes() == expected(source.read_bytes())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.po", "out.po"]


def test_a_stopped_translation_continues_with_what_is_left(
    translator: Translator, tmp_path: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(60))
    answers = iter([False, False, True])
    stopped = translate_document(translator, source, out, DocumentOptions(), stop=lambda: next(answers))
    assert stopped.stopped
    assert not out.exists()
    assert journal_path(out).exists()
    translated: list[int] = []
    original = module.translate_texts

    def counted(*args: object) -> object:
        translated.append(len(args[1]))  # type: ignore[arg-type]
        return original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "translate_texts", counted)
    translate_document(translator, source, out, DocumentOptions())
    assert 0 < sum(translated) < 60, "what was done is not done again"
    assert out.read_bytes() == expected(source.read_bytes())


@pytest.mark.parametrize("damage", ["cut", "garbage", "other input", "other options"])
def test_a_journal_that_does_not_fit_is_not_used(
    translator: Translator, tmp_path: Path, small_steps: None, damage: str
) -> None:
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(60))
    answers = iter([False, False, True])
    translate_document(translator, source, out, DocumentOptions(), stop=lambda: next(answers))
    journal, options = journal_path(out), DocumentOptions()
    if damage == "cut":
        journal.write_bytes(journal.read_bytes()[:-20])
    elif damage == "garbage":
        journal.write_bytes(os.urandom(1000))
    elif damage == "other input":
        source.write_bytes(catalogue(40))
    else:
        options = DocumentOptions(again=True)
    translate_document(translator, source, out, options)
    assert out.read_bytes() == expected(source.read_bytes())


def test_a_journal_gives_marks_and_kept_parts_back(tmp_path: Path) -> None:
    opening, closing = Mark(MarkKind.OPEN, 0, object()), Mark(MarkKind.CLOSE, 0, object())
    kept = [Kept("x", object()), Kept("x", object())]
    segment = MarkedText(["a ", opening, kept[0], closing, " b ", kept[1]])
    moved = MarkedText([kept[1], " B ", opening, kept[0], closing, " \ud800\U0001f600\n"])
    path = tmp_path / "journal"
    with_notes = Journal(path, {"a": 1}, [segment, segment])
    stored = Stored(moved, ["a note"], (TermUse("cat", ("Hund", "Haus"), MISSING),))
    with_notes.add([stored])
    with_notes.close()
    again = Journal(path, {"a": 1}, [segment, segment])
    again.close()
    assert again.done == [stored]
    assert again.done[0].text.parts[2] is opening
    other = Journal(path, {"a": 2}, [segment])
    other.close()
    assert other.done == []


@pytest.mark.skipif(os.name == "nt", reason="a kill that no handler sees needs SIGKILL")
def test_a_killed_command_continues(tmp_path: Path) -> None:
    save_model(tmp_path / "model", taught())
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(3000))
    program = (
        "import sys; from headwise.documents import translate_document as m; m.FIRST_STEP = 300; m.STEP_SECONDS = 0.0;"
        "from headwise.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "translate", "--model", str(tmp_path / "model"), "--device", "cpu"]
    command += ["--beam", "1", str(source), "--output", str(out)]
    sizes = []
    for _ in range(2):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        before = sizes[-1] if sizes else 0
        _wait_for(lambda: journal_path(out).exists() and journal_path(out).stat().st_size > before + 4000)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not out.exists()
        sizes.append(journal_path(out).stat().st_size)
    assert sizes[1] > sizes[0]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert out.read_bytes() == expected(source.read_bytes())


def _wait_for(condition: Callable[[], bool]) -> None:
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < 240, "nothing happens"
        time.sleep(0.01)


def test_what_cannot_be_read_is_named_and_leaves_nothing(translator: Translator, tmp_path: Path) -> None:
    source, out = tmp_path / "in.docx", tmp_path / "out.docx"
    source.write_bytes(b"no zip file")
    with pytest.raises(DataError, match=r"in\.docx: "):
        translate_document(translator, source, out, DocumentOptions())
    with pytest.raises(DataError, match=r"missing\.docx: "):
        translate_document(translator, tmp_path / "missing.docx", out, DocumentOptions())
    assert [path.name for path in tmp_path.iterdir()] == ["in.docx"]


def test_outputs_that_make_no_sense_are_refused(translator: Translator, tmp_path: Path) -> None:
    source = tmp_path / "in.po"
    source.write_bytes(catalogue(2))
    for out, message in (
        (source, "is the input"),
        (tmp_path / "out.docx", r"is written as \.po"),
        (tmp_path / "no" / "out.po", "does not exist"),
        (tmp_path / "out", "cannot be translated as a document"),
    ):
        with pytest.raises(ConfigError, match=message):
            translate_document(translator, source, out, DocumentOptions())


def test_a_lost_number_is_noted(translator: Translator, tmp_path: Path) -> None:
    """The small model knows no digits, so it cannot keep them in a sentence by itself; what is lost is told."""
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(1).replace(b"The cat", b"The cat 4711 x 0815"))
    result = translate_document(translator, source, out, DocumentOptions())
    written = out.read_bytes().split(b"msgstr")[-1]
    for number in (b"4711", b"0815"):
        assert number in written or any(number.decode() in note for _, note in result.notes)


def test_the_journal_holds_json_lines(translator: Translator, tmp_path: Path, small_steps: None) -> None:
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(40))
    answers = iter([False, True])
    translate_document(translator, source, out, DocumentOptions(), stop=lambda: next(answers))
    lines = journal_path(out).read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["again"] is False
    assert all(isinstance(json.loads(line), list) for line in lines[1:])


def test_a_glossary_is_part_of_the_work_and_missing_terms_are_notes(tmp_path: Path, translator: Translator) -> None:
    source, out = tmp_path / "in.po", tmp_path / "out.po"
    source.write_bytes(catalogue(10))
    plain, terms = DocumentOptions(), DocumentOptions(search=TranslateOptions(glossary=Glossary({"cat": "Hund"})))
    assert module.document_identity(translator, source, plain) != module.document_identity(translator, source, terms)
    found = translate_document(translator, source, out, terms)
    assert (found.terms.used, found.terms.missing) == (9, 0)
    use = TermUse("cat", ("Hund",), MISSING)
    missing = TranslatedText(MarkedText(["x"]), Translation("x", 0.0, terms=(use,)))
    assert module._stored(missing).notes == ["without the term cat -> Hund"]
