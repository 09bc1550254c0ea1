"""The PyPI package deep-translator, which sends its fields in the query string of a POST without a body."""

import pytest

from tests.taught import SOURCES, TARGETS

deep_translator = pytest.importorskip("deep_translator", reason="pip install deep-translator")


def test_it_translates_one_text_and_several(url: str) -> None:
    client = deep_translator.LibreTranslator(source="en", target="de", api_key="any", custom_url=f"{url}/")
    assert client.translate(SOURCES[0]) == TARGETS[0]
    assert client.translate_batch(SOURCES[:2]) == TARGETS[:2]
