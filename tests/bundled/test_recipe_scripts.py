"""The scripts of the bundled model's recipe: which lines are translated, which pairs are kept, how steps resume."""

import lzma
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.taught import SOURCES, TARGETS

SCRIPTS = Path(__file__).parent.parent.parent / "scripts" / "bundled"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module `make`, with `pairs` and `corpora` as its attributes."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import make  # type: ignore[import-not-found]

    import corpora  # type: ignore[import-not-found]  # isort: skip
    import pairs  # type: ignore[import-not-found]  # isort: skip

    make.corpora, make.pairs = corpora, pairs
    yield make
    for name in ("make", "corpora", "pairs", "translated"):
        sys.modules.pop(name, None)


def write(data: Path, name: str, *texts: str) -> None:
    path = data / f"{name}.xz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(path, "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{text}\n" for text in texts)


@pytest.mark.parametrize(
    ("text", "translation", "faithful"),
    [
        ("It costs 1,250 euros.", "Es kostet 1.250 Euro.", True),
        ("It costs 1,250 euros.", "Es kostet 1.205 Euro.", False),
        ("In 1914 it began.", "1914 यह शुरू हुआ।", True),
        ("In 1914 it began.", "१९१४ में यह शुरू हुआ।", True),
        ("In 1914 it began.", "Es begann.", False),
        ("Yes.", "Na klar, gern!", True),
        ("A line that is neither long nor short.", "Eine.", False),
        ("They talked and talked.", "Sie redeten und redeten.", True),
        ("They talked for hours there.", "Sie redeten redeten redeten redeten redeten.", False),
        ("Ha ha ha ha ha, he said.", "Ha ha ha ha ha, sagte er.", True),
        ("This was not translated.", "This was not translated.", False),
        ("Berlin Hauptbahnhof", "Berlin Hauptbahnhof", True),
        ("Something", "", False),
    ],
)
def test_which_pairs_are_faithful(scripts: Any, text: str, translation: str, faithful: bool) -> None:
    assert scripts.pairs.is_faithful(text, translation) is faithful


def test_the_worst_scores_are_dropped(scripts: Any) -> None:
    names = [f"{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(100)]
    texts, translations = [f"a text named {name}" for name in names], [f"ein Text namens {name}" for name in names]
    scores = [-((n * 37) % 100) - 0.5 for n in range(100)]
    kept = {text for text, _ in scripts.pairs.good_pairs(texts, translations, scores)}
    dropped = {text for text, score in zip(texts, scores, strict=True) if score < -95}
    assert kept == set(texts) - dropped
    assert len(dropped) == 5


@pytest.mark.parametrize("beam", [1, 4])
def test_texts_are_translated_in_parts_and_english_comes_first(
    beam: int, scripts: Any, small_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import translated  # type: ignore[import-not-found]

    monkeypatch.setattr(translated, "PART", 2)
    monkeypatch.setattr(translated, "PROCESSES", 1)
    taught = list(zip(SOURCES[:3], TARGETS[:3], strict=True))
    texts = {("en", "de"): tmp_path / "en-de.en", ("de", "en"): tmp_path / "de-en.de"}
    for column, text in enumerate(texts.values()):
        scripts.write_lines(text, [pair[column] for pair in taught])
    translated.translate_texts(texts, dict.fromkeys(texts, small_folder), tmp_path / "made", beam)
    for pair in ("en-de", "de-en"):
        found = scripts.read_pairs(tmp_path / "made" / f"{pair}.tsv")
        assert len(found) >= 2  # the worst of a part may be left out
        assert {*found} <= {*taught}
        assert len([*(tmp_path / "made" / "parts").glob(f"{pair}-*.tsv")]) == 2


def test_a_round_learns_what_is_there_and_first_translations_backwards(scripts: Any, tmp_path: Path) -> None:
    at = scripts.Folders(tmp_path / "data", tmp_path / "opus", tmp_path / "work")
    write(at.data, "en-de/tatoeba.en", "I slept.")
    for name in ("translations-1/en-de.tsv", "translations-1/de-en.tsv", "phrases/en-de.tsv"):
        scripts.write_pairs(at.work / name, [("I slept.", "Ich schlief.")])
    recipes = {}
    for number in (1, 2, 3):
        tables = tomllib.loads((scripts.write_recipe(at, number) / "student.toml").read_text("utf-8"))
        recipes[number] = {corpus.get("pairs", str(corpus.get("source"))): corpus for corpus in tables["data"]["train"]}
    assert not [name for name in recipes[1] if name.startswith(("synthetic/", "cross/", "french/"))]
    assert "phrases/en-de.tsv" in recipes[1]
    back = recipes[2]["synthetic/en-de.tsv"], recipes[2]["synthetic/de-en.tsv"]
    assert [(corpus.get("weight", 1), corpus["reverse_weight"]) for corpus in back] == [(0, 1), (1, 0)]
    assert "synthetic/en-de.tsv" not in recipes[3], "the second round's translations are not made yet"


def test_everyday_sentences_of_all_languages_are_translated(scripts: Any, tmp_path: Path) -> None:
    write(tmp_path, "mono/wikipedia.en", "General text.", "More text.")
    write(tmp_path, "en-de/tatoeba.en", "Only German has this.")
    write(tmp_path, "en-it/tatoeba.en", "Only Italian has this.")
    everyday = ["Only German has this.", "Only Italian has this."]
    assert scripts.english_text(tmp_path, 100) == ["General text.", "More text.", *everyday]
    assert len(scripts.english_text(tmp_path, 1)) == 1 + len(everyday)


def test_speeches_are_translated_from_and_into_french_only(scripts: Any, tmp_path: Path) -> None:
    at = scripts.Folders(tmp_path / "data", tmp_path / "opus", tmp_path / "work")
    scripts.write_pairs(at.parliament("de"), [("A speech.", "Eine Rede.")])
    scripts.write_pairs(at.parliament("fr"), [("Another one.", "Une autre.")])
    scripts.make_texts(at)
    texts = {pair: at.text(pair).read_text("utf-8") for pair in scripts.DIRECTIONS}
    assert texts.pop(("en", "fr")) == "A speech.\n"
    assert texts.pop(("fr", "en")) == "Une autre.\n"
    assert set(texts.values()) == {""}


def test_the_phrasebook_has_pairs_of_all_languages(scripts: Any) -> None:
    found = {(left, right): dict(pairs) for left, right, pairs in scripts.pairs.phrasebook()}
    assert {*found} == {*combinations(("en", "de", "fr", "it", "hi"), 2)}
    assert found["en", "it"]["Good morning!"] == "Buongiorno!"
    assert found["de", "hi"]["Guten Morgen!"] == "सुप्रभात!"
    for (left, right), pairs in found.items():
        assert len(pairs) > 900, (left, right)
        assert all(one.strip() == one != "" != other == other.strip() for one, other in pairs.items())
        assert right != "hi" or all(re.search("[ऀ-ॿ]", other) for other in pairs.values())


def test_a_draw_is_always_the_same_and_in_order(scripts: Any) -> None:
    once = scripts.thinned(range(1000), 50, "name")
    assert once == scripts.thinned(range(1000), 50, "name") == sorted(once)
    assert len(once) == 50
    assert once != scripts.thinned(range(1000), 50, "other")
    assert scripts.thinned(range(3), 50, "name") == [0, 1, 2]


def test_two_languages_meet_at_the_same_english_line(scripts: Any, tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    write(data, "en-de/tatoeba.en", "I slept.", "Only German.")
    write(data, "en-de/tatoeba.de", "Ich schlief.", "Nur Deutsch.")
    write(data, "en-fr/tatoeba.en", "I slept.")
    write(data, "en-fr/tatoeba.fr", "J'ai dormi.")
    made = work / "translations-1"
    scripts.write_pairs(made / "en-it.tsv", [("I slept.", "Ho dormito."), ("Unknown.", "Ignoto.")])
    scripts.write_pairs(made / "en-de.tsv", [("I slept.", "Made by a machine.")])
    found = {(left, right): pairs for left, right, pairs in scripts.cross_pairs(data, work, "translations-1")}
    assert found["de", "fr"] == [("Ich schlief.", "J'ai dormi.")]
    assert found["de", "it"] == [("Ich schlief.", "Ho dormito.")]
    assert found["fr", "hi"] == []


def test_openings_are_those_that_come_again(scripts: Any, tmp_path: Path) -> None:
    write(tmp_path, "en-de/tatoeba.en", "Hello, Tom.", "Hello. Come in.", "Hello, how are you?", "Well, well, well.")
    write(tmp_path, "en-de/tatoeba.de", "Hallo, Tom.", "Hallo! Komm rein.", "Servus, wie geht es?", "Na, na, na.")
    assert scripts.openings(tmp_path, "de") == [("Hello", "Hallo")]


def test_a_step_that_is_done_is_not_repeated(
    scripts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "data", "en-de/europarl.en", "In 1999 we met.", "Pages 3 and 4.")
    write(tmp_path / "data", "en-de/europarl.de", "1999 trafen wir uns.", "Seite 3.")
    monkeypatch.setattr(sys, "argv", ["make.py", *(str(tmp_path / name) for name in ("data", "opus", "work"))])
    sys.argv += ["--only", "parliament"]
    scripts.main()
    made = tmp_path / "work" / "parliament" / "en-de.tsv"
    assert made.read_text("utf-8") == "In 1999 we met.\t1999 trafen wir uns.\n"
    made.write_text("changed", "utf-8")
    capsys.readouterr()
    scripts.main()
    assert made.read_text("utf-8") == "changed"
    assert "already there" in capsys.readouterr().out
