"""Clients on npm, each in a process of Node."""

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from tests.taught import SOURCES, TARGETS

pytestmark = pytest.mark.skipif(  # before a server is started for nothing
    not shutil.which("node") or not os.environ.get("NODE_PATH"),
    reason="needs node, and NODE_PATH with the packages of npm",
)

Run = Callable[[str, str, str], Any]


def test_libretranslate(url: str, run_node: Run) -> None:
    program = f"return client.translate({{query: {SOURCES[0]!r}, source: 'en', target: 'de', apiurl: url}})"
    assert TARGETS[0] in str(run_node("libretranslate", program, url))


def test_translate(url: str, run_node: Run) -> None:
    program = f"""
        const translate = client.default.Translate({{engine: "libre", from: "en", to: "de", url: url + "/translate"}})
        return translate({SOURCES[0]!r})
    """
    assert run_node("translate", program, url) == TARGETS[0]


def test_libretranslate_ts(url: str, run_node: Run) -> None:
    program = f"""
        client.libreTranslate.setApiEndpoint(url)
        client.libreTranslate.setApiKey("")
        return [await client.libreTranslate.detect({SOURCES[0]!r}),
                await client.libreTranslate.translate({SOURCES[0]!r}, "en", "de")]
    """
    detected, translated = run_node("libretranslate-ts", program, url)
    assert "en" in str(detected)
    assert translated["translatedText"] == TARGETS[0]


def test_anylang(url: str, run_node: Run) -> None:
    program = f"""
        const made = new client.LibreTranslateTranslator({{apiHost: url + "/translate"}})
        return [await made.translate({SOURCES[0]!r}, "en", "de"),
                await made.translateBatch({SOURCES[:2]!r}, "en", "de")]
    """
    assert run_node("anylang/translators/unstable", program, url) == [TARGETS[0], TARGETS[:2]]


def test_deepl_node(url: str, run_node: Run) -> None:
    program = f"""
        const made = new client.DeepLClient("any", {{serverUrl: url}})
        const entries = new client.GlossaryEntries({{entries: {{cat: "Hund"}}}})
        const glossary = await made.createGlossary("Animals", "en", "de", entries)
        const [plain, termed] = [
            await made.translateText({SOURCES[:2]!r}, null, "de"),
            await made.translateText({SOURCES[0]!r}, "en", "de", {{glossary}}),
        ]
        const targets = await made.getTargetLanguages()
        const usage = await made.getUsage()
        await made.deleteGlossary(glossary)
        return {{plain: plain.map(each => each.text), termed: termed.text, targets: targets.map(each => each.code),
                 used: usage.character.count}}
    """
    found = run_node("deepl-node", program, url)
    assert found["plain"] == TARGETS[:2]
    assert "Hund" in found["termed"]
    assert "en-GB" in found["targets"]
    assert found["used"] > 0


def test_openai(url: str, run_node: Run) -> None:
    program = """
        const made = new client.OpenAI({apiKey: "any", baseURL: url + "/v1"})
        const given = {model: "writer", messages: [{role: "user", content: "The cat"}], temperature: 0, max_tokens: 5}
        const whole = await made.chat.completions.create(given)
        let text = ""
        for await (const each of await made.chat.completions.create({...given, stream: true}))
            text += each.choices[0].delta.content || ""
        return [whole.choices[0].message.content, text]
    """
    whole, streamed = run_node("openai", program, url)
    assert whole == streamed
