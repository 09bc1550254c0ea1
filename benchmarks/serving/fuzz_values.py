"""Bodies for a fuzzer of HTTP APIs: valid requests of every route, and what becomes of them when they are damaged."""

import copy
import json
import random
import urllib.parse
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]

DIRECTION = {"source": "en", "target": "de"}
DEEPL = {"source_lang": "EN", "target_lang": "DE"}
TEXT = "The cat sees an apple."
VALID: dict[str, Json] = {
    "/translate": {"q": TEXT, **DIRECTION, "format": "text", "alternatives": 1, "api_key": ""},
    "/detect": {"q": TEXT},
    "/suggest": {"q": "a", "s": "b", **DIRECTION},
    "/languages": {},
    "/v2/translate": {"text": [TEXT], **DEEPL, "tag_handling": "html", "ignore_tags": "x", "split_sentences": "0"},
    "/v2/languages": {"type": "target"},
    "/v2/usage": {},
    "/v2/glossaries": {"name": "a", "source_lang": "en", "target_lang": "de", "entries": "cat\tHund"},
    "/v1/completions": {"model": "writer", "prompt": "The", "max_tokens": 2, "n": 1, "stop": ["x"], "stream": False},
    "/v1/chat/completions": {"model": "writer", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2},
    "/v1/embeddings": {"model": "reader", "input": ["A dog"], "encoding_format": "float"},
    "/api/translate": {"texts": [TEXT], **DIRECTION, "alignments": True, "beam": 2, "glossary": {"cat": "Hund"}},
    "/api/inspect": {"text": TEXT, **DIRECTION},
}
"""A request of each route that takes fields."""
PATHS = [*VALID, "/translate_file", "/v2/document", "/frontend/settings", "/health", "/ready", "/metrics", "/spec"]
PATHS += ["/download_file/x", "/v2/document/x/result", "/v2/glossaries/x/entries", "/v1/models/writer", "/api/models"]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW", "get", ""]
SUFFIXES = ["docx", "pptx", "xlsx", "odt", "html", "md", "epub", "srt", "po", "xlf", "tmx", "json", "xml", "csv", "txt"]

_FAR = [10**9, -1, 0, 10**30, -(10**30), 1e308, 5e-324, -0.0, 0.5, 2**31, 2**63, 2**64]
_STRANGE = ["", " ", "\x00", "\ud800", "\udfff\ud800", "x" * 100_000, "🙂" * 999, "\u202e\u2028", "../../etc/passwd"]
_STRANGE += [
    "auto",
    "EN",
    "zz",
    "true",
    "1e9",
    "<a><b>" * 50,
    "<![CDATA[",
    "&#xD800;",
    "%00",
    "\r\nX: y",
    "{{7*7}}",
    "a\tb",
]
_OTHER: list[Any] = [None, True, False, [], {}, [[]], {"": {}}, [None], [1, "a"], [""] * 2000, {"a": [{"b": [1]}]}]
_RAW = [
    b"NaN",
    b"-Infinity",
    b"9" * 5000,
    b"[" * 20_000,
    b'{"a":' * 3000,
    b'"\\ud800"',
    b"1e99999",
    b"'x'",
    b"\xff\xfe{",
]


def damaged_json(drawn: random.Random, path: str) -> bytes:
    """The JSON of a route with one or several mistakes in it."""
    value = copy.deepcopy(VALID.get(path, {}))
    for _ in range(drawn.choice([0, 1, 1, 1, 2, 3])):
        drawn.choice(_CHANGES)(drawn, value)
    body = json.dumps(value).encode()
    damage = drawn.random()
    if damage < 0.05:
        return body[: drawn.randrange(len(body))]
    if damage < 0.1:
        return body.replace(b'"' + TEXT.encode() + b'"', drawn.choice(_RAW))
    if damage < 0.14:
        return flipped(drawn, body)
    if damage < 0.16:
        return drawn.choice([b"\xef\xbb\xbf" + body, body.decode().encode("utf-16"), body * 2, b"[" + body + b"]"])
    return body


def _replace(drawn: random.Random, value: Json) -> None:
    if value:
        value[drawn.choice(list(value))] = strange_value(drawn)


def _remove(drawn: random.Random, value: Json) -> None:
    if value:
        del value[drawn.choice(list(value))]


def _add(drawn: random.Random, value: Json) -> None:
    names = [
        "pivot",
        "format",
        "alternatives",
        "model",
        "n",
        "temperature",
        "seed",
        "stream",
        "length_penalty",
        "context",
    ]
    names += ["no_repeat", "formality", "glossary_id", "logit_bias", "dimensions", "translation", "top_p", "__proto__"]
    value[drawn.choice(names)] = strange_value(drawn)


_CHANGES: list[Callable[[random.Random, Json], None]] = [_replace, _replace, _replace, _remove, _add, _add]


def strange_value(drawn: random.Random) -> Any:
    """A JSON value that hardly any field expects."""
    return drawn.choice(drawn.choice([_FAR, _STRANGE, _STRANGE, _OTHER]))


def damaged_form(drawn: random.Random, path: str) -> bytes:
    """The form of a route, with fields that are damaged, repeated or missing."""
    pairs = [(name, value if isinstance(value, str) else str(value)) for name, value in VALID.get(path, {}).items()]
    for _ in range(drawn.choice([0, 1, 1, 2])):
        name = drawn.choice([name for name, _ in pairs] or ["q"])
        pairs.insert(drawn.randrange(len(pairs) + 1), (name, str(strange_value(drawn))))
    drawn.shuffle(pairs)
    body = urllib.parse.urlencode(pairs, errors="surrogatepass").encode()
    if drawn.random() < 0.2:
        body += drawn.choice(
            [b"&q=%ff", b"&%", b"&=&=&", b"&q", b"\xff\xfe", b"&a=1" * 20_000, b"&q=%ed%a0%80", b";q=1"]
        )
    return flipped(drawn, body) if drawn.random() < 0.1 else body


def damaged_multipart(drawn: random.Random, path: str) -> tuple[str, bytes]:
    """The content type and the body of a multipart form, often cut or malformed."""
    boundary = drawn.choice(["x", "x", "x", "-" * 70, "a b", ""])
    suffix = drawn.choice([*SUFFIXES, "exe", "", "HTML", "tar.gz"])
    name = drawn.choice([f"a.{suffix}", f"../../a.{suffix}", f"\u202ea.{suffix}", "x" * 5000 + f".{suffix}", ""])
    content = drawn.choice(
        [b"", b"<p>The cat sees an apple.</p>", b"PK\x03\x04" + b"\x00" * 50, drawn.randbytes(200), b"\x00" * 9999]
    )
    parts = [f'name="{field}"\r\n\r\n{value}'.encode() for field, value in {**DIRECTION, **DEEPL}.items()]
    file = f'name="file"; filename="{name}"\r\nContent-Type: text/html\r\n\r\n'.encode() + content
    parts.insert(drawn.randrange(len(parts) + 1), file)
    if drawn.random() < 0.2:
        parts *= drawn.choice([2, 30])
    mark = b"--" + boundary.encode()
    body = (
        b"".join(mark + b"\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + mark + b"--\r\n"
    )
    damage = drawn.random()
    if damage < 0.3:
        body = body[: drawn.randrange(len(body))]
    elif damage < 0.4:
        body = flipped(drawn, body)
    elif damage < 0.5:
        body = body.replace(b"form-data", drawn.choice([b"", b"attachment", b"form-data; name", b"\xff"]))
    return drawn.choice(
        [f"multipart/form-data; boundary={boundary}"] * 8 + ["multipart/form-data", "multipart/x"]
    ), body


def flipped(drawn: random.Random, body: bytes) -> bytes:
    """Some bytes replaced by others."""
    found = bytearray(body)
    for _ in range(drawn.choice([1, 1, 5]) if found else 0):
        found[drawn.randrange(len(found))] = drawn.randrange(256)
    return bytes(found)
