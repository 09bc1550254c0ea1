"""Extends the shortlists of a model that is trained further: they must allow what it learns.

The tokenizer stays, so the tables do too; those of the directions it is trained in receive the translations that the
new pairs have.
"""

from collections.abc import Sequence

import numpy as np

from headwise.data.prepare.encoded_corpus import EncodedCorpus, Flat
from headwise.decode.shortlist.ibm_model1 import lexical_table
from headwise.decode.shortlist.learn import BEST, PAIRS, shortlist_of
from headwise.decode.shortlist.shortlists import Shortlist, Shortlists
from headwise.text.language.codes import Direction


def extended_shortlists(before: Shortlists, corpora: Sequence[tuple[Direction, EncodedCorpus]]) -> Shortlists:
    """The shortlists with the translations in these corpora added; directions without a table get none."""
    tables = dict(before.tables)
    for direction, corpus in corpora:
        if direction in tables and len(corpus):
            tables[direction] = extended(tables[direction], corpus)
    return Shortlists(before.tokenizer, tables)


def extended(table: Shortlist, corpus: EncodedCorpus) -> Shortlist:
    """A table with the translations in a corpus added, learnt from at most `PAIRS` of its pairs."""
    kept = np.zeros(len(corpus), bool)
    kept[np.linspace(0, len(corpus) - 1, min(len(corpus), PAIRS)).astype(np.int64)] = True
    source, target = (
        Flat(side.ids, side.lengths.astype(np.int64)).select(kept) for side in (corpus.source, corpus.target)
    )
    found = lexical_table(source, target, table.vocabulary, best=BEST, skip=table.always)
    tokens = np.arange(table.vocabulary)
    sources, others = (np.repeat(tokens, np.diff(offsets)) for offsets in (table.offsets, found.offsets))
    known = np.isin(others, sources)  # with a token that the table does not know, everything is allowed, and stays so
    every = np.concatenate((sources, others[known])), np.concatenate((table.targets, found.targets[known]))
    return shortlist_of(*every, table.always, table.vocabulary, table.pairs + int(kept.sum()))
