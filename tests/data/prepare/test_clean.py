import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.config import CleanConfig
from headwise.data.prepare import clean as cleaning
from headwise.data.prepare.clean import ONLY_UNUSABLE, clean
from headwise.data.prepare.cleaning_report import CleaningReport, total
from headwise.data.prepare.duplicates import SeenHashes
from headwise.data.read.pairs import Pair


def run(
    texts: Sequence[tuple[str, str]], config: CleanConfig | None = None
) -> tuple[list[tuple[str, str]], CleaningReport]:
    report = CleaningReport()
    pairs = [Pair(source, target, "file", line) for line, (source, target) in enumerate(texts, 1)]
    chunks = list(clean(pairs, config or CleanConfig(), report, SeenHashes()))
    for chunk, hashes in chunks:
        assert len(chunk) == len(hashes)
    kept = [(pair.source, pair.target) for chunk, _ in chunks for pair in chunk]
    assert report.kept == len(kept)
    return kept, report


def reasons(report: CleaningReport) -> dict[str, int]:
    return {reason: dropped.count for reason, dropped in report.dropped.items()}


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("", "etwas", "empty"),
        ("something", " \t\u00a0\u3000", "empty"),
        ("a \x07 bell", "eine Glocke", "control"),
        ("a replacement", "ein Ers\ufffdtz", "control"),
        ("half \ud83d an emoji", "ein halbes Emoji", "control"),
        ("del \x7f", "x", "control"),
        ("c1 \x9c", "x", "control"),
        ("x" * 1001, "y" * 1001, "long"),
        ("x" * 1_000_000, "y", "long"),
        ("w " * 201, "wort " * 190, "long"),
        ("x" * 41, "y", "ratio"),
        ("x" * 50, "y" * 12, "ratio"),
        ("Berlin", "Berlin", "copy"),
        ("Berlin ", " Berlin", "copy"),
    ],
)
def test_each_rule_drops_its_pair(source: str, target: str, reason: str) -> None:
    kept, report = run([(source, target), ("good", "gut")])
    assert kept == [("good", "gut")]
    assert reasons(report) == {reason: 1}
    file, line, text = report.dropped[reason].examples[0]
    assert (file, line) == ("file", 1)
    assert len(text) <= 46
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Yes", "Selbstverständlich"),
        ("x" * 1000, "y" * 1000),
        ("x" * 40, "y"),
        ("w " * 200, "wort " * 200),
        ("42", "42"),
        ("A", "A"),
        ("👩\u200d👩\u200d👧\u200d👦 family", "👩\u200d👩\u200d👧\u200d👦 Familie"),
        ("peace", "\u200fשלום\u200e"),
        ("من فضلك", "می\u200cخواهم"),
    ],
)
def test_usable_pairs_stay_as_they_are(source: str, target: str) -> None:
    assert run([(source, target)])[0] == [(source.strip(), target.strip())]


def test_texts_are_normalised_before_the_rules() -> None:
    assert run([("a\u00a0 \tb\r", "o\u0308"), ("a b", "ö")])[0] == [("a b", "ö")]


def test_rules_can_be_turned_off() -> None:
    texts = [("same", "same"), ("same", "same"), ("x" * 5000, "y"), ("", "y"), ("\x07", "y")]
    kept, report = run(texts, ONLY_UNUSABLE)
    assert kept == texts[:3]
    assert reasons(report) == {"empty": 1, "control": 1}


def test_duplicates_are_found_across_chunks_and_the_first_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleaning, "CHUNK", 3)
    rng = np.random.default_rng(0)
    texts = [(f"source {i}", f"target {i}") for i in rng.integers(30, size=100)]
    kept, report = run(texts)
    assert kept == list(dict.fromkeys(texts))
    assert reasons(report) == {"duplicate": 100 - len(kept)}


def test_a_pair_is_not_the_duplicate_of_another_split_of_its_text_or_of_other_languages() -> None:
    assert len(run([("a b", "c"), ("a", "b c")])[0]) == 2
    seen, report = SeenHashes(), CleaningReport()
    for languages in ("en\tde", "en\tnl", "en\tde"):
        list(clean([Pair("one", "een", "f", 1)], CleanConfig(), report, seen, languages))
    assert report.kept == 2


@settings(max_examples=200)
@given(st.lists(st.lists(st.integers(0, 40) | st.sampled_from([2**64 - 1, 2**63]), max_size=30), max_size=20))
def test_seen_hashes_are_a_set(chunks: list[list[int]]) -> None:
    seen, oracle = SeenHashes(), set[int]()
    for chunk in chunks:
        fresh = seen.add(np.array(chunk, np.uint64))
        for value, new in zip(chunk, fresh, strict=True):
            assert new == (value not in oracle)
            oracle.add(value)
        assert len(seen) == len(oracle)


def test_seen_hashes_stay_in_few_runs() -> None:
    seen = SeenHashes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        seen.add(rng.integers(1 << 63, size=100, dtype=np.uint64))
    assert len(seen._runs) <= np.log2(len(seen))
    assert sum(run.nbytes for run in seen._runs) == 8 * len(seen)


def test_the_report_is_for_people_and_survives_json() -> None:
    _, report = run([("one", "eins")] * 1203 + [("", "x")])
    report.held_out = 0
    text = str(report)
    assert text.startswith("1,204 pairs read, 1 kept; dropped: 1 with an empty side (e.g. file:1204 'x')")
    assert "1,202 duplicates (e.g. file:2 'one')" in text
    assert len(report.dropped["duplicate"].examples) == 3
    again = CleaningReport.from_json(json.loads(json.dumps(report.to_json())))
    assert again == report
    both = total([report, again])
    assert (both.read, both.kept, both.dropped["duplicate"].count) == (2408, 2, 2404)


def test_a_reason_must_be_known() -> None:
    with pytest.raises(KeyError):
        CleaningReport().drop("mood", Pair("a", "b", "f", 1))
