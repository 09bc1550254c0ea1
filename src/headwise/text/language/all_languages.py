"""Detection among 139 languages with py3langid, a naive Bayes classifier over byte n-grams (Lui and Baldwin, 2012).

It is imported on first use: its model takes most of a second to load, and 100 MB of memory.
"""

import math
from functools import cache
from typing import Any

_CODES = """
ace af am an ar ary arz as az ba bcl be bg bn br bs ca crh cs cy da de dz el en eo es et eu ext fa fi fo fr fuv fy ga
gcf gcr gd gl gom grc gu gug guw ha hbo he hi hr ht hu hy id ig is it ja jv ka kab kik kk km kn ko ku ky la lb lg lij ln
lo lt ltg lv mg mk ml mn mr ms mt my ne nl nn no nso oc om or pa pcm pl ps pt qu ro ru rw sa sdh se si sk sl sn so sq sr
st sv sw ta te tg th tk tl tr tt ug uk ur uz uzs vec vi vo wa wuu xh yo yue zh zu
"""
ALL_LANGUAGES = tuple(_CODES.split())
"""Codes of py3langid's languages, known here without loading it."""

_UNUSUAL = """
ace an ary arz ba bcl br crh dz eo ext fo fuv fy gcf gcr gd gom grc gug guw hbo ht kab kik la lb lij ln ltg nn nso oc
pcm qu sa sdh se st tt uzs vec vo wa wuu yue
"""
_SELDOM = frozenset(_UNUSUAL.split())
"""Languages that short texts resemble far more often than they are in."""
_PENALTY = 1.5
"""Natural logarithm of how much less probable those are beforehand."""


def log_probabilities(text: str) -> dict[str, float]:
    """Log-probability of each language, by py3langid."""
    found = {code: math.log(max(probability, 1e-30)) for code, probability in _identifier().rank(text)}
    return {code: found[code] - _PENALTY * (code in _SELDOM) for code in ALL_LANGUAGES if code in found}


@cache
def _identifier() -> Any:
    """The loaded classifier. Its `rank` changes nothing, so threads can share it."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
