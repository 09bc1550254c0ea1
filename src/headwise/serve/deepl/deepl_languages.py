"""Language codes as DeepL writes them: capitals, and variants of target languages that its clients insist on."""

from __future__ import annotations

from headwise.serve.catalogue import Catalogue
from headwise.serve.language_names import language_name

VARIANTS = {
    "en": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "pt": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}
"""Variants of target languages: the official clients refuse EN and PT. Models that know no variants translate to the
language itself."""
_DIFFERENT = {"no": "NB"}


def deepl_code(code: str) -> str:
    """The code of a language in DeepL's spelling."""
    return _DIFFERENT.get(code, code.upper())


def source_languages(catalogue: Catalogue) -> dict[str, str]:
    """Codes and names of the languages that the server translates from."""
    return {deepl_code(code): language_name(code) for code in catalogue.sources}


def target_languages(catalogue: Catalogue) -> dict[str, str]:
    """Codes and names of the languages that the server translates to."""
    found: dict[str, str] = {}
    for code in sorted({target for _, target in catalogue.directions}):
        found |= VARIANTS.get(code, {deepl_code(code): language_name(code)})
    return found
