"""Markdown: text is found with its inline markup, and a translation never becomes markup."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from headwise.documents.document import ReadOptions
from headwise.documents.formats.markdown import read_markdown
from headwise.documents.marked_text import Mark, MarkedText
from headwise.errors import DataError
from tests.documents.pseudo_translation import check_damaged, check_round_trip, pseudo, replaced, shapes

PAGE = """---
title: Front matter
---
# Title *here* ##

A paragraph with **bold** and _italic_, `code x`, [link **b**](http://a.b/c "A title"), ![alt text](x.png) and
a second line <b title="tip">html</b> &amp; \\* star.
Hard\x20\x20
break and <http://x.org> ~~strike~~ and [text][ref], :rocket: {#id}.

> quote line one
> line two[^1] end
> - item a
>   goes on

> [!NOTE]
> An alert

- [ ] to do
- [x] done

| A | B \\| c |
|---|:-:|
| cell *one* | `x\\|y` two |
| 12 |

    code block

```python
print("fence")
```

<p align="center">Some <b>html</b>
text</p>

Setext
heading
=====

[^1]: A footnote
    of two lines

    and two paragraphs

!!! note "Title"
    Body of an admonition.

::: warning
In a directive.
:::

Term
: Definition $a_1 = b$ here

[ref]: http://z.org "Title"
"""


def test_texts_and_marks() -> None:
    assert shapes(read_markdown(PAGE.encode(), ReadOptions())) == [
        "Title [1]here[/1]",
        "A paragraph with [1]bold[/1] and [2]italic[/2], {code x}, [3]link [4]b[/4][/3], [5/] and a second line "
        "[6]html[/6] & * star. Hard[7/] break and {http://x.org} [8]strike[/8] and [9]text[/9], [10/] [11/].",
        "A title",
        "alt text",
        "tip",
        "quote line one line two[1/] end",
        "item a goes on",
        "An alert",
        "to do",
        "done",
        "A",
        "B | c",
        "cell [1]one[/1]",
        "{x|y} two",
        "Some [1]html[/1] text",
        "Setext heading",
        "A footnote of two lines",
        "and two paragraphs",
        "Body of an admonition.",
        "In a directive.",
        "Term",
        "Definition {$a_1 = b$} here",
    ]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_page_comes_back(line_end: str) -> None:
    data = PAGE.replace("\n", line_end).encode()
    written = check_round_trip(read_markdown, data).decode()
    assert "![nyg grkg](x.png) naq" in written
    assert f"> dhbgr yvar bar yvar gjb[^1] raq{line_end}> - vgrz n tbrf ba" in written


def test_links_by_their_text_name_their_definition_in_translations() -> None:
    page = b"See [the docs] or [this one][].\n\n- [the docs]\n\n[the docs]: http://a.b\n[this one]: http://c.d\n"
    document = read_markdown(page, ReadOptions())
    assert document.write(document.segments) == page
    written = document.write(replaced(document, {"the docs": "la doc", "this one": "ceci"})).decode()
    assert "See [la doc][the docs] or [ceci][this one].\n\n- [la doc][the docs]\n" in written


@pytest.mark.parametrize(
    ("source", "translation", "written"),
    [
        ("A text", "# no heading", "\\# no heading"),
        ("A text", "1. no list", "1\\. no list"),
        ("A text", "- no list", "\\- no list"),
        ("A text", "> no quote", "\\> no quote"),
        ("A text", "2 * 3 and snake_case stay", "2 * 3 and snake_case stay"),
        ("A text", "an *asterisk* and <b> and `x`", "an \\*asterisk\\* and \\<b> and \\`x\\`"),
        ("A text", "[a](b)", "[a\\](b)"),
        ("| A | b |\n|---|---|\n", "x | y", "| x \\| y | b |\n|---|---|\n"),
    ],
)
def test_characters_that_would_become_markup_are_escaped(source: str, translation: str, written: str) -> None:
    document = read_markdown(source.encode(), ReadOptions())
    texts = [MarkedText([translation]), *document.segments[1:]]
    assert document.write(texts).decode() == written


def test_emphasis_within_a_word() -> None:
    document = read_markdown(b"the _big_ house", ReadOptions())
    opening, closing = document.segments[0].marks
    assert document.write([MarkedText(["das Gro", opening, "ss", closing, "haus"])]) == b"das Gro*ss*haus"
    assert document.write([MarkedText(["das", opening, " Haus ", closing, "da"])]) == b"das _Haus_ da"
    assert document.write([MarkedText(["das ", opening, closing, " Haus"])]).split() == [b"das", b"Haus"]


PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def structure(text: str) -> list[object]:
    """The tokens of a text without what is text in them."""
    found: list[object] = []
    for token in PARSER.parse(text):
        children = [child for child in token.children or [] if child.type not in ("text", "softbreak", "text_special")]
        found.append((token.type, token.tag, [(child.type, child.attrs.get("href")) for child in children]))
    return found


SOURCES = (
    "A *b* c **d** e",
    "> a _b_ c [l](u) d\n> e f `x` g",
    "- item ~~one~~\n  goes on\n- two",
    "Setext\n===",
    "# Title *a* b",
    "| a *b* | c |\n|---|---|\n| d | e `x` |",
    "1. one [a][r]\n\n   more ![i](p) text\n\n[r]: u",
)
WORDS = st.lists(st.text(st.sampled_from("ab1.)*_`[]()<>#-+=~|&;:!\\$ \"'é«»{}/^"), max_size=6), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SOURCES), st.data())
def test_any_translation_keeps_the_structure(source: str, data: st.DataObject) -> None:
    document = read_markdown(source.encode(), ReadOptions())
    texts = []
    for segment in document.segments:
        parts = [f"a{' '.join(data.draw(WORDS))}z" if isinstance(part, str) else part for part in segment.parts]
        if all(isinstance(part, Mark) for part in parts):
            parts.insert(0, "x")
        texts.append(MarkedText(parts))
    written = document.write(texts).decode()
    assert structure(written) == structure(source)


@pytest.mark.parametrize("unit", ["*", "[", "![", "`", "<", "> ", "- ", "|", "\\", "_a", "[^", "$", ":a", "<b>", "a\n"])
def test_repeated_markup_is_read_in_reasonable_time(unit: str) -> None:
    data = b"x " + unit.encode() * 500 + b" y"
    started = time.process_time()
    document = read_markdown(data, ReadOptions())
    assert document.write(document.segments) == data
    document.write([pseudo(segment) for segment in document.segments])
    assert time.process_time() - started < 5


def test_damaged_files_are_read_or_refused() -> None:
    check_damaged(read_markdown, PAGE.encode(), tries=25)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(DataError, match="not text"):
        read_markdown(b"\x7fELF\x00\x01", ReadOptions())
