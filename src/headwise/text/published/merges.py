"""Plain vocabulary files: vocab.txt of WordPiece (BERT), and vocab.json with merges.txt of BPE (GPT, RoBERTa)."""

from collections.abc import Callable

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from headwise.errors import CheckpointError, ConfigError
from headwise.text.published.assemble import add_specials, assemble, set_bert_frames, set_frames
from headwise.text.published.facts import Facts, known_class
from headwise.text.published.hf_tokenizer import HfTokenizer, library_errors

_END = "</w>"
_BERT = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_ROBERTA = {"bos": "<s>", "eos": "</s>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>"}
_GPT2 = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"}

MODEL_TYPES = {
    "bart": "BartTokenizer",
    "gpt2": "GPT2Tokenizer",
    "gpt_neox": "GPTNeoXTokenizer",
    "gptj": "GPT2Tokenizer",
    "openai-gpt": "OpenAIGPTTokenizer",
    "phi": "GPT2Tokenizer",
    "roberta": "RobertaTokenizer",
}
"""The tokenizer class of a model type, for folders of merges that name none."""

WORDPIECE = frozenset(
    f"{name}Tokenizer"
    for name in ("Bert", "DistilBert", "Electra", "MobileBert", "ConvBert", "SqueezeBert", "LayoutLM", "Lxmert")
)
"""Tokenizer classes of transformers that split text as BERT's does. Others have a vocab.txt of another kind."""


def is_wordpiece(facts: Facts) -> bool:
    """Whether vocab.txt is a WordPiece vocabulary: by the class that is named, or else by pieces with ##."""
    if not facts.has("vocab.txt"):
        return False
    if facts.class_name:
        return facts.class_name in WORDPIECE
    return b"\n##" in facts.read("vocab.txt")


def vocabulary_lines(facts: Facts) -> HfTokenizer:
    """BERT's tokenizer from vocab.txt, which has one piece per line; its id is the line number."""
    try:
        lines = facts.read("vocab.txt").decode().split("\n")
    except UnicodeDecodeError:
        raise CheckpointError(f"{facts.folder / 'vocab.txt'} is damaged: it is not UTF-8") from None
    lines = lines[:-1] if not lines[-1] else lines
    return wordpiece(facts, {line.rstrip("\r"): i for i, line in enumerate(lines)})


def wordpiece(facts: Facts, ids: dict[str, int]) -> HfTokenizer:
    """BERT's tokenizer with this vocabulary and the settings of tokenizer_config.json."""
    names, settings = facts.names(_BERT), facts.settings
    if names["unk"] not in ids:
        raise ConfigError(f"{facts.folder}: the unknown token {names['unk']} is not in the vocabulary")
    backend = tokenizers.Tokenizer(models.WordPiece(vocab=ids, unk_token=names["unk"]))
    backend.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece(prefix="##")
    add_specials(backend, list(names.values()))
    set_bert_frames(backend, names["cls"], names["sep"])
    return assemble(backend, facts, _BERT)


def merges_and_vocabulary(facts: Facts, vocabulary: str, merges: str) -> HfTokenizer:
    """A BPE tokenizer from its vocabulary and its merges; the tokenizer class decides how text is split."""
    ids = facts.read_json(vocabulary)
    if not isinstance(ids, dict):
        raise CheckpointError(f"{facts.folder / vocabulary} is damaged: it is not a table")
    lines = facts.read(merges).decode().split("\n")
    first = int(lines[0].startswith("#version"))
    pairs = [(left, right) for left, space, right in (line.partition(" ") for line in lines[first:]) if space]
    default = "RobertaTokenizer" if {"<s>", "</s>"} <= ids.keys() else "GPT2Tokenizer"
    kind = known_class(facts, f"{vocabulary} and {merges}", MERGES, MODEL_TYPES, default)
    with library_errors(f"{facts.folder}: {vocabulary} and {merges} do not fit"):
        return MERGES[kind](facts, ids, pairs)


def _byte_level(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=pairs))
    prefix = bool(facts.settings.get("add_prefix_space", False))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    return backend


def _gpt2(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    return assemble(_byte_level(facts, ids, pairs), facts, _GPT2)


def _gpt_neox(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    """GPT-NeoX's tokenizer: GPT-2's, after Unicode NFC."""
    backend = _byte_level(facts, ids, pairs)
    backend.normalizer = normalizers.NFC()
    return assemble(backend, facts, {**_GPT2, "pad": "<|padding|>"})


def _roberta(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    """RoBERTa's and BART's tokenizer: GPT-2's, with special tokens around each text."""
    backend = _byte_level(facts, ids, pairs)
    set_roberta_frame(backend, facts)
    return assemble(backend, facts, _ROBERTA)


def set_roberta_frame(backend: tokenizers.Tokenizer, facts: Facts) -> None:
    names = facts.names(_ROBERTA)
    add_specials(backend, list(names.values()))
    sep, cls = names["sep"], names["cls"]
    set_frames(backend, [cls, "$A", sep], [cls, "$A", sep, sep, "$B", sep])


def _first_gpt(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    """The tokenizer of the first GPT (2018): lower case, BERT's words, BPE with a mark at the end of a word.

    It is as in transformers. OpenAI's own code split words with spaCy and repaired text with ftfy, so it splits
    some words differently ("don't" as do + n't).
    """
    unk = facts.names({"unk": "<unk>"})["unk"]
    backend = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=pairs, end_of_word_suffix=_END, unk_token=unk))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.BPEDecoder(suffix=_END)
    return assemble(backend, facts, {"unk": unk, "eos": unk})


MERGES: dict[str, Callable[[Facts, dict[str, int], list[tuple[str, str]]], HfTokenizer]] = {
    "BartTokenizer": _roberta,
    "CodeGenTokenizer": _gpt2,
    "GPT2Tokenizer": _gpt2,
    "GPTNeoXTokenizer": _gpt_neox,
    "OpenAIGPTTokenizer": _first_gpt,
    "RobertaTokenizer": _roberta,
}
"""How each tokenizer class uses its vocabulary and merges. Other classes have files of the same names."""
