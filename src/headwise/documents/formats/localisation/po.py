"""Gettext PO and POT files: each msgid is a text, its translation is written to msgstr, all else stays.

Entries with a translation are left alone. Fuzzy entries count as untranslated; once translated they lose the flag and
the lines with the previous msgid. Of plural forms, the one for the number 1 gets the translation of msgid, the others
that of msgid_plural.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from headwise.documents.document import Document, ReadOptions
from headwise.documents.formats.localisation.accelerators import accelerator, marker_of
from headwise.documents.formats.localisation.message_lines import Message, message
from headwise.documents.formats.localisation.plural_forms import PluralForms, declared_forms, default_forms, rule_for
from headwise.documents.formats.localisation.po_entries import Entry, Field, entries
from headwise.documents.formats.localisation.po_strings import PoLayout, layout
from headwise.documents.formats.localisation.slots import Slot, SlotDocument
from headwise.documents.formats.localisation.source_text import SourceText
from headwise.documents.marked_text import MarkedText
from headwise.documents.xml_source import Edit

_CHARSET = re.compile(rb"charset=([A-Za-z0-9._:-]+)")
_UNDECIDED = {"charset", "ascii", "us-ascii"}
"""Values of templates, which say nothing about the translation."""
_FUZZY = re.compile(r",\s*fuzzy\b")
_FORMAT = re.compile(r"%(?:\([^)]*\)|\d+\$)?[-+ #0]*[\d.]*(?:hh|h|ll|l|z|j)?[diufsgxXeEc]|\{[^{}]*\}")


def read_po(data: bytes, options: ReadOptions) -> Document:
    """Read a PO or POT file."""
    found = _CHARSET.search(data[:8192])
    charset = found[1].decode("ascii").lower() if found else "utf-8"
    source = SourceText(data, "utf-8" if charset in _UNDECIDED else charset)
    found_entries = list(entries(source.text))
    header = next((entry for entry in found_entries if entry.is_header), None)
    return _Catalogue(source, found_entries, header, options).document()


class _Catalogue:
    """What the entries of a file need to know about the whole of it."""

    def __init__(self, source: SourceText, found: list[Entry], header: Entry | None, options: ReadOptions) -> None:
        self.source = source
        self.header = header
        self.options = options
        self.messages = [entry for entry in found if not entry.is_header]
        self.layout: PoLayout = layout(self.messages, "\r\n" if "\r\n" in source.text[:4096] else "\n")
        self.marker = marker_of(entry.fields["msgid"].text for entry in self.messages)
        self.has_plurals = any("msgid_plural" in entry.fields for entry in self.messages)
        described = header.fields["msgstr"].text if header and "msgstr" in header.fields else ""
        self.forms = declared_forms(described)
        self.rule = None if self.forms or not options.target or not header else rule_for(options.target)
        if self.rule:
            self.forms = declared_forms(f"Plural-Forms: {self.rule}")

    def document(self) -> SlotDocument:
        slots = (slot for entry in self.messages for slot in self.slots(entry))
        return SlotDocument(self.source, slots, list(self.header_edits()))

    def slots(self, entry: Entry) -> Iterator[Slot]:
        """The slot of an entry that is to be translated."""
        fuzzy = any(_FUZZY.search(self.source.text, *lines) for lines in entry.comments if self.is_flags(lines))
        again = self.options.again or fuzzy
        if not again and not any(field.empty for field in entry.translations):
            return
        texts = [
            _Label(entry.fields[name].text, self.marker) for name in ("msgid", "msgid_plural") if name in entry.fields
        ]
        segments = [segment for text in texts for segment in text.message.segments]

        def edits(translations: Sequence[MarkedText]) -> Iterator[Edit]:
            count = len(texts[0].message.segments)
            strings = [texts[0].filled(translations[:count])]
            if len(texts) > 1:
                strings.append(texts[1].filled(translations[count:]))
            yield self.translation(entry, strings, again)
            if fuzzy:
                yield from self.without_fuzzy(entry)

        yield Slot(segments, edits)

    def is_flags(self, lines: tuple[int, int]) -> bool:
        return self.source.text.startswith("#,", lines[0])

    def translation(self, entry: Entry, strings: list[str], again: bool) -> Edit:
        """The edit of all msgstr of an entry; `strings` are translations of msgid and, if there is one, the plural."""
        old = entry.translations
        if len(strings) == 1:
            return Edit(old[0].start, old[0].end, self.layout.literal(strings[0], "msgstr"))
        forms = self.forms or default_forms(len(old))
        lines = [f"msgstr[{index}] {self.plural(index, old, strings, forms, again)}" for index in range(forms.count)]
        return Edit(old[0].line_start, old[-1].end, self.layout.line_end.join(lines))

    def plural(self, index: int, old: list[Field], strings: list[str], forms: PluralForms, again: bool) -> str:
        if not again and index < len(old) and not old[index].empty:
            return self.source.text[old[index].start : old[index].end]
        singular = index == forms.singular
        if singular and not forms.singular_means_one:  # the form also serves 21: it needs the number
            singular = len(_FORMAT.findall(strings[0])) >= len(_FORMAT.findall(strings[1]))
        return self.layout.literal(strings[0] if singular else strings[1], f"msgstr[{index}]")

    def without_fuzzy(self, entry: Entry) -> Iterator[Edit]:
        """Edits that take the flag away, and the comments that only concern fuzzy entries."""
        text = self.source.text
        for start, end in entry.comments:
            if text.startswith("#|", start):
                yield Edit(start, text.index("\n", end) + 1, "")
            elif self.is_flags((start, end)):
                flags = _FUZZY.sub("", text[start:end])
                yield Edit(start, end, flags) if flags.strip() != "#" else Edit(start, text.index("\n", end) + 1, "")

    def header_edits(self) -> Iterator[Edit]:
        """Edits that fill in what the header leaves open about the target language."""
        field = self.header.fields.get("msgstr") if self.header else None
        if not self.options.target or field is None:
            return
        text = self.source.text
        values = {r"Language:[ \t]*": f"Language: {self.options.target}"}
        if self.rule and self.has_plurals:
            values[r"Plural-Forms:[^\\\n]*"] = f"Plural-Forms: {self.rule}"
        for pattern, value in values.items():
            found = re.compile(rf'"({pattern})(?=\\n")').search(text, field.start, field.end)
            if found:
                yield Edit(found.start(1), found.end(1), value)
            elif value.startswith("Plural"):
                yield Edit(field.end, field.end, f'{self.layout.line_end}"{value}\\n"')
        charset = re.compile(r"charset=(CHARSET|ascii|us-ascii)\b", re.I).search(text, field.start, field.end)
        if charset:
            yield Edit(charset.start(1), charset.end(1), "UTF-8")


class _Label:
    """A source string without its accelerator."""

    def __init__(self, text: str, marker: str | None) -> None:
        self.accelerator = accelerator(text, marker)
        self.message: Message = message(self.accelerator.plain if self.accelerator else text)

    def filled(self, translations: Sequence[MarkedText]) -> str:
        text = self.message.filled(translations)
        return self.accelerator.put_back(text) if self.accelerator else text
