"""Assembling a published tokenizer: one of the tokenizers library, with the special tokens that the files name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import tokenizers
from tokenizers import AddedToken, processors

from headwise.errors import CheckpointError
from headwise.text.published.facts import Facts
from headwise.text.published.hf_tokenizer import DESCRIPTION, HfTokenizer
from headwise.text.specials import Framing, Item, Specials
from headwise.text.stored import Parts

_CODES = (re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"), re.compile(r"([a-z]{2}_[A-Z]{2})"), re.compile(r"__([a-z]{2,3})__"))
"""Language codes as NLLB, mBART and M2M100 write them."""

_PROBES = ("a", "1", "。", "C")


def assemble(backend: tokenizers.Tokenizer, facts: Facts, defaults: Mapping[str, str]) -> HfTokenizer:
    """Build a tokenizer on `backend`: add the special tokens that the files name, and determine their roles.

    `defaults` names the tokens of roles that the files leave out.
    """
    names = facts.names(dict(defaults))
    _check_ids(backend, facts)
    _add_listed(backend, facts)
    add_specials(backend, [*names.values(), *facts.extra])
    _add_bos_eos(backend, facts, names)
    ids = {role: i for role, name in names.items() if (i := backend.token_to_id(name)) is not None}
    added = {i: token.content for i, token in backend.get_added_tokens_decoder().items() if token.special}
    prefixes = _prefixes(facts.config)
    tags = language_tags(added) if facts.is_encoder_decoder else {}
    specials = with_roles(ids, added, facts, probe(backend), tags)
    settings: dict[str, Any] = {"specials": specials.to_table()}
    if facts.settings.get("clean_up_tokenization_spaces") and not isinstance(backend.model, tokenizers.models.BPE):
        settings["clean_up"] = True
    if prefixes:
        settings["prefixes"] = prefixes
    languages = dict.fromkeys([*tags, *(language for pair in prefixes for language in pair.split())])
    return HfTokenizer(Parts(tuple(languages), settings=settings, files={DESCRIPTION: str(backend.to_str()).encode()}))


def _check_ids(backend: tokenizers.Tokenizer, facts: Facts) -> None:
    """Refuse a vocabulary with ids far beyond the number of its tokens: the library walks over all ids."""
    ids = backend.get_vocab(with_added_tokens=True).values()
    if max(ids, default=0) > 10 * len(ids) + 1_000_000:
        raise CheckpointError(f"{facts.folder}: the vocabulary is damaged: {len(ids)} tokens, but the id {max(ids)}")


def add_specials(backend: tokenizers.Tokenizer, names: Sequence[str]) -> None:
    """Make these tokens special; one that is new to the vocabulary gets the next id."""
    known = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
    new = [name for name in dict.fromkeys(names) if name not in known]
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in new])


def _add_listed(backend: tokenizers.Tokenizer, facts: Facts) -> None:
    known = {token.content for token in backend.get_added_tokens_decoder().values()}
    for row in facts.added:
        if row["content"] not in known:
            keys = ("single_word", "lstrip", "rstrip", "normalized", "special")
            backend.add_tokens([AddedToken(row["content"], **{key: bool(row.get(key)) for key in keys})])


def with_roles(
    ids: Mapping[str, int], added: Mapping[int, str], facts: Facts, framing: Framing, tags: Mapping[str, int]
) -> Specials:
    """The special ids by their roles. The decoder of a translator starts from an id that config.json names."""
    config = facts.config
    eos = ids.get("eos", _known(config, "eos_token_id"))
    if facts.is_encoder_decoder:
        sos = _known(config, "decoder_start_token_id")
        sos = _known(config, "pad_token_id") if sos is None else sos
    else:
        sos = ids.get("cls", ids.get("bos", _known(config, "bos_token_id")))
        eos = ids.get("sep", eos)
    eos = sos if eos is None else eos
    sos = eos if sos is None else sos
    if sos is None or eos is None:
        raise CheckpointError(f"{facts.folder}: no file names a token that begins or ends a text")
    pad = ids.get("pad", _known(config, "pad_token_id"))
    pad = eos if pad is None else pad
    unk = ids.get("unk", eos)
    forbidden = dict.fromkeys([*([pad] if pad != eos else []), *facts.forbidden])
    framing = translation_framing(framing, facts, eos, tags)
    return Specials(pad, sos, eos, unk, ids.get("mask"), dict(added), tuple(forbidden), dict(tags), framing)


def translation_framing(framing: Framing, facts: Facts, eos: int, tags: Mapping[str, int]) -> Framing:
    """The framing with language codes: before the source, or after it in mBART's first model and old NLLB files."""
    if not tags:
        forced = _known(facts.config, "forced_bos_token_id")
        return replace(framing, source=framing.single, start=() if forced is None else (forced,))
    after = framing.single[1]
    codes_last = bool(after) and after[-1] in tags.values()
    if facts.class_name == "NllbTokenizer":
        codes_last = bool(facts.settings.get("legacy_behaviour"))
    source: tuple[tuple[Item, ...], tuple[Item, ...]] = ((), (eos, "source")) if codes_last else (("source",), (eos,))
    if codes_last and facts.class_name != "NllbTokenizer":
        return replace(framing, source=source, first="target")
    return replace(framing, source=source, start=("target",))


def language_tags(names: Mapping[int, str]) -> dict[str, int]:
    """The languages whose codes are among the special tokens, in the order of their ids."""
    for pattern in _CODES:
        found = {match[1]: i for i, name in sorted(names.items()) if (match := pattern.fullmatch(name))}
        if len(found) > 1:
            return found
    return {}


def probe(backend: tokenizers.Tokenizer) -> Framing:
    """The special tokens that the library puts around one text and around two, found by encoding some."""
    for text in _PROBES:
        single, pair = backend.encode(text), backend.encode(text, text)
        if 0 in single.sequence_ids and {0, 1} <= set(pair.sequence_ids):
            break
    else:
        return Framing()
    (first, last), (left, middle), (right, end) = _extent(single, 0), _extent(pair, 0), _extent(pair, 1)
    types = pair.type_ids
    return Framing(
        single=(tuple(single.ids[:first]), tuple(single.ids[last:])),
        pair=(tuple(pair.ids[:left]), tuple(pair.ids[middle:right]), tuple(pair.ids[end:])),
        segments=(types[middle] if middle < right else 0, types[right], types[-1]),
    )


def _extent(encoding: tokenizers.Encoding, sequence: int) -> tuple[int, int]:
    """Where the tokens of a text begin and end."""
    places = encoding.sequence_ids
    return places.index(sequence), len(places) - places[::-1].index(sequence)


def _add_bos_eos(backend: tokenizers.Tokenizer, facts: Facts, names: Mapping[str, str]) -> None:
    """Frame texts with bos and eos if tokenizer_config.json sets it."""
    if "add_bos_token" not in facts.settings and "add_eos_token" not in facts.settings:
        return
    roles = [role if facts.settings.get(f"add_{role}_token") and role in names else "" for role in ("bos", "eos")]
    template(backend, names.get(roles[0], ""), names.get(roles[1], ""))


def template(backend: tokenizers.Tokenizer, first: str, last: str) -> None:
    """Frame each text with the token `first` before it and `last` after it, if they are given."""
    single = [*([first] if first else []), "$A", *([last] if last else [])]
    set_frames(backend, single, [*single, *(f"{item.replace('$A', '$B')}:1" for item in single)])


def set_frames(backend: tokenizers.Tokenizer, single: Sequence[str], pair: Sequence[str]) -> None:
    """Frame a text $A, and a pair of texts $A and $B, with special tokens; `$B:1` is in the second segment."""
    names = dict.fromkeys(re.sub(":[01]$", "", item) for item in (*single, *pair) if not item.startswith("$"))
    backend.post_processor = processors.TemplateProcessing(
        single=list(single), pair=list(pair), special_tokens=[(name, backend.token_to_id(name)) for name in names]
    )


def set_bert_frames(backend: tokenizers.Tokenizer, cls: str, sep: str) -> None:
    """Frame a text as [CLS] a [SEP], and a pair as [CLS] a [SEP] b [SEP] with b in the second segment."""
    set_frames(backend, [cls, "$A", sep], [cls, "$A", sep, "$B:1", f"{sep}:1"])


def _prefixes(config: Mapping[str, Any]) -> dict[str, str]:
    """The prompts of T5, such as "translate English to German: ", for each pair of languages in its config."""
    prefixes: dict[str, str] = {}
    for task, parameters in (config.get("task_specific_params") or {}).items():
        match = re.fullmatch(r"translation_(\w+?)_to_(\w+)", task)
        if match and isinstance(parameters, dict) and parameters.get("prefix"):
            prefixes[f"{match[1]} {match[2]}"] = parameters["prefix"]
    return prefixes


def _known(config: Mapping[str, Any], key: str) -> int | None:
    value = config.get(key)
    value = value[0] if isinstance(value, list) and value else value
    return value if isinstance(value, int) and value >= 0 else None
