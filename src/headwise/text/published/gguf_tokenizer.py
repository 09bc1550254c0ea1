"""Tokenizers from the metadata of GGUF files, and SentencePiece's BPE rebuilt in the tokenizers library."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from headwise.errors import ConfigError
from headwise.text.published.assemble import add_specials, assemble, template
from headwise.text.published.facts import Facts
from headwise.text.published.hf_tokenizer import HfTokenizer, library_errors
from headwise.text.published.sentencepiece_file import CONTROL, USER_DEFINED

_LLAMA = {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LLAMA3 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}{_REST}"
_QWEN2 = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{_REST}"

SPLITS: dict[str, str | None] = {
    "": None,
    "default": None,
    "gpt-2": None,
    "smollm": "digits",
    "starcoder": "digits",
    "refact": "digits",
    "command-r": "digits",
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
    "llama-bpe": _LLAMA3,
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
}
"""How text is split before byte-level merges, by GGUF's name: None as in GPT-2, "digits" as in GPT-2 with each digit
alone, else by a regular expression."""


def from_gguf(metadata: Mapping[str, Any]) -> HfTokenizer:
    """The tokenizer of a GGUF file, from the keys `tokenizer.ggml.*` of its metadata."""
    with library_errors("the tokenizer of the GGUF file is damaged"):
        return _from_gguf(metadata)


def _from_gguf(metadata: Mapping[str, Any]) -> HfTokenizer:
    """The model is `gpt2` (byte-level merges) or `llama` (SentencePiece scores)."""
    kind = metadata.get("tokenizer.ggml.model")
    tokens: list[str] = list(metadata.get("tokenizer.ggml.tokens") or [])
    if kind not in ("gpt2", "llama") or not tokens:
        raise ConfigError(f"a tokenizer of the kind {kind!r} cannot be read from a GGUF file; gpt2 and llama can")
    types = list(metadata.get("tokenizer.ggml.token_type") or [1] * len(tokens))
    kept = [i for i, each in enumerate(types) if each in (CONTROL, USER_DEFINED)]
    if kind == "gpt2":
        backend = _byte_level(metadata, tokens)
    else:
        prefix = bool(metadata.get("tokenizer.ggml.add_space_prefix", True))
        backend = scored_bpe(tokens, list(metadata["tokenizer.ggml.scores"]), skip=kept, prefix=prefix)
    backend.add_tokens([AddedToken(tokens[i], special=types[i] == CONTROL, normalized=False) for i in kept])
    names = _special_names(metadata, tokens)
    add_specials(backend, list(names.values()))
    first = names.get("bos", "") if metadata.get("tokenizer.ggml.add_bos_token", kind == "llama") else ""
    last = names.get("eos", "") if metadata.get("tokenizer.ggml.add_eos_token") else ""
    template(backend, first, last)
    return assemble(backend, Facts(Path("GGUF")), names)


def _special_names(metadata: Mapping[str, Any], tokens: list[str]) -> dict[str, str]:
    """The special token of each role that the file names; Llama has defaults for some."""
    names = {}
    if metadata["tokenizer.ggml.model"] == "llama":
        names = {role: name for role, name in _LLAMA.items() if name in tokens}
    for role, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding"), ("mask", "mask")):
        i = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(i, int) and 0 <= i < len(tokens):
            names[role] = tokens[i]
    return names


def scored_bpe(
    pieces: Sequence[str], scores: Sequence[float], skip: Sequence[int], prefix: bool = True
) -> tokenizers.Tokenizer:
    """SentencePiece's BPE: the merge with the best score comes first; other characters are encoded as bytes."""
    ids = {piece: i for i, piece in enumerate(pieces)}
    backend = tokenizers.Tokenizer(
        models.BPE(
            vocab=ids,
            merges=merges_of(ids, scores, {pieces[i] for i in skip}),
            unk_token=pieces[0],
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    steps: list[normalizers.Normalizer] = [normalizers.Prepend("▁")] if prefix else []
    backend.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    after: list[decoders.Decoder] = [decoders.Strip(content=" ", left=1)] if prefix else []
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *after])
    return backend


def merges_of(ids: Mapping[str, int], scores: Sequence[float], skip: set[str]) -> list[tuple[str, str]]:
    """The merges of a SentencePiece BPE model: pairs of pieces that make a piece, the best score first."""
    merges: list[tuple[float, int, int, str, str]] = []
    for piece, i in ids.items():
        if piece in skip:
            continue
        for cut in range(1, len(piece)):
            left, right = piece[:cut], piece[cut:]
            if left in ids and right in ids and left not in skip and right not in skip:
                merges.append((-scores[i], i, cut, left, right))
    return [(left, right) for *_, left, right in sorted(merges)]


def _byte_level(metadata: Mapping[str, Any], tokens: list[str]) -> tokenizers.Tokenizer:
    pre = str(metadata.get("tokenizer.ggml.pre", ""))
    if pre not in SPLITS:
        raise ConfigError(f"a GGUF file whose text is split as {pre!r} cannot be read; these can: {', '.join(SPLITS)}")
    merges = [tuple(merge.split(" ", 1)) for merge in metadata.get("tokenizer.ggml.merges") or []]
    ids = {token: i for i, token in enumerate(tokens)}
    backend = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=[(left, right) for left, right in merges]))
    split = SPLITS[pre]
    if split is None or split == "digits":
        digits = [pre_tokenizers.Digits(individual_digits=True)] if split else []
        backend.pre_tokenizer = pre_tokenizers.Sequence([*digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    else:
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(split), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    backend.decoder = decoders.ByteLevel()
    return backend
