"""XML with positions: every byte that is not edited stays."""

import random

import pytest

from headwise.documents.xml_source import Edit, Element, Leaf, LeafKind, XmlSource, escape_attribute, escape_text
from headwise.errors import DataError

SAMPLE = (
    '<?xml version="1.0"  encoding="UTF-8" standalone=\'yes\'?>\r\n<!-- first -->\r\n'
    "<a:root xmlns:a='urn:a' xmlns=\"urn:b\"\n  a:x = '1 > 0' y=\"it's\"><p>Fish &amp; chips &#8211; \u00e9\u4e2d</p>"
    "<p/><p></p><b>one<i>two</i>three<!-- c -->four<?do it?><![CDATA[<raw> ]] & more"
    "]]>end</b>\r\n</a:root>\n<!-- last -->"
)


def leaves(element: Element) -> list[Leaf]:
    return [child for each in element.walk() for child in each.children if isinstance(child, Leaf)]


def test_positions_give_the_source_of_every_node() -> None:
    source = XmlSource(SAMPLE.encode())
    assert source.root.name == "{urn:a}root"
    assert source.root.attributes == {"{urn:a}x": "1 > 0", "y": "it's"}
    for element in source.root.walk():
        text = source.source(element.start, element.end)
        assert text.startswith("<")
        assert text.endswith(">")
        inner = source.source(element.content_start, element.content_end)
        assert inner in text
    first = next(source.root.elements)
    assert source.source(first.content_start, first.content_end) == "Fish &amp; chips &#8211; \u00e9\u4e2d"
    assert first.text == "Fish & chips \u2013 \u00e9\u4e2d"
    kinds = {leaf.kind: source.source(leaf.start, leaf.end) for leaf in leaves(source.root)}
    assert kinds[LeafKind.CDATA] == "<![CDATA[<raw> ]] & more]]>"
    assert kinds[LeafKind.COMMENT] == "<!-- c -->"
    assert kinds[LeafKind.INSTRUCTION] == "<?do it?>"


def test_children_lie_side_by_side_and_fill_their_element() -> None:
    source = XmlSource(SAMPLE.encode())
    for element in source.root.walk():
        end = element.content_start
        for child in element.children:
            assert child.start == end
            end = child.end
        assert end == element.content_end


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_edits_change_nothing_else(encoding: str) -> None:
    text = SAMPLE.replace("UTF-8", encoding if encoding != "utf-8-sig" else "utf-8")
    if encoding == "iso-8859-1":
        text = text.replace("\u4e2d", "")
    data = text.encode(encoding)
    source = XmlSource(data)
    assert source.edited([]) == data
    first = next(source.root.elements)
    changed = source.edited([Edit(first.content_start, first.content_end, escape_text("a < b & \u20ac"))])
    written = changed.decode(encoding)
    assert written.startswith(text[: text.index("Fish")])
    assert written.endswith(text[text.index("</p><p/>") :])
    assert next(XmlSource(changed).root.elements).text == "a < b & \u20ac"


def test_attributes_are_found_by_position() -> None:
    source = XmlSource(SAMPLE.encode())
    for name, value in (("a:x", "1 > 0"), ("y", "it's")):
        found = source.attribute(source.root, name)
        assert found is not None
        assert source.source(*found) == value
    assert source.attribute(source.root, "x") is None
    start, end = source.attribute(source.root, "y") or (0, 0)
    again = XmlSource(source.edited([Edit(start, end, escape_attribute("\"<'&\n"))]))
    assert again.root.attributes["y"] == "\"<'&\n"


def test_random_trees_come_back() -> None:
    random_numbers = random.Random(0)
    for _ in range(200):
        text = _tree(random_numbers, 4)
        source = XmlSource(text.encode())
        found = [leaf for leaf in leaves(source.root) if leaf.kind is LeafKind.TEXT]
        edits = [Edit(leaf.start, leaf.end, escape_text(leaf.text)) for leaf in found]
        assert XmlSource(source.edited(edits)).root.text == source.root.text


def _tree(random_numbers: random.Random, depth: int) -> str:
    content = [
        random_numbers.choice(
            ["x &lt; y", " ", "\u0928\u092e", "<!--c-->", "<![CDATA[]]>", "<e  k='v'/>", "\U0001f600"]
        )
    ]
    if depth:
        content += [_tree(random_numbers, depth - 1) for _ in range(random_numbers.randrange(3))]
        content.append("tail")
    return f'<n a="{depth}">{"".join(content)}</n>'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a><b></a>", "damaged XML"),
        (b"", "damaged XML"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "entities"),
        (b"<a>" * 600 + b"</a>" * 600, "nested"),
        (b'<?xml version="1.0" encoding="utf-8"?><a>\xff</a>', "encoding"),
        (b'<?xml version="1.0" encoding="no-such"?><a/>', "encoding"),
    ],
)
def test_bad_files_are_refused_in_one_line(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        XmlSource(data)


def test_entities_of_html_are_read_where_a_document_type_is_named() -> None:
    source = XmlSource(b'<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd"><p>a&nbsp;b</p>')
    assert source.root.text == "a\u00a0b"
    assert source.edited([]).endswith(b"<p>a&nbsp;b</p>")
