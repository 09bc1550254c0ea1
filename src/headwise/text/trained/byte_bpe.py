"""Byte-level BPE as in GPT-2: bytes are merged within words, so that every text can be encoded without loss."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Self

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from headwise.errors import ConfigError
from headwise.text.published.assemble import add_specials, set_bert_frames
from headwise.text.published.hf_tokenizer import DESCRIPTION, TrainedHfTokenizer
from headwise.text.specials import EOS, SOS, Specials, own_specials, special_names
from headwise.text.spelling import LETTERS
from headwise.text.stored import Parts
from headwise.text.tokenizer import TrainingSet

LONGEST = 500
"""Characters without a space after which a text is split for training, whose time is quadratic in a word."""


class ByteBpe(TrainedHfTokenizer):
    """A byte-level BPE tokenizer. It is lossless: spaces and line ends are part of the pieces."""

    kind = "byte_bpe"

    def _read_specials(self, parts: Parts) -> Specials:
        return own_specials(parts.languages, mask=True)

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        names = special_names(given.languages, mask=True)
        alphabet = sorted(LETTERS.values())
        room = given.vocabulary - len(names)
        if room < len(alphabet):
            raise ConfigError(
                f"text.vocabulary = {given.vocabulary} is too small: "
                f"{len(names)} special tokens and 256 bytes come first"
            )
        learner = tokenizers.Tokenizer(models.BPE())
        learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=room, initial_alphabet=alphabet, show_progress=False, max_token_length=64
        )
        learner.train_from_iterator((part for sentence in given.sentences for part in _parts(sentence)), trainer)
        learnt = json.loads(learner.to_str())["model"]
        pieces = sorted(learnt["vocab"], key=learnt["vocab"].__getitem__)
        ids = {piece: i for i, piece in enumerate((*names, *pieces))}
        merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in learnt["merges"]]
        return cls(Parts(given.languages, files={DESCRIPTION: _assemble(ids, merges, names)}))


def _parts(sentence: str) -> Iterator[str]:
    """The sentence, split where it has no space for long."""
    start = 0
    for word in re.finditer(rf"\S{{{LONGEST}}}", sentence):
        yield sentence[start : word.end()]
        start = word.end()
    yield sentence[start:]


def _assemble(ids: dict[str, int], merges: list[tuple[str, ...]], names: Sequence[str]) -> bytes:
    whole = tokenizers.Tokenizer(models.BPE(vocab=ids, merges=[(left, right) for left, right in merges]))
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.decoder = decoders.ByteLevel()
    add_specials(whole, names)
    set_bert_frames(whole, names[SOS], names[EOS])
    return str(whole.to_str()).encode()
