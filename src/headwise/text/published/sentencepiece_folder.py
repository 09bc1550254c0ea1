"""SentencePiece models as published: T5, ALBERT, Llama and Mistral, mBART, XLM-RoBERTa, NLLB.

Each family puts the same kind of file to use in its own way; which one it is, is seen from the pieces that its
file begins with and, where two families begin alike, from the name of the tokenizer in the config.
"""

from collections.abc import Sequence

import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors

from headwise.errors import ConfigError
from headwise.text.published.assemble import add_specials, assemble, template
from headwise.text.published.facts import Facts
from headwise.text.published.hf_tokenizer import Library
from headwise.text.published.language_codes import MBART, MBART50, NLLB
from headwise.text.published.llama_files import merges_of, scored_bpe
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


def sentencepiece_model(facts: Facts) -> Library:
    file = read_sentencepiece(facts.read(next(name for name in MODEL_NAMES if facts.has(name))))
    first = [piece for piece, _, _ in file.pieces[:5]]
    if first[:3] == ["<pad>", "</s>", "<unk>"]:
        return _t5(facts, file)
    if "[CLS]" in first and "[SEP]" in first:
        return _albert(facts, file)
    if file.model_type == BPE and file.byte_fallback:
        return _llama(facts, file)
    if first[:3] == ["<unk>", "<s>", "</s>"] and file.model_type == BPE:
        return _nllb(facts, file)
    if first[:3] == ["<unk>", "<s>", "</s>"] and file.model_type == UNIGRAM:
        return _fairseq(facts, file)
    raise ConfigError(
        f"{facts.folder}: a SentencePiece model that begins with {', '.join(first)} is of no known family"
    )


def _t5(facts: Facts, file: SentencePieceFile) -> Library:
    """The vocabulary, then 100 sentinels, the last one first; a text ends with `</s>`."""
    count = int(facts.settings.get("extra_ids", 100))
    extra = [f"<extra_id_{i}>" for i in range(count - 1, -1, -1)]
    library = _unigram(file, [*_scored(file), *((name, 0.0) for name in extra)], unk=2)
    library.pre_tokenizer = _words("always")
    names = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
    add_specials(library, [*names.values(), *extra])
    _add_marked(library, file)
    eos = facts.names(names)["eos"]
    library.post_processor = processors.TemplateProcessing(
        single=["$A", eos], pair=["$A", eos, "$B", eos], special_tokens=[(eos, library.token_to_id(eos))]
    )
    return assemble(library, facts, names)


def _albert(facts: Facts, file: SentencePieceFile) -> Library:
    """Quotation marks made alike, accents and case left out unless the config keeps them."""
    library = _unigram(file, _scored(file), unk=1)
    steps: list[normalizers.Normalizer] = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not facts.settings.get("keep_accents", False):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if facts.settings.get("do_lower_case", True):
        steps.append(normalizers.Lowercase())
    library.normalizer = normalizers.Sequence([*steps, *_characters(file)])
    library.pre_tokenizer = _words("always")
    defaults = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    names = facts.names(defaults)
    add_specials(library, list(names.values()))
    _add_marked(library, file)
    first, last = names["cls"], names["sep"]
    library.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1",
        special_tokens=[(name, library.token_to_id(name)) for name in (first, last)],
    )
    return assemble(library, facts, defaults)


def _llama(facts: Facts, file: SentencePieceFile) -> Library:
    """As SentencePiece does it: a space is put before every text, one that begins with a space too."""
    pieces, scores = [piece for piece, _, _ in file.pieces], [score for _, score, _ in file.pieces]
    marked = [i for i, (_, _, kind) in enumerate(file.pieces) if kind in (CONTROL, USER_DEFINED)]
    library = scored_bpe(pieces, scores, skip=marked, prefix=file.dummy_prefix)
    names = {"unk": "<unk>", "bos": "<s>", "eos": "</s>"}
    _add_marked(library, file)
    add_specials(library, list(facts.names(names).values()))
    if "add_bos_token" not in facts.settings and "add_eos_token" not in facts.settings:
        template(library, facts.names(names).get("bos", ""), "")
    return assemble(library, facts, names)


def _fairseq(facts: Facts, file: SentencePieceFile) -> Library:
    """mBART and XLM-RoBERTa: four specials in another order, so that each id is one higher than in the file."""
    codes = {"MBartTokenizer": MBART, "MBart50Tokenizer": MBART50}.get(facts.class_name, ())
    if not codes and facts.config.get("model_type") == "mbart":
        codes = MBART50 if facts.config.get("vocab_size", 0) > len(file.pieces) + 1 + len(MBART) + 1 else MBART
    names = facts.names(_FAIRSEQ)
    order = [(names[role], 0.0) for role in ("bos", "pad", "eos", "unk")]
    last = [(name, 0.0) for name in (*codes, names["mask"])]
    library = _unigram(file, [*order, *_scored(file)[3:], *last], unk=3)
    if codes == MBART50:
        library.normalizer = normalizers.Sequence([*_characters(file), normalizers.Replace(_SPACES, " ")])
        library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    else:
        library.pre_tokenizer = _words("always")
    library.add_special_tokens([AddedToken(names["mask"], special=True, normalized=False, lstrip=bool(codes))])
    add_specials(library, [*(name for name, _ in order), *codes])
    before, after = _frame(facts, codes, names)
    pair = [*before, "$A", *([] if codes else [names["eos"]] * 2), "$B", *after]
    used = list(dict.fromkeys([*before, *after]))
    library.post_processor = processors.TemplateProcessing(
        single=[*before, "$A", *after], pair=pair, special_tokens=[(name, library.token_to_id(name)) for name in used]
    )
    return assemble(library, facts, _FAIRSEQ)


def _frame(facts: Facts, codes: Sequence[str], names: dict[str, str]) -> tuple[list[str], list[str]]:
    language = str(facts.settings.get("src_lang") or "en_XX")
    if codes == MBART50:
        return [language], [names["eos"]]
    return ([], [names["eos"], language]) if codes else ([names["bos"]], [names["eos"]])


def _nllb(facts: Facts, file: SentencePieceFile) -> Library:
    names = facts.names(_FAIRSEQ)
    pieces = [names[role] for role in ("bos", "pad", "eos", "unk")] + [piece for piece, _, _ in file.pieces[3:]]
    scores = [0.0] * 4 + [score for _, score, _ in file.pieces[3:]]
    ids = {piece: i for i, piece in enumerate(pieces)}
    merges = merges_of(ids, scores, set(pieces[:4]))
    library = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=merges, unk_token=names["unk"], fuse_unk=True))
    library.normalizer = normalizers.Sequence([*_characters(file), normalizers.Replace(_SPACES, " ")])
    library.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    library.decoder = decoders.Metaspace(prepend_scheme="always")
    codes = facts.extra or list(NLLB)
    add_specials(library, [*pieces[:4], *codes])
    library.add_special_tokens([AddedToken(names["mask"], special=True, normalized=True, lstrip=True)])
    language = str(facts.settings.get("src_lang") or "eng_Latn")
    legacy = bool(facts.settings.get("legacy_behaviour"))
    before, after = ([], [names["eos"], language]) if legacy else ([language], [names["eos"]])
    library.post_processor = processors.TemplateProcessing(
        single=[*before, "$A", *after],
        pair=[*before, "$A", "$B", *after],
        special_tokens=[(name, library.token_to_id(name)) for name in (language, names["eos"])],
    )
    return assemble(library, facts, _FAIRSEQ)


def _unigram(file: SentencePieceFile, scored: list[tuple[str, float]], unk: int) -> tokenizers.Tokenizer:
    library = tokenizers.Tokenizer(models.Unigram(scored, unk_id=unk, byte_fallback=False))
    if file.characters:
        library.normalizer = normalizers.Precompiled(file.characters)
    library.decoder = decoders.Metaspace(prepend_scheme="always")
    return library


def _scored(file: SentencePieceFile) -> list[tuple[str, float]]:
    return [(piece, score) for piece, score, _ in file.pieces]


def _characters(file: SentencePieceFile) -> list[normalizers.Normalizer]:
    return [normalizers.Precompiled(file.characters)] if file.characters else []


def _words(scheme: str) -> pre_tokenizers.PreTokenizer:
    spaces = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    return pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces])


def _add_marked(library: tokenizers.Tokenizer, file: SentencePieceFile) -> None:
    """The pieces that the file keeps whole in text: control symbols are special, user-defined ones are not."""
    for piece, _, kind in file.pieces:
        if kind in (CONTROL, USER_DEFINED):
            library.add_tokens([AddedToken(piece, special=kind == CONTROL, normalized=False)])
