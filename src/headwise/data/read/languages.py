"""Language codes and names: matching the language in a recipe with the codes and names in a file."""

from collections.abc import Sequence

from headwise.text.normalise import normalise

_EXACT, _PLAIN, _MAIN, _VARIANT = 4, 3, 2, 1

_NAMES = {
    "af": "afrikaans",
    "ar": "arabic العربية",
    "be": "belarusian беларуская",
    "bg": "bulgarian български",
    "bn": "bengali বাংলা",
    "bs": "bosnian bosanski",
    "ca": "catalan català",
    "cs": "czech čeština",
    "cy": "welsh cymraeg",
    "da": "danish dansk",
    "de": "german deutsch allemand tedesco जर्मन",
    "el": "greek ελληνικά",
    "en": "english englisch anglais inglese अंग्रेज़ी अंग्रेजी",
    "eo": "esperanto",
    "es": "spanish español castellano spanisch espagnol spagnolo",
    "et": "estonian eesti",
    "eu": "basque euskara",
    "fa": "persian farsi فارسی",
    "fi": "finnish suomi",
    "fr": "french français französisch francese फ़्रेंच फ्रेंच",
    "ga": "irish gaeilge",
    "gl": "galician galego",
    "gu": "gujarati",
    "he": "hebrew עברית",
    "hi": "hindi हिन्दी हिंदी",
    "hr": "croatian hrvatski",
    "hu": "hungarian magyar",
    "hy": "armenian",
    "id": "indonesian",
    "is": "icelandic íslenska",
    "it": "italian italiano italienisch italien इतालवी",
    "ja": "japanese 日本語",
    "ka": "georgian",
    "kk": "kazakh",
    "ko": "korean 한국어",
    "la": "latin",
    "lt": "lithuanian lietuvių",
    "lv": "latvian latviešu",
    "mk": "macedonian",
    "ms": "malay",
    "mt": "maltese malti",
    "nb": "bokmål",
    "nl": "dutch nederlands",
    "nn": "nynorsk",
    "no": "norwegian norsk",
    "pl": "polish polski",
    "pt": "portuguese português",
    "ro": "romanian română",
    "ru": "russian русский",
    "sk": "slovak slovenčina",
    "sl": "slovenian slovene slovenščina",
    "sq": "albanian shqip",
    "sr": "serbian српски",
    "sv": "swedish svenska",
    "sw": "swahili",
    "ta": "tamil",
    "te": "telugu",
    "th": "thai ไทย",
    "tl": "tagalog filipino",
    "tr": "turkish türkçe",
    "uk": "ukrainian українська",
    "ur": "urdu اردو",
    "uz": "uzbek",
    "vi": "vietnamese",
    "zh": "chinese mandarin 中文",
}
"""Names of each language, in English and in the language itself; of the most usual ones in several languages."""

_CODES = {normalise(name): code for code, names in _NAMES.items() for name in names.split()}


def named_language(name: str) -> str:
    """The code of a language from its name, as `_NAMES` has it: `de` for `German` and `Deutsch`; else empty."""
    return _CODES.get(normalise(name.partition("(")[0]).lower(), "")


def match(requested: str, given: str) -> int:
    """How well a code fits the requested one: 4 if equal, 0 if it is another language.

    `de` fits a request for `de-AT` (3). For `de`, `de-DE` fits better (2) than another variant (1).
    """
    wanted, code = _plain(requested), _plain(given)
    if not wanted or not code:
        return 0
    if code == wanted:
        return _EXACT
    if wanted.startswith(code + "-"):
        return _PLAIN
    if code == f"{wanted}-{wanted}":
        return _MAIN
    return _VARIANT if code.startswith(wanted + "-") else 0


def best(requested: str, given: Sequence[str]) -> int | None:
    """The index of the code that fits best, the first among equals; None if none fits."""
    ranks = [match(requested, code) for code in given]
    return ranks.index(max(ranks)) if any(ranks) else None


def _plain(code: str) -> str:
    return code.strip().lower().replace("_", "-")
