"""OpenAI's API with a small language model and an encoder: texts, streams, vectors, limits, errors."""

import asyncio
import base64
import json
import struct
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from headwise.decode.embedder import Embedder
from headwise.decode.generator import Generator
from headwise.models.folder.load import save_model
from headwise.serve import text_models
from headwise.serve.security.api_keys import ApiKeys
from headwise.serve.service import Service
from headwise.serve.settings import ServeSettings
from headwise.serve.workers.worker import Worker
from tests.kinds import encoder, remembering
from tests.serve.conftest import ready_client
from tests.taught import SOURCES

ASKED = {"model": "writer", "prompt": "The cat", "temperature": 0, "max_tokens": 8}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    folder = tmp_path_factory.mktemp("texts")
    save_model(folder / "models" / "writer", remembering())
    save_model(folder / "models" / "reader", encoder())
    return Service(
        ServeSettings(models=str(folder / "models"), state=str(folder), workers=1, threads=1, tokens_limit=50)
    )


@pytest.fixture(scope="module")
def texts(service: Service) -> Iterator[TestClient]:
    with ready_client(service) as made:
        yield made


def refused(answer: Any, status: int = 400) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    found: dict[str, Any] = answer.json()["error"]
    assert set(found) == {"message", "type", "param", "code"}
    return found


def events(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    *lines, last = [each.removeprefix("data: ") for each in answer.text.split("\n\n") if each]
    assert last == "[DONE]"
    return [json.loads(each) for each in lines]


def test_models_are_listed(texts: TestClient) -> None:
    found = texts.get("/v1/models").json()
    assert [each["id"] for each in found["data"]] == ["reader", "writer"]
    assert texts.get("/v1/models/writer").json() == found["data"][1]
    assert refused(texts.get("/v1/models/none"), 404)["code"] == "not_found"


def test_a_prompt_is_continued_as_the_generator_does(texts: TestClient) -> None:
    expected = Generator(remembering(), device="cpu").generate("The cat", max_tokens=8)
    found = texts.post("/v1/completions", json=ASKED).json()
    assert found["object"] == "text_completion"
    [choice] = found["choices"]
    assert choice["text"] == expected.text
    assert choice["finish_reason"] == ("stop" if expected.finished else "length")
    assert found["usage"]["completion_tokens"] == len(expected.ids)
    assert found["usage"]["total_tokens"] == found["usage"]["prompt_tokens"] + len(expected.ids)


def test_a_stream_has_the_same_text_in_pieces(texts: TestClient) -> None:
    whole = texts.post("/v1/completions", json=ASKED).json()
    chunks = events(
        texts.post("/v1/completions", json={**ASKED, "stream": True, "stream_options": {"include_usage": True}})
    )
    assert "".join(each["choices"][0]["text"] for each in chunks if each["choices"]) == whole["choices"][0]["text"]
    assert [each["choices"][0]["finish_reason"] for each in chunks if each["choices"]][-1] == "stop"
    assert chunks[-1]["usage"] == whole["usage"]


def test_a_stop_string_ends_a_text_before_it(texts: TestClient) -> None:
    text = texts.post("/v1/completions", json=ASKED).json()["choices"][0]["text"]
    stop = text[len(text) // 2 :][:3]
    for stream in (False, True):
        answer = texts.post("/v1/completions", json={**ASKED, "stop": [stop, "never"], "stream": stream})
        if stream:
            found = "".join(each["choices"][0]["text"] for each in events(answer))
        else:
            found = answer.json()["choices"][0]["text"]
        assert found == text[: text.index(stop)]


def test_several_prompts_have_several_choices_each(texts: TestClient) -> None:
    asked = {**ASKED, "prompt": ["The cat", "A dog"], "n": 2, "max_tokens": 2}
    found = texts.post("/v1/completions", json=asked).json()
    assert [each["index"] for each in found["choices"]] == [0, 1, 2, 3]
    assert found["choices"][0]["text"] == found["choices"][1]["text"] != found["choices"][2]["text"]


def test_a_seed_gives_the_same_sample(texts: TestClient) -> None:
    asked = {**ASKED, "temperature": 2, "seed": 7, "n": 4, "max_tokens": 6}
    one, two = (texts.post("/v1/completions", json=asked).json()["choices"] for _ in range(2))
    assert one == two
    assert len({each["text"] for each in one}) > 1


def test_a_chat_is_answered_whole_and_in_pieces(texts: TestClient) -> None:
    asked = {
        "model": "writer",
        "temperature": 0,
        "max_completion_tokens": 5,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": SOURCES[0]}]},
        ],
    }
    found = texts.post("/v1/chat/completions", json=asked).json()
    assert found["object"] == "chat.completion"
    [choice] = found["choices"]
    assert choice["message"]["role"] == "assistant"
    chunks = events(texts.post("/v1/chat/completions", json={**asked, "stream": True}))
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    pieces = [each["choices"][0]["delta"].get("content", "") for each in chunks]
    assert "".join(pieces) == choice["message"]["content"]


def test_vectors_are_those_of_the_embedder(texts: TestClient) -> None:
    expected = Embedder(encoder(), device="cpu").embed(SOURCES[:2])
    found = texts.post("/v1/embeddings", json={"model": "reader", "input": SOURCES[:2]}).json()
    for each, vector in zip(found["data"], expected.tolist(), strict=True):
        assert each["embedding"] == pytest.approx(vector, abs=1e-5)
    packed = texts.post(
        "/v1/embeddings", json={"model": "reader", "input": SOURCES[0], "encoding_format": "base64"}
    ).json()["data"][0]["embedding"]
    raw = base64.b64decode(packed)
    assert list(struct.unpack(f"<{len(raw) // 4}f", raw)) == pytest.approx(expected[0].tolist(), abs=1e-5)
    assert found["usage"]["total_tokens"] > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": ""},
        {"model": 3},
        {"model": "reader"},
        {"prompt": [1, 2]},
        {"prompt": []},
        {"prompt": {"a": 1}},
        {"prompt": "fish " * 250_000},
        {"max_tokens": 51},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"n": 9},
        {"n": 1e9},
        {"temperature": -1},
        {"temperature": "hot"},
        {"top_p": 2},
        {"stop": ["a"] * 5},
        {"stop": [1]},
        {"logprobs": 3},
        {"echo": True},
        {"best_of": 2},
        {"stream": "yes"},
        {"stream_options": [1]},
        {"seed": 10**30},
    ],
)
def test_what_makes_no_sense_is_refused_also_in_a_stream(texts: TestClient, wrong: dict[str, Any]) -> None:
    for stream in (False, True):
        found = refused(texts.post("/v1/completions", json={**ASKED, "stream": stream, **wrong}))
        assert found["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "messages",
    [
        None,
        [],
        [{"role": "user"}],
        [{"role": "king", "content": "x"}],
        ["x"],
        [{"role": ["user"], "content": "x"}],
        [{"role": "user", "content": [1]}],
    ],
)
def test_a_chat_without_sense_is_refused(texts: TestClient, messages: Any) -> None:
    refused(texts.post("/v1/chat/completions", json={"model": "writer", "messages": messages}))


@pytest.mark.parametrize(
    "wrong", [{"input": []}, {"input": [[1, 2]]}, {"input": None}, {"dimensions": 3}, {"encoding_format": "hex"}]
)
def test_a_vector_without_sense_is_refused(texts: TestClient, wrong: dict[str, Any]) -> None:
    refused(texts.post("/v1/embeddings", json={"model": "reader", "input": "x", **wrong}))


def test_a_malformed_body_and_an_unknown_model_are_errors_of_this_api(texts: TestClient) -> None:
    refused(texts.post("/v1/completions", content=b"{"))
    refused(texts.post("/v1/completions", content=b"[]"))
    refused(texts.post("/v1/completions", json={**ASKED, "model": "none"}), 404)
    refused(texts.get("/v1/completions"), 405)


def test_where_pytorch_is_missing_the_error_names_the_extra(texts: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_models, "installed", lambda package: False)
    assert "headwise[train]" in refused(texts.post("/v1/completions", json=ASKED), 503)["message"]


def test_a_worker_that_cannot_be_started_is_not_waited_for_without_end(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(worker: Worker) -> None:
        await asyncio.Event().wait()

    with ready_client(Service(replace(service.settings, state=str(tmp_path), timeout=0.3))) as client:
        monkeypatch.setattr(text_models.Worker, "run", never)
        answer = client.post("/v1/embeddings", json={"model": "reader", "input": "x"})
        assert "try again" in refused(answer, 503)["message"]


def test_a_stream_whose_client_leaves_before_its_turn_is_given_up(
    texts: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_up: list[bool] = []

    async def generate(*given: Any) -> AsyncGenerator[str, None]:
        try:
            await asyncio.Event().wait()
        finally:
            given_up.append(True)
        yield ""

    monkeypatch.setattr(service.texts, "generate", generate)
    body = json.dumps({**ASKED, "stream": True}).encode()
    messages = iter([{"type": "http.request", "body": body}])
    scope = {"type": "http", "method": "POST", "path": "/v1/completions", "query_string": b"", "headers": []}

    async def ask() -> None:
        async def receive() -> dict[str, Any]:
            return next(messages, {"type": "http.disconnect"})

        async def send(message: Any) -> None: ...

        async with asyncio.timeout(5):
            await texts.app(scope, receive, send)

    asyncio.run(ask())
    assert given_up == [True]


def test_a_wrong_key_is_unauthorized(service: Service, tmp_path: Path) -> None:
    settings = replace(service.settings, state=str(tmp_path), key_required=True)
    key = ApiKeys(tmp_path).add("one")
    with ready_client(Service(settings)) as client:
        assert refused(client.get("/v1/models"), 401)["code"] == "invalid_api_key"
        assert client.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status_code == 200
