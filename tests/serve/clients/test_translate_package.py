"""The PyPI package translate, with its provider for LibreTranslate."""

import pytest

from tests.taught import SOURCES, TARGETS

translate = pytest.importorskip("translate", reason="pip install translate")


@pytest.mark.parametrize("source", ["en", "autodetect"])
def test_it_translates(url: str, source: str) -> None:
    client = translate.Translator(provider="libre", from_lang=source, to_lang="de", base_url=f"{url}/")
    assert client.translate(SOURCES[0]) == TARGETS[0]
