"""TMX: the target language is added to units that lack it."""

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.translation_memory import read_tmx
from headwise.documents.marked_text import MarkedText
from tests.documents.formats.localisation.pseudo import check_damage, refused, texts

FILE = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
  <header srclang="en-US" adminlang="en" datatype="html" segtype="sentence"/>
  <body>
    <tu tuid="1">
      <prop type="x">p</prop>
      <tuv xml:lang="en-US" creationid="A">
        <seg>A <bpt i="1">&lt;b&gt;</bpt>bold<ept i="1">&lt;/b&gt;</ept> word, <ph x="1">{0}</ph> &amp; more<it/></seg>
      </tuv>
    </tu>
    <tu><tuv xml:lang="en-US"><seg>Done</seg></tuv><tuv xml:lang="de-DE"><seg>Fertig</seg></tuv></tu>
    <tu><tuv xml:lang="EN-US"><seg>Open</seg></tuv><tuv xml:lang="de"><seg/></tuv></tu>
    <tu><tuv xml:lang="fr"><seg>Rien</seg></tuv></tu>
  </body>
</tmx>
"""
BOTH = ReadOptions(source="en", target="de")


@pytest.mark.parametrize("options", [ReadOptions(), ReadOptions(target="de"), ReadOptions(source="en")])
def test_without_languages_nothing_changes(options: ReadOptions) -> None:
    document = read_tmx(FILE, options)
    assert not document.segments
    assert document.write([]) == FILE


def test_the_missing_language_is_added() -> None:
    document = read_tmx(FILE, BOTH)
    assert texts(document) == ["A bold word, {0} & more", "Open"]
    written = document.write([document.segments[0], MarkedText(["Öffnen <"])]).decode()
    source = FILE.decode()
    segment = source[source.index("<seg>A") : source.index("</seg>")]
    added = f'\n      <tuv xml:lang="de">\n        {segment}</seg>\n      </tuv>'
    assert added in written
    assert "<seg>Öffnen &lt;</seg>" in written
    assert written.replace(added, "", 1).replace("<seg>Öffnen &lt;</seg>", "<seg/>") == source
    assert not read_tmx(written.encode(), BOTH).segments


def test_long_texts_of_any_script_may_stand_before_the_source() -> None:
    """Positions count bytes, and a character has several."""
    for count in range(60, 64):
        other = "\u0928" * count + "x" * (count % 3)
        data = (
            f'<tmx><tu><tuv xml:lang="hi"><seg>{other}</seg></tuv> <tuv xml:lang="en"><seg>A b</seg></tuv></tu></tmx>'
        )
        document = read_tmx(data.encode(), BOTH)
        written = document.write(document.segments).decode()
        assert written == data.replace("</tu>", ' <tuv xml:lang="de"><seg>A b</seg></tuv></tu>')


def test_present_translations_are_replaced_on_request() -> None:
    document = read_tmx(FILE, ReadOptions(source="en", target="de", again=True))
    assert texts(document)[1] == "Done"
    written = document.write([MarkedText([text]) for text in ("a", "Erledigt", "b")])
    assert b'<tuv xml:lang="de-DE"><seg>Erledigt</seg></tuv>' in written


def test_bad_files_are_refused_in_one_line() -> None:
    refused(read_tmx, b"<xliff/>", "not a TMX")
    check_damage(read_tmx, FILE, BOTH)
