"""Words for a single digit: "2 apples" may rightly become "zwei Äpfel"."""

import re

_WORDS = {
    "en": r"zero one|an?(?!\w)|once|first|single two|twice|second|both|double three|thrice|third|triple four five|fif "
    r"six seven eigh nine|nin",
    "de": r"null ein|erst zwei|beide|doppel drei|dritt vier fünf sechs sieb acht neun",
    "fr": r"zéro une?(?!\w)|premi deux|secon|double trois|tiers quatre|quatri cinq six sept huit neuf|neuv",
    "it": r"zero un[oa]?(?!\w)|un'|prim due|second|entramb|doppi tre|terz|tripl quattro|quart cinque|quint sei|sest "
    r"sette|settim otto|ottav nove|non[oa](?!\w)",
    "hi": r"शून्य|ज़ीरो|जीरो एक|पहल|प्रथम दो|दूसर तीन|तीसर चार|चौथ पाँच|पांच छह|छः|छठ|छे सात आठ नौ|नव",
}
"""For each digit from 0 to 9, the beginnings of its words, of ordinals and multiples too."""

_BEGINNINGS = {
    language: [re.compile(rf"(?<!\w)(?:{words})", re.IGNORECASE) for words in listed.split(" ")]
    for language, listed in _WORDS.items()
}


def has_word_for(digit: str, text: str, language: str) -> bool:
    """Whether the text has a word for this digit; False in a language whose words are not known."""
    beginnings = _BEGINNINGS.get(language)
    return beginnings is not None and beginnings[int(digit)].search(text) is not None
