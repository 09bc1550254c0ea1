"""The official PyPI client of OpenAI."""

import pytest

openai = pytest.importorskip("openai", reason="pip install openai")

MESSAGES = [{"role": "user", "content": "The cat"}]


@pytest.fixture
def client(url: str):  # type: ignore[no-untyped-def]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as made:
        yield made


def test_models(client) -> None:  # type: ignore[no-untyped-def]
    assert {"five", "reader", "writer"} == {each.id for each in client.models.list()}
    assert client.models.retrieve("writer").id == "writer"


def test_completions_whole_and_in_pieces(client) -> None:  # type: ignore[no-untyped-def]
    whole = client.completions.create(model="writer", prompt="The cat", temperature=0, max_tokens=8)
    chunks = client.completions.create(model="writer", prompt="The cat", temperature=0, max_tokens=8, stream=True)
    assert "".join(each.choices[0].text for each in chunks) == whole.choices[0].text
    assert whole.usage.completion_tokens > 0


def test_a_stream_that_is_left_early_ends_the_work(client) -> None:  # type: ignore[no-untyped-def]
    given = {"model": "writer", "prompt": "The cat", "temperature": 2, "max_tokens": 2_000}
    for _ in range(6):  # more than are generated at a time
        with client.completions.create(**given, stream=True) as chunks:
            next(iter(chunks))
    assert client.completions.create(**{**given, "max_tokens": 3}, timeout=20).usage.completion_tokens <= 3


def test_chats_whole_and_in_pieces(client) -> None:  # type: ignore[no-untyped-def]
    given = {"model": "writer", "messages": MESSAGES, "temperature": 0, "max_tokens": 5}
    whole = client.chat.completions.create(**given).choices[0].message.content
    chunks = client.chat.completions.create(**given, stream=True)
    assert "".join(each.choices[0].delta.content or "" for each in chunks) == whole


def test_embeddings(client) -> None:  # type: ignore[no-untyped-def]
    packed = client.embeddings.create(model="reader", input=["A dog", "The cat"])
    plain = client.embeddings.create(model="reader", input=["A dog", "The cat"], encoding_format="float")
    for one, two in zip(packed.data, plain.data, strict=True):
        assert one.embedding == pytest.approx(two.embedding, abs=1e-6)


def test_errors(client) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="none", prompt="x")
    with pytest.raises(openai.BadRequestError, match="max_tokens"):
        client.completions.create(model="writer", prompt="x", max_tokens=10**6)
