"""SentencePiece model files as published with T5, Pegasus, ALBERT, Llama, XLM-RoBERTa, CamemBERT, mBART and NLLB.

Each family numbers the pieces of its file in its own way, and several families share one file layout. So the
tokenizer's class decides, never the pieces: a class that is not in `CLASSES` is refused.
"""

from collections.abc import Callable, Sequence

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers

from headwise.errors import ConfigError
from headwise.text.published.assemble import add_specials, assemble, set_bert_frames, set_frames, template
from headwise.text.published.facts import Facts, known_class
from headwise.text.published.gguf_tokenizer import merges_of, scored_bpe
from headwise.text.published.hf_tokenizer import HfTokenizer
from headwise.text.published.language_codes import MBART, MBART50, NLLB
from headwise.text.published.sentencepiece_file import (
    BPE,
    CONTROL,
    UNIGRAM,
    USER_DEFINED,
    SentencePieceFile,
    read_sentencepiece,
)

MODEL_NAMES = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model", "spm.model")

_FAIRSEQ = {"bos": "<s>", "pad": "<pad>", "eos": "</s>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
_SPACES = Regex(" {2,}")

MODEL_TYPES = {
    "albert": "AlbertTokenizer",
    "camembert": "CamembertTokenizer",
    "llama": "LlamaTokenizer",
    "m2m_100": "NllbTokenizer",
    "mbart": "MBartTokenizer",
    "mistral": "LlamaTokenizer",
    "mt5": "T5Tokenizer",
    "pegasus": "PegasusTokenizer",
    "phi3": "LlamaTokenizer",
    "t5": "T5Tokenizer",
    "xlm-roberta": "XLMRobertaTokenizer",
}
"""The tokenizer class of a model type, for folders that name none."""


def sentencepiece_model(facts: Facts) -> HfTokenizer:
    """The tokenizer of a folder with a SentencePiece model; a ConfigError if its class is not known."""
    name = next(name for name in MODEL_NAMES if facts.has(name))
    file = read_sentencepiece(facts.read(name))
    kind = known_class(facts, name, CLASSES, MODEL_TYPES)
    model_type, first, build = CLASSES[kind]
    if file.model_type != model_type or tuple(piece for piece, _, _ in file.pieces[: len(first)]) != first:
        raise ConfigError(f"{facts.folder / name}: the model file is not laid out like that of a {kind}")
    return build(facts, file)


def _t5(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """T5's tokenizer: the pieces, then 100 sentinels in descending order; a text ends with `</s>`."""
    count = int(facts.settings.get("extra_ids", 100))
    extra = [f"<extra_id_{i}>" for i in range(count - 1, -1, -1)]
    backend = _unigram(file, [*_scored(file), *((name, 0.0) for name in extra)], unk=2)
    backend.pre_tokenizer = _words()
    names = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    add_specials(backend, [*names.values(), *extra])
    _add_marked(backend, file)
    eos = facts.names(names)["eos"]
    set_frames(backend, ["$A", eos], ["$A", eos, "$B", eos])
    return assemble(backend, facts, names)


def _pegasus(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """Pegasus' tokenizer: 103 tokens for pre-training stand between `</s>` and the other pieces of the file."""
    if facts.settings.get("offset", 103) != 103:
        raise ConfigError(f"{facts.folder}: a PegasusTokenizer with an offset other than 103 cannot be read")
    names = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>", "mask": "<mask_2>"}
    unused = ["<mask_1>", "<mask_2>", *(f"<unk_{i}>" for i in range(2, 103))]
    between = [(name, 0.0 if name.startswith("<mask") else -100.0) for name in unused]
    scored = _scored(file)
    backend = _unigram(file, [*scored[:2], *between, *scored[2:]], unk=105)
    _keep_spaces(backend, file)
    add_specials(backend, [*names.values(), *unused])
    _add_marked(backend, file)
    eos = facts.names(names)["eos"]
    set_frames(backend, ["$A", eos], ["$A", "$B", eos])
    return assemble(backend, facts, names)


def _camembert(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """CamemBERT's tokenizer: five tokens come first, so that each id is four higher than in the file."""
    names = facts.names(_FAIRSEQ)
    first = [(name, 0.0) for name in ("<s>NOTUSED", names["pad"], "</s>NOTUSED", names["unk"])]
    first.append(("<unk>NOTUSED", -100.0))
    backend = _unigram(file, [*first, *_scored(file)[1:], (names["mask"], 0.0)], unk=3)
    backend.pre_tokenizer = _words()
    backend.add_special_tokens([AddedToken(names["mask"], special=True, normalized=False, lstrip=True)])
    add_specials(backend, list(names.values()))
    _add_marked(backend, file)
    bos, eos = names["bos"], names["eos"]
    set_frames(backend, [bos, "$A", eos], [bos, "$A", eos, eos, "$B", eos])
    return assemble(backend, facts, _FAIRSEQ)


def _albert(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """ALBERT's tokenizer: quotation marks are unified; accents and case are dropped unless the settings keep them."""
    backend = _unigram(file, _scored(file), unk=1)
    steps: list[normalizers.Normalizer] = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not facts.settings.get("keep_accents", False):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if facts.settings.get("do_lower_case", True):
        steps.append(normalizers.Lowercase())
    backend.normalizer = normalizers.Sequence([*steps, *_characters(file)])
    backend.pre_tokenizer = _words()
    defaults = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    names = facts.names(defaults)
    add_specials(backend, list(names.values()))
    _add_marked(backend, file)
    set_bert_frames(backend, names["cls"], names["sep"])
    return assemble(backend, facts, defaults)


def _llama(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """Llama's tokenizer: as in SentencePiece, a space is put before every text, even if it begins with one."""
    pieces, scores = [piece for piece, _, _ in file.pieces], [score for _, score, _ in file.pieces]
    marked = [i for i, (_, _, kind) in enumerate(file.pieces) if kind in (CONTROL, USER_DEFINED)]
    backend = scored_bpe(pieces, scores, skip=marked, prefix=file.dummy_prefix)
    names = {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}
    _add_marked(backend, file)
    add_specials(backend, list(facts.names(names).values()))
    if "add_bos_token" not in facts.settings and "add_eos_token" not in facts.settings:
        template(backend, facts.names(names).get("bos", ""), "")
    return assemble(backend, facts, names)


def _fairseq(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """The tokenizer of mBART and XLM-RoBERTa: four specials come first, so that ids are one higher than in the file."""
    codes = _codes(facts, file)
    names = facts.names(_FAIRSEQ)
    order = [(names[role], 0.0) for role in ("bos", "pad", "eos", "unk")]
    last = [(name, 0.0) for name in (*codes, names["mask"])]
    backend = _unigram(file, [*order, *_scored(file)[3:], *last], unk=3)
    if codes == MBART50:
        _keep_spaces(backend, file)
    else:
        backend.pre_tokenizer = _words()
    backend.add_special_tokens([AddedToken(names["mask"], special=True, normalized=False, lstrip=bool(codes))])
    add_specials(backend, [*(name for name, _ in order), *codes])
    before, after = _frame(facts, codes, names)
    pair = [*before, "$A", *([] if codes else [names["eos"]] * 2), "$B", *after]
    set_frames(backend, [*before, "$A", *after], pair)
    return assemble(backend, facts, _FAIRSEQ)


def _codes(facts: Facts, file: SentencePieceFile) -> tuple[str, ...]:
    """The language codes after the pieces; a folder that names no class has as many as its embeddings allow."""
    named = {"XLMRobertaTokenizer": (), "MBartTokenizer": MBART, "MBart50Tokenizer": MBART50}
    if facts.class_name in named:
        return named[facts.class_name]
    if facts.config.get("model_type") != "mbart":
        return ()
    return MBART50 if facts.config.get("vocab_size", 0) > len(file.pieces) + 1 + len(MBART) + 1 else MBART


def _frame(facts: Facts, codes: Sequence[str], names: dict[str, str]) -> tuple[list[str], list[str]]:
    language = str(facts.settings.get("src_lang") or "en_XX")
    if codes == MBART50:
        return [language], [names["eos"]]
    return ([], [names["eos"], language]) if codes else ([names["bos"]], [names["eos"]])


def _nllb(facts: Facts, file: SentencePieceFile) -> HfTokenizer:
    """NLLB's tokenizer: four specials, BPE pieces, then the language codes."""
    names = facts.names(_FAIRSEQ)
    pieces = [names[role] for role in ("bos", "pad", "eos", "unk")] + [piece for piece, _, _ in file.pieces[3:]]
    scores = [0.0] * 4 + [score for _, score, _ in file.pieces[3:]]
    ids = {piece: i for i, piece in enumerate(pieces)}
    merges = merges_of(ids, scores, set(pieces[:4]))
    backend = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=merges, unk_token=names["unk"], fuse_unk=True))
    _keep_spaces(backend, file)
    backend.decoder = decoders.Metaspace(prepend_scheme="always")
    codes = facts.extra or list(NLLB)
    add_specials(backend, [*pieces[:4], *codes])
    backend.add_special_tokens([AddedToken(names["mask"], special=True, normalized=True, lstrip=True)])
    language = str(facts.settings.get("src_lang") or "eng_Latn")
    legacy = bool(facts.settings.get("legacy_behaviour"))
    before, after = ([], [names["eos"], language]) if legacy else ([language], [names["eos"]])
    set_frames(backend, [*before, "$A", *after], [*before, "$A", "$B", *after])
    return assemble(backend, facts, _FAIRSEQ)


def _unigram(file: SentencePieceFile, scored: list[tuple[str, float]], unk: int) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.Unigram(scored, unk_id=unk, byte_fallback=False))
    if file.characters:
        backend.normalizer = normalizers.Precompiled(file.characters)
    backend.decoder = decoders.Metaspace(prepend_scheme="always")
    return backend


def _scored(file: SentencePieceFile) -> list[tuple[str, float]]:
    return [(piece, score) for piece, score, _ in file.pieces]


def _characters(file: SentencePieceFile) -> list[normalizers.Normalizer]:
    return [normalizers.Precompiled(file.characters)] if file.characters else []


def _words() -> pre_tokenizers.PreTokenizer:
    spaces = pre_tokenizers.Metaspace(prepend_scheme="always")
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces])


def _keep_spaces(backend: tokenizers.Tokenizer, file: SentencePieceFile) -> None:
    """Let spaces at the ends of a text become pieces; a run of spaces is one."""
    backend.normalizer = normalizers.Sequence([*_characters(file), normalizers.Replace(_SPACES, " ")])
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")


def _add_marked(backend: tokenizers.Tokenizer, file: SentencePieceFile) -> None:
    """Add the pieces that are never split: control symbols, which are special, and user-defined ones, which are not."""
    for piece, _, kind in file.pieces:
        if kind in (CONTROL, USER_DEFINED):
            backend.add_tokens([AddedToken(piece, special=kind == CONTROL, normalized=False)])


_UNK_FIRST = ("<unk>", "<s>", "</s>")
_PAD_FIRST = ("<pad>", "</s>", "<unk>")

CLASSES: dict[str, tuple[int, tuple[str, ...], Callable[[Facts, SentencePieceFile], HfTokenizer]]] = {
    "AlbertTokenizer": (UNIGRAM, ("<pad>", "<unk>", "[CLS]", "[SEP]"), _albert),
    "CamembertTokenizer": (UNIGRAM, _UNK_FIRST, _camembert),
    "LlamaTokenizer": (BPE, _UNK_FIRST, _llama),
    "MBart50Tokenizer": (UNIGRAM, _UNK_FIRST, _fairseq),
    "MBartTokenizer": (UNIGRAM, _UNK_FIRST, _fairseq),
    "MT5Tokenizer": (UNIGRAM, _PAD_FIRST, _t5),
    "NllbTokenizer": (BPE, _UNK_FIRST, _nllb),
    "PegasusTokenizer": (UNIGRAM, _PAD_FIRST, _pegasus),
    "T5Tokenizer": (UNIGRAM, _PAD_FIRST, _t5),
    "XLMRobertaTokenizer": (UNIGRAM, _UNK_FIRST, _fairseq),
}
"""For each tokenizer class: the type of its model file, the pieces that the file begins with, and how it is read."""
