"""Byte-level BPE as in GPT-2: bytes are merged within words, so that every text can be encoded without loss."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Self

import tokenizers
from tokenizers import AddedToken, decoders, models, pre_tokenizers, processors, trainers

from headwise.errors import ConfigError
from headwise.text.published.hf_tokenizer import DESCRIPTION, TrainedHfTokenizer
from headwise.text.specials import EOS, SOS, Specials, own_specials, special_names
from headwise.text.spelling import LETTERS
from headwise.text.stored import Parts

LONGEST = 500
"""Characters without a space after which a text is split for training, whose time is quadratic in a word."""


class ByteBpe(TrainedHfTokenizer):
    """A byte-level BPE tokenizer. It is lossless: spaces and line ends are part of the pieces."""

    kind = "byte_bpe"

    def _read_specials(self, parts: Parts) -> Specials:
        return own_specials(parts.languages, mask=True)

    @classmethod
    def train(
        cls,
        sentences: Sequence[str],
        vocabulary: int,
        languages: tuple[str, ...],
        *,
        mask: bool = True,
        lossless: bool = True,
    ) -> Self:
        names = special_names(languages, mask=True)
        alphabet = sorted(LETTERS.values())
        room = vocabulary - len(names)
        if room < len(alphabet):
            raise ConfigError(
                f"text.vocabulary = {vocabulary} is too small: {len(names)} special tokens and 256 bytes come first"
            )
        learner = tokenizers.Tokenizer(models.BPE())
        learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=room, initial_alphabet=alphabet, show_progress=False, max_token_length=64
        )
        learner.train_from_iterator((part for sentence in sentences for part in _parts(sentence)), trainer)
        learnt = json.loads(learner.to_str())["model"]
        pieces = sorted(learnt["vocab"], key=learnt["vocab"].__getitem__)
        ids = {piece: i for i, piece in enumerate((*names, *pieces))}
        merges = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in learnt["merges"]]
        return cls(Parts(languages, files={DESCRIPTION: _assemble(ids, merges, names)}))


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
    whole.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    sos, eos = names[SOS], names[EOS]
    whole.post_processor = processors.TemplateProcessing(
        single=f"{sos}:0 $A:0 {eos}:0",
        pair=f"{sos}:0 $A:0 {eos}:0 $B:1 {eos}:1",
        special_tokens=[(sos, SOS), (eos, EOS)],
    )
    return str(whole.to_str()).encode()
