"""Several documents and folders: which outputs they have, and that finished ones are not made again."""

from pathlib import Path

import pytest

from headwise.decode.translator import Translator
from headwise.documents.translate_document import DocumentOptions
from headwise.documents.translate_files import RECORD, plan_documents, translate_documents
from headwise.errors import ConfigError, DataError
from tests.taught import SOURCES, TARGETS, taught


def page(number: int) -> str:
    return f"<p>{SOURCES[number]}</p>\n"


def folder_of(root: Path) -> Path:
    """A folder with two pages, a file that is not a document, and a hidden one."""
    (root / "site" / "more").mkdir(parents=True)
    (root / "site" / "a.html").write_text(page(0), encoding="utf-8")
    (root / "site" / "more" / "b.html").write_text(page(1), encoding="utf-8")
    (root / "site" / "logo.png").write_bytes(b"\x89PNG")
    (root / "site" / ".hidden.html").write_text(page(2), encoding="utf-8")
    return root / "site"


def test_a_file_is_named_after_its_language(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.touch()
    assert [pair.output for pair in plan_documents([path], None, "de").pairs] == [tmp_path / "a.de.html"]
    assert [pair.output for pair in plan_documents([path], tmp_path / "x.html", "de").pairs] == [tmp_path / "x.html"]


def test_a_folder_is_planned_with_all_below_it(tmp_path: Path) -> None:
    site = folder_of(tmp_path)
    plan = plan_documents([site], None, "de")
    assert [pair.output.relative_to(tmp_path).as_posix() for pair in plan.pairs] == [
        "site.de/a.html",
        "site.de/more/b.html",
    ]
    assert [path.name for path in plan.skipped] == ["logo.png"]


def test_what_cannot_be_planned_is_refused(tmp_path: Path) -> None:
    site = folder_of(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        plan_documents([tmp_path / "none.html"], None, "de")
    with pytest.raises(ConfigError, match="is a file"):
        plan_documents([site], site / "a.html", "de")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.html").touch()
    with pytest.raises(ConfigError, match="would both be written"):
        plan_documents([site / "a.html", tmp_path / "other" / "a.html"], tmp_path / "out", "de")


def test_the_current_folder_is_translated_beside_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("A dog.")
    monkeypatch.chdir(tmp_path / "docs")
    for given in (".", "../docs/../docs/..", "../docs"):
        plan = plan_documents([Path(given)], None, "de")
        name = f"{Path(given).resolve().name}.de"
        assert plan.folder is not None
        assert (plan.folder.resolve().name, plan.pairs[0].output.name) == (name, "a.txt")
    with pytest.raises(ConfigError, match="below it, or --output"):
        plan_documents([Path("/")], None, "de")


def test_a_stopped_folder_continues_and_an_unreadable_file_is_named(tmp_path: Path) -> None:
    translator = Translator(taught(), device="cpu")
    site = folder_of(tmp_path)
    (site / "broken.docx").write_bytes(b"no zip file")
    plan = plan_documents([site], tmp_path / "out", "de")
    first = next(iter(translate_documents(translator, plan, DocumentOptions())))
    assert first.pair.input.name == "a.html"
    assert (tmp_path / "out" / RECORD).exists()
    rest = list(translate_documents(translator, plan, DocumentOptions()))
    assert [result.pair.input.name for result in rest] == ["broken.docx", "b.html"]
    assert rest[0].error
    assert not (tmp_path / "out" / "broken.docx").exists()
    assert TARGETS[0] in (tmp_path / "out" / "a.html").read_text(encoding="utf-8")
    assert TARGETS[1] in (tmp_path / "out" / "more" / "b.html").read_text(encoding="utf-8")
    assert not (tmp_path / "out" / RECORD).exists()
