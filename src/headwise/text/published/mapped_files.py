"""The tokenizer files of Marian and M2M100: SentencePiece models, and a table of the ids of their pieces."""

from collections.abc import Mapping, Sequence
from typing import Any

from headwise.errors import CheckpointError
from headwise.text.published.assemble import with_roles
from headwise.text.published.facts import Facts, known_class
from headwise.text.published.language_codes import M2M100, WMT21
from headwise.text.published.mapped import SOURCE, TABLE, TARGET, TARGET_TABLE, Mapped
from headwise.text.specials import Framing, Item, Specials
from headwise.text.stored import Parts

_CODE = r">>.*?<<"


def marian(facts: Facts) -> Mapped:
    """Marian's tokenizer: texts end with `</s>`, and begin with a code such as >>fra<< if there are several targets."""
    known_class(
        facts, "source.spm and target.spm", ("MarianTokenizer",), {"marian": "MarianTokenizer"}, "MarianTokenizer"
    )
    ids = _table(facts, "vocab.json")
    files = {SOURCE: facts.read("source.spm"), TARGET: facts.read("target.spm"), TABLE: facts.read("vocab.json")}
    published = {SOURCE: "source.spm", TARGET: "target.spm", TABLE: "vocab.json"}
    separate = bool(facts.settings.get("separate_vocabs"))
    if separate:
        files[TARGET_TABLE], published[TARGET_TABLE] = facts.read("target_vocab.json"), "target_vocab.json"
    codes = [] if separate else [piece for piece in ids if piece.startswith(">>") and piece.endswith("<<")]
    tags = {code[2:-2]: ids[code] for code in codes}
    names = facts.names({"unk": "<unk>", "eos": "</s>", "pad": "<pad>"})
    found = [*dict.fromkeys(names.values()), *facts.extra]
    special = {ids[name]: name for name in found if name in ids} | {ids[code]: code for code in codes}
    specials = _specials(facts, ids, names, special, tags, before=("target",), start=())
    config = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate}
    return _mapped(facts, specials, files, published, found, _CODE, config)


def m2m100(facts: Facts) -> Mapped:
    """M2M100's tokenizer: language codes follow the table; source and target begin with the code of their language."""
    files_read = "vocab.json and sentencepiece.bpe.model"
    known_class(facts, files_read, ("M2M100Tokenizer",), {"m2m_100": "M2M100Tokenizer"}, "M2M100Tokenizer")
    ids = _table(facts, "vocab.json")
    codes = WMT21 if facts.settings.get("language_codes") == "wmt21" else M2M100
    tags = {code: len(ids) + i for i, code in enumerate(codes)}
    names = facts.names({"unk": "<unk>", "bos": "<s>", "eos": "</s>", "sep": "</s>", "pad": "<pad>"})
    written = {f"__{code}__": i for code, i in tags.items()}
    found = [name for name in dict.fromkeys([*names.values(), *facts.extra]) if name in ids or name in written]
    special = {ids[name]: name for name in found if name in ids} | {i: name for name, i in written.items()}
    specials = _specials(facts, ids, names, special, tags, before=("source",), start=("target",))
    files = {SOURCE: facts.read("sentencepiece.bpe.model"), TABLE: facts.read("vocab.json")}
    published = {SOURCE: "sentencepiece.bpe.model", TABLE: "vocab.json"}
    config = {"tokenizer_class": "M2M100Tokenizer", "additional_special_tokens": facts.extra}
    return _mapped(facts, specials, files, published, found, "", config)


def _specials(
    facts: Facts,
    ids: Mapping[str, int],
    names: Mapping[str, str],
    special: Mapping[int, str],
    tags: Mapping[str, int],
    before: Sequence[Item],
    start: Sequence[Item],
) -> Specials:
    roles = {role: ids[name] for role, name in names.items() if name in ids}
    if "unk" not in roles or "eos" not in roles:
        raise CheckpointError(f"{facts.folder}: the vocabulary lacks the unknown or the end token")
    roles.pop("sep", None)
    eos = roles["eos"]
    framing = Framing(single=((), (eos,)), pair=((), (), (eos,)))
    if start:  # transformers frames every text as a source, by default in English
        language = tags[str(facts.settings.get("src_lang") or "en")]
        framing = Framing(single=((language,), (eos,)), pair=((language,), (), (eos,)))
    own = with_roles(roles, special, facts, framing, {})
    source: tuple[tuple[Item, ...], tuple[Item, ...]] = (tuple(before) if tags else (), (eos,))
    framing = Framing(framing.single, framing.pair, source=source, start=tuple(start))
    sos = own.sos if facts.is_encoder_decoder else (eos if start else own.pad)
    return Specials(own.pad, sos, eos, own.unk, None, own.names, own.forbidden, dict(tags), framing)


def _mapped(
    facts: Facts,
    specials: Specials,
    files: Mapping[str, bytes],
    published: Mapping[str, str],
    found: Sequence[str],
    code: str,
    config: Mapping[str, Any],
) -> Mapped:
    settings = {
        "specials": specials.to_table(),
        "found": list(found),
        "code": code,
        "published": dict(published),
        "config": {**facts.settings, **config},
    }
    return Mapped(Parts(tuple(specials.tags), settings=settings, files=dict(files)))


def _table(facts: Facts, name: str) -> dict[str, int]:
    table = facts.read_json(name)
    if not isinstance(table, dict) or not all(isinstance(i, int) for i in table.values()):
        raise CheckpointError(f"{facts.folder / name} is damaged: it is not a table of ids")
    return table
