"""Placeholders in strings: found, kept, and written as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwise.documents.marked_text import Mark, MarkedText, MarkKind
from headwise.documents.placeholders import with_placeholders, without_placeholders


def kept(text: str) -> list[str]:
    return [part.text for part in without_placeholders(MarkedText([text])).kept]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Hello {name}, {0}, {user.id!r} and {:>5}", ["{name}", "{0}", "{user.id!r}", "{:>5}"]),
        ("%s of %1$s, %(count)d or %-10s, 100%% sure", ["%s", "%1$s", "%(count)d", "%-10s", "%%"]),
        ("Use ${x}, #{y}, %{z}, {{ u.name }} and {% if a %}", ["${x}", "#{y}", "%{z}", "{{ u.name }}", "{% if a %}"]),
        ("{n, plural, one {# day} other {# days}} left", ["{n, plural, one {# day} other {# days}}"]),
        ("See https://a.org/b?c=d&e, or write to me@a.org.", ["https://a.org/b?c=d&e", "me@a.org"]),
        ("Copy /etc/ssh/config to ~/a/b and C:\\Users\\x", ["/etc/ssh/config", "~/a/b", "C:\\Users\\x"]),
        ("Type `ls -l` or <code>a < b</code> with --all=yes", ["`ls -l`", "<code>a < b</code>", "--all=yes"]),
        ("This is $t(other.key, {n}) text", ["$t(other.key, {n})"]),
        ("call parse_all() on $HOME &amp; my_value", ["&amp;", "my_value"]),
    ],
)  # fmt: skip
def test_placeholders_are_kept(text: str, wanted: list[str]) -> None:
    found = kept(text)
    assert [each for each in found if each in wanted] == wanted


@pytest.mark.parametrize(
    "text",
    ["Plain words.", "Save 20 % today", "and/or", "He {said nothing} at all", "5 < 6 and 7 > 2", "10:30", "at 5 p.m."],
)  # fmt: skip
def test_prose_is_not_kept(text: str) -> None:
    assert without_placeholders(MarkedText([text])) == MarkedText([text])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a <b>c</b>", "open close"),
        ("a <b>c", "single"),
        ("a <b><i>c</b></i>", "open single close single"),
        ("a <br> c<ph/>", "single single"),
        ("<link>privacy</link> and <link href='x'>", "open close single"),
        ("a\tb  c 🎉", "single single single"),
    ],
)
def test_tags_and_wide_spaces_are_marks(text: str, kinds: str) -> None:
    assert [mark.kind.value for mark in without_placeholders(MarkedText([text])).marks] == kinds.split()


def test_tags_do_not_cross_the_marks_of_a_format() -> None:
    text = MarkedText(["<b>a", Mark(MarkKind.OPEN, 0), "b</b>", Mark(MarkKind.CLOSE, 0)])
    assert without_placeholders(text).fault() == ""


PIECES = st.sampled_from(
    ["word ", "{name} ", "%s", "<b>", "</b>", "<i>", "<br/>", "\t", "  ", " 🎉", "a@b.org ", "`x`", "{", "<", "%"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_is_found_is_well_formed_and_comes_back(text: str) -> None:
    found = without_placeholders(MarkedText([text]))
    assert found.fault() == ""
    assert with_placeholders(found).text == text
