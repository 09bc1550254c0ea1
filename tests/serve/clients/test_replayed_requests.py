"""Requests as Weblate and Mastodon send them to a LibreTranslate server."""

from starlette.testclient import TestClient

from tests.taught import SOURCES, TARGETS


def test_weblate(client: TestClient) -> None:
    """It asks for the languages once, then sends lists with an empty key."""
    codes = {each["code"] for each in client.get("/languages").json()}
    assert {"en", "de"} <= codes
    asked = {"api_key": "", "q": SOURCES[:3], "source": "en", "target": "de"}
    assert client.post("/translate", json=asked).json() == {"translatedText": TARGETS[:3]}


def test_mastodon(client: TestClient) -> None:
    """It reads `targets`, sends a post, its warning and the options of a poll as HTML, and needs lists in return."""
    languages = {each["code"]: each["targets"] for each in client.get("/languages").json()}
    assert "de" in languages["en"]
    texts = [f"<p>{SOURCES[0]}</p>", SOURCES[1], SOURCES[2]]
    for source in ("en", "auto"):
        asked = {"q": texts, "source": source, "target": "de", "format": "html", "api_key": None}
        found = client.post("/translate", json=asked).json()
        assert found["translatedText"] == [f"<p>{TARGETS[0]}</p>", TARGETS[1], TARGETS[2]]
        if source == "auto":
            assert [each["language"] for each in found["detectedLanguage"]] == ["en"] * 3
