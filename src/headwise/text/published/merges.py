"""Reads plain vocabularies: vocab.txt of WordPiece (BERT), and vocab.json with merges.txt of BPE (GPT, RoBERTa)."""

from collections.abc import Callable

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from headwise.errors import CheckpointError, ConfigError
from headwise.text.published.assemble import add_specials, assemble
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
    library = tokenizers.Tokenizer(models.WordPiece(vocab=ids, unk_token=names["unk"]))
    library.normalizer = normalizers.BertNormalizer(
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"),
        lowercase=settings.get("do_lower_case", True),
    )
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.WordPiece(prefix="##")
    add_specials(library, list(names.values()))
    first, last = names["cls"], names["sep"]
    library.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(name, library.token_to_id(name)) for name in (first, last)],
    )
    return assemble(library, facts, _BERT)


def merges_and_vocabulary(facts: Facts, vocabulary: str, merges: str) -> HfTokenizer:
    """A BPE tokenizer from its vocabulary and its merges; the tokenizer class decides how text is split."""
    ids = facts.read_json(vocabulary)
    if not isinstance(ids, dict):
        raise CheckpointError(f"{facts.folder / vocabulary} is damaged: it is not a table")
    lines = facts.read(merges).decode().split("\n")
    pairs = [(left, right) for left, space, right in (line.partition(" ") for line in lines[_header(lines) :]) if space]
    default = "RobertaTokenizer" if {"<s>", "</s>"} <= ids.keys() else "GPT2Tokenizer"
    kind = known_class(facts, f"{vocabulary} and {merges}", MERGES, MODEL_TYPES, default)
    with library_errors(f"{facts.folder}: {vocabulary} and {merges} do not fit"):
        return MERGES[kind](facts, ids, pairs)


def _byte_level(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=pairs))
    prefix = bool(facts.settings.get("add_prefix_space", False))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    library.decoder = decoders.ByteLevel()
    return library


def _gpt2(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    return assemble(_byte_level(facts, ids, pairs), facts, _GPT2)


def _gpt_neox(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    """GPT-NeoX's tokenizer: GPT-2's, after Unicode NFC."""
    library = _byte_level(facts, ids, pairs)
    library.normalizer = normalizers.NFC()
    return assemble(library, facts, {**_GPT2, "pad": "<|padding|>"})


def _roberta(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    """RoBERTa's and BART's tokenizer: GPT-2's, with special tokens around each text."""
    library = _byte_level(facts, ids, pairs)
    set_roberta_frame(library, facts)
    return assemble(library, facts, _ROBERTA)


def set_roberta_frame(library: tokenizers.Tokenizer, facts: Facts) -> None:
    names = facts.names(_ROBERTA)
    add_specials(library, list(names.values()))
    sep, cls = names["sep"], names["cls"]
    library.post_processor = processors.TemplateProcessing(
        single=f"{cls} $A {sep}",
        pair=f"{cls} $A {sep} {sep} $B:0 {sep}",
        special_tokens=[(name, library.token_to_id(name)) for name in (cls, sep)],
    )


def _first_gpt(facts: Facts, ids: dict[str, int], pairs: list[tuple[str, str]]) -> HfTokenizer:
    """The tokenizer of the first GPT (2018): lower case, BERT's words, BPE with a mark at the end of a word.

    It is as in transformers. OpenAI's own code split words with spaCy and repaired text with ftfy, so it splits
    some words differently ("don't" as do + n't).
    """
    unk = facts.names({"unk": "<unk>"})["unk"]
    library = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=pairs, end_of_word_suffix=_END, unk_token=unk))
    library.normalizer = normalizers.BertNormalizer(lowercase=True)
    library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    library.decoder = decoders.BPEDecoder(suffix=_END)
    return assemble(library, facts, {"unk": unk, "eos": unk})


def _header(lines: list[str]) -> int:
    return 1 if lines and lines[0].startswith("#version") else 0


MERGES: dict[str, Callable[[Facts, dict[str, int], list[tuple[str, str]]], HfTokenizer]] = {
    "BartTokenizer": _roberta,
    "CodeGenTokenizer": _gpt2,
    "GPT2Tokenizer": _gpt2,
    "GPTNeoXTokenizer": _gpt_neox,
    "OpenAIGPTTokenizer": _first_gpt,
    "RobertaTokenizer": _roberta,
}
"""How each tokenizer class uses its vocabulary and merges. Other classes have files of the same names."""
