"""The scripts of the bundled model's recipe: which lines are translated, which pairs are kept, how steps resume."""

import lzma
import re
import sys
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

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
    for name in ("make", "corpora", "pairs"):
        sys.modules.pop(name)


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


def test_the_worst_scores_are_dropped(scripts: Any, tmp_path: Path) -> None:
    texts = [f"a text number {chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(100)]
    found = tmp_path / "found"
    found.write_text(
        "".join(f"{-((n * 37) % 100)}.5\tein Text Nummer {t[-2:]}\n" for n, t in enumerate(texts)), "utf-8"
    )
    kept = {text for text, _ in scripts.pairs.good_pairs(texts, found)}
    dropped = {text for n, text in enumerate(texts) if (n * 37) % 100 > 94}
    assert kept == set(texts) - dropped
    assert len(dropped) == 5


def test_everyday_sentences_of_all_languages_are_translated(scripts: Any, tmp_path: Path) -> None:
    write(tmp_path, "mono/wikipedia.en", "General text.", "More text.")
    write(tmp_path, "en-de/tatoeba.en", "Only German has this.")
    write(tmp_path, "en-it/tatoeba.en", "Only Italian has this.")
    everyday = ["Only German has this.", "Only Italian has this."]
    assert scripts.english_text(tmp_path, 100) == ["General text.", "More text.", *everyday]
    assert len(scripts.english_text(tmp_path, 1)) == 1 + len(everyday)


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
    scripts.write_pairs(work / "synthetic" / "en-it.tsv", [("I slept.", "Ho dormito."), ("Unknown.", "Ignoto.")])
    scripts.write_pairs(work / "synthetic" / "en-de.tsv", [("I slept.", "Made by a machine.")])
    found = {(left, right): pairs for left, right, pairs in scripts.cross_pairs(data, work)}
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
