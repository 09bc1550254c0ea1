"""The words of the interface: the same keys in every language, and each key that a script uses."""

import json
import re

import pytest

from headwise.serve.page.page_routes import FOLDER

TEXTS = FOLDER / "texts"
LANGUAGES = sorted(path.name for path in TEXTS.iterdir())
NAMES = sorted(path.name for path in (TEXTS / "en").iterdir())


def texts(language: str, name: str) -> dict[str, str]:
    table: dict[str, str] = json.loads((TEXTS / language / name).read_text(encoding="utf-8"))
    return table


def test_the_interface_speaks_the_languages_of_the_bundled_model() -> None:
    assert LANGUAGES == ["de", "en", "fr", "hi", "it"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_keys_and_values_of_english(language: str, name: str) -> None:
    english, other = texts("en", name), texts(language, name)
    assert other.keys() == english.keys()
    for key, text in other.items():
        assert text.strip(), key
        assert sorted(set(re.findall(r"\{\d\}", text))) == sorted(set(re.findall(r"\{\d\}", english[key]))), key


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
def test_the_texts_are_translated(language: str) -> None:
    """Words may be the same in two languages; most sentences are not."""
    pairs = [(texts("en", name)[key], text) for name in NAMES for key, text in texts(language, name).items()]
    long = [(english, other) for english, other in pairs if len(english.split()) > 3]
    assert sum(english == other for english, other in long) <= len(long) * 0.05


def test_every_key_in_a_script_is_in_the_english_texts() -> None:
    known = {key for name in NAMES for key in texts("en", name)}
    for path in sorted(FOLDER.rglob("*.js")):
        used = re.findall(r"""\bt\(\s*"([\w.]+)"[,)]""", path.read_text(encoding="utf-8"))
        assert not set(used) - known, path.name
