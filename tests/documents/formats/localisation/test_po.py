"""PO files: msgid is translated into msgstr, and nothing else changes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from headwise.documents.document import ReadOptions
from headwise.documents.formats.localisation.po import read_po
from headwise.documents.formats.localisation.po_strings import PoLayout
from headwise.documents.marked_text import MarkedText
from headwise.errors import DataError
from tests.documents.formats.localisation.pseudo import check_damage, refused, texts

HEADER = r"""# A translation.
msgid ""
msgstr ""
"Project-Id-Version: x\n"
"Language: \n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Content-Transfer-Encoding: 8bit\n"
"""
BODY = r"""
# a comment
#: src/a.c:12
msgid "_Open file"
msgstr ""

msgctxt "verb"
msgid "Close _tab"
msgstr "Tab s_chließen"

#: src/b.c
#, fuzzy, c-format
#| msgid "%d old file"
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "alt"
msgstr[1] ""

#, fuzzy
msgid "Two lines.\n"
"The other is so long that it has to be continued on the next line of the file, "
"as here.\n"
msgstr ""

#~ msgid "Gone"
#~ msgstr "Weg"
"""
FILE = (HEADER + BODY).encode()


def translated(data: bytes, options: ReadOptions, **words: str) -> str:
    document = read_po(data, options)
    return document.write(
        [MarkedText(words.get(p, p) if isinstance(p, str) else p for p in s.parts) for s in document.segments]
    ).decode()


def test_untranslated_and_fuzzy_entries_are_found() -> None:
    document = read_po(FILE, ReadOptions())
    assert texts(document)[:4] == ["Open file", "%d file", "%d files", "Two lines."]
    assert len(document.segments) == 5
    assert len(read_po(FILE, ReadOptions(again=True)).segments) == 6


def test_only_msgstr_and_the_fuzzy_flag_change() -> None:
    written = translated(FILE, ReadOptions(), **{"Open file": "Datei öffnen"})
    assert 'msgid "_Open file"\nmsgstr "_Datei öffnen"' in written
    assert (
        '#, c-format\nmsgid "%d file"\nmsgid_plural "%d files"\nmsgstr[0] "%d file"\nmsgstr[1] "%d files"\n' in written
    )
    assert "old file" not in written
    assert '\n\nmsgid "Two lines.\\n"' in written
    assert (
        'msgstr ""\n"Two lines.\\n"\n"The other is so long that it has to be continued on the next line of the "\n'
        '"file, as here.\\n"\n'
    ) in written
    assert written.startswith(HEADER)
    assert written.endswith('\n#~ msgid "Gone"\n#~ msgstr "Weg"\n')
    assert read_po(written.encode(), ReadOptions()).write([]) == written.encode()


def test_the_header_gets_the_language_and_its_plural_forms() -> None:
    written = translated(FILE, ReadOptions(target="ru"))
    assert '"Language: ru\\n"' in written
    assert '"Plural-Forms: nplurals=3; plural=(n%10==1' in written
    assert 'msgstr[0] "%d file"\nmsgstr[1] "%d files"\nmsgstr[2] "%d files"\n' in written


@pytest.mark.parametrize(("target", "forms"), [("ja", "s"), ("de", "1s"), ("ar", "s1ssss"), ("ru", "sss")])
def test_each_plural_form_gets_the_fitting_text(target: str, forms: str) -> None:
    data = (HEADER + '\nmsgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] ""\nmsgstr[1] ""\n').encode()
    written = translated(data, ReadOptions(target=target))
    lines = [line for line in written.splitlines() if line.startswith("msgstr[")]
    expected = {"1": "One file", "s": "%d files"}
    assert lines == [f'msgstr[{index}] "{expected[form]}"' for index, form in enumerate(forms)]


def test_accelerators_are_moved_only_where_the_catalogue_uses_them() -> None:
    body = b'msgid "E&xit"\nmsgstr ""\n\nmsgid "&Open..."\nmsgstr ""\n\nmsgid "a_b"\nmsgstr ""\n'
    document = read_po(body, ReadOptions())
    assert texts(document) == ["Exit", "Open...", "a_b"]
    written = document.write([MarkedText([text]) for text in ("Beenden", "打开...", "c_d")]).decode()
    assert [line for line in written.splitlines() if line.startswith("msgstr")] == [
        'msgstr "&Beenden"',
        'msgstr "打开(&O)..."',
        'msgstr "c_d"',
    ]
    assert texts(read_po(b'msgid "_x"\nmsgstr ""\nmsgid "a_b"\nmsgstr ""\n', ReadOptions())) == ["_x", "a_b"]


def test_unwrapped_files_stay_unwrapped() -> None:
    long = "word " * 40 + "end"
    data = f'msgid "{long}"\nmsgstr ""\n'.encode()
    assert translated(data, ReadOptions()) == f'msgid "{long}"\nmsgstr "{long}"\n'


def test_strings_are_escaped_and_wrapped() -> None:
    literal = PoLayout().literal('a "b" \\n\\\tc\nd', "msgstr")
    assert literal == '""\n"a \\"b\\" \\\\n\\\\\\tc\\n"\n"d"'
    assert all(len(line) <= 79 for line in PoLayout().literal("日本語" * 60 + "word " * 40, "msgstr").splitlines())


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="gettext is not installed")
@pytest.mark.parametrize("target", ["de", "ru", "ja", "ar", "pl", "lv"])
def test_msgfmt_accepts_the_result(target: str, tmp_path: Path) -> None:
    path = tmp_path / "x.po"
    path.write_text(translated(FILE, ReadOptions(target=target)), encoding="utf-8")
    result = subprocess.run(["msgfmt", "-c", "-o", tmp_path / "x.mo", path], capture_output=True, text=True)
    assert result.returncode == 0 or "header field" in result.stderr, result.stderr
    assert "format specifications" not in result.stderr


def test_other_encodings_and_line_ends_stay() -> None:
    data = FILE.replace(b"UTF-8", b"ISO-8859-1").decode().encode("iso-8859-1").replace(b"\n", b"\r\n")
    document = read_po(data, ReadOptions())
    output = document.write(document.segments)
    assert b"s_chlie\xdfen" in output
    assert output.count(b"\n") == output.count(b"\r\n")
    with pytest.raises(DataError, match="convert the file to UTF-8"):
        document.write([MarkedText(["中"]) for _ in document.segments])


def test_bad_files_are_refused_in_one_line() -> None:
    refused(read_po, b"no po", "line 1")
    refused(read_po, b'msgid "a"\n', "no msgstr")
    refused(read_po, b'"a"\n', "without a keyword")
    refused(read_po, b'msgid ""\nmsgstr "charset=no-such-thing"\n', "encoding")
    refused(read_po, b'msgid "\xff"\nmsgstr ""\n', "encoding")
    check_damage(read_po, FILE, ReadOptions(target="de"))
