"""The test sheet is complete and fair, and its grading tells right from wrong."""

import importlib
import json
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headwise.models.folder.load import save_model
from tests.taught import taught

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(FOLDER))
cases = importlib.import_module("sheet.cases")
checks = importlib.import_module("sheet.checks")
digit_lines = importlib.import_module("sheet.digit_lines")
fuzz_inputs = importlib.import_module("sheet.fuzz_inputs")

SHEET = cases.read_cases()
OTHERS = ("de", "fr", "it", "hi")
DIRECTIONS = [f"en-{code}" for code in OTHERS] + [f"{code}-en" for code in OTHERS]


def graded(direction: str, source: str) -> Any:
    [case] = [case for case in SHEET if (case.direction, case.source) == (direction, source) and case.accepted]
    return case


def test_it_has_many_cases_of_every_kind_in_every_direction() -> None:
    assert len(SHEET) >= 400
    counts = Counter(case.direction for case in SHEET)
    assert min(counts[direction] for direction in DIRECTIONS) >= 60
    for direction in DIRECTIONS:
        found = {case.category for case in SHEET if case.direction == direction}
        wanted = {"word", "greeting", "no full stop", "typo", "question", "number", "date", "amount", "name", "url",
                  "e-mail", "placeholder", "emoji", "list", "mixed", "paragraph", "target language"}  # fmt: skip
        if not direction.startswith("hi"):
            wanted |= {"caps", "title"}  # Hindi has no capitals
        assert wanted <= found, (direction, wanted - found)


def test_no_case_is_there_twice() -> None:
    assert not [key for key, count in Counter((c.direction, c.source) for c in SHEET).items() if count > 1 and key[1]
                not in ("Bonjour !",)]  # fmt: skip


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "source",
    ["hello", "HELLO WORLD", "Good morning!", "How much is it?", "Where is the station?", "I ate an apple.",
     "How are you?", "I love you very much.", "The animal didn't cross the street because it was too wide."],
)  # fmt: skip
def test_the_sentences_that_must_be_right_are_in_it(language: str, source: str) -> None:
    assert graded(f"en-{language}", source).accepted


@pytest.mark.parametrize(
    ("direction", "source", "right", "wrong"),
    [
        ("en-de", "I ate an apple.", "Ich habe einen Apfel gegessen.", "Ich habe eine Birne gegessen."),
        ("en-hi", "How are you?", "आप कैसे हैं?", "आप कौन हैं?"),
        ("en-it", "I love you very much.", "Ti amo molto.", "Ti odio molto."),
        ("fr-en", "Conduis prudemment.", "Drive carefully.", "Drive."),
        ("fr-en", "Conduis prudemment.", "Drive safely!", "Drives prudemment."),
        ("en-fr", "HELLO WORLD", "BONJOUR LE MONDE", "Bonjour le monde"),
        ("en-de", "HELLO WORLD", "HALLO WELT", "HELO WORLLD"),
        ("en-de", "How are you?", "Wie geht’s dir?", "Wie bist du?"),
        ("en-de", "How much is it?", "Wie viel kostet das?", "Wie viel kostet das."),
        ("en-fr", "The animal didn't cross the street because it was too wide.",
         "L’animal n’a pas traversé la rue car elle était trop large.",
         "L'animal n'a pas traversé la rue parce qu'il était trop large."),
        ("en-hi", "The animal didn't cross the street because it was too wide.",
         "जानवर ने सड़क पार नहीं की क्योंकि वह बहुत चौड़ी थी।", "जानवर ने सड़क पार की।"),
    ],
)  # fmt: skip
def test_grading_tells_right_from_wrong(direction: str, source: str, right: str, wrong: str) -> None:
    case = graded(direction, source)
    assert not case.faults(right)
    assert case.faults(wrong)


def test_no_phrase_accepts_nothing_or_its_untranslated_source() -> None:
    for case in SHEET:
        if case.accepted:
            assert case.faults(""), case.place
            assert case.faults(case.source), case.place


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(the |a |)dog", "A dog."),
        ("c'est bien", "C’est bien !"),
        ("3.5 Prozent", "3,5 Prozent"),
        ("E-Mail", "e mail"),
        ("सड़क हँस", "सडक हंस।"),
        ("12 महीने", "१२ महीने"),
    ],
)
def test_what_is_not_compared(pattern: str, text: str) -> None:
    assert cases.expression(pattern).fullmatch(cases.normalise(text))


def test_what_is_compared() -> None:
    for pattern, text in [("(the |a |)dog", "one dog"), ("3.5", "35"), ("élève", "eleve"), ("a(b|c)", "a")]:
        assert not cases.expression(pattern).fullmatch(cases.normalise(text))


@pytest.mark.parametrize(
    ("check", "source", "right", "wrong"),
    [
        ("keep:{name}", "Hi {name}", "Hallo {name}", "Hallo {Name}"),
        ("keep:🎉", "🎉 a 🎉", "🎉 b 🎉", "🎉 b"),
        ("digits", "1,234.50 on 14/07", "14/07: 1 234,50", "14/7: 1 234,50"),
        ("digits", "a 12 b", "क १२ ख", "क १३ ख"),
        ("digits", "10 000", "10000", "1000"),
        ("digits:0.5", "12 and 13", "12", "none"),
        ("lang", "x", "Das ist ein kurzer Satz.", "This is a short sentence."),
        ("ratio:0.5-2", "four", "funf", "fourfourfour"),
        ("upper", "STOP", "HALT", "Halt"),
        ("lines", "a\nb", "c\nd", "c d"),
        ("bullets", "- a\n2. b", "- c\n2. d", "c\n2. d"),
        ("sentences", "One. Two.", "Eins. Zwei.", "Eins und zwei."),
        ("match:lund[iì]", "x", "Le LUNDI", "le mardi"),
        ("same:0.8", "I like it.", "I like it!", "Ich mag es."),
        ("end", "Who?", "Wer ?", "Wer."),
    ],
)
def test_checks_tell_right_from_wrong(check: str, source: str, right: str, wrong: str) -> None:
    name, _, value = check.partition(":")
    assert checks.CHECKS[name](source, right, "de", value)
    assert not checks.CHECKS[name](source, wrong, "de", value)


def test_every_check_is_tried_and_used() -> None:
    assert {check.partition(":")[0] for case in SHEET for check in case.checks} == set(checks.CHECKS)


def test_generated_lines_have_digits_and_depend_on_the_seed_alone() -> None:
    for language in digit_lines.TEMPLATES:
        lines = [digit_lines.digit_line(drawn, language) for drawn in [random.Random(3)] for _ in range(200)]
        assert lines == [digit_lines.digit_line(drawn, language) for drawn in [random.Random(3)] for _ in range(200)]
        assert all(checks.digit_runs(line) and not checks.lost_digits(line, line) for line in lines)
        assert len(set(lines)) > 190


def test_fuzzed_inputs_are_of_every_kind() -> None:
    drawn = random.Random(0)
    inputs = [fuzz_inputs.fuzz_input(drawn) for _ in range(3000)]
    assert "" in inputs
    assert max(map(len, inputs)) > 5000
    assert any("\ud800" <= c <= "\udfff" for text in inputs for c in text)
    assert any(text and not text.strip() for text in inputs)


def test_all_tests_run_on_a_small_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    robustness = importlib.import_module("robustness")
    save_model(tmp_path / "model", taught())
    out = tmp_path / "rows.jsonl"
    few = ["--limit", "40", "--beam", "1", "--show", "--device", "cpu", "--json", str(out)]
    monkeypatch.setattr(sys, "argv", ["robustness.py", str(tmp_path / "model"), *few])
    robustness.main()
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert {row["test"] for row in rows} == {"sheet", "digits", "fuzz"}
    [all_cases] = [row for row in rows if row.get("group") == "all"]
    assert all_cases["cases"] >= 60
    assert "test sheet" in capsys.readouterr().out
