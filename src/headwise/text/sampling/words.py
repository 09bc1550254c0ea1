"""Splitting encoded texts into words, for tokenizers whose pieces never cross a word boundary."""

import itertools

import numpy as np
from numpy.typing import NDArray

from headwise.text.tokenizer import Ids


def words_in(ids: Ids, lengths: Ids, begins_word: NDArray[np.bool_]) -> tuple[list[bytes], Ids]:
    """The words of concatenated texts, as the bytes of their ids (keys of a cache), and the words per text.

    Each text has at least one id. `begins_word`: whether each id of the tokenizer begins a word.
    """
    starts = np.cumsum(lengths) - lengths
    begins = begins_word[ids]
    begins[starts] = True
    content = ids.astype(np.int64).tobytes()
    edges = [*(np.flatnonzero(begins) * 8).tolist(), len(content)]
    words = [content[start:end] for start, end in itertools.pairwise(edges)]
    return words, np.add.reduceat(begins, starts, dtype=np.int64)


def ids_in(word: bytes) -> list[int]:
    """The ids of a word that `words_in` gave."""
    ids: list[int] = np.frombuffer(word, np.int64).tolist()
    return ids
