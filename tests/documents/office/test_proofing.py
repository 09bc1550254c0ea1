"""The languages that office documents state for spell checkers."""

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.docx import read_docx
from headwise.documents.office.proofing import Proofing, odf_languages, slide_languages, word_languages
from tests.documents.office.packages import contents, open_package

WORD = b'<w:lang w:val="en-US" w:eastAsia="zh-CN" w:bidi="ar-SA"/><w:lang w:val="fr-FR"/>'
ODF = b'<style:text-properties fo:language="en" fo:country="GB" style:language-complex="none"/>'
SLIDE = b'<a:rPr lang="en-GB" dirty="0"/><a:rPr/>'


def stated(proofing: Proofing | None, part: bytes) -> bytes:
    return proofing.stated(part) if proofing else part


@pytest.mark.parametrize("source", ["en", None])
def test_the_language_of_the_source_becomes_that_of_the_translation(source: str | None) -> None:
    assert stated(word_languages(WORD, source, "de"), WORD) == WORD.replace(b"en-US", b"de-DE")
    assert stated(slide_languages(SLIDE, source, "fr"), SLIDE) == SLIDE.replace(b"en-GB", b"fr-FR")
    translated = stated(odf_languages(ODF, source, "it"), ODF)
    assert translated == ODF.replace(b'"en"', b'"it"').replace(b'"GB"', b'"IT"')


def test_complex_scripts_have_attributes_of_their_own() -> None:
    assert stated(word_languages(WORD, "en", "hi"), WORD) == WORD.replace(b"ar-SA", b"hi-IN")
    assert (
        stated(word_languages(b"", "hi", "de"), b"<w:lang w:bidi='hi-IN'/>")
        == b"<w:lang w:bidi='hi-IN' w:val=\"de-DE\"/>"
    )
    translated = stated(odf_languages(ODF, "en", "hi"), ODF)
    assert translated == ODF.replace(b'"none"', b'"hi"')[:-2] + b' style:country-complex="IN"/>'


def test_other_languages_and_unknown_ones_stay() -> None:
    assert stated(word_languages(WORD, "it", "de"), WORD) == WORD
    assert word_languages(b"<w:styles/>", None, "de") is None
    assert word_languages(WORD, "en", None) is None


def test_parts_without_text_are_changed_too() -> None:
    kind = "officedocument.wordprocessingml"
    name = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    styles = f'<w:styles {name}><w:lang w:val="en-US"/></w:styles>'
    body = f"<w:document {name}><w:body><w:p><w:r><w:t>Hello</w:t></w:r></w:p></w:body></w:document>"
    data = open_package(
        {"word/document.xml": (f"{kind}.document.main", body), "word/styles.xml": (f"{kind}.styles", styles)}
    )
    document = read_docx(data, ReadOptions(target="de"))
    written = contents(document.write(document.segments))
    assert written["word/styles.xml"] == styles.replace("en-US", "de-DE")
    assert written["word/document.xml"] == body
