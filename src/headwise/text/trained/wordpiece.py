"""WordPiece as in BERT: words and punctuation marks are split into pieces, and a piece within a word begins with ##.

It is trained as public tools train BERT's: with byte-pair merges that distinguish the beginning of a word from its
inside. The WordPiece trainer of the tokenizers library numbers pieces in the order of a hash table, which differs
from process to process; so the merges are learned by its BPE trainer, which is deterministic, from words whose first
letter is replaced by a private character.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Self

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from headwise.errors import ConfigError
from headwise.text.published.assemble import add_specials, set_bert_frames
from headwise.text.published.hf_tokenizer import DESCRIPTION, TrainedHfTokenizer
from headwise.text.specials import EOS, SOS, UNK, Specials, own_specials
from headwise.text.stored import Parts
from headwise.text.tokenizer import TrainingSet

NAMES = {"<pad>": "[PAD]", "<sos>": "[CLS]", "<eos>": "[SEP]", "<unk>": "[UNK]", "<mask>": "[MASK]"}
CONTINUES = "##"
LONGEST = 100
"""The most characters of a word; a longer word is unknown."""

_FIRST_INITIAL = 0xF0000
"""The first of the private characters that replace initial letters while merges are learned."""


class WordPiece(TrainedHfTokenizer):
    """A WordPiece tokenizer that keeps case and accents. Spaces are not kept: `( a )` comes back as `(a)`."""

    kind = "wordpiece"
    keeps_text = False

    def _read_specials(self, parts: Parts) -> Specials:
        return own_specials(parts.languages, mask=True, names=NAMES)

    @classmethod
    def train(cls, given: TrainingSet) -> Self:
        names = list(own_specials(given.languages, mask=True, names=NAMES).names.values())
        room = given.vocabulary - len(names)
        if room < 1:
            raise ConfigError(f"text.vocabulary = {given.vocabulary} has room for the special tokens only")
        normaliser = normalizers.BertNormalizer(lowercase=False)
        pieces = _learn(_words(given.sentences, normaliser), room)
        ids = {piece: i for i, piece in enumerate((*names, *pieces))}
        whole = tokenizers.Tokenizer(
            models.WordPiece(vocab=ids, unk_token=names[UNK], max_input_chars_per_word=LONGEST)
        )
        whole.normalizer = normaliser
        whole.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        whole.decoder = decoders.WordPiece(prefix=CONTINUES)
        add_specials(whole, names)
        set_bert_frames(whole, names[SOS], names[EOS])
        return cls(Parts(given.languages, files={DESCRIPTION: str(whole.to_str()).encode()}))


def _words(sentences: Iterable[str], normaliser: normalizers.Normalizer) -> Iterator[list[str]]:
    splitter = pre_tokenizers.BertPreTokenizer()
    for sentence in sentences:
        text = normaliser.normalize_str(sentence)
        yield [word for word, _ in splitter.pre_tokenize_str(text) if len(word) <= LONGEST]


def _learn(words: Iterable[list[str]], room: int) -> list[str]:
    """At most `room` pieces: the most frequent letters, then merges in the order in which they are learned."""
    initials: dict[str, str] = {}

    def marked(word: str) -> str:
        first = initials.setdefault(word[0], chr(_FIRST_INITIAL + len(initials)))
        return first + word[1:]

    lines = [" ".join(map(marked, sentence)) for sentence in words]
    # Among equally frequent letters the library would choose by a hash table too, so the alphabet is given.
    counts = Counter(chain.from_iterable(lines))
    counts.pop(" ", None)
    ranked = sorted(counts, key=lambda letter: (-counts[letter], letter))
    alphabet = ranked[: max(1, room // 2)]
    learner = tokenizers.Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=room, initial_alphabet=alphabet, limit_alphabet=len(alphabet), show_progress=False
    )
    learner.train_from_iterator(lines, trainer)
    learnt = json.loads(learner.to_str())["model"]["vocab"]
    letters = {private: letter for letter, private in initials.items()}
    return [
        letters[piece[0]] + piece[1:] if piece[0] in letters else CONTINUES + piece
        for piece in sorted(learnt, key=learnt.__getitem__)[:room]
    ]
