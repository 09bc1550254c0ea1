"""XLIFF: targets are written beside their sources with the same inline elements."""

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.xliff import read_xliff
from headwise.documents.marked_text import Kept, MarkedText
from headwise.documents.xml_source import XmlSource
from tests.documents.formats.localisation.pseudo import check_damage, pseudo, refused, texts

FIRST = b"""<?xml version='1.0' encoding="UTF-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
  <file source-language="en" datatype="plaintext" original="x">
    <body>
      <group id="g"><trans-unit id="1">
        <source>Click <g id="1">here &amp; now</g>, <x id="INTERPOLATION" equiv-text="{{name}}"/> so<x id="2"/></source>
        <note>Here</note>
        <alt-trans><source>Old text</source><target>Alter Text</target></alt-trans>
      </trans-unit></group>
      <trans-unit id="2" translate="no"><source>Keep</source></trans-unit>
      <trans-unit id="3"><source>Done</source><target state="final">Fertig</target></trans-unit>
      <trans-unit id="4"><source> A <bpt id="1">&lt;b></bpt>bold<ept id="1">&lt;/b></ept> word </source
        ><target state="new"/></trans-unit>
      <trans-unit id="5"><source>By <mrk mtype="protected">Acme Corp</mrk> only</source><target></target></trans-unit>
      <trans-unit id="6"><source><x id="1"/> 12</source></trans-unit>
    </body>
  </file>
</xliff>
"""
SECOND = b"""<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
 <file id="f"><unit id="1"><originalData><data id="d">text</data></originalData>
  <segment id="s1">
   <source>One <pc id="1">bold</pc> and <sc id="2"/>more<ec startRef="2"/> <ph id="3" disp="%s"/> here</source>
  </segment>
  <ignorable><source> </source></ignorable>
  <segment state="initial"><source>Two</source><target/></segment>
  <segment state="final"><source>Three</source><target>Drei</target></segment>
 </unit></file>
</xliff>
"""


def test_sources_without_a_target_are_texts() -> None:
    document = read_xliff(FIRST, ReadOptions())
    assert texts(document) == ["Click here & now, {{name}} so", "A bold word", "By Acme Corp only"]
    assert [len(segment.marks) for segment in document.segments] == [2, 2, 0]
    assert [kept.text for segment in document.segments for kept in segment.kept] == ["{{name}}", "Acme Corp"]
    assert texts(read_xliff(SECOND, ReadOptions())) == ["One bold and more %s here", "Two"]
    assert len(read_xliff(FIRST, ReadOptions(again=True)).segments) == 4


def test_targets_are_written_with_their_inline_elements() -> None:
    document = read_xliff(FIRST, ReadOptions(target="de"))
    written = document.write(document.segments).decode()
    source = FIRST.decode()
    inner = source[source.index("Click") : source.index("</source>")]
    assert f'</source>\n        <target state="translated">{inner}</target>\n        <note>' in written
    assert (
        '<target state="translated"> A <bpt id="1">&lt;b></bpt>bold<ept id="1">&lt;/b></ept> word </target>' in written
    )
    assert '<target>By <mrk mtype="protected">Acme Corp</mrk> only</target>' in written
    assert 'original="x" target-language="de">' in written
    assert read_xliff(written.encode(), ReadOptions(target="de")).write([]) == written.encode()


def test_a_target_follows_the_segmented_source() -> None:
    segmented = b"<source>Hi. You.</source><seg-source><mrk mtype='seg' mid='1'>Hi.</mrk></seg-source>"
    unit = b'<xliff version="1.2"><file target-language="de"><trans-unit>%s</trans-unit></file></xliff>'
    document = read_xliff(unit % segmented, ReadOptions(target="de"))
    assert document.write(document.segments) == unit % (segmented + b"\n<target>Hi. You.</target>")


def test_segments_of_version_2_become_translated() -> None:
    document = read_xliff(SECOND, ReadOptions(target="de"))
    written = document.write(document.segments).decode()
    assert '<segment id="s1" state="translated">\n   <source>' in written
    inner = 'One <pc id="1">bold</pc> and <sc id="2"/>more<ec startRef="2"/> <ph id="3" disp="%s"/> here'
    assert f"</source>\n   <target>{inner}</target>\n  </segment>" in written
    assert '<segment state="translated"><source>Two</source><target>Two</target></segment>' in written
    assert 'srcLang="en" trgLang="de">' in written
    assert '<segment state="final">' in written


def test_other_texts_are_escaped_and_nothing_else_changes() -> None:
    for data in (FIRST, SECOND):
        document = read_xliff(data, ReadOptions())
        translations = pseudo(document.segments)
        written = document.write(translations)
        again = read_xliff(written, ReadOptions(again=True))
        assert len(again.segments) == len(read_xliff(data, ReadOptions(again=True)).segments)
        targets = ["".join(each.text.split()) for each in XmlSource(written).root.walk() if each.local == "target"]
        for text in translations:
            first = next(part for part in text.parts if isinstance(part, str))
            assert any("".join(first.split()) in target for target in targets)
        sources = [each.text for each in XmlSource(data).root.walk() if each.local in ("source", "note", "data")]
        assert sources == [
            each.text for each in XmlSource(written).root.walk() if each.local in ("source", "note", "data")
        ]


def test_marks_may_change_their_order() -> None:
    document = read_xliff(SECOND, ReadOptions())
    first = document.segments[0]
    kept = next(part for part in first.parts if isinstance(part, Kept))
    opening, closing, *rest = first.marks
    moved = MarkedText([kept, " < ", *rest, opening, "fett", closing])
    written = document.write([moved, document.segments[1]]).decode()
    assert '<target><ph id="3" disp="%s"/> &lt; <sc id="2"/><ec startRef="2"/><pc id="1">fett</pc></target>' in written


def test_bad_files_are_refused_in_one_line() -> None:
    refused(read_xliff, b"<tmx/>", "not an XLIFF")
    refused(read_xliff, b"<xliff>", "damaged XML")
    check_damage(read_xliff, FIRST, ReadOptions(target="de"))
    check_damage(read_xliff, SECOND, ReadOptions(target="de"))
