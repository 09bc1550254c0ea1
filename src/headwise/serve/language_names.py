"""English names of languages, for people and for APIs that show them."""

from headwise.text.language.codes import short_code

_NAMES = """
af Afrikaans|am Amharic|ar Arabic|az Azerbaijani|be Belarusian|bg Bulgarian|bn Bengali|bs Bosnian|ca Catalan|cs Czech
cy Welsh|da Danish|de German|el Greek|en English|eo Esperanto|es Spanish|et Estonian|eu Basque|fa Persian|fi Finnish
fr French|ga Irish|gl Galician|gu Gujarati|ha Hausa|he Hebrew|hi Hindi|hr Croatian|ht Haitian|hu Hungarian|hy Armenian
id Indonesian|ig Igbo|is Icelandic|it Italian|ja Japanese|jv Javanese|ka Georgian|kk Kazakh|km Khmer|kn Kannada
ko Korean|ku Kurdish|ky Kyrgyz|la Latin|lb Luxembourgish|lo Lao|lt Lithuanian|lv Latvian|mg Malagasy|mk Macedonian
ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese|ne Nepali|nl Dutch|no Norwegian|or Odia|pa Punjabi
pl Polish|ps Pashto|pt Portuguese|ro Romanian|ru Russian|rw Kinyarwanda|si Sinhala|sk Slovak|sl Slovenian|so Somali
sq Albanian|sr Serbian|sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|tl Tagalog|tr Turkish|tt Tatar
uk Ukrainian|ur Urdu|uz Uzbek|vi Vietnamese|xh Xhosa|yo Yoruba|zh Chinese|zu Zulu
"""

_BY_CODE = dict(pair.split(" ", 1) for line in _NAMES.strip().splitlines() for pair in line.split("|"))


def language_name(code: str) -> str:
    """The English name of a language; the code itself where it is not known."""
    return _BY_CODE.get(short_code(code), code)
