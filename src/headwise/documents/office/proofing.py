"""Languages that office documents state for their text: Word would check the spelling of a translation in English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LOCALES = {
    "ar": "SA", "cs": "CZ", "da": "DK", "de": "DE", "en": "US", "es": "ES", "fr": "FR", "he": "IL", "hi": "IN",
    "it": "IT", "ja": "JP", "nl": "NL", "pl": "PL", "pt": "PT", "ru": "RU", "sv": "SE", "tr": "TR", "uk": "UA",
}  # fmt: skip
_COMPLEX = frozenset(("ar", "bn", "fa", "gu", "he", "hi", "mr", "ne", "pa", "ta", "te", "th", "ur"))
"""Languages in scripts that office programs call complex, and keep apart from the others."""

_WORD_PARTS = re.compile(r"word/[^/]+\.xml")
_WORD = re.compile(rb"<w:lang\b[^<>]*>")
_SLIDE_PARTS = re.compile(r"ppt/.*\.xml")
_SLIDE = re.compile(rb"<a:(?:rPr|endParaRPr|defRPr|fld)\b[^<>]*>")
_ODF_PARTS = re.compile(r"(?:.*/)?(?:content|styles)\.xml")
_ODF = re.compile(rb"<style:text-properties\b[^<>]*>")


@dataclass(frozen=True)
class Proofing:
    """The tags of a package that state its language, and what they say in a translation."""

    parts: re.Pattern[str]
    """Names of the parts that have such tags."""
    tags: re.Pattern[bytes]
    where: str
    """The attribute that names the source language, where a tag is to be changed."""
    source: str
    wanted: Mapping[str, str]
    """Attributes and their values in the translation."""

    def stated(self, part: bytes) -> bytes:
        """A part with the language of the translation."""
        return self.tags.sub(self._tag, part)

    def _tag(self, found: re.Match[bytes]) -> bytes:
        text = found[0]
        if _stated(found, self.where) != self.source:
            return text
        for name, value in self.wanted.items():
            attribute = f' {name}="{value}"'.encode()
            text, count = re.subn(rf"""\s{name}\s*=\s*("[^"]*"|'[^']*')""".encode(), attribute, text)
            if not count:
                text = re.sub(rb"/?>\Z", lambda end, attribute=attribute: attribute + end[0], text)  # type: ignore[misc]
        return text


def word_languages(styles: bytes, source: str | None, target: str | None) -> Proofing | None:
    """The languages of a Word document; what its styles say is its language where `source` is not known."""
    source = source or _stated(_WORD.search(styles), "w:val")
    if not source or not target:
        return None
    wanted = {"w:bidi" if target in _COMPLEX else "w:val": _locale(target)}
    return Proofing(_WORD_PARTS, _WORD, "w:bidi" if source in _COMPLEX else "w:val", source, wanted)


def slide_languages(slide: bytes, source: str | None, target: str | None) -> Proofing | None:
    """The languages of a presentation; what a slide says is its language where `source` is not known."""
    source = source or _stated(_SLIDE.search(slide), "lang")
    return Proofing(_SLIDE_PARTS, _SLIDE, "lang", source, {"lang": _locale(target)}) if source and target else None


def odf_languages(styles: bytes, source: str | None, target: str | None) -> Proofing | None:
    """The languages of an OpenDocument file; what its styles say is its language where `source` is not known."""
    first = next((found for found in _ODF.finditer(styles) if b"fo:language=" in found[0]), None)
    source = source or _stated(first, "fo:language")
    if not source or not target:
        return None
    where = "style:language-complex" if source in _COMPLEX else "fo:language"
    prefix, suffix = ("style", "-complex") if target in _COMPLEX else ("fo", "")
    wanted = {f"{prefix}:language{suffix}": target, f"{prefix}:country{suffix}": _LOCALES.get(target, "none")}
    return Proofing(_ODF_PARTS, _ODF, where, source, wanted)


def _locale(language: str) -> str:
    return f"{language}-{_LOCALES[language]}" if language in _LOCALES else language


def _stated(tag: re.Match[bytes] | None, attribute: str) -> str:
    """The language that an attribute of a tag names, without its region."""
    found = re.search(rf"""\s{attribute}\s*=\s*["']([A-Za-z]+)""".encode(), tag[0]) if tag else None
    return found[1].decode().lower() if found else ""
