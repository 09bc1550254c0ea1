"""Tokenizers from the files that models are published with. Files are read as data; nothing in them is run.

The reference is the transformers library: `encode` gives its ids without special tokens, `decode` its text
without them, `frame` its special tokens. Each row of `FORMS` is one set of files.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwise.text.published.facts import Facts, gather
from headwise.text.published.hf_tokenizer import library_errors
from headwise.text.published.mapped_files import m2m100, marian
from headwise.text.published.merges import is_wordpiece, merges_and_vocabulary, vocabulary_lines
from headwise.text.published.sentencepiece_folder import MODEL_NAMES, sentencepiece_model
from headwise.text.published.tokenizer_json import from_tokenizer_json, has_tokenizer_json
from headwise.text.tokenizer import Tokenizer


def load_published(folder: Path, config: dict[str, Any]) -> Tokenizer | None:
    """Load the tokenizer of a published model whose config.json is `config`.

    None if the folder has no tokenizer files, or a vocab.txt that is not BERT's.
    """
    facts = gather(Path(folder), config)
    with library_errors(f"{folder}: a file of its tokenizer is damaged"):
        for fits, build in FORMS:
            if fits(facts):
                return build(facts)
    return None


FORMS: tuple[tuple[Callable[[Facts], bool], Callable[[Facts], Tokenizer]], ...] = (
    (lambda facts: facts.has("source.spm", "target.spm", "vocab.json"), marian),
    (lambda facts: facts.has("vocab.json", "sentencepiece.bpe.model"), m2m100),
    (has_tokenizer_json, from_tokenizer_json),
    (lambda facts: any(facts.has(name) for name in MODEL_NAMES), sentencepiece_model),
    (
        lambda facts: facts.has("vocab.json", "merges.txt"),
        lambda facts: merges_and_vocabulary(facts, "vocab.json", "merges.txt"),
    ),
    (
        lambda facts: facts.has("encoder.json", "vocab.bpe"),
        lambda facts: merges_and_vocabulary(facts, "encoder.json", "vocab.bpe"),
    ),
    (is_wordpiece, vocabulary_lines),
)
