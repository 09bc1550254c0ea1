"""Tokenizers in the metadata of GGUF files are those that the files were made from."""

import json
from pathlib import Path

import pytest
import sentencepiece

from headwise.errors import ConfigError
from headwise.text.published.gguf_tokenizer import from_gguf
from headwise.text.tokenizer import Tokenizer
from tests.text.published.comparing import STRINGS


def test_the_same_from_gguf(folders: dict[str, Path], published: dict[str, Tokenizer]) -> None:
    model = (folders["llama"] / "tokenizer.model").read_bytes()
    ids = published["llama"].encode_batch(STRINGS)
    original = sentencepiece.SentencePieceProcessor(model_proto=model)
    count = range(original.get_piece_size())
    kinds = [
        2 if original.is_unknown(i) else 3 if original.is_control(i) else 6 if original.is_byte(i) else 1 for i in count
    ]
    metadata = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [original.id_to_piece(i) for i in count],
        "tokenizer.ggml.scores": [original.get_score(i) for i in count],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }
    tokenizer = from_gguf(metadata)
    assert tokenizer.encode_batch(STRINGS) == ids
    assert tokenizer.frame([5])[0] == published["llama"].frame([5])[0] == [1, 5]


def test_byte_level_gguf(folders: dict[str, Path], published: dict[str, Tokenizer]) -> None:
    ids = json.loads((folders["gpt2"] / "vocab.json").read_text())
    merges = (folders["gpt2"] / "merges.txt").read_text().splitlines()[1:]
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": sorted(ids, key=ids.__getitem__),
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.token_type": [3] + [1] * (len(ids) - 1),
        "tokenizer.ggml.eos_token_id": 0,
    }
    assert from_gguf(metadata).encode_batch(STRINGS) == published["gpt2"].encode_batch(STRINGS)
    with pytest.raises(ConfigError, match="'strange'"):
        from_gguf({**metadata, "tokenizer.ggml.pre": "strange"})
    with pytest.raises(ConfigError, match="'bert'"):
        from_gguf({**metadata, "tokenizer.ggml.model": "bert"})
