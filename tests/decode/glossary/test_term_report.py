"""Counts of terms, which add up however the texts are divided."""

import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from headwise.decode.glossary.rendering import INFLECTED, MISSING, USED, TermUse
from headwise.decode.glossary.term_report import SHOWN, TermReport

USES = st.lists(st.tuples(st.integers(1, 20), st.sampled_from([USED, INFLECTED, MISSING]))).map(
    lambda listed: [(number, TermUse(f"term {number}", ("x",), status)) for number, status in listed]
)


@given(USES, USES)
def test_reports_of_parts_add_up(one: list[tuple[int, TermUse]], two: list[tuple[int, TermUse]]) -> None:
    whole = TermReport.of([*one, *two])
    assert TermReport.of(one) + TermReport.of(two) == whole
    assert TermReport.from_table(json.loads(json.dumps(asdict(whole)))) == whole
    assert whole.missing == sum(use.status == MISSING for _, use in [*one, *two])


def test_the_first_missing_terms_are_named() -> None:
    report = TermReport.of((number, TermUse("cat", ("Kater",), MISSING)) for number in range(9, 0, -1))
    named = report.named("line")
    assert named[0] == "missing in line 1: cat -> Kater"
    assert named[SHOWN:] == ["4 more missing"]
    assert str(report) == "terms: 9 found, 0 rendered as requested, 0 inflected, 9 missing"
    assert str(TermReport()) == "terms: none of the glossary's terms occurs"
