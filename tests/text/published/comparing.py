"""Published tokenizers side by side with the reference library."""

import json
from pathlib import Path
from typing import Any

import pytest

from headwise.text.published.tokenizer_folder import load_published
from headwise.text.tokenizer import Tokenizer
from tests.text.strings import mixed

STRINGS = mixed(1200)


def load(folder: Path) -> Tokenizer:
    path = folder / "config.json"
    tokenizer = load_published(folder, json.loads(path.read_text()) if path.exists() else {})
    assert tokenizer is not None
    return tokenizer


def reference(folder: Path, **options: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.AutoTokenizer.from_pretrained(folder, **options)


def check(ours: Tokenizer, theirs: Any, texts: list[str]) -> None:
    """Equal ids, equal text from them, equal framing of one and of two texts."""
    ids = [theirs(text, add_special_tokens=False)["input_ids"] for text in texts]
    assert [ours.encode(text) for text in texts] == ids
    assert ours.encode_batch(texts) == ids
    assert [ours.decode(each) for each in ids] == [theirs.decode(each, skip_special_tokens=True) for each in ids]
    check_frames(ours, theirs, texts[:300])


def check_frames(ours: Tokenizer, theirs: Any, texts: list[str]) -> None:
    for first, second in zip(texts, reversed(texts), strict=True):
        one, two = (theirs(text, add_special_tokens=False)["input_ids"] for text in (first, second))
        assert ours.frame(one)[0] == theirs(first)["input_ids"]
        if not second:
            continue  # the reference takes an empty second text for none
        pair = theirs(first, second)
        ids, segments = ours.frame(one, two)
        assert ids == pair["input_ids"]
        if "token_type_ids" in pair:
            assert segments == pair["token_type_ids"]
