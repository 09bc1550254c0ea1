"""A dictionary of terms out of the training pairs: words and their translations, in the form that is most frequent.

The noise `terms` annotates sources with them. Unlike the noise `words`, which needs certain translations, it takes all
that are not unlikely: a model that has seen only the likeliest one would not learn to follow what it is given.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from headwise.data.noise.terms import Terms
from headwise.data.prepare.result import TrainCorpus
from headwise.decode.shortlist.ibm_model1 import LexicalTable
from headwise.text.language.codes import Direction
from headwise.text.tokenizer import Tokenizer
from headwise.text.word_forms import is_form_of
from headwise.train.tasks.word_pairs import SideWords, collected, learnt_once, tables

FILE = "terms.json"
BEST = 8
"""Translations of a word that are considered."""
LIKELY = 0.03
"""The least probability of a translation, either way."""
COMMON = 0.02
"""Share of the sentences above which a word is no term: articles, pronouns, auxiliary verbs."""
SHORTEST = 3
"""Letters that a term must have."""


def term_pairs(
    folder: Path, tokenizer: Tokenizer, corpora: Sequence[TrainCorpus], say: Callable[[str], None]
) -> dict[Direction, Terms]:
    """The terms of each direction, from `folder` if they are there."""
    directions: dict[Direction, list[TrainCorpus]] = {}
    for each in corpora:
        directions.setdefault((each.source_language, each.target_language), []).append(each)
    known = learnt_once(folder / FILE, directions, "terms", partial(learnt_terms, tokenizer), say)
    return {direction: dict(terms) for direction, terms in known.items()}


def learnt_terms(tokenizer: Tokenizer, corpora: Sequence[TrainCorpus]) -> list[tuple[str, list[str]]]:
    """Words of one direction with their translations, likeliest first, each translation in one form only."""
    source, target = collected(tokenizer, corpora)
    forward, backward = tables(source, target, BEST, LIKELY)
    if forward is None or backward is None:
        return []
    found = []
    for number, word in enumerate(source.vocabulary):
        if not _is_term(source, word):
            continue
        forms = _forms(forward.of(number).tolist(), number, backward, target)
        if forms:
            found.append((word, forms))
    return found


def _is_term(side: SideWords, word: str) -> bool:
    return len(word) >= SHORTEST and side.counts[word] <= COMMON * len(side.sentences)


def _forms(translations: Sequence[int], number: int, backward: LexicalTable, target: SideWords) -> list[str]:
    """Translations that also hold in the opposite direction; of several forms of a word, the likeliest."""
    forms: list[str] = []
    for there in translations:
        word = target.vocabulary[there]
        if not _is_term(target, word) or number not in backward.of(there):
            continue
        if not any(is_form_of(word, each) for each in forms):
            forms.append(target.shown(word))
    return forms
