"""py3langid behind `headwise.detect`."""

import subprocess
import sys

from headwise.text.language import all_languages


def test_the_listed_codes_are_those_of_py3langid() -> None:
    """All but zxx, its code for text without language."""
    known = set(all_languages._identifier().labels)
    assert set(all_languages.ALL_LANGUAGES) == known - {"zxx"}
    assert set(all_languages.ALL_LANGUAGES) >= all_languages._SELDOM


def test_scores_of_all_languages() -> None:
    scores = all_languages.log_probabilities("Dit is een Nederlandse zin over het weer.")
    assert scores.keys() == set(all_languages.ALL_LANGUAGES)
    assert max(scores, key=lambda code: scores[code]) == "nl"


def test_neither_it_nor_numpy_is_loaded_for_the_five() -> None:
    code = (
        "import sys, headwise\n"
        "assert headwise.detect('Guten Morgen', languages=['de', 'en', 'fr', 'it', 'hi']).language == 'de'\n"
        "assert not {'py3langid', 'numpy', 'torch'} & set(sys.modules)\n"
        "assert headwise.detect('¿Dónde está la estación?').language == 'es'\n"
        "assert 'py3langid' in sys.modules and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
