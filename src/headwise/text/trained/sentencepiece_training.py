"""Training of SentencePiece models, in memory and reproducibly, on any corpus.

SentencePiece ends the whole process on some inputs (a word of 65,536 characters), takes time quadratic in
the length of a repetition on others (one sentence a thousand times, one letter a hundred thousand times), and
refuses some (a vocabulary that a small corpus cannot fill). This module prepares the input so that none of this
happens.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece

from headwise.errors import ConfigError, DataError
from headwise.text.escape import escape
from headwise.text.published.sentencepiece_file import SEEDS_SETTING, without_setting
from headwise.text.specials import EOS, PAD, SOS, SPECIALS, UNK, special_names
from headwise.text.tokenizer import TrainingSet
from headwise.text.trained.unigram_seeds import character_counts, seed_pieces

LONGEST = 200
"""Characters beyond which a sentence is split for training. Pieces are far shorter, so nothing is lost."""

RAREST = 1_000_000
"""A character rarer than one in a million is encoded as bytes: its embedding would hardly be trained."""

THREADS = 8
"""Number of threads. It is fixed because the order in which counts are summed, and so the model, depends on it."""

_BYTES = 256
_BESIDE_DIGITS = re.compile(r"(?<=\d)|(?=\d)")
"""The places before and after each decimal digit, of any script."""
_BOUNDARY = "\t"
"""No piece that SentencePiece learns contains this character, which normalised text does not have."""
_RESERVED = "▅"
"""SentencePiece skips every sentence that contains this character."""


def train_model(kind: str, given: TrainingSet) -> bytes:
    """Train a unigram or bpe model and serialise it.

    A repeated sentence counts once: boilerplate should not determine the pieces. With `split_digits` no piece has a
    digit beside another character. SentencePiece has this too, but for ASCII digits only.
    """
    vocabulary, names = given.vocabulary, special_names(given.languages, given.mask)
    room = vocabulary - len(names) - _BYTES
    if room < 1:
        raise ConfigError(
            f"text.vocabulary = {vocabulary} is too small: {len(names)} special tokens and {_BYTES} bytes come first"
        )
    prepared = list(dict.fromkeys(part for sentence in given.sentences for part in _prepare(sentence)))
    if given.split_digits:
        prepared = [_BESIDE_DIGITS.sub(_BOUNDARY, sentence) for sentence in prepared]
    coverage = _coverage(prepared, room)
    with _seeds(kind, prepared, coverage) as seeds:
        model = _train(kind, prepared, vocabulary, names, coverage, seeds)
    return without_setting(model, SEEDS_SETTING) if seeds else model


def _train(
    kind: str,
    sentences: Sequence[str],
    vocabulary: int,
    names: tuple[str, ...],
    coverage: float,
    seeds: Mapping[str, Any],
) -> bytes:
    model = io.BytesIO()
    pad, sos, eos, unk = SPECIALS
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=model,
            model_type=kind,
            vocab_size=vocabulary,
            hard_vocab_limit=False,
            character_coverage=coverage,
            byte_fallback=True,
            normalization_rule_name="identity",
            max_sentence_length=8 * LONGEST,
            train_extremely_large_corpus=sum(map(len, sentences)) > 500_000_000,
            num_threads=THREADS,
            minloglevel=2,
            pad_id=PAD,
            bos_id=SOS,
            eos_id=EOS,
            unk_id=UNK,
            pad_piece=pad,
            bos_piece=sos,
            eos_piece=eos,
            unk_piece=unk,
            control_symbols=list(names[len(SPECIALS) :]),
            **seeds,
        )
    except (RuntimeError, OSError) as error:
        raise _explain(error, vocabulary) from error
    return model.getvalue()


@contextmanager
def _seeds(kind: str, sentences: Sequence[str], coverage: float) -> Iterator[dict[str, Any]]:
    """The trainer setting that gives a unigram model its seed pieces; BPE starts from characters."""
    if kind != "unigram":
        yield {}
        return
    with TemporaryDirectory(prefix="headwise-") as folder:
        path = Path(folder) / "seeds.tsv"
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.writelines(f"{piece}\t{count}\n" for piece, count in seed_pieces(sentences, coverage))
        yield {"seed_sentencepieces_file": str(path)}


def _prepare(sentence: str) -> Iterator[str]:
    """The sentence without characters that SentencePiece cannot take, split at spaces where it is very long."""
    text = escape(sentence.replace(_RESERVED, " ").replace("\0", " "))
    while len(text) > LONGEST:
        cut = text.rfind(" ", 1, LONGEST)
        cut = cut if cut > 0 else LONGEST
        yield text[:cut]
        text = text[cut:].lstrip()
    if text and not text.isspace():
        yield text


def _coverage(sentences: Sequence[str], room: int) -> float:
    """The share of the text whose characters become pieces, most frequent first; the rest is encoded as bytes.

    All characters that are not too rare become pieces, if they leave half of the room to longer pieces. So an
    alphabet is covered completely, a stray emoji is not, and a script of thousands of characters is covered as far
    as the vocabulary allows. SentencePiece accepts no less than 0.98.
    """
    ranked = sorted(character_counts(sentences).values(), reverse=True)
    total = sum(ranked)
    kept = min(sum(count * RAREST >= total for count in ranked), max(1, room // 2))
    if kept == len(ranked):
        return 1.0
    return max(0.98, (sum(ranked[:kept]) - ranked[kept - 1] / 2) / total)


def _explain(error: Exception, vocabulary: int) -> Exception:
    text = str(error)
    if "smaller than required_chars" in text:
        needed = re.search(r"\d+ vs (\d+)", text)
        least = f": it takes at least {needed[1]}" if needed else ""
        return ConfigError(f"text.vocabulary = {vocabulary} is too small for the characters of this corpus{least}")
    return DataError(f"no tokenizer could be trained on this corpus: {text}")
