"""Word translations out of the training pairs: words that are each other's likeliest translation in IBM Model 1.

A model that is trained on sentences only copies single words, or adds to them. The noise `words` trains it on these.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from headwise.data.prepare.encoded_corpus import Flat
from headwise.data.prepare.result import TrainCorpus
from headwise.decode.shortlist.ibm_model1 import LexicalTable, lexical_table
from headwise.errors import CheckpointError
from headwise.files.tables import read_table, write_table
from headwise.text.language.codes import Direction
from headwise.text.tokenizer import Tokenizer
from headwise.text.word_forms import word_in

WordPairs = list[tuple[str, str]]

FILE = "words.json"
VERSION = 1
PAIRS = 200_000
"""Sentence pairs per direction that words are learnt from, unless given: taken evenly from its corpora."""
VOCABULARY = 50_000
"""How many words of a side are considered, the most frequent first."""
SEEN = 5
"""How often a word must occur."""
SURE = 0.3
"""The least probability of a translation, either way."""
LONGEST = 60
"""Most words of a sentence that is learnt from: its cost is quadratic in the length."""


def word_pairs(
    folder: Path, tokenizer: Tokenizer, corpora: Sequence[TrainCorpus], say: Callable[[str], None]
) -> dict[Direction, WordPairs]:
    """The word pairs of each direction, from `folder` if they are there; opposite directions share theirs."""
    directions: dict[Direction, list[TrainCorpus]] = {}
    for each in corpora:
        if (each.target_language, each.source_language) not in directions:
            directions.setdefault((each.source_language, each.target_language), []).append(each)
    known = learnt_once(folder / FILE, directions, "single words", partial(learnt_words, tokenizer), say)
    found: dict[Direction, WordPairs] = {}
    for source, target in directions:
        found[source, target] = [(left, right) for left, right in known[source, target]]
        if source != target:
            found[target, source] = [(right, left) for left, right in found[source, target]]
    return found


def learnt_once(
    path: Path,
    directions: Mapping[Direction, Sequence[TrainCorpus]],
    what: str,
    learn: Callable[[Sequence[TrainCorpus]], Any],
    say: Callable[[str], None],
) -> dict[Direction, Any]:
    """What is learnt from the corpora of each direction, read from a file where it is known from an earlier start."""
    known = _known(path)
    for (source, target), corpora in directions.items():
        name = f"{source}-{target}"
        if name not in known:
            say(f"learning {what} of {name}" if source or target else f"learning {what}")
            known[name] = learn(corpora)
            write_table(path, {"version": VERSION, "words": known})
    return {direction: known["-".join(direction)] for direction in directions}


def _known(path: Path) -> dict[str, Any]:
    """What was learnt of each direction before; nothing if the file is missing or damaged, as it can be made again."""
    try:
        table = read_table(path)
    except CheckpointError:
        return {}
    words = table.get("words")
    return words if table.get("version") == VERSION and isinstance(words, dict) else {}


def learnt_words(tokenizer: Tokenizer, corpora: Sequence[TrainCorpus], sentences: int = PAIRS) -> WordPairs:
    """Word pairs of one direction, most frequent first, learnt from at most `sentences` sentence pairs."""
    source, target = collected(tokenizer, corpora, sentences)
    forward, backward = tables(source, target, 1, SURE)
    if forward is None or backward is None:
        return []
    pairs = []
    for number, word in enumerate(source.vocabulary):
        there = _best(forward, number)
        if there is not None and _best(backward, there) == number:
            pairs.append((source.counts[word], source.shown(word), target.shown(target.vocabulary[there])))
    pairs.sort(key=lambda pair: (-pair[0], *pair[1:]))
    return [(left, right) for _, left, right in pairs]


def collected(
    tokenizer: Tokenizer, corpora: Sequence[TrainCorpus], sentences: int = PAIRS
) -> tuple["SideWords", "SideWords"]:
    """The words of both sides of at most `sentences` sentence pairs."""
    source, target = SideWords(), SideWords()
    share = sentences // len(corpora)
    for each in corpora:
        count = len(each.corpus)
        for index in np.unique(np.linspace(0, count - 1, min(count, share)).astype(np.int64)).tolist():
            left, right = (_words(tokenizer.decode(side.tolist())) for side in each.corpus[index])
            if 0 < len(left) <= LONGEST and 0 < len(right) <= LONGEST:
                source.add(left)
                target.add(right)
    return source, target


class SideWords:
    """The words of one side of the pairs."""

    def __init__(self) -> None:
        self.sentences: list[list[str]] = []
        self.counts: Counter[str] = Counter()
        """How often each word occurs, in lower case."""
        self._forms: Counter[str] = Counter()
        """How often each spelling occurs, except at the start of a sentence, where all words have capitals."""
        self.vocabulary: list[str] = []

    def add(self, words: list[str]) -> None:
        lower = [word.lower() for word in words]
        self.sentences.append(lower)
        self.counts.update(lower)
        self._forms.update(words[1:])

    def ids(self) -> list[list[int]]:
        """The frequent words of each sentence as numbers; `vocabulary` has the words."""
        self.vocabulary = [word for word, count in self.counts.most_common(VOCABULARY) if count >= SEEN]
        numbers = {word: number for number, word in enumerate(self.vocabulary)}
        return [[numbers[word] for word in words if word in numbers] for words in self.sentences]

    def shown(self, word: str) -> str:
        """The word in its most frequent form: nouns with a capital, where a language writes them so."""
        forms = (word, word.capitalize(), word.upper())
        return max(forms, key=lambda form: self._forms[form])


def tables(
    source: SideWords, target: SideWords, best: int, least: float
) -> tuple[LexicalTable | None, LexicalTable | None]:
    """The `best` likeliest translations of each word, of at least the probability `least`, in both directions."""
    both = [(left, right) for left, right in zip(source.ids(), target.ids(), strict=True) if left and right]
    if not both:
        return None, None
    kind = np.dtype("<u4")
    left, right = (Flat.of(side, kind) for side in zip(*both, strict=True))
    size = max(len(source.vocabulary), len(target.vocabulary))
    forward = lexical_table(left, right, size, best=best, least=least)
    return forward, lexical_table(right, left, size, best=best, least=least)


def _best(table: LexicalTable, word: int) -> int | None:
    found = table.of(word)
    return int(found[0]) if len(found) else None


def _words(text: str) -> list[str]:
    """The words of a text without the punctuation around them; numbers and the like are left out."""
    return [word for word in map(word_in, text.split()) if word]
