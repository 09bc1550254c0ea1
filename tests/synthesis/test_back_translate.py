"""`headwise.back_translate`: pairs from text, in one call."""

from pathlib import Path

import pytest

import headwise
from headwise.decode.translator import Translator
from headwise.errors import ConfigError
from tests.commands import lines_file
from tests.taught import PAIRS, TARGETS, taught


@pytest.fixture(scope="module")
def engine() -> Translator:
    return Translator(taught(both_directions=True), device="cpu")


def rows(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()[1:]]


def test_one_call(engine: Translator, tmp_path: Path) -> None:
    text, out = lines_file(tmp_path / "text.de", TARGETS[:5]), tmp_path / "pairs.tsv"
    result = headwise.back_translate(engine, text, out, source="de", target="en", beam=2, tag="<BT>")
    assert result.report is not None
    assert result.report.kept == 5
    assert rows(out) == [(f"<BT> {source}", target) for source, target in PAIRS[:5]]
    assert headwise.back_translate(engine, text, out, source="de", target="en", beam=2, tag="<BT>").already
    with pytest.raises(ConfigError, match="begun with tag <BT>, not unset"):
        headwise.back_translate(engine, text, out, source="de", target="en", beam=2)


def test_translations_that_were_cut_off_are_named(engine: Translator, tmp_path: Path) -> None:
    """They are no pairs with an empty side."""
    text, out = lines_file(tmp_path / "text.de", [*TARGETS[:4], ""]), tmp_path / "pairs.tsv"
    result = headwise.back_translate(engine, text, out, source="de", target="en", beam=1, max_ratio=0, max_extra=2)
    assert rows(out) == []
    assert "4 cut off at the length limit" in str(result.report)
    assert "1 with an empty side" in str(result.report)


def test_other_texts_are_told_in_words(engine: Translator, tmp_path: Path) -> None:
    text, other = lines_file(tmp_path / "a.de", TARGETS[:3]), lines_file(tmp_path / "b.de", TARGETS[:3])
    out = tmp_path / "pairs.tsv"
    headwise.back_translate(engine, text, out, source="de", target="en")
    with pytest.raises(ConfigError) as refused:
        headwise.back_translate(engine, other, out, source="de", target="en", beam=3)
    assert "other texts, or they have changed" in str(refused.value)
    assert "beam 1, not 3" in str(refused.value)
    assert "{" not in str(refused.value)


def test_documents_are_refused_by_name(engine: Translator, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"subtitles \(\.srt\) is not translated line by line"):
        headwise.back_translate(engine, tmp_path / "film.srt", tmp_path / "pairs.tsv", source="de", target="en")
