"""The PyPI package libretranslatepy, whose version 2.1.1 asks for languages with POST."""

import pytest

from tests.taught import SOURCES, TARGETS

libretranslatepy = pytest.importorskip("libretranslatepy", reason="pip install libretranslatepy")


def test_it_translates_detects_and_lists(url: str) -> None:
    client = libretranslatepy.LibreTranslateAPI(f"{url}/")
    assert client.translate(SOURCES[0], "en", "de") == TARGETS[0]
    assert client.detect(SOURCES[0])[0]["language"] == "en"
    assert {"en", "de"} <= {each["code"] for each in client.languages()}
