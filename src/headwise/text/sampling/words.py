"""Texts as ids, cut into words: what tokenizers that never join two words can look at one by one."""

import itertools

import numpy as np
from numpy.typing import NDArray

from headwise.text.tokenizer import Ids


def words_in(ids: Ids, lengths: Ids, begins_word: NDArray[np.bool_]) -> tuple[list[bytes], Ids]:
    """The words of texts, which lie end to end and have at least one id each, as the bytes of their ids: keys for a
    table. Then how many each text has. `begins_word`: of each id of the tokenizer."""
    starts = np.cumsum(lengths) - lengths
    begins = begins_word[ids]
    begins[starts] = True
    content = ids.astype(np.int64).tobytes()
    edges = [*(np.flatnonzero(begins) * 8).tolist(), len(content)]
    words = [content[start:end] for start, end in itertools.pairwise(edges)]
    return words, np.add.reduceat(begins, starts, dtype=np.int64)


def ids_in(word: bytes) -> list[int]:
    ids: list[int] = np.frombuffer(word, np.int64).tolist()
    return ids
