"""Requests of a fuzzer, as bytes, with how they are sent: at once, in drops, or cut off in the middle."""

import random
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

from serving.fuzz_values import METHODS, PATHS, VALID, damaged_form, damaged_json, damaged_multipart, flipped

LARGE = 24_000_000
"""Bytes of a body that is far beyond the limit."""
FORM = "application/x-www-form-urlencoded"
GOOD = b'{"q": "The cat sees an apple.", "source": "en", "target": "de"}'


@dataclass(frozen=True)
class FuzzedRequest:
    """What is sent over one connection."""

    kind: str
    data: bytes
    cut: bool = False
    """The client closes the connection after the last byte, without reading."""
    slow: bool = False
    """The bytes come one by one, with pauses, and never all of them: the server must end this."""
    most_answers: int = 1
    """Answers that there may be: more mean that a part of the body was taken for a request."""


def fuzzed_request(drawn: random.Random) -> FuzzedRequest:
    """A request of any kind."""
    [make] = drawn.choices(list(_KINDS), list(_KINDS.values()))
    return make(drawn)


def request_bytes(path: str, body: bytes, kind: str, method: str = "POST", extra: str = "") -> bytes:
    """A well-formed request."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    return (head + (f"Content-Type: {kind}\r\n" if kind else "") + extra + "\r\n").encode("utf-8", "replace") + body


def _json(drawn: random.Random) -> FuzzedRequest:
    path = drawn.choice(list(VALID))
    return FuzzedRequest("json", request_bytes(path, damaged_json(drawn, path), "application/json"))


def _form(drawn: random.Random) -> FuzzedRequest:
    path = drawn.choice(list(VALID))
    body = damaged_form(drawn, path)
    if drawn.random() < 0.3:
        query = urllib.parse.quote_from_bytes(body[:4000], safe="=&%")
        return FuzzedRequest("query", request_bytes(f"{path}?{query}", b"", ""))
    return FuzzedRequest(
        "form", request_bytes(path, body, drawn.choice([FORM, FORM, FORM, "text/plain", "a/b; c=\x00"]))
    )


def _multipart(drawn: random.Random) -> FuzzedRequest:
    path = drawn.choice(["/translate_file", "/translate_file", "/v2/document", "/translate", "/v2/translate"])
    kind, body = damaged_multipart(drawn, path)
    return FuzzedRequest("multipart", request_bytes(path, body, kind))


def _page(drawn: random.Random) -> FuzzedRequest:
    path = drawn.choice(
        [*PATHS, "*", "//", "/../etc/passwd", "/%00", "/%ff", "/translate/", "/" + "a" * 9000, "http://x/"]
    )
    if drawn.random() < 0.2:
        path += drawn.choice(["/..%2f..%2fkeys.json", "?" + "a=b&" * 5000, "#x", "%2e%2e/", "\u00e4", "?%"])
    method = drawn.choice(METHODS)
    most = 2 if drawn.random() < 0.5 else 1
    extra = drawn.choice(
        ["", "Expect: 100-continue\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n", "Range: bytes=0-\r\n"]
    )
    extra += drawn.choice(
        ["", "Authorization: Bearer \x7f\r\n", "Cookie: " + "a" * 9000 + "\r\n", "Content-Encoding: gzip\r\n"]
    )
    return FuzzedRequest("page", request_bytes(path, b"", "", method, extra), most_answers=most)


def _smuggled(drawn: random.Random) -> FuzzedRequest:
    """Messages whose end a proxy and a server might see at different places."""
    inner = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(GOOD), GOOD)
    kind = b"Content-Type: application/json\r\n"
    heads = [
        (b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % (len(chunked) + len(inner)), chunked + inner),
        (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", chunked + inner),
        (b"Content-Length: %d\r\nContent-Length: %d\r\n" % (len(GOOD), len(GOOD) + len(inner)), GOOD + inner),
        (b"Content-Length: +%d\r\n" % len(GOOD), GOOD + inner),
        (b"Content-Length: -1\r\n", GOOD + inner),
        (b"Content-Length: 0x10\r\n", GOOD + inner),
        (b"Content-Length: %d, %d\r\n" % (len(GOOD), len(GOOD)), GOOD + inner),
        (b"Content-Length: 99999999999999999999999\r\n", GOOD + inner),
        (b"Transfer-Encoding: xchunked\r\n", chunked + inner),
        (b"Transfer-Encoding : chunked\r\n", chunked + inner),
        (b"Transfer-Encoding: chunked, identity\r\n", chunked + inner),
        (b"Transfer-Encoding:\x0bchunked\r\n", chunked + inner),
        (b"X: y\r\n Transfer-Encoding: chunked\r\n", chunked + inner),
        (b"X: y\nTransfer-Encoding: chunked\r\n", chunked + inner),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", chunked + inner),
        (b"Transfer-Encoding: chunked\r\n", b"-1\r\n" + inner),
        (b"Transfer-Encoding: chunked\r\n", b"fffffffffffffffff\r\n" + inner),
        (b"Transfer-Encoding: chunked\r\n", b"3;a=\x00\r\nabc\r\n0\r\nX:\x00\r\n\r\n" + inner),
    ]
    head, body = drawn.choice(heads)
    start = b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"
    return FuzzedRequest("smuggling", start + kind + head + b"\r\n" + body)


def _pipelined(drawn: random.Random) -> FuzzedRequest:
    """Several requests in one piece, the last perhaps damaged."""
    count = drawn.choice([2, 3, 20])
    first = request_bytes("/translate", GOOD, "application/json") * (count - 1)
    return FuzzedRequest("pipelined", first + _json(drawn).data, most_answers=count)


def _broken(drawn: random.Random) -> FuzzedRequest:
    """What is hardly HTTP any more."""
    data = drawn.choice(
        [
            drawn.randbytes(drawn.choice([1, 10, 1000, 70_000])) + b"\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00" + drawn.randbytes(200) + b"\r\n\r\n",
            b"GET /health\r\n\r\n",
            b"GET /health HTTP/9.9\r\n\r\n",
            b"GET /health HTTP/1.0\r\n\r\n",
            b"GET  /health  HTTP/1.1\r\n\r\n",
            b"\r\n" * 2000 + b"\r\n\r\n",
            b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n",
            b"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"GET /health HTTP/1.1\r\n: x\r\n\r\n",
            flipped(drawn, request_bytes("/translate", GOOD, "application/json")[:-200]) + b"\r\n\r\n",
        ]
    )
    return FuzzedRequest("broken", data, most_answers=100)


def _cut(drawn: random.Random) -> FuzzedRequest:
    """A request whose client leaves in the middle of it, or before its answer."""
    data = drawn.choice([_json, _form, _multipart])(drawn).data
    return FuzzedRequest("cut", data if drawn.random() < 0.3 else data[: drawn.randrange(len(data))], cut=True)


def _slow(drawn: random.Random) -> FuzzedRequest:
    """A request that comes too slowly, its headers or its body."""
    data = request_bytes("/translate", GOOD, "application/json")
    return FuzzedRequest("slow", data[: drawn.choice([0, 1, 20, data.index(b"{"), len(data) - 9])], slow=True)


def _large(drawn: random.Random) -> FuzzedRequest:
    """A body of 24 MB, announced or in chunks."""
    path = drawn.choice(["/translate", "/detect", "/v2/translate", "/api/translate", "/v1/embeddings"])
    if drawn.random() < 0.5:
        return FuzzedRequest("large", request_bytes(path, b'{"q": "' + b"a" * LARGE, "application/json"))
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return FuzzedRequest("large", head + (b"100000\r\n" + b"a" * 2**20 + b"\r\n") * (LARGE // 2**20))


_KINDS: dict[Callable[[random.Random], FuzzedRequest], float] = {
    _json: 40,
    _form: 15,
    _multipart: 12,
    _page: 10,
    _smuggled: 8,
    _pipelined: 3,
    _broken: 6,
    _cut: 5,
    _slow: 0.7,
    _large: 0.3,
}
"""The kinds, with how many of a hundred requests are of each."""
